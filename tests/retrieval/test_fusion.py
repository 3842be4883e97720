"""Reciprocal rank fusion: the arithmetic, which object is kept, and what is refused."""

import math
from typing import Any

import pytest

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval import reciprocal_rank_fusion


def fuse(rankings: list[Any], **options: Any) -> list[tuple[Any, float]]:
    return reciprocal_rank_fusion(rankings, key=lambda document: document, **options)


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    fused = dict(fuse([["a", "b"], ["b", "c"]]))
    assert fused == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62})


def test_documents_come_best_first_and_ties_by_key() -> None:
    assert [name for name, _ in fuse([["z", "m"], ["a", "m"]])] == ["m", "a", "z"]


def test_weights_and_c_enter_the_score() -> None:
    assert fuse([["a"], ["b"]], weights=[1, 3], c=1) == [("b", 1.5), ("a", 0.5)]


def test_k_cuts_the_list() -> None:
    assert [name for name, _ in fuse([["a", "b", "c"]], k=2)] == ["a", "b"]
    assert len(fuse([["a"]], k=9)) == 1


def test_a_duplicate_counts_only_at_its_best_rank() -> None:
    assert fuse([["a", "b", "a"]]) == [("a", 1 / 61), ("b", 1 / 62)]


def test_weight_zero_leaves_a_ranking_out() -> None:
    assert fuse([["a"], ["b", "a"]], weights=[1, 0]) == [("a", 1 / 61)]
    assert fuse([["a"]], weights=[0]) == []


@pytest.mark.parametrize("rankings", [[], [[]], [[], []]])
def test_nothing_in_nothing_out(rankings: list[Any]) -> None:
    assert fuse(rankings) == []


@pytest.mark.parametrize(
    ("weights", "kept"),
    [([1, 2], "second"), ([2, 1], "first"), ([1, 1], "second")],
)
def test_the_object_kept_is_of_the_heaviest_then_best_ranked_list(weights: list[float], kept: str) -> None:
    first = [("x", "first"), ("d", "first")]
    second = [("d", "second")]
    fused = reciprocal_rank_fusion([first, second], key=lambda item: item[0], weights=weights)
    assert dict(document for document, _ in fused)["d"] == kept


def test_keys_that_print_alike_stay_apart_in_either_order() -> None:
    assert fuse([[1], ["1"]]) == fuse([["1"], [1]])
    assert len(fuse([[1], ["1"]])) == 2


def test_inputs_are_left_alone() -> None:
    rankings, weights = [["b", "a", "b"], ["a"]], [1.0, 2.0]
    fuse(rankings, weights=weights)
    assert (rankings, weights) == ([["b", "a", "b"], ["a"]], [1.0, 2.0])


@pytest.mark.parametrize(
    "options",
    [
        {"weights": [1]},
        {"weights": [1, 2, 3]},
        {"weights": [1, -0.5]},
        {"weights": [1, math.nan]},
        {"weights": [1, math.inf]},
        {"weights": [1, "2"]},
        {"weights": [1, True]},
        {"c": 0},
        {"c": -60},
        {"c": 1.5},
        {"k": 0},
        {"k": -1},
        {"k": True},
        {"k": "3"},
    ],
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        fuse([["a"], ["b"]], **options)
