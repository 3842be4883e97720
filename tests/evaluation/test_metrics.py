import math
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput, MissingExtra
from pss_integrations.evaluation.metrics import (
    Evidence,
    Mean,
    all_recall,
    all_recall_at_k,
    group_ranks,
    hit,
    hit_at_k,
    mean_at_k,
    ndcg_at_k,
    recall,
    recall_at_k,
    reciprocal_rank,
)

METRICS = [all_recall_at_k, recall_at_k, hit_at_k]
OF_RANKS = [all_recall, recall, hit]
ids = st.sampled_from("abcdef")
rankings = st.lists(ids, unique=True)
evidences = st.lists(st.frozensets(ids, min_size=1), min_size=1, max_size=4)
several = st.lists(st.tuples(rankings, evidences), max_size=4)


def textbook_ndcg(ranking: Sequence[str], evidence: Evidence, k: int) -> float:
    relevant = {doc_id for group in evidence for doc_id in group}
    gain = sum(1 / math.log2(at + 2) for at, doc_id in enumerate(ranking[:k]) if doc_id in relevant)
    return gain / sum(1 / math.log2(at + 2) for at in range(min(k, len(relevant))))


@pytest.mark.parametrize(
    ("k", "all_recall", "recall", "hit"),
    [(1, 0.0, 0.0, 0.0), (2, 0.0, 0.5, 1.0), (3, 0.0, 0.5, 1.0), (4, 1.0, 1.0, 1.0), (99, 1.0, 1.0, 1.0)],
)
def test_what_counts_is_the_first_document_of_each_group(k: int, all_recall: float, recall: float, hit: float) -> None:
    ranking, evidence = ["x", "a1", "a2", "b"], [{"a1", "a2"}, {"b"}]
    assert all_recall_at_k(ranking, evidence, k) == all_recall
    assert recall_at_k(ranking, evidence, k) == recall
    assert hit_at_k(ranking, evidence, k) == hit


@given(rankings, evidences, st.integers(1, 8))
def test_all_recall_is_never_above_recall_nor_recall_above_hit(ranking, evidence, k) -> None:
    assert (
        0.0
        <= all_recall_at_k(ranking, evidence, k)
        <= recall_at_k(ranking, evidence, k)
        <= hit_at_k(ranking, evidence, k)
        <= 1.0
    )


@pytest.mark.parametrize("metric", METRICS)
@given(ranking=rankings, evidence=evidences, k=st.integers(1, 8))
def test_looking_further_down_never_lowers_a_score(metric, ranking, evidence, k) -> None:
    assert metric(ranking, evidence, k) <= metric(ranking, evidence, k + 1)
    assert metric([], evidence, k) == 0.0


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_refused(metric, k: int) -> None:
    with pytest.raises(InvalidInput, match="k must be at least 1"):
        metric(["a"], [{"a"}], k)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("evidence", [[], [set()], [{"a"}, set()]])
def test_missing_evidence_is_refused(metric, evidence) -> None:
    with pytest.raises(InvalidInput, match="at least one"):
        metric(["a"], evidence, 1)


def test_the_mean_leaves_out_probes_without_evidence_and_says_how_many_are_left() -> None:
    results = [(["a"], [{"a"}]), (["a"], ()), (["b"], [{"a"}])]
    assert mean_at_k(all_recall_at_k, results, 4) == Mean(0.5, 2)


@pytest.mark.parametrize("results", [[], [(["a"], ())]])
def test_a_mean_over_nothing_is_refused(results) -> None:
    with pytest.raises(InvalidInput, match="no probe has evidence"):
        mean_at_k(hit_at_k, results, 4)


def test_a_mean_at_k_below_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="k must be at least 1"):
        mean_at_k(hit_at_k, [(["a"], [{"a"}])], 0)


def test_a_groups_rank_is_that_of_its_first_document() -> None:
    evidence = [{"a1", "a2"}, {"missing"}, {"b"}]
    assert group_ranks(["x", "a2", "b", "a1"], evidence) == (2, None, 3)
    assert group_ranks(["x", "a2", "x", "a2", "b"], evidence) == (2, None, 5)
    assert group_ranks([], evidence) == (None, None, None)


