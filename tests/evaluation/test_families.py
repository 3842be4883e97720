import json

import numpy as np
import pytest

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.families import compare, joint_rule
from pss_integrations.evaluation.statistics import holm, paired_difference, sign_flip_test


@pytest.mark.parametrize(
    ("differences", "adjusted", "passed"),
    [
        ((0.2, 0.1), (0.01, 0.049), True),
        ((0.2, 0.1), (0.01, 0.05), False),
        ((0.2, -0.1), (0.01, 0.01), False),
        ((0.2, 0.0), (0.01, 0.01), False),
    ],
)
def test_the_joint_rule_needs_every_control_beaten(differences, adjusted, passed: bool) -> None:
    controls = ("raw", "shuffled")
    assert (
        joint_rule(dict(zip(controls, differences, strict=True)), dict(zip(controls, adjusted, strict=True))) is passed
    )


def test_a_family_holds_what_its_parts_give() -> None:
    rng = np.random.default_rng(11)
    raw, noise = rng.random((2, 30))
    values = {"pss": raw + 0.3, "raw": raw + 0.2 * noise, "wrong": raw, "unused": noise}
    groups = [*range(15)] * 2
    family = compare(values, "pss", ["raw", "wrong"], groups=groups, alpha=0.1, resamples=500, seed=2)
    p = {
        name: sign_flip_test(values["pss"], values[name], groups=groups, resamples=500, seed=2)
        for name in ("raw", "wrong")
    }
    assert {name: one.p_value for name, one in family.comparisons.items()} == p
    assert {name: one.p_holm for name, one in family.comparisons.items()} == holm(p)
    assert family.comparisons["raw"].difference == paired_difference(
        values["pss"], values["raw"], groups=groups, confidence=0.9, resamples=500, seed=2
    )
    assert family.passed


def test_a_family_fails_with_the_one_control_that_is_as_good() -> None:
    values = {"pss": np.ones(20), "raw": np.zeros(20), "card": np.ones(20)}
    family = compare(values, "pss", ["raw", "card"], resamples=500)
    assert family.comparisons["raw"].p_holm < 0.05
    assert not family.passed
    assert compare(values, "pss", ["raw"], resamples=500).passed


def test_a_family_is_written_to_json_with_its_verdict() -> None:
    family = compare({"pss": np.ones(20), "raw": np.zeros(20)}, "pss", ["raw"], resamples=999)
    assert json.loads(json.dumps(family.to_dict())) == {
        "treatment": "pss",
        "comparisons": {"raw": {"difference": {"value": 1, "low": 1, "high": 1}, "p_value": 0.001, "p_holm": 0.001}},
        "alpha": 0.05,
        "units": 20,
        "decidable": True,
        "passed": True,
    }


@pytest.mark.parametrize(("units", "decidable"), [(5, False), (6, True)])
def test_too_few_units_cannot_show_any_difference(units: int, decidable: bool) -> None:
    ones, zeros = np.ones(2 * units), np.zeros(2 * units)
    family = compare({"pss": ones, "raw": zeros}, "pss", ["raw"], groups=[*range(units)] * 2, resamples=500)
    assert family.units == units
    assert family.decidable is decidable is family.passed


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: joint_rule({}, {}), "same controls"),
        (lambda: joint_rule({"raw": 0.1}, {"card": 0.1}), r"same controls, got \['raw'\] and \['card'\]"),
        (lambda: joint_rule({"raw": 0.1}, {"raw": -0.1}), "from 0 to 1"),
        (lambda: compare({"a": [1, 2]}, "a", ["b"]), "no values for b: there are a"),
        (lambda: compare({"a": [1, 2]}, "b", ["a"]), "no values for b"),
        (lambda: compare({"a": [1, 2]}, "a", []), "at least one"),
        (lambda: compare({"a": [1, 2]}, "a", ["a"]), "none 'a'"),
        (lambda: compare({"a": [1, 2], "b": [1, 2]}, "a", ["b", "b"]), "each once"),
        (lambda: compare({"a": [1, 2], "b": [1, 2, 3]}, "a", ["b"]), "same sessions"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_what_is_right(call, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()
