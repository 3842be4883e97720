from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.routing import Certificate, Decision, decide
from pss_integrations.routing import features as observed

ASKS = observed.of_query("which port does it use?")


@pytest.mark.parametrize(("threshold", "activates"), [(1.0, True), (1.001, False), (-5.0, True), (None, False)])
def test_the_score_must_reach_the_threshold(threshold: float | None, activates: bool) -> None:
    assert decide(ASKS, Certificate(weights={"asks": 1.0}, threshold=threshold)) == Decision(activates, 1.0, True)


@pytest.mark.parametrize(("below", "supported"), [(0.0, True), (0.5, True), (0.51, False)])
def test_support_is_judged_apart(below: float, supported: bool) -> None:
    held = observed.with_candidate(ASKS, "", "a b", [], [], None)
    assert decide(held, Certificate(weights={}, unsupported_below=0.0)).is_supported
    assert not decide(held, Certificate(weights={}, unsupported_below=0.01)).is_supported
    verdict = decide(replace(ASKS, support=0.5), Certificate(weights={}, threshold=None, unsupported_below=below))
    assert (verdict.activates, verdict.is_supported) == (False, supported)


@given(st.text(), st.floats(-9, 9), st.floats(-9, 9))
def test_a_stricter_threshold_never_lets_more_through(query: str, one: float, other: float) -> None:
    features = observed.of_query(query)
    loose, strict = (
        decide(features, Certificate(weights={"words": 0.5, "asks": 1.0}, threshold=threshold))
        for threshold in sorted((one, other))
    )
    assert loose.activates >= strict.activates
    assert loose == decide(features, Certificate(weights={"words": 0.5, "asks": 1.0}, threshold=min(one, other)))
