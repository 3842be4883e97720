import importlib
import itertools
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar

from pss_integrations.errors import InvalidInput, MissingExtra
from pss_integrations.evaluation.families import compare
from pss_integrations.evaluation.statistics import (
    Interval,
    holm,
    mcnemar_test,
    mean_interval,
    non_inferiority,
    paired_difference,
    sign_flip_test,
    sign_test,
)

eighths = st.integers(-16, 16).map(lambda number: number / 8)  # so that sums are exact in floating point
pairs = st.lists(st.tuples(eighths, eighths), min_size=2, max_size=12).map(lambda rows: np.array(rows).T)
small = settings(max_examples=30, deadline=None)


def exact_sign_flip(differences: Sequence[float], alternative: str) -> float:
    """Enumerate every swap, as a textbook says it."""
    size = abs if alternative == "two-sided" else float
    sums = [
        sum(map(float.__mul__, signs, differences)) for signs in itertools.product((1.0, -1.0), repeat=len(differences))
    ]
    return sum(size(one) >= size(sum(differences)) for one in sums) / len(sums)


def test_the_papers_sign_test_of_134_wins_and_no_loss() -> None:
    assert f"{holm({'H1': sign_test(134, 0), 'H2': 0.01})['H1']:.2e}" == "1.84e-40"


def test_the_papers_least_p_value_of_three_comparisons_with_ten_thousand_resamples() -> None:
    ones, zeros = np.ones(256), np.zeros(256)
    family = compare(
        {"pss": ones, "raw": zeros, "wrong": zeros, "shuffled": zeros}, "pss", ["raw", "wrong", "shuffled"]
    )
    assert [one.p_holm for one in family.comparisons.values()] == pytest.approx([0.00029997] * 3, rel=1e-5)


def test_the_papers_least_p_value_of_four_comparisons_with_a_hundred_thousand_resamples() -> None:
    least = sign_flip_test(np.ones(40), np.zeros(40), resamples=100_000)
    assert holm(dict.fromkeys("abcd", least) | {"a": least})["a"] == pytest.approx(3.99996e-05, rel=1e-6)


@pytest.mark.parametrize(
    ("wins", "losses", "p"), [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 2 / 32), (0, 5, 2 / 32), (4, 1, 12 / 32)]
)
def test_a_sign_test_counts_the_outcomes_that_are_as_rare(wins: int, losses: int, p: float) -> None:
    assert sign_test(wins, losses) == pytest.approx(p)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_mcnemar_is_what_statsmodels_makes_of_the_table(rows) -> None:
    a, b = np.array(rows).T
    table = [[sum(a & b), sum(a & ~b)], [sum(~a & b), sum(~a & ~b)]]
    assume(table[0][1] + table[1][0])  # statsmodels has nan where nothing differs
    assert mcnemar_test(a, b) == pytest.approx(mcnemar(table, exact=True).pvalue)


def test_mcnemar_without_a_difference_shows_nothing() -> None:
    assert mcnemar_test([0, 1, 1], [0, 1, 1]) == 1.0


def test_holm_steps_down() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}
    )


