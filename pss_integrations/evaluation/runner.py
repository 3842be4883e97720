"""Runs arms over subjects: compiles the states they need, reads the clues, searches, and notes the ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pss_integrations.evaluation.arms import Arm, Sent, Turn
from pss_integrations.evaluation.controls import STATES, Cast
from pss_integrations.evaluation.metrics import group_ranks
from pss_integrations.evaluation.record import ProbeRecord, SessionRecord
from pss_integrations.evaluation.subjects import Asked
from pss_integrations.protocols import ExpandingSearcher
from pss_integrations.retrieval.fusion import reciprocal_rank_fusion

Tell = Callable[[str, int, int], None]
_Found: TypeAlias = Mapping[str, dict[tuple[str, str], list[str]]]
"""Searcher name to what was searched for to what was found, in one session."""


@dataclass(frozen=True)
class Runner:
    """Everything that the sessions of a run share.

    :param cast: The subjects, and who writes their states.
    :param arms: What is compared.
    :param searchers: Searcher name to searcher, all of the same pool.
    :param count_tokens: Counts a text's tokens, for cards.
    :param depth: How many documents each search returns.
    :param query_weight: How much the query weighs against what is appended to it.
    """

    cast: Cast
    arms: Sequence[Arm]
    searchers: Mapping[str, ExpandingSearcher]
    count_tokens: Callable[[str], int]
    depth: int = 100
    query_weight: float = 1.0

    def run(self, tell: Tell) -> list[SessionRecord]:
        """Run every session.

        :param tell: Told what is done, how many sessions are done and how many there are.
        """
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
        tell("searching")
        found: _Found = {name: {} for name in self.searchers}
        return SessionRecord(
            session_id=subject.session_id,
            group=subject.group,
            states={name: dict(getattr(state, "record", {})) for name, state in states.items()},
            probes=[
                self._probe(number, asked, {name: clues[name][at] for name in states}, found)
                for at, asked in enumerate(subject.asked)
            ],
        )

    def _read(self, states: Mapping[str, Any], queries: Sequence[str]) -> dict[str, list[str]]:
        """Per state a clue for each query; blank where there is no state."""
        written = {name: state for name, state in states.items() if state is not None}
        texts = self.cast.source.read([(state, queries) for state in written.values()])
        return {name: [""] * len(queries) for name in states} | dict(zip(written, texts, strict=True))

    def _probe(self, number: int, asked: Asked, clues: Mapping[str, str], found: _Found) -> ProbeRecord:
        probe, subject = asked.probe, self.cast.subjects[number]
        sent = {
            arm.name: arm.send(Turn(subject, asked, clues[arm.state] if arm.state else "", self.count_tokens))
            for arm in self.arms
        }
        rankings = {
            name: {one: self._search(name, one, found[name]) for one in set(sent.values())}
            for name in (self.searchers if probe.evidence else ())
        }
        return ProbeRecord(
            query=probe.query,
            category=probe.category,
            groups=len(probe.evidence),
            clues=clues,
            left_alone=[name for name, one in sent.items() if one == ((probe.query, ""),)],
            ranks={
                searcher: {arm: list(group_ranks(ranking[one], probe.evidence)) for arm, one in sent.items()}
                for searcher, ranking in rankings.items()
            },
        )

    def _search(self, name: str, sent: Sent, found: dict[tuple[str, str], list[str]]) -> list[str]:
        """Search for each part, once in a session, and fuse."""
        for part in sent:
            if part not in found:
                hits = self.searchers[name].search_expanded(*part, self.depth, query_weight=self.query_weight)
                found[part] = [hit.doc_id for hit in hits]
        fused = reciprocal_rank_fusion([found[part] for part in sent], key=str)
        return [doc_id for doc_id, _ in fused][: self.depth]
