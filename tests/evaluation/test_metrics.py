import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.metrics import Mean, all_recall_at_k, hit_at_k, mean_at_k, recall_at_k

METRICS = [all_recall_at_k, recall_at_k, hit_at_k]
ids = st.sampled_from("abcdef")
rankings = st.lists(ids, unique=True)
evidences = st.lists(st.frozensets(ids, min_size=1), min_size=1, max_size=4)


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