@settings(max_examples=15, deadline=None)  # statsmodels collects garbage at every call
@given(st.lists(st.integers(0, 1000).map(lambda number: number / 1000), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_never_lowers_a_p_value(p_values: list[float]) -> None:
    raw = {f"control {number}": p for number, p in enumerate(p_values)}
    adjusted = holm(raw)
    assert list(adjusted) == list(raw)
    assert all(raw[name] <= adjusted[name] <= 1 for name in raw)
    ordered = sorted(raw, key=lambda name: raw[name])
    assert all(adjusted[one] <= adjusted[other] for one, other in itertools.pairwise(ordered))


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@small
@given(st.lists(eighths, min_size=2, max_size=6))
def test_few_sessions_are_tested_exactly(alternative, differences: list[float]) -> None:
    found = sign_flip_test(differences, [0.0] * len(differences), alternative=alternative, resamples=100)
    assert found == pytest.approx(exact_sign_flip(differences, alternative))


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_many_sessions_are_sampled_and_the_observed_way_counts_as_one(alternative) -> None:
    differences = np.random.default_rng(3).normal(0.3, 1, 12)
    hits = sign_flip_test(differences, np.zeros(12), alternative=alternative, resamples=4_000) * 4_001
    assert hits == pytest.approx(round(hits), abs=1e-6)
    assert hits / 4_001 == pytest.approx(exact_sign_flip(differences.tolist(), alternative), abs=0.02)


@small
@given(pairs)
def test_swapping_the_arms_negates_the_difference_and_keeps_the_p_value(ab) -> None:
    a, b = ab
    there, back = paired_difference(a, b, resamples=200), paired_difference(b, a, resamples=200)
    assert there.value == -back.value
    assert sign_flip_test(a, b, resamples=100) == sign_flip_test(b, a, resamples=100)


@small
@given(pairs, st.sampled_from([0.8, 0.95, 0.99]))
def test_an_interval_is_finite_and_contains_its_value(ab, confidence: float) -> None:
    found = paired_difference(*ab, confidence=confidence, resamples=500)
    assert np.isfinite([found.low, found.high]).all()
    assert found.low - 1e-12 <= found.value <= found.high + 1e-12
    assert found.value == pytest.approx(np.mean(ab[0] - ab[1]))


@small
@given(pairs, st.integers(-50, 50))
def test_adding_a_constant_to_both_arms_changes_nothing(ab, constant: int) -> None:
    a, b = ab
    assert paired_difference(a + constant, b + constant, resamples=100) == paired_difference(a, b, resamples=100)
    assert sign_flip_test(a + constant, b + constant, resamples=100) == sign_flip_test(a, b, resamples=100)


@small
@given(pairs, st.randoms(use_true_random=False))
def test_distinct_groups_are_as_good_as_none(ab, random) -> None:
    groups = [f"source {number}" for number in range(len(ab[0]))]
    random.shuffle(groups)
    assert paired_difference(*ab, groups=groups, resamples=100) == paired_difference(*ab, resamples=100)
    assert sign_flip_test(*ab, groups=groups, resamples=100) == sign_flip_test(*ab, resamples=100)


def test_sessions_copied_from_the_same_source_add_no_certainty() -> None:
    a, b = np.random.default_rng(4).random((2, 30))
    copies, groups = (np.tile(a, 4), np.tile(b, 4)), [*range(30)] * 4
    alone, together = paired_difference(a, b), paired_difference(*copies, groups=groups)
    assert [together.low, together.high] == pytest.approx([alone.low, alone.high])
    assert sign_flip_test(*copies, groups=groups) == sign_flip_test(a, b)
    uncorrected = paired_difference(*copies)
    assert uncorrected.high - uncorrected.low < 0.6 * (together.high - together.low)


def test_groups_of_different_sizes_weigh_by_their_sessions() -> None:
    found = mean_interval([1, 1, 1, 0, 0.5], groups=["a", "a", "a", "b", "c"], resamples=500)
    assert found.value == pytest.approx(0.7)
    assert 0 <= found.low < 0.7 < found.high <= 1


@pytest.mark.parametrize(
    ("values", "groups"), [([0.1] * 7, None), ([0.1] * 7, [0, 0, 0, 1, 1, 2, 2]), ([1, 0, 0, 1], "aabb")]
)
def test_where_nothing_varies_the_interval_is_the_value(values, groups) -> None:
    value = float(np.mean(values))
    assert mean_interval(values, groups=groups) == Interval(value, value, value)
    assert sign_flip_test(values, values, groups=groups) == 1.0


def test_the_same_seed_gives_the_same_figures_and_another_seed_others() -> None:
    a, b = np.random.default_rng(5).random((2, 40))
    assert paired_difference(a, b, seed=1) == paired_difference(a, b, seed=1) != paired_difference(a, b, seed=2)
    assert sign_flip_test(a, b, seed=1) == sign_flip_test(a, b, seed=1) != sign_flip_test(a, b, seed=2)


def test_under_the_null_one_p_value_in_twenty_is_below_five_in_a_hundred() -> None:
    rng = np.random.default_rng(6)
    draws = [rng.normal(size=(2, 20)) for _ in range(500)]
    share = np.mean([sign_flip_test(a, b, resamples=199) < 0.05 for a, b in draws])
    assert 0.025 < share < 0.075


def test_under_the_null_with_grouped_sessions_only_the_grouped_test_keeps_its_level() -> None:
    rng = np.random.default_rng(7)
    groups = np.repeat(range(20), 5)
    draws = [rng.normal(size=20)[groups] + 0.3 * rng.normal(size=100) for _ in range(200)]
    naive, grouped = (
        np.mean([sign_flip_test(one, np.zeros(100), groups=labels, resamples=199) < 0.05 for one in draws])
        for labels in (None, groups.tolist())
    )
    assert grouped < 0.1 < 0.3 < naive


def test_a_bca_interval_covers_about_what_it_says() -> None:
    rng = np.random.default_rng(8)
    found = [mean_interval(rng.exponential(size=40), confidence=0.9, resamples=400) for _ in range(400)]
    assert 0.83 < np.mean([one.low <= 1 <= one.high for one in found]) < 0.93


def test_no_worse_by_a_margin() -> None:
    rng = np.random.default_rng(9)
    b = rng.random(100)
    a = b + rng.normal(0, 0.05, 100)
    assert non_inferiority(a, b, margin=0.02).passed
    assert not non_inferiority(a - 0.02, b, margin=0.02).passed
    assert non_inferiority(a - 0.02, b, margin=0.06).passed


def test_non_inferiority_tests_a_difference_of_minus_the_margin() -> None:
    a, b = np.random.default_rng(10).random((2, 30))
    found = non_inferiority(a, b, margin=0.25, alpha=0.1)
    assert found.difference == paired_difference(a, b, confidence=0.9)
    assert found.p_value == sign_flip_test(a + 0.25, b, alternative="greater")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval([]), "at least one"),
        (lambda: mean_interval([[1.0, 2.0]]), r"shape \(1, 2\)"),
        (lambda: mean_interval(["high", "low"]), "one number per session"),
        (lambda: mean_interval([1.0, float("nan")]), r"finite, those of sessions \[1\]"),
        (lambda: mean_interval([1.0]), "at least two sessions"),
        (lambda: mean_interval([1.0, 2.0], groups=["a", "a"]), "of two groups"),
        (lambda: mean_interval([1.0, 2.0], groups=["a"]), "groups must be one per session: got 1 for 2"),
        (lambda: mean_interval([1.0, 2.0], confidence=95), "confidence must lie between 0 and 1"),
        (lambda: mean_interval([1.0, 2.0], resamples=99), "resamples must be at least 100"),
        (lambda: paired_difference([1.0, 2.0], [1.0]), "same sessions, got 2 and 1"),
        (lambda: sign_flip_test([1.0, 2.0], [1.0]), "same sessions"),
        (lambda: sign_flip_test([1.0], [2.0]), "at least two sessions"),
        (lambda: sign_flip_test([1.0, 2.0], [1.0, 2.0], alternative="less"), "alternative must be one of"),  # type: ignore[arg-type]
        (lambda: sign_flip_test([1.0, 2.0], [1.0, 2.0], resamples=0), "resamples must be at least 100"),
        (lambda: sign_test(-1, 2), "0 or more"),
        (lambda: mcnemar_test([0, 1], [0.5, 1]), "must be 0 or 1"),
        (lambda: mcnemar_test([0, 1], [1]), "same sessions"),
        (lambda: holm({}), "at least one p-value"),
        (lambda: holm({"a": 1.1}), "from 0 to 1, got {'a': 1.1}"),
        (lambda: holm({"a": float("nan")}), "from 0 to 1"),
        (lambda: non_inferiority([1.0, 2.0], [1.0, 2.0], margin=-0.02), "margin must be above 0"),
        (lambda: non_inferiority([1.0, 2.0], [1.0, 2.0], margin=0.02, alpha=1), "alpha must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_is_right(call, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()


@pytest.mark.parametrize("package", ["scipy", "statsmodels.stats.multitest"])
def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    module = "pss_integrations.evaluation.statistics"
    monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"{package} is not installed.*pss-integrations\[eval\]"):
        importlib.import_module(module)
