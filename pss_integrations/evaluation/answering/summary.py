"""A record of answers as plain data: every figure with its interval, every declared comparison, and the verdicts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from pss_integrations.evaluation.analysis import Scores, plain, scores
from pss_integrations.evaluation.answering.analysis import (
    JOINT,
    MEASURES,
    WORDINGS,
    ablated_categories,
    ablated_states,
    answer_family,
    answer_scores,
    ceiling_scores,
    joint_result,
    state_family,
    state_scores,
)
from pss_integrations.evaluation.answering.record import AnswerRecord
from pss_integrations.evaluation.statistics import paired_difference

MEMORY_MARGIN: Final = 0.05
"""By so much of F1 a state has to exceed every control, within a category, to count as a memory (PSS, section P.2)."""


def summary(record: AnswerRecord) -> dict[str, Any]:
    """Return all figures.

    - ``ceiling``: from the gold passages;
    - ``arms``: what each arm found (All-Recall), what was answered from it under either question and how much the
      arm's own string changes, and both together (``joint``);
    - ``families``: the declared comparisons on F1 under either question;
    - ``joint``: whether a family passes on what is found and on what is answered;
    - ``states``: the ablation, with the categories in which a state would be a memory;
    - ``isolated``: whether the base model was bitwise the same before the first answer and after the last one.
    """
    found = record.retrieval
    return {
        "kind": found.kind,
        "k": found.k,
        "sessions": len(record.sessions),
        "right_f1": record.right_f1,
        "isolated": record.isolated,
        "ceiling": {measure: plain(ceiling_scores(record, measure=measure)) for measure in MEASURES},
        "arms": {searcher: {arm: _arm(record, searcher, arm) for arm in found.arms} for searcher in found.searchers},
        "families": [
            {"question": family.question, "searcher": searcher, "wording": wording, **result.to_dict()}
            for family in found.families
            for searcher in found.searchers
            for wording in WORDINGS
            if (result := answer_family(record, searcher, family, wording=wording))
        ],
        "joint": [
            {
                "question": family.question,
                "searcher": searcher,
                "retrieval_passed": result.retrieval.passed,
                "answers_passed": result.answers.passed,
                "decidable": result.decidable,
                "passed": result.passed,
            }
            for family in found.families
            for searcher in found.searchers
            if (result := joint_result(record, searcher, family))
        ],
        "states": _states(record) if record.ablation else None,
    }


def _arm(record: AnswerRecord, searcher: str, arm: str) -> dict[str, Any]:
    of = {wording: answer_scores(record, searcher, arm, wording=wording) for wording in WORDINGS}
    return {
        record.retrieval.metric: plain(scores(record.retrieval, searcher, arm)),
        **{
            wording: {
                measure: plain(answer_scores(record, searcher, arm, measure=measure, wording=wording))
                for measure in (*MEASURES, JOINT)
            }
            for wording in WORDINGS
        },
        "own_minus_fixed": _difference(of["own"], of["fixed"]),
    }


def _difference(one: Scores, other: Scores) -> dict[str, float] | None:
    """The mean difference with its interval; ``None`` if there is but one source group."""
    if len(set(one.groups)) < 2:
        return None
    interval = paired_difference(one.values, other.values, groups=one.groups)
    return {name: round(value, 4) for name, value in asdict(interval).items()}


def _states(record: AnswerRecord) -> dict[str, Any]:
    states = ablated_states(record)
    result = state_family(record)
    return {
        "scores": {
            state: {measure: plain(state_scores(record, state, measure=measure)) for measure in MEASURES}
            for state in states
        },
        "family": result.to_dict() if result else None,
        "categories": {category: _category(record, category) for category in ablated_categories(record)},
    }


def _category(record: AnswerRecord, category: str) -> dict[str, Any]:
    means = {state: state_scores(record, state, category=category).mean for state in ablated_states(record)}
    treatment, *controls = means.values()
    return {
        "F1": {state: round(mean, 4) for state, mean in means.items()},
        "memory": all(treatment > control + MEMORY_MARGIN for control in controls),
    }
