"""Beliefs of users and teams in a database: what was settled, kept across sessions (Tenure, sections 3 to 5)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NoReturn

from pydantic import ValidationError

from pss_integrations.beliefs import access, transfer
from pss_integrations.beliefs.checks import (
    check_aliases,
    check_count,
    check_kind,
    check_principal,
    check_query,
    check_source,
    check_time,
)
from pss_integrations.beliefs.database import Database
from pss_integrations.beliefs.lifecycle import Lifecycle
from pss_integrations.beliefs.principals import Principal, Right
from pss_integrations.beliefs.query import clean_query
from pss_integrations.beliefs.recall import MAX_BELIEFS, MAX_PINNED, MAX_QUESTIONS, Recall, recall
from pss_integrations.beliefs.records import Records
from pss_integrations.beliefs.schema import Belief, Change, Correction, NewBelief, PutResult, Source
from pss_integrations.beliefs.scopes import check_scopes
from pss_integrations.beliefs.search import BeliefHit, Explanation, PrincipalIndex, explanation
from pss_integrations.errors import BeliefConflict, InvalidInput
from pss_integrations.forks import renew_after_fork
from pss_integrations.home import home_dir

_INDEXED = 200_000  # beliefs held in memory for search; the principals asked for longest ago leave


@dataclass(frozen=True, slots=True)
class Erasure:
    """How far an erasure came.

    :param beliefs: How many beliefs were deleted, with all versions and what the log held of them.
    :param status: ``complete``: no byte of their text is in any file. ``pending``: nobody can read them, but the files
        were in use and could not be rewritten; that is tried again at the next erasure and the next open.
    """

    beliefs: int
    status: Literal["complete", "pending"]


class BeliefStore:
    """Beliefs in a database; safe for several threads and processes.

    Each method takes the principal whose beliefs are meant, and shows and changes nothing of anybody else. A team's
    beliefs need an ``actor`` too: the user who reads or writes them, with a right granted by :meth:`grant`.

    :param url: Path of an SQLite file, or a database URL; by default ``beliefs.db`` in ``PSS_HOME`` or the user's data
        directory.
    :param clock: Tells the time, with its zone.
    :raises InvalidInput: If the URL cannot be read, or names a database in memory.
    :raises BeliefStorageError: If the database cannot be opened, or was made by a later version of this package.
    """

    def __init__(
        self, url: str | Path | None = None, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._database = Database(url if url is not None else home_dir() / "beliefs.db")
        self._clock = clock
        self._indexes = OrderedDict[Principal, PrincipalIndex]()
        self._lock = threading.Lock()
        renew_after_fork(self)

    def close(self) -> None:
        """Close the database, and let go of what was indexed."""
        self._database.close()
        with self._lock:
            left = [*self._indexes.values()]
            self._indexes.clear()
        for index in left:
            index.empty()

    def __enter__(self) -> BeliefStore:
        """Return the store; it is closed at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled.

        :raises InvalidInput: Always.
        """
        raise InvalidInput("connections to a database cannot be pickled: open the store in each process")

    # --- reading

    def get(self, principal: Principal, belief_id: str, *, actor: Principal | None = None) -> Belief:
        """A belief by id, whatever its status.

        :raises BeliefNotFound: If this principal has none of that id.
        """
        with self._reading(principal, actor) as records:
            return records.get(belief_id)

    def list(
        self,
        principal: Principal,
        *,
        scopes: Sequence[str] | None = None,
        live: bool | None = True,
        limit: int | None = 100,
        after: str | None = None,
        actor: Principal | None = None,
    ) -> list[Belief]:
        """A page of beliefs, in the order in which they were made.

        :param scopes: Only those in one of these; ``None`` is all scopes.
        :param live: Current ones (``True``), past ones (``False``) or both (``None``).
        :param limit: The most that are returned; ``None`` is all.
        :param after: Id of the last belief of the page before.
        :raises InvalidInput: If ``limit`` is below 0, or ``scopes`` is empty.
        :raises BeliefNotFound: If ``after`` names no belief of this principal.
        """
        check_count("limit", limit)
        if live is not None:
            check_kind(live, bool)
        scopes = None if scopes is None else check_scopes(scopes)
        with self._reading(principal, actor) as records:
            return [*records.page(live=live, scopes=scopes, after=after, limit=limit)]

    def count(self, principal: Principal, *, actor: Principal | None = None) -> int:
        """How many current beliefs there are."""
        with self._reading(principal, actor) as records:
            return records.count()

    def history(self, principal: Principal, belief_id: str, *, actor: Principal | None = None) -> list[Change]:
        """All changes to a belief, to the versions before and after it, and to what contradicted them.

        :raises BeliefNotFound: If this principal has none of that id.
        """
        with self._reading(principal, actor) as records:
            return [*records.log.entries([one.id for one in records.related(belief_id)])]

    def as_of(
        self,
        principal: Principal,
        time: datetime,
        *,
        scopes: Sequence[str] | None = None,
        actor: Principal | None = None,
    ) -> list[Belief]:
        """What was current at an earlier time, by what was stored then (transaction time).

        :raises InvalidInput: If the time has no zone.
        """
        time = check_time("as_of", time)
        scopes = None if scopes is None else check_scopes(scopes)
        with self._reading(principal, actor) as records:
            then = {change.belief.id: change.belief for change in records.log.entries(until=time)}
        return [one for one in then.values() if one.live and (scopes is None or not set(scopes).isdisjoint(one.scopes))]

    def search(
        self,
        principal: Principal,
        scopes: Sequence[str],
        query: str,
        *,
        k: int | None = None,
        actor: Principal | None = None,
    ) -> list[BeliefHit]:
        """Current beliefs that a query names, the best first; none if it names none.

        :param scopes: Where to look; matched exactly, none contains another.
        :param query: What is asked, as the user wrote it; code, paths, URLs and stack traces in it are left out.
        :param k: The most that are returned; all by default.
        :raises InvalidInput: If there is no scope, the query is no string, or ``k`` is below 0.
        """
        check_count("k", k)
        scopes = check_scopes(scopes)
        with self._index(principal, actor, query) as index:
            return index.search(scopes, query, self._now())[:k]

    def recall(
        self,
        principal: Principal,
        scopes: Sequence[str],
        query: str,
        *,
        max_beliefs: int = MAX_BELIEFS,
        max_pinned: int = MAX_PINNED,
        max_questions: int = MAX_QUESTIONS,
        actor: Principal | None = None,
    ) -> Recall:
        """What a model is shown for a query: pinned and named beliefs, open questions, and the persona.

        :param scopes: Where to look; the persona, preferences in ``user:universal``, is read whatever they are.
        :param query: As for :meth:`search`.
        :param max_beliefs: The most pinned and relevant beliefs together; pinned ones come first.
        :param max_pinned: The most pinned beliefs.
        :param max_questions: The most open questions.
        :raises InvalidInput: If there is no scope, the query is no string, or a limit is below 0.
        """
        limits = {"max_beliefs": max_beliefs, "max_pinned": max_pinned, "max_questions": max_questions}
        for name, limit in limits.items():
            check_count(name, limit, or_none=False)
        scopes = check_scopes(scopes)
        with self._index(principal, actor, query) as index:
            return recall(index, scopes, query, self._now(), **limits)

    def explain(
        self,
        principal: Principal,
        scopes: Sequence[str],
        query: str,
        *,
        belief_id: str | None = None,
        actor: Principal | None = None,
    ) -> list[Explanation]:
        """Why each belief of the principal comes for a query or does not, past ones too; those that come first.

        :param belief_id: Only about this one.
        """
        scopes = check_scopes(scopes)
        hits = {hit.belief.id: hit for hit in self.search(principal, scopes, query, actor=actor)}
        with self._reading(principal, actor) as records:
            if belief_id is None:
                beliefs = [*records.page(live=None, scopes=None, after=None, limit=None)]
            else:
                beliefs = [records.get(belief_id)]
        now, asked = self._now(), clean_query(query)
        found = [explanation(one, hits.get(one.id), scopes, asked, now) for one in beliefs]
        order = {belief_id: place for place, belief_id in enumerate(hits)}
        return sorted(found, key=lambda one: order.get(one.belief.id, len(order)))

    def export(self, principal: Principal, *, actor: Principal | None = None) -> list[str]:
        """All beliefs and their log as lines of JSON, for :meth:`import_lines`; the same give the same."""
        with self._reading(principal, actor) as records:
            return transfer.lines_of(records)

    # --- writing

    def put(self, principal: Principal, belief: NewBelief, *, actor: Principal | None = None) -> PutResult:
        """Add a belief, reinforce a known one, supersede it or contradict it.

        Beliefs of one principal, scope and type are about the same thing if the new one's canonical name is a name or
        an alias of the other; if it is an alias of several, it is about neither. The same content reinforces. Other
        content supersedes if a user said it, else it waits as a contradiction for :meth:`resolve`. Beliefs that have
        the name of something that a user gave up for it (``replaces``) are past too: superseded, or else retracted.

        :raises InvalidInput: If something that no user said has a confidence below 0.35.
        :raises BeliefConflict: If the scopes hold different beliefs of its name.
        """
        check_kind(belief, NewBelief)
        with self._writing(principal, actor) as life:
            return life.put(belief)

    def reinforce(
        self,
        principal: Principal,
        belief_id: str,
        *,
        aliases: Sequence[str] = (),
        source: Source = "user",
        actor: Principal | None = None,
    ) -> Belief:
        """Count that a belief was heard again or of use, and learn other names of it.

        :param aliases: Words by which it was meant, such as those of a query that it answered.
        :param source: Who stands for it.
        :raises BeliefConflict: If it is not current.
        """
        learned = check_aliases(aliases)
        check_source(source)
        with self._writing(principal, actor) as life:
            return life.reinforce(life.records.get(belief_id), learned, confirmed=source == "user")

    def supersede(
        self,
        principal: Principal,
        belief_id: str,
        belief: NewBelief,
        *,
        version: int | None = None,
        actor: Principal | None = None,
    ) -> PutResult:
        """Put a belief in the place of another one, whatever its name.

        :param version: The version that was seen; another one is a conflict.
        :raises BeliefConflict: If the other one is not current, or of another version.
        """
        check_kind(belief, NewBelief)
        with self._writing(principal, actor) as life:
            return PutResult(outcome="superseded", belief=life.supersede(_seen(life, belief_id, version), belief))

    def correct(
        self,
        principal: Principal,
        belief_id: str,
        correction: Correction,
        *,
        version: int | None = None,
        actor: Principal | None = None,
    ) -> Belief:
        """Change a belief by hand.

        :param version: The version that was seen; another one is a conflict.
        :raises BeliefConflict: If it is not current, of another version, or the new name is taken.
        """
        check_kind(correction, Correction)
        with self._writing(principal, actor) as life:
            return life.correct(_seen(life, belief_id, version), correction)

    def pin(
        self, principal: Principal, belief_id: str, *, pinned: bool = True, actor: Principal | None = None
    ) -> Belief:
        """Pin a belief, so that it is always recalled, or unpin it."""
        check_kind(pinned, bool)
        with self._writing(principal, actor) as life:
            return life.pin(life.records.get(belief_id), pinned)

    def resolve(
        self,
        principal: Principal,
        belief_id: str,
        *,
        accept: bool = True,
        answer: NewBelief | None = None,
        actor: Principal | None = None,
    ) -> Belief:
        """Close an open question, or decide about a belief that contradicts another one.

        :param accept: Of a contradiction: whether it takes the other one's place, or is dropped.
        :param answer: Of a question: what was decided; it is put in the same transaction.
        :returns: The question, or what holds now.
        """
        check_kind(accept, bool)
        if answer is not None:
            check_kind(answer, NewBelief)
        with self._writing(principal, actor) as life:
            return life.resolve(life.records.get(belief_id), accept=accept, answer=answer)

    def retract(self, principal: Principal, belief_id: str, *, actor: Principal | None = None) -> Belief:
        """Take a belief back: it is not found any more, but stays in the log. See :meth:`erase` to delete it."""
        with self._writing(principal, actor) as life:
            return life.retract(life.records.get(belief_id))

    def erase(self, principal: Principal, belief_id: str, *, actor: Principal | None = None) -> Erasure:
        """Delete a belief with all its versions, what contradicted them, the log of both, and what says the same.

        Word for word the same, that is, and of this principal: other current beliefs that say what it says, past ones
        that say what any of its versions said. What only contradicts another belief is deleted alone.

        On PostgreSQL the deletion is logical: the server reuses the space in its own time.

        :raises BeliefNotFound: If this principal has none of that id.
        """
        with self._writing(principal, actor) as life:
            count = life.erase(belief_id)
        return self._erased(principal, count)

    def erase_all(self, principal: Principal, *, actor: Principal | None = None) -> Erasure:
        """Delete all beliefs of a principal, and the log; of a team it takes an admin."""
        with self._writing(principal, actor, need="admin") as life:
            count = life.erase_all()
        return self._erased(principal, count)

    def import_lines(
        self,
        principal: Principal,
        lines: Iterable[str],
        *,
        on_conflict: transfer.OnConflict = "error",
        actor: Principal | None = None,
    ) -> int:
        """Take over what :meth:`export` gave, as beliefs of this principal, whole or not at all.

        :param on_conflict: What becomes of a belief that is there already and differs: ``error``, ``skip`` keeps what
            is there, ``replace`` takes what comes.
        :returns: How many beliefs were written; those that are there already, and do not differ, are not.
        :raises InvalidInput: If a line cannot be read; nothing is written then.
        :raises BeliefConflict: If a belief is there already and differs, or its name is taken.
        """
        exported = transfer.read_lines(lines)
        with self._writing(principal, actor) as life:
            return transfer.write(life.records, exported, on_conflict, self._now())

    def grant(self, team: Principal, user: Principal, right: Right | None, *, actor: Principal) -> None:
        """Give a user the right to ``read``, ``write`` or ``admin`` a team's beliefs, or take it (``None``).

        Whoever makes himself admin of a team that has none founds it; from then on its admins decide.

        :raises AccessDenied: If the actor is no admin of the team.
        :raises InvalidInput: If the team would be left without an admin.
        """
        for one in (team, user, actor):
            check_principal(one)
        with self._database.writing(str(team)) as connection:
            access.grant(connection, team, user, right, actor)

    # --- transactions

    def after_fork(self) -> None:
        """Share nothing with the process that this one was forked from; called by itself."""
        self._lock = threading.Lock()
        self._indexes.clear()
        self._database.after_fork()

    def _now(self) -> datetime:
        return check_time("the clock of a store", self._clock())

    @contextmanager
    def _reading(self, principal: Principal, actor: Principal | None) -> Generator[Records]:
        check_principal(principal)
        with self._database.reading() as connection:
            access.check(connection, principal, actor, "read")
            yield Records(connection, principal)

    @contextmanager
    def _writing(self, principal: Principal, actor: Principal | None, *, need: Right = "write") -> Generator[Lifecycle]:
        check_principal(principal)
        with self._database.writing(str(principal)) as connection:
            who = access.check(connection, principal, actor, need)
            records = Records(connection, principal)
            try:
                yield Lifecycle(records, str(who), records.log.time(self._now()))
            except ValidationError as error:
                raise InvalidInput(f"no belief: {error.errors()[0]['msg']}") from error

    @contextmanager
    def _index(self, principal: Principal, actor: Principal | None, query: str) -> Generator[PrincipalIndex]:
        check_query(query)
        with self._reading(principal, actor) as records:
            index = self._kept(principal)
            with index.lock:
                index.refresh(records)
                yield index

    def _kept(self, principal: Principal) -> PrincipalIndex:
        left = list[PrincipalIndex]()
        with self._lock:
            index = self._indexes.setdefault(principal, PrincipalIndex())
            self._indexes.move_to_end(principal)
            while len(self._indexes) > 1 and sum(map(len, self._indexes.values())) > _INDEXED:
                left.append(self._indexes.popitem(last=False)[1])
        for one in left:
            one.empty()
        return index

    def _erased(self, principal: Principal, count: int) -> Erasure:
        with self._lock:
            index = self._indexes.pop(principal, None)
        if index is not None:
            index.empty()
        return Erasure(count, "complete" if self._database.scrub() else "pending")


def _seen(life: Lifecycle, belief_id: str, version: int | None) -> Belief:
    belief = life.records.get(belief_id)
    if version is not None and belief.version != version:
        raise BeliefConflict(f"{belief_id!r} is at version {belief.version} now, not {version}: look at it again")
    return belief
