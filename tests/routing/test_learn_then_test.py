import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pss_integrations.errors import InvalidInput
from pss_integrations.routing.learn_then_test import nulls_needed, tail, threshold, upper_bound

shares = st.floats(0.01, 0.99)
scores = st.lists(st.floats(-5, 5).map(lambda score: round(score, 1)), min_size=1, max_size=150)


@pytest.mark.parametrize(("activated", "nulls"), [*enumerate([59, 93, 124, 153, 181, 208])])
def test_nulls_that_five_per_cent_at_95_per_cent_take(activated: int, nulls: int) -> None:
    assert nulls_needed(activated, 0.05, 0.95) == nulls
    assert upper_bound(activated, nulls, 0.95) <= 0.05 < upper_bound(activated, nulls - 1, 0.95)


@given(st.integers(0, 400), st.integers(1, 400), shares)
def test_bound_and_tail_are_those_of_scipy(activated: int, nulls: int, share: float) -> None:
    activated = min(activated, nulls)
    exact = stats.binomtest(activated, nulls, alternative="less").proportion_ci(share, method="exact").high
    assert upper_bound(activated, nulls, share) == pytest.approx(exact, abs=1e-9)
    assert tail(activated, nulls, share) == pytest.approx(stats.binom.cdf(activated, nulls, share), abs=1e-9)


@given(scores, shares, shares)
def test_what_activates_is_within_the_bound_and_one_more_would_not_be(
    nulls: list[float], rate: float, confidence: float
) -> None:
    limit = threshold({"kind": nulls}, rate, confidence)
    if limit is None:
        assert upper_bound(0, len(nulls), confidence) > rate - 1e-12
        return
    activated = [score for score in nulls if score >= limit]
    assert upper_bound(len(activated), len(nulls), confidence) <= rate + 1e-12
    looser = len([score for score in nulls if score >= math.nextafter(limit, -math.inf)])
    assert looser > len(activated)
    assert upper_bound(looser, len(nulls), confidence) > rate - 1e-12


@given(scores, scores)
def test_strictest_kind_decides(some: list[float], others: list[float]) -> None:
    apart = [threshold({"kind": one}, 0.2, 0.8) for one in (some, others)]
    together = threshold({"some": some, "others": others}, 0.2, 0.8)
    assert together == (None if None in apart else max(apart))


@given(scores)
def test_order_of_nulls_does_not_matter(nulls: list[float]) -> None:
    assert threshold({"kind": nulls}, 0.2, 0.8) == threshold({"kind": nulls[::-1]}, 0.2, 0.8)


def test_equal_scores_activate_together() -> None:
    nulls = [1.0, 1.0, *([0.0] * 91)]  # of 93 one may activate, but no threshold tells the two apart
    limit = threshold({"kind": nulls}, 0.05, 0.95)
    assert limit is not None
    assert limit > 1.0


def test_too_few_nulls_or_none_close_the_guard() -> None:
    assert threshold({"kind": [0.0] * 58}, 0.05, 0.95) is None
    assert threshold({"kind": [0.0] * 59, "other": []}, 0.05, 0.95) is None
    assert threshold({}, 0.05, 0.95) is None
    assert threshold({"kind": [0.0] * 59}, 0.05, 0.95) is not None


def test_the_promise_is_kept() -> None:
    """Scores are uniform, so a threshold's true rate is what lies above it; draws that break it are a binomial."""
    random, draws = np.random.default_rng(7), 2_000
    for nulls in (59, 130, 320):
        limits = [threshold({"kind": list(random.random(nulls))}, 0.05, 0.95) for _ in range(draws)]
        broken = sum(limit is not None and 1 - limit > 0.05 for limit in limits)
        assert broken <= stats.binom.ppf(0.999, draws, 0.05)


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, math.nan, True, "0.05", None])
def test_rates_that_are_none(share: object) -> None:
    for call in (
        lambda: threshold({"kind": [0.0]}, share, 0.95),
        lambda: threshold({"kind": [0.0]}, 0.05, share),
        lambda: nulls_needed(0, share, 0.95),
        lambda: upper_bound(0, 1, share),
    ):
        with pytest.raises(InvalidInput, match="between 0 and 1"):
            call()


def test_numbers_that_are_none() -> None:
    with pytest.raises(InvalidInput, match="finite"):
        threshold({"kind": [math.nan]}, 0.05, 0.95)
    with pytest.raises(InvalidInput, match="3 of 2"):
        upper_bound(3, 2, 0.95)
