"""Runs arms over subjects: compiles the states they need, reads the clues, searches, and notes the ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.arms import missing_tool
from pss_integrations.evaluation.controls import STATES, Cast, Made
from pss_integrations.evaluation.metrics import group_ranks
from pss_integrations.evaluation.record import ProbeRecord, SessionRecord
from pss_integrations.evaluation.subjects import Asked
from pss_integrations.evaluation.texts import TEXTS
from pss_integrations.evaluation.turns import Arm, Sent, Turn
from pss_integrations.retrieval.fusion import reciprocal_rank_fusion
from pss_integrations.retrieval.index import PassageIndex
from pss_integrations.routing import BUILT_IN, Certificate
from pss_integrations.routing.wording import Wording
from pss_integrations.types import Clue, Hit

Tell = Callable[[str, int, int], None]
_Found: TypeAlias = dict[Wording, list[Hit]]
"""What was searched for to what was found, in one session."""


class _Given(NamedTuple):
    """What a probe's arms are given: state name to clue, and the name of a source of texts to its text."""

    clues: Mapping[str, Clue | None]
    texts: Mapping[str, str]


@dataclass(frozen=True)
class Runner:
    """Everything that the sessions of a run share.

    :param cast: The subjects, and who writes their states.
    :param arms: What is compared.
    :param searchers: Searcher name to searcher, all of the same pool.
    :param count_tokens: Counts a text's tokens, for cards.
    :param depth: How many documents each search returns.
    :param query_weight: How much the query weighs against what is appended to it.
    :param certificates: Searcher name to what the guard decides by; the built-in one for others.
    """

    cast: Cast
    arms: Sequence[Arm]
    searchers: Mapping[str, PassageIndex]
    count_tokens: Callable[[str], int]
    depth: int = 100
    query_weight: float = 1.0
    certificates: Mapping[str, Certificate] = field(default_factory=dict[str, Certificate])

    def run(self, tell: Tell) -> list[SessionRecord]:
        """Run every session.

        :param tell: Told what is done, how many sessions are done and how many there are.
        :raises InvalidInput: If an arm needs a tool that the cast has not.
        """
        for arm in self.arms:
            if tool := missing_tool(arm, self.cast.tools):
                raise InvalidInput(f"the arm {arm.name} needs Tools({tool}=...): give it, or leave the arm out")
        total = len(self.cast.subjects)
        records = list[SessionRecord]()
        for number in range(total):
            records.append(self._session(number, lambda what, done=number: tell(what, done, total)))
        return records

    def _session(self, number: int, tell: Callable[[str], None]) -> SessionRecord:
        subject = self.cast.subjects[number]
        states = dict[str, Any]()
        for name in dict.fromkeys(arm.state for arm in self.arms if arm.state):
            tell(f"writing {name}")
            states[name] = STATES[name](self.cast, number)
        tell("reading")
        clues = self._read(states, [asked.probe.query for asked in subject.asked])
        made = dict[str, Made]()
        for name in dict.fromkeys(arm.text for arm in self.arms if arm.text):
            tell(f"making {name}")
            made[name] = TEXTS[name].make(self.cast, number)
        tell("searching")
        found: dict[str, _Found] = {name: {} for name in self.searchers}
        return SessionRecord(
            session_id=subject.session_id,
            group=subject.group,
            states={
                **{name: dict(getattr(state, "record", {})) for name, state in states.items()},
                **{name: dict(one.record) for name, one in made.items() if one.record},
            },
            probes=[
                self._probe(
                    number,
                    asked,
                    _Given({name: clues[name][at] for name in states}, {name: made[name].texts[at] for name in made}),
                    found,
                )
                for at, asked in enumerate(subject.asked)
            ],
        )

    def _read(self, states: Mapping[str, Any], queries: Sequence[str]) -> dict[str, Sequence[Clue | None]]:
        """Per state a clue for each query; ``None`` where there is no state."""
        written = {name: state for name, state in states.items() if state is not None}
        clues = self.cast.source.read([(state, queries) for state in written.values()])
        none: dict[str, Sequence[Clue | None]] = {name: [None] * len(queries) for name in states}
        return none | dict(zip(written, clues, strict=True))

    def _probe(self, number: int, asked: Asked, given: _Given, found: Mapping[str, _Found]) -> ProbeRecord:
        probe = asked.probe
        sent = {name: self._sent(name, number, asked, given, found[name]) for name in self.searchers}
        titled = self._titled(probe.evidence)
        return ProbeRecord(
            query=probe.query,
            category=probe.category,
            groups=len(probe.evidence),
            clues={**{name: clue.text if clue else "" for name, clue in given.clues.items()}, **given.texts},
            left_alone=[
                arm.name
                for arm in self.arms
                if not arm.best_of and all(one[arm.name] == (Wording(probe.query),) for one in sent.values())
            ],
            ranks={
                name: self._ranks(name, sent[name], probe.evidence, found[name])
                for name in (self.searchers if probe.evidence else ())
            },
            titles={
                name: {arm: ranks[0] for arm, ranks in self._ranks(name, sent[name], [titled], found[name]).items()}
                for name in (self.searchers if titled else ())
            },
        )

    def _titled(self, evidence: Sequence[frozenset[str]]) -> frozenset[str]:
        """Ids of all documents with the title of one that is evidence; none if no other has any of these titles."""
        known = {doc_id for group in evidence for doc_id in group}
        titles = {self._title_of[doc_id] for doc_id in known if doc_id in self._title_of} - {""}
        found = frozenset(doc_id for title in titles for doc_id in self._ids_of[title])
        return found if found - known else frozenset()

    @cached_property
    def _title_of(self) -> Mapping[str, str]:
        passages = next(iter(self.searchers.values())).passages
        return {passage.doc_id: passage.title for passage in passages}

    @cached_property
    def _ids_of(self) -> Mapping[str, Sequence[str]]:
        ids = defaultdict[str, list[str]](list)
        for doc_id, title in self._title_of.items():
            ids[title].append(doc_id)
        return ids

    def _sent(self, name: str, number: int, asked: Asked, given: _Given, found: _Found) -> dict[str, Sent]:
        """What each arm sends to a searcher."""
        index = self.searchers[name]
        return {
            arm.name: arm.send(
                Turn(
                    self.cast.subjects[number],
                    asked,
                    given.clues[arm.state] if arm.state else None,
                    self.count_tokens,
                    find=lambda wording: self._find(name, wording, found),
                    kind=index.kind,
                    vocabulary=index.vocabulary,
                    index_id=index.index_id,
                    certificate=self.certificates.get(name, BUILT_IN),
                    query_weight=self.query_weight,
                    text=given.texts[arm.text] if arm.text else "",
                )
            )
            for arm in self.arms
        }

    def _ranks(
        self, name: str, sent: Mapping[str, Sent], evidence: Sequence[frozenset[str]], found: _Found
    ) -> dict[str, list[int | None]]:
        rankings = {one: self._ranking(name, one, found) for one in {*sent.values()}}
        ranks = {arm: list(group_ranks(rankings[one], evidence)) for arm, one in sent.items()}
        for arm in self.arms:
            if arm.best_of:
                ranks[arm.name] = max((ranks[one] for one in arm.best_of), key=_goodness)
        return ranks

    def _find(self, name: str, wording: Wording, found: _Found) -> list[Hit]:
        """Search, once in a session for the same wording."""
        if wording not in found:
            found[wording] = self.searchers[name].search_expanded(
                wording.query, wording.added, self.depth, query_weight=wording.weight
            )
        return found[wording]

    def _ranking(self, name: str, sent: Sent, found: _Found) -> list[str]:
        """Search for each wording, and fuse."""
        rankings = [[hit.doc_id for hit in self._find(name, wording, found)] for wording in sent]
        fused = reciprocal_rank_fusion(rankings, key=str)
        return [doc_id for doc_id, _ in fused][: self.depth]


def _goodness(ranks: Sequence[int | None]) -> float:
    """Sum of reciprocal ranks."""
    return sum(1 / rank for rank in ranks if rank is not None)
