"""Runs answering: each arm finds passages, a reader without a state answers from them (PSS, sections B.4, P and V.4).

Every probe that something answers is asked in these ways:

============  =====================  ====================================================================
answer        question               passages
============  =====================  ====================================================================
ceiling       the gold rewrite       the gold ones: of each evidence group the first by id
fixed         the gold rewrite       the first k that an arm found
own           the arm's own string   the same
states        the user's own words   the gold ones; unloaded, and with each of some states in force
============  =====================  ====================================================================

In the first three the reader differs in nothing but what it is given; in the last in nothing but the state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.answering.finding import Finds, check_arms, find_passages
from pss_integrations.evaluation.answering.questions import Answers, Question
from pss_integrations.evaluation.answering.reader import Request, StateReader
from pss_integrations.evaluation.answering.reads import KeptAnswers
from pss_integrations.evaluation.answering.record import AnswerRecord, SessionAnswers
from pss_integrations.evaluation.answering.scores import RIGHT_F1, References, as_parts
from pss_integrations.evaluation.controls import STATES, Cast
from pss_integrations.evaluation.pss320 import Probe
from pss_integrations.evaluation.pss320_facts import Split
from pss_integrations.evaluation.record import Family
from pss_integrations.evaluation.subjects import Asked, Subject
from pss_integrations.evaluation.suites import POOL, Setup, pss320_subjects
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.types import Passage

UNLOADED: Final = "unloaded"
ANSWER_ARMS: Final = ("raw", "gold", "card/append", "correct/append", "matched_wrong/append", "shuffled/append")
ANSWER_FAMILIES: Final = (
    Family(
        question="Does what the right state finds give better answers, unlike what a wrong or a shuffled one finds?",
        treatment="correct/append",
        controls=["raw", "matched_wrong/append", "shuffled/append"],
        joint=True,
    ),
    Family(question="Are they better than with a card?", treatment="correct/append", controls=["card/append"]),
)
ABLATION: Final = Family(
    question="Does a state in force give better answers to the same question from the same passages?",
    treatment="correct",
    controls=[UNLOADED, "matched_wrong", "shuffled"],
    joint=True,
)
"""Declared before any run, on token F1. The paper found no reliable effect of it (section P.2)."""


def run_pss320_answers(
    setup: Setup, reads: KeptAnswers, *, sessions: int, split: Split, seed: int, arms: Sequence[str], k: int
) -> AnswerRecord:
    """Run the first sessions of a split of PSS-320, in the pool of all 320.

    :param reads: As for :func:`answer_subjects`.
    :raises InvalidInput: As :func:`answer_subjects`, and as
        :func:`~pss_integrations.evaluation.suites.pss320_subjects`.
    """
    benchmark = pss320.generate(POOL, seed=seed)
    return answer_subjects(
        setup,
        reads,
        pss320_subjects(benchmark, split, sessions),
        benchmark.passages,
        kind="pss320-answers",
        arms=arms,
        k=k,
        config={"seed": seed, "split": split, "sessions": sessions, "pool": POOL},
    )


def answer_subjects(
    setup: Setup,
    reads: KeptAnswers,
    subjects: Sequence[Subject],
    passages: Sequence[Passage],
    *,
    kind: str,
    arms: Sequence[str],
    k: int,
    config: Mapping[str, Any],
    references: Callable[[Probe], References] = as_parts,
) -> AnswerRecord:
    """Find passages with every arm, read the answers and score them.

    :param reads: Who answers. The ablation is left out for a reader that cannot answer under a state.
    :param passages: The pool.
    :param kind: The benchmark's name.
    :param arms: Names of :data:`~pss_integrations.evaluation.arms.ARMS`.
    :param k: How many passages the reader gets, and the cut-off of All-Recall.
    :param config: What the result depends on, besides what setup and reader say of themselves.
    :param references: What is right for a probe.
    :raises InvalidInput: If an arm is unknown or only the best one of others, or no probe has evidence and answers.
    """
    check_arms(arms)
    if not any(_is_answerable(asked) for subject in subjects for asked in subject.asked):
        raise InvalidInput(f"no probe of {kind} has both evidence and answers, so there is nothing to read")
    cast = Cast(subjects, setup.source, HistoryTargets(), setup.tools)
    records, finds = find_passages(setup, cast, setup.index(passages), arms, k=k)
    reading = _Reading(cast, reads, finds, {passage.doc_id: passage for passage in passages}, references)
    before = reading.digests()
    sessions = list[SessionAnswers]()
    for number in range(len(subjects)):
        setup.tell("answering", number, len(subjects))
        sessions.append(reading.session(number))
    return AnswerRecord(
        retrieval=setup.record(kind, records, ANSWER_FAMILIES, arms, metric="All-Recall", k=k, config=config),
        reader=reads.about,
        right_f1=RIGHT_F1,
        base_logits=[*before, *reading.digests()],
        ablation=ABLATION if any(probe and probe.states for one in sessions for probe in one.probes) else None,
        sessions=sessions,
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """What the sessions of a run share.

    :param passages: The pool by id.
    """

    cast: Cast
    reads: KeptAnswers
    finds: Finds
    passages: Mapping[str, Passage]
    references: Callable[[Probe], References]

    def digests(self) -> list[str]:
        """The hash of what the base model makes of a fixed text; none if the reader has no states to leave a trace."""
        reader = self.reads.reader
        return [reader.base_digest()] if isinstance(reader, StateReader) else []

    def session(self, number: int) -> SessionAnswers:
        """Answer the probes of one session."""
        subject = self.cast.subjects[number]
        questions = {at: self._question(subject, one) for at, one in enumerate(subject.asked) if _is_answerable(one)}
        answers = self.reads.read(request for one in questions.values() for request in one.requests())
        under = self._under_states(number, answers, [one.same for one in questions.values()])
        probes = [questions[at].record(answers, under) if at in questions else None for at in range(len(subject.asked))]
        return SessionAnswers(session_id=subject.session_id, probes=probes)

    def _question(self, subject: Subject, asked: Asked) -> Question:
        probe = asked.probe
        gold = tuple(self.passages[min(group)] for group in probe.evidence)
        return Question(probe, self.references(probe), gold, self.finds[subject.session_id, asked])

    def _under_states(self, number: int, unloaded: Answers, same: Sequence[Request]) -> dict[str, Answers]:
        """State name to answers; none where the reader knows no states, or the session has none."""
        if not isinstance(self.reads.reader, StateReader):
            return {}
        states = {
            name: STATES[name](self.cast, number) for name in (ABLATION.treatment, *ABLATION.controls) if name in STATES
        }
        if any(state is None for state in states.values()):
            return {}
        return {UNLOADED: unloaded, **{name: self.reads.with_state(state).read(same) for name, state in states.items()}}


def _is_answerable(asked: Asked) -> bool:
    return bool(asked.probe.evidence and asked.probe.answers)
