"""What a record of answers says: means over sessions, declared comparisons, and the joint criterion."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal, TypeAlias

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.analysis import Scores, family_result
from pss_integrations.evaluation.answering.record import Answered, AnswerRecord, ProbeAnswers
from pss_integrations.evaluation.families import FamilyResult, compare
from pss_integrations.evaluation.metrics import all_recall
from pss_integrations.evaluation.record import Family, ProbeRecord

Wording: TypeAlias = Literal["fixed", "own"]
"""Which question the reader got: the gold rewrite, or what the arm searched for."""

WORDINGS: Final[tuple[Wording, ...]] = ("fixed", "own")
MEASURES: Final[Mapping[str, Callable[[Answered], float]]] = {
    "F1": lambda one: one.f1,
    "EM": lambda one: float(one.exact),
    "right": lambda one: float(one.right),
}
"""Measures of an answer by name. Right is exact, or an F1 of at least the record's ``right_f1``."""
JOINT: Final = "joint"
"""The measure of finding and answering: all evidence among the first k, and the answer right."""


@dataclass(frozen=True, slots=True)
class JointResult:
    """Whether a treatment is better than every control, both in what it finds and in what is answered from it.

    Each side is a family corrected for itself (Holm). That both have to pass needs no further correction: where one
    effect is missing, its own family passes no more often than promised.

    :param retrieval: On the record's retrieval metric.
    :param answers: On token F1 under the fixed question.
    """

    retrieval: FamilyResult
    answers: FamilyResult

    @property
    def decidable(self) -> bool:
        """Whether there are enough source groups for either side to pass."""
        return self.retrieval.decidable and self.answers.decidable

    @property
    def passed(self) -> bool:
        """The joint retrieval-to-answer criterion (PSS, section G.2)."""
        return self.retrieval.passed and self.answers.passed


def answer_scores(
    record: AnswerRecord,
    searcher: str,
    arm: str,
    *,
    measure: str = "F1",
    wording: Wording = "fixed",
    category: str | None = None,
) -> Scores:
    """Score an arm's answers.

    :param measure: A key of :data:`MEASURES`, or :data:`JOINT`.
    :param wording: Which question the reader got.
    :param category: Only probes of this category.
    :raises InvalidInput: If the record holds no such searcher, arm or probe, or the measure is unknown.
    """
    _check_known("searcher", searcher, record.retrieval.searchers)
    _check_known("arm", arm, record.retrieval.arms)
    _check_known("measure", measure, (*MEASURES, JOINT))

    def value(found: ProbeRecord, answers: ProbeAnswers) -> float:
        answer: Answered = getattr(answers.arms[searcher][arm], wording)
        if measure == JOINT:
            return all_recall(found.ranks[searcher][arm], record.retrieval.k) * answer.right
        return MEASURES[measure](answer)

    return _by_session(record, value, category)


def ceiling_scores(record: AnswerRecord, *, measure: str = "F1", category: str | None = None) -> Scores:
    """Score the answers to the gold rewrite from the gold passages: the best that the reader can do (section P.1).

    :raises InvalidInput: As :func:`answer_scores`.
    """
    _check_known("measure", measure, MEASURES)
    return _by_session(record, lambda _, answers: MEASURES[measure](answers.ceiling), category)


def state_scores(record: AnswerRecord, state: str, *, measure: str = "F1", category: str | None = None) -> Scores:
    """Score the answers to the user's own words from the gold passages, with a state in force (section P.2).

    :param state: Its name, or ``"unloaded"``.
    :raises InvalidInput: As :func:`answer_scores`, or if nothing was answered under the state.
    """
    _check_known("measure", measure, MEASURES)
    _check_known("state", state, ablated_states(record))
    return _by_session(record, lambda _, answers: MEASURES[measure](answers.states[state]), category, with_states=True)


def ablated_states(record: AnswerRecord) -> list[str]:
    """Names of the states that answers were read under, the treatment first; none without the ablation."""
    return [record.ablation.treatment, *record.ablation.controls] if record.ablation else []


def ablated_categories(record: AnswerRecord) -> list[str]:
    """Categories of the probes that were answered under states, in the order of their first one."""
    probes = [pair for session in _answered(record) for pair in session.probes]
    return list(dict.fromkeys(found.category for found, answers in probes if answers.states))


def answer_family(
    record: AnswerRecord, searcher: str, family: Family, *, wording: Wording = "fixed"
) -> FamilyResult | None:
    """Compare a family's treatment with its controls on token F1; ``None`` if there is but one source group."""
    arms = (family.treatment, *family.controls)
    found = {arm: answer_scores(record, searcher, arm, wording=wording, category=family.category) for arm in arms}
    return _compared(found, family)


def state_family(record: AnswerRecord) -> FamilyResult | None:
    """Compare states over the same question and passages; ``None`` without the ablation or a second source group."""
    found = {state: state_scores(record, state) for state in ablated_states(record)}
    return _compared(found, record.ablation) if record.ablation else None


def joint_result(record: AnswerRecord, searcher: str, family: Family) -> JointResult | None:
    """Judge a family on both sides; ``None`` if there is but one source group."""
    retrieval, answers = family_result(record.retrieval, searcher, family), answer_family(record, searcher, family)
    return JointResult(retrieval, answers) if retrieval and answers else None


@dataclass(frozen=True, slots=True)
class _Session:
    group: str
    probes: list[tuple[ProbeRecord, ProbeAnswers]]


def _answered(record: AnswerRecord) -> list[_Session]:
    return [
        _Session(found.group, [(one, two) for one, two in zip(found.probes, answered.probes, strict=True) if two])
        for found, answered in zip(record.retrieval.sessions, record.sessions, strict=True)
    ]


def _by_session(
    record: AnswerRecord,
    value: Callable[[ProbeRecord, ProbeAnswers], float],
    category: str | None,
    *,
    with_states: bool = False,
) -> Scores:
    """One value per session that has such a probe: the mean over them."""
    judged = list[tuple[str, list[float]]]()
    for session in _answered(record):
        values = [
            value(found, answers)
            for found, answers in session.probes
            if category in (None, found.category) and (answers.states or not with_states)
        ]
        if values:
            judged.append((session.group, values))
    if not judged:
        raise InvalidInput(f"no probe of category {category!r} was answered" if category else "no probe was answered")
    return Scores(
        values=tuple(fmean(values) for _, values in judged),
        groups=tuple(group for group, _ in judged),
        probes=sum(len(values) for _, values in judged),
    )


def _compared(found: Mapping[str, Scores], family: Family) -> FamilyResult | None:
    values, groups = {name: one.values for name, one in found.items()}, found[family.treatment].groups
    return compare(values, family.treatment, family.controls, groups=groups) if len(set(groups)) > 1 else None


def _check_known(what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise InvalidInput(f"unknown {what} {name!r}: use one of {', '.join(known)}")
