import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspected import ARM, probe, record

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.inspection.capacity import capacity_curves, fit_capacity

COUNTS = (1, 2, 4, 8, 16, 32, 64)
DOUBLINGS = np.arange(7.0)


def noisy(means: np.ndarray, spread: float, sessions: int = 12) -> np.ndarray:
    return means + spread * np.random.default_rng(3).normal(size=(sessions, len(means)))


def test_a_clear_bend_is_identified_where_it_is() -> None:
    found = fit_capacity(COUNTS, noisy(1 - 0.25 * np.maximum(DOUBLINGS - 3, 0), 0.03))
    assert found.identifiable
    assert found.breakpoint is not None
    assert found.breakpoint.low <= 8 <= found.breakpoint.high
    assert 6 < found.breakpoint.value < 10
    assert found.slopes == pytest.approx((0, -0.25), abs=0.03)
    assert found.bic["broken line"] == min(found.bic.values())
    assert found.means[0] == pytest.approx(1, abs=0.03)
    json.dumps(found.to_dict())


@pytest.mark.parametrize(
    ("means", "spread", "verdict"),
    [
        (np.ones(7), 0, "flat"),
        (np.full(7, 0.6), 0.1, "flat"),
        (1 - 0.1 * DOUBLINGS, 0, "straight"),
        (1 - 0.1 * DOUBLINGS, 0.05, "straight"),
        (1 - 0.05 * np.maximum(DOUBLINGS - 3, 0), 0.4, "flat"),
        (0.1 + 0.3 * np.maximum(3 - DOUBLINGS, 0), 0.03, "bends upwards"),
        (1 - 0.9 * (DOUBLINGS == 6), 0.03, "uncertain"),
    ],
)
def test_what_is_flat_straight_noisy_or_bends_elsewhere_has_no_breakpoint_of_capacity(
    means: np.ndarray, spread: float, verdict: str
) -> None:
    found = fit_capacity(COUNTS, noisy(means, spread))
    assert found.verdict == verdict
    assert not found.identifiable
    assert (found.breakpoint is None) == (verdict in ("flat", "straight"))


def test_too_few_points_are_said_to_be_too_few() -> None:
    bend = 1 - 0.25 * np.maximum(DOUBLINGS - 3, 0)
    assert fit_capacity(COUNTS[:4], noisy(bend[:4], 0.01)).verdict == "too few points"
    alone = fit_capacity(COUNTS, [bend])
    assert alone.verdict == "too few points"
    assert alone.means == pytest.approx(bend)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-0.5, 0.5), st.floats(0.2, 1))
def test_the_verdict_does_not_depend_on_where_the_curve_lies(seed: int, shift: float, high: float) -> None:
    rng = np.random.default_rng(seed)
    values = high - rng.uniform(0, 0.2) * np.maximum(DOUBLINGS - 3, 0) + 0.05 * rng.normal(size=(6, 7))
    one, other = (fit_capacity(COUNTS, some, resamples=100) for some in (values, values + shift))
    assert one.verdict == other.verdict
    assert (one.breakpoint and one.breakpoint.value) == pytest.approx(other.breakpoint and other.breakpoint.value)


@pytest.mark.parametrize("counts", [(1, 2, 2, 4, 8, 16, 32), (0, 1, 2, 3, 4, 5, 6), (1, 2)])
def test_counts_that_do_not_ascend_or_fit_the_values_are_refused(counts: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="ascending counts"):
        fit_capacity(counts, np.ones((3, 7)))


def test_a_record_gives_a_curve_for_each_arm() -> None:
    counts = (1, 2, 4, 8, 16, 32)
    run = record(
        {
            f"{session} {k}": [
                probe(f"question {at}", ranks=[1 if at * k < 40 else 9], category=f"K = {k}") for at in range(8)
            ]
            for k in counts
            for session in ("a", "b")
        },
        kind="krecords",
    )
    curves = capacity_curves(run, "bm25", ["raw", ARM])
    assert curves["raw"].means == (0,) * 6
    assert curves["raw"].verdict == "flat"
    assert curves[ARM].counts == counts
    assert curves[ARM].means == pytest.approx((1, 1, 1, 5 / 8, 3 / 8, 2 / 8))
    with pytest.raises(InvalidInput, match="no numbers of records"):
        capacity_curves(record({"a": [probe("q", ranks=[1])]}), "bm25", [ARM])
