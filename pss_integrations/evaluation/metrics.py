"""Retrieval metrics over ids: how much of the needed evidence is found, and how high (PSS, section 3).

Evidence comes in groups of ``doc_id``: any one of a group serves, every group is needed. A plain set of gold
documents is one group per document for All-Recall and Recall, and one group of all of them where any one is enough.

All-Recall, Recall and hit depend only on where each group is first met: :func:`group_ranks` says it, and the metrics
without ``_at_k`` in their name are computed from it, so that a record of ranks is enough to score a run at any ``k``.
nDCG and RR count every document of any group as relevant, and come from ir-measures for many queries in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pss_integrations.errors import InvalidInput, MissingExtra

Evidence: TypeAlias = Collection[Collection[str]]
Result: TypeAlias = tuple[Sequence[str], Evidence]
"""One query: the ids that were found, best first, and the evidence groups."""
Ranks: TypeAlias = Sequence[int | None]
"""Per evidence group the rank of its first document, from 1; ``None`` if it was not found."""
Metric: TypeAlias = Callable[[Sequence[str], Evidence, int], float]


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over probes: ``value`` from 0 to 1, and the number ``n`` of probes that it is over."""

    value: float
    n: int


def group_ranks(ranking: Sequence[str], evidence: Evidence) -> tuple[int | None, ...]:
    """Per evidence group the rank of its first document, from 1; ``None`` where the ranking has none of it.

    :param ranking: Ids of what was found, best first.
    :param evidence: Groups of ids.
    :raises InvalidInput: If there is no evidence, or a group of it is empty.
    """
    _check_evidence(evidence)
    rank_of = {doc_id: rank for rank, doc_id in reversed(list(enumerate(ranking, start=1)))}
    return tuple(min((rank_of[one] for one in group if one in rank_of), default=None) for group in evidence)


def all_recall(ranks: Ranks, k: int) -> float:
    """1.0 if every evidence group has a document among the first ``k``, else 0.0 (All-Recall@k).

    :param ranks: As :func:`group_ranks` gives them.
    :param k: How far down to look.
    :raises InvalidInput: If ``k`` is below 1, or there are no ranks, or one is below 1.
    """
    return float(all(_within(ranks, k)))


def recall(ranks: Ranks, k: int) -> float:
    """Share of the evidence groups that have a document among the first ``k``; else as :func:`all_recall`."""
    found = _within(ranks, k)
    return sum(found) / len(found)


def hit(ranks: Ranks, k: int) -> float:
    """1.0 if any evidence group has a document among the first ``k``; else as :func:`all_recall`."""
    return float(any(_within(ranks, k)))


def all_recall_at_k(ranking: Sequence[str], evidence: Evidence, k: int) -> float:
    """:func:`all_recall` of the :func:`group_ranks`.

    :raises InvalidInput: If ``k`` is below 1, or there is no evidence, or a group of it is empty.
    """
    return all_recall(group_ranks(ranking, evidence), k)


def recall_at_k(ranking: Sequence[str], evidence: Evidence, k: int) -> float:
    """:func:`recall` of the :func:`group_ranks`; else as :func:`all_recall_at_k`."""
    return recall(group_ranks(ranking, evidence), k)


def hit_at_k(ranking: Sequence[str], evidence: Evidence, k: int) -> float:
    """:func:`hit` of the :func:`group_ranks`; else as :func:`all_recall_at_k`."""
    return hit(group_ranks(ranking, evidence), k)


def mean_at_k(metric: Metric, results: Iterable[Result], k: int) -> Mean:
    """Average a metric over the probes that have evidence; the others are left out and not counted in ``n``.

    :param metric: One of this module that takes a ranking.
    :param results: Per probe the ranking and the evidence, which may be empty.
    :raises InvalidInput: If ``k`` is below 1, or no probe has evidence.
    """
    scores = [metric(ranking, evidence, k) for ranking, evidence in results if evidence]
    if not scores:
        raise InvalidInput("no probe has evidence, so there is nothing to average")
    return Mean(sum(scores) / len(scores), len(scores))


def ndcg_at_k(results: Sequence[Result], k: int) -> list[float]:
    """Per query nDCG@k with binary gains, a document at rank ``r`` discounted by ``log2(r + 1)``.

    :param results: Per query the ranking, which names a document once, and the evidence.
    :param k: Cut-off, of the ideal ranking too.
    :raises InvalidInput: If ``k`` is below 1, evidence is missing, or a ranking names a document twice.
    :raises MissingExtra: If ir-measures is not installed.
    """
    _check_k(k)
    return _measured(f"nDCG@{k}", results)


def reciprocal_rank(results: Sequence[Result]) -> list[float]:
    """Per query 1 over the rank of the first relevant document, 0.0 if none was found; their mean is MRR.

    :param results: As in :func:`ndcg_at_k`.
    :raises InvalidInput: If evidence is missing, or a ranking names a document twice.
    :raises MissingExtra: If ir-measures is not installed.
    """
    return _measured("RR", results)


def _measured(measure: str, results: Sequence[Result]) -> list[float]:
    """Score each result; the providers order by score, so the scores are made of the ranks and none are equal."""
    for ranking, evidence in results:
        _check_evidence(evidence)
        if len(set(ranking)) < len(ranking):
            raise InvalidInput("a ranking names a document twice: each should be named once, at its best rank")
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtra("eval", error.name or "ir_measures") from error
    relevant = {
        str(query): {doc_id: 1 for group in evidence for doc_id in group} for query, (_, evidence) in enumerate(results)
    }
    run = {
        str(query): {doc_id: -rank for rank, doc_id in enumerate(ranking)} for query, (ranking, _) in enumerate(results)
    }
    found = ir_measures.iter_calc([ir_measures.parse_measure(measure)], relevant, run)
    scored = {one.query_id: one.value for one in found}
    return [float(scored[query]) for query in relevant]


def _within(ranks: Ranks, k: int) -> list[bool]:
    _check_k(k)
    if not ranks or any(rank is not None and rank < 1 for rank in ranks):
        raise InvalidInput(f"ranks are one per evidence group, each None or from 1, got {list(ranks)}")
    return [rank is not None and rank <= k for rank in ranks]


def _check_k(k: int) -> None:
    if k < 1:
        raise InvalidInput(f"k must be at least 1, got {k}")


def _check_evidence(evidence: Evidence) -> None:
    if not evidence or not all(evidence):
        raise InvalidInput("evidence needs at least one group, and every group at least one doc_id")
