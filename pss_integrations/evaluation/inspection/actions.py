"""Recall and what the router did, by category (PSS, section N).

A router gives its actions to probes by what it sees of them, so the recall of the probes that got one action says
nothing of that action: actions are counted, and recall is of all probes of a category.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pss_integrations.evaluation.analysis import activations, plain, scores
from pss_integrations.evaluation.record import RunRecord


def actions(record: RunRecord, searcher: str, arms: Sequence[str]) -> dict[str, Any]:
    """Tabulate arms by category, as plain data.

    :param arms: Names of arms of the record.
    :return: Category to its number of probes with and without evidence, and by arm the primary metric (of those with
        evidence; ``None`` if there is none) and how many of each the arm searched for with more than the query.
    :raises InvalidInput: If the record has no such searcher or arm.
    """
    probes = [probe for session in record.sessions for probe in session.probes]
    return {
        category: {
            "with_evidence": (answerable := sum(bool(p.groups) for p in probes if p.category == category)),
            "without_evidence": sum(p.category == category for p in probes) - answerable,
            "arms": {
                arm: {
                    "recall": plain(scores(record, searcher, arm, category=category)) if answerable else None,
                    "activated": activations(record, arm, category, answerable=True).activated,
                    "activated_without_evidence": activations(record, arm, category).activated,
                }
                for arm in arms
            },
        }
        for category in dict.fromkeys(probe.category for probe in probes)
    }
