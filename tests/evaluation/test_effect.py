"""The effect on real weights: the bounds that the engine has to keep."""

import pytest

from pss_integrations import weights
from pss_integrations.evaluation.effect import records_effect, session_effect
from pss_integrations.states.backbone import Backbone, load_backbone

pytestmark = pytest.mark.weights


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    weights.fetch("smollm2-135m-instruct")
    return load_backbone(device="cpu")


def test_the_right_state_recovers_what_raw_wrong_and_zero_miss(backbone: Backbone) -> None:
    found = session_effect(backbone, sessions=8, seed=23)
    assert found["correct"] >= 0.70, found
    assert max(found["raw"], found["matched_wrong"], found["zero"]) <= 0.15, found


def test_sixteen_records_in_one_state_are_read_by_requests_unseen_in_writing(backbone: Backbone) -> None:
    found = records_effect(backbone, k=16, seed=23)
    assert found["correct"] >= 0.90, found
    assert max(found["concatenation"], found["raw"]) <= 0.40, found