@given(rankings, evidences)
def test_a_group_is_met_at_its_rank_and_not_above(ranking, evidence) -> None:
    for group, rank in zip(evidence, group_ranks(ranking, evidence), strict=True):
        assert group.isdisjoint(ranking if rank is None else ranking[: rank - 1])
        assert rank is None or ranking[rank - 1] in group


@pytest.mark.parametrize(
    ("ranks", "scores"),
    [
        ((2, None, 3), (0.0, 2 / 3, 1.0)),
        ((3, 1), (1.0, 1.0, 1.0)),
        ((4, None), (0.0, 0.0, 0.0)),
        ([3], (1.0, 1.0, 1.0)),
    ],
)
def test_ranks_are_enough_to_score_a_query(ranks, scores) -> None:
    assert tuple(metric(ranks, 3) for metric in OF_RANKS) == scores


@pytest.mark.parametrize("metric", OF_RANKS)
def test_ranks_that_cannot_be_are_refused(metric) -> None:
    with pytest.raises(InvalidInput, match="k must be at least 1"):
        metric([1], 0)
    for ranks in ([], [0], [None, -1]):
        with pytest.raises(InvalidInput, match="each None or from 1"):
            metric(ranks, 1)


def test_the_ranks_of_missing_evidence_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one"):
        group_ranks(["a"], [])


@pytest.mark.parametrize(
    ("ranking", "evidence", "k", "ndcg"),
    [
        ("abc", [{"a"}], 1, 1.0),
        ("abc", [{"b"}], 1, 0.0),
        ("abc", [{"b"}], 2, 1 / math.log2(3)),
        ("abc", [{"c"}], 10, 0.5),
        ("abc", [{"a"}, {"c"}], 3, (1 + 1 / 2) / (1 + 1 / math.log2(3))),
        ("abc", [{"a", "c"}], 3, (1 + 1 / 2) / (1 + 1 / math.log2(3))),
        ("abc", [{"a"}, {"z"}], 1, 1.0),
        ("", [{"a"}], 5, 0.0),
    ],
)
def test_ndcg_as_computed_by_hand(ranking: str, evidence, k: int, ndcg: float) -> None:
    assert ndcg_at_k([(list(ranking), evidence)], k) == pytest.approx([ndcg])


@given(several, st.integers(1, 8))
def test_ndcg_of_many_queries_is_the_textbooks(results, k: int) -> None:
    assert ndcg_at_k(results, k) == pytest.approx([textbook_ndcg(*result, k) for result in results])


@given(several)
def test_the_reciprocal_rank_is_that_of_the_first_document_of_any_group(results) -> None:
    first = [min((rank for rank in group_ranks(*result) if rank), default=math.inf) for result in results]
    assert reciprocal_rank(results) == pytest.approx([1 / rank for rank in first])


def test_only_the_order_counts_however_the_ids_sort_and_however_many_there_are() -> None:
    ranking = [f"doc {number}" for number in range(2_000)]
    results = [(ranking, [{ranking[1_999]}]), (ranking[::-1], [{ranking[1_999]}])]
    assert reciprocal_rank(results) == pytest.approx([1 / 2_000, 1.0])
    assert ndcg_at_k(results, 2_000) == pytest.approx([1 / math.log2(2_001), 1.0])


@pytest.mark.parametrize("measure", [reciprocal_rank, lambda results: ndcg_at_k(results, 3)])
def test_results_that_cannot_be_measured_are_refused(measure) -> None:
    with pytest.raises(InvalidInput, match="at least one"):
        measure([(["a"], [{"a"}]), (["a"], [])])
    with pytest.raises(InvalidInput, match="names a document twice"):
        measure([(["a", "b", "a"], [{"a"}])])


def test_ndcg_at_k_below_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="k must be at least 1"):
        ndcg_at_k([(["a"], [{"a"}])], 0)


def test_without_ir_measures_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtra, match=r"ir_measures is not installed.*pss-integrations\[eval\]"):
        reciprocal_rank([(["a"], [{"a"}])])
