"""Retrieval metrics over ids: how much of the needed evidence lies among the first ``k`` (PSS, section 3).

Evidence comes in groups of ``doc_id``: any one of a group serves, every group is needed. A plain set of gold
documents is one group per document for All-Recall and Recall, and one group of all of them where any one is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pss_integrations.errors import InvalidInput

Evidence: TypeAlias = Collection[Collection[str]]
Metric: TypeAlias = Callable[[Sequence[str], Evidence, int], float]


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over probes: ``value`` from 0 to 1, and the number ``n`` of probes that it is over."""

    value: float
    n: int


def all_recall_at_k(ranking: Sequence[str], evidence: Evidence, k: int) -> float:
    """1.0 if every evidence group has a document among the first ``k``, else 0.0 (All-Recall@k).

    :param ranking: Ids of what was found, best first.
    :param evidence: Groups of ids.
    :param k: How far down to look.
    :raises InvalidInput: If ``k`` is below 1, or there is no evidence, or a group of it is empty.
    """
    return float(all(_groups_found(ranking, evidence, k)))


def recall_at_k(ranking: Sequence[str], evidence: Evidence, k: int) -> float:
    """Share of the evidence groups that have a document among the first ``k``; else as :func:`all_recall_at_k`."""
    found = _groups_found(ranking, evidence, k)
    return sum(found) / len(found)


def hit_at_k(ranking: Sequence[str], evidence: Evidence, k: int) -> float:
    """1.0 if any evidence group has a document among the first ``k``; else as :func:`all_recall_at_k`."""
    return float(any(_groups_found(ranking, evidence, k)))


def mean_at_k(metric: Metric, results: Iterable[tuple[Sequence[str], Evidence]], k: int) -> Mean:
    """Average a metric over the probes that have evidence; the others are left out and not counted in ``n``.

    :param metric: One of this module.
    :param results: Per probe the ranking and the evidence, which may be empty.
    :raises InvalidInput: If ``k`` is below 1, or no probe has evidence.
    """
    scores = [metric(ranking, evidence, k) for ranking, evidence in results if evidence]
    if not scores:
        raise InvalidInput("no probe has evidence, so there is nothing to average")
    return Mean(sum(scores) / len(scores), len(scores))


def _groups_found(ranking: Sequence[str], evidence: Evidence, k: int) -> list[bool]:
    if k < 1:
        raise InvalidInput(f"k must be at least 1, got {k}")
    if not evidence or not all(evidence):
        raise InvalidInput("evidence needs at least one group, and every group at least one doc_id")
    first = set(ranking[:k])
    return [not first.isdisjoint(group) for group in evidence]
