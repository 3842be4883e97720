"""A probe, all that it is answered from, and how its answers are scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pss_integrations.evaluation.answering.finding import Found
from pss_integrations.evaluation.answering.reader import Request
from pss_integrations.evaluation.answering.record import Answered, ArmAnswers, ProbeAnswers
from pss_integrations.evaluation.answering.scores import References
from pss_integrations.evaluation.pss320 import Probe
from pss_integrations.types import Passage

Answers: TypeAlias = Mapping[Request, str]


@dataclass(frozen=True, slots=True)
class Question:
    """A probe that something answers.

    :param references: What is right.
    :param gold: A passage of each evidence group.
    :param found: Searcher name to arm name to what was found.
    """

    probe: Probe
    references: References
    gold: tuple[Passage, ...]
    found: Mapping[str, Mapping[str, Found]]

    @property
    def ceiling(self) -> Request:
        """The fixed question with the gold passages."""
        return Request(self.probe.gold_rewrite, self.gold)

    @property
    def same(self) -> Request:
        """What is asked under every state: the user's own words, whose scope a state could know, and gold passages."""
        return Request(self.probe.query, self.gold)

    def fixed(self, one: Found) -> Request:
        """The fixed question with what an arm found."""
        return Request(self.probe.gold_rewrite, one.passages)

    def own(self, one: Found) -> Request:
        """What an arm searched for, as the question, with what it found."""
        return Request(one.own, one.passages)

    def requests(self) -> Iterator[Request]:
        """All that is to be answered without a state."""
        yield self.ceiling
        yield self.same
        for arms in self.found.values():
            for one in arms.values():
                yield self.fixed(one)
                yield self.own(one)

    def record(self, answers: Answers, under: Mapping[str, Answers]) -> ProbeAnswers:
        """Score the answers.

        :param answers: Those without a state.
        :param under: State name to the answers under it.
        """
        return ProbeAnswers(
            references=[list(parts) for parts in self.references],
            rewrite=self.probe.gold_rewrite,
            ceiling=self._scored(answers[self.ceiling]),
            arms={
                name: {arm: self._of_arm(one, answers) for arm, one in arms.items()}
                for name, arms in self.found.items()
            },
            states={name: self._scored(found[self.same]) for name, found in under.items()},
        )

    def _of_arm(self, one: Found, answers: Answers) -> ArmAnswers:
        return ArmAnswers(
            doc_ids=[passage.doc_id for passage in one.passages],
            own_question=one.own,
            fixed=self._scored(answers[self.fixed(one)]),
            own=self._scored(answers[self.own(one)]),
        )

    def _scored(self, text: str) -> Answered:
        return Answered.scored(text, self.references)
