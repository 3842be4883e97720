"""Search of beliefs by name, and why each one came or did not (Tenure, section 5)."""

from __future__ import annotations

import gc
import threading
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from pss_integrations.beliefs.index import Match, NameMatch, ScopeIndex, search_indexes, why_not
from pss_integrations.beliefs.names import name_key
from pss_integrations.beliefs.query import clean_query
from pss_integrations.beliefs.records import Records
from pss_integrations.beliefs.schema import Belief


@dataclass(frozen=True, slots=True)
class BeliefHit:
    """A belief that was found.

    :param score: Higher is better; it means nothing outside this search.
    :param names: Which of its names the query holds.
    :param via: Id of the relation that brought it, if its own names did not.
    :param contested_by: Ids of what contradicts it and waits for a decision.
    """

    belief: Belief
    score: float
    names: tuple[NameMatch, ...] = ()
    via: str | None = None
    contested_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a belief came, or did not."""

    belief: Belief
    returned: bool
    reason: str


class PrincipalIndex:
    """The live beliefs of one principal in memory, an index for each of their scopes."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._seq = 0
        self._live = dict[str, Belief]()
        self._scopes = defaultdict[str, ScopeIndex](ScopeIndex)
        self._contested = dict[str, tuple[str, ...]]()
        self._heirs = dict[str, str]()

    def __len__(self) -> int:
        """Return how many beliefs it holds."""
        return len(self._live)

    def empty(self) -> None:
        """Let go of all beliefs; the next :meth:`refresh` reads them again.

        One by one: freed all at once, some ten thousand would hold up every other thread.
        """
        with self.lock:
            self._seq = 0
            for belief_id in [*self._live]:
                self._drop(belief_id)
            self._contested, self._heirs = {}, {}

    def refresh(self, records: Records) -> None:
        """Take over what was changed since the last time, whoever changed it."""
        seq = records.log.seq()
        if seq <= self._seq:
            return
        if self._seq == 0:
            with _uncollected():
                changed = [*records.page(live=True, scopes=None, after=None, limit=None)]
                for belief in changed:
                    self._add(belief)
            self._heirs = records.heirs()
        else:
            changed = self._exchange(records, sorted(records.log.changed_since(self._seq)))
        for belief in changed:
            self._bridge(records, belief)
        self._contested = records.contested()
        self._seq = seq

    def _exchange(self, records: Records, ids: Sequence[str]) -> list[Belief]:
        """Take over what changed; returns what of it is current."""
        found = [one for belief_id in ids if (one := records.find(belief_id))]
        for belief_id in ids:
            self._drop(belief_id)
        for one in found:
            if one.supersedes:
                self._heirs[one.supersedes] = one.id
            if one.live:
                self._add(one)
        return [one for one in found if one.live]

    def _bridge(self, records: Records, heir: Belief) -> None:
        """Hold what was superseded too, as long as the belief in its place does not hold yet."""
        past = records.find(heir.supersedes) if heir.supersedes and heir.valid_from else None
        if past is not None and past.valid_to == heir.valid_from and past.retracted_at is None:
            self._add(past)

    def search(self, scopes: Sequence[str], query: str, now: datetime) -> list[BeliefHit]:
        """Beliefs whose names the query holds, the best first, then what relations among them lead to."""
        indexes = [self._scopes[scope] for scope in scopes if scope in self._scopes]
        matches = search_indexes(indexes, clean_query(query))
        direct = [self._hit(match) for match in matches if self._live[match.belief_id].valid_at(now)]
        known = {hit.belief.id for hit in direct}
        related = list[BeliefHit]()
        for hit in direct:
            for belief in self._participants(hit.belief, scopes, now):
                if belief.id not in known:
                    known.add(belief.id)
                    contested_by = self._contested.get(belief.id, ())
                    related.append(BeliefHit(belief, hit.score, via=hit.belief.id, contested_by=contested_by))
        return direct + related

    def in_scopes(self, scopes: Sequence[str], now: datetime) -> list[Belief]:
        """Live beliefs in the scopes, by id."""
        wanted = set(scopes)
        found = (one for one in self._live.values() if not wanted.isdisjoint(one.scopes) and one.valid_at(now))
        return sorted(found, key=lambda belief: belief.id)

    def _hit(self, match: Match) -> BeliefHit:
        belief_id = match.belief_id
        return BeliefHit(
            self._live[belief_id], match.score, match.names, contested_by=self._contested.get(belief_id, ())
        )

    def _participants(self, relation: Belief, scopes: Sequence[str], now: datetime) -> Iterator[Belief]:
        for participant in relation.participants:
            for belief in self._meant(participant, scopes):
                if not set(scopes).isdisjoint(belief.scopes) and belief.valid_at(now):
                    yield belief

    def _meant(self, participant: str, scopes: Sequence[str]) -> list[Belief]:
        """The belief of an id, or what superseded it; else those of a canonical name, else of an alias."""
        heir = participant
        while heir not in self._live and heir in self._heirs:
            heir = self._heirs[heir]
        if heir in self._live:
            return [self._live[heir]]
        key = name_key(participant)
        ids = {one for scope in scopes if scope in self._scopes for one in self._scopes[scope].owners(key)}
        named = [self._live[one] for one in sorted(ids)]
        return [belief for belief in named if name_key(belief.canonical_name) == key] or named

    def _add(self, belief: Belief) -> None:
        self._live[belief.id] = belief
        for scope in belief.scopes:
            self._scopes[scope].put(belief)

    def _drop(self, belief_id: str) -> None:
        belief = self._live.pop(belief_id, None)
        if belief is None:
            return
        for scope in belief.scopes:
            self._scopes[scope].remove(belief_id)
            if not len(self._scopes[scope]):
                del self._scopes[scope]


@contextmanager
def _uncollected() -> Generator[None]:
    """Without garbage collection, which would look through all that is being built again and again.

    Nor is it looked through at once when all is built: every thread would be held up meanwhile, an event loop too.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # else somebody wants what he froze to stay so
            gc.freeze()  # and back: what was built counts as old from here on
            gc.unfreeze()
        gc.enable()


def explanation(belief: Belief, hit: BeliefHit | None, scopes: Sequence[str], query: str, now: datetime) -> Explanation:
    """Say why a belief was found, or was not.

    :param hit: How it was found, if it was.
    :param query: The query as it was searched, without code and the like.
    """
    if hit is not None:
        how = f"relation {hit.via}" if hit.via else ", ".join(map(str, hit.names))
        return Explanation(belief, returned=True, reason=how)
    return Explanation(
        belief,
        returned=False,
        reason=_past(belief, now) or _elsewhere(belief, scopes) or why_not(belief, query),
    )


def _past(belief: Belief, now: datetime) -> str | None:
    if belief.superseded_by:
        return f"superseded by {belief.superseded_by}"
    if belief.retracted_at:
        return f"retracted at {belief.retracted_at.isoformat()}"
    if belief.resolved_at:
        return f"resolved at {belief.resolved_at.isoformat()}"
    if belief.waiting:
        return f"contradicts {belief.contradicts} and waits for a decision"
    return None if belief.valid_at(now) else "not valid at this time"


def _elsewhere(belief: Belief, scopes: Sequence[str]) -> str | None:
    if set(scopes).isdisjoint(belief.scopes):
        return f"in scope {', '.join(belief.scopes)}, which was not asked for"
    return None
