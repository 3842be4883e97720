from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from pss_integrations.errors import InvalidInput
from pss_integrations.routing import Certificate, Features
from pss_integrations.routing.action_model import RIDGE, cross_fitted_scores, fit

_NAMES = ("words", "support", "gap")
_BLANK = Features(words=0, scope=0, refers=0, asks=0, foreign=0)


def rows_of(values: np.ndarray) -> list[Features]:
    return [replace(_BLANK, **dict(zip(_NAMES, map(float, row), strict=True))) for row in values]


def drawn(count: int, seed: int = 0) -> tuple[np.ndarray, list[bool]]:
    random = np.random.default_rng(seed)
    values = random.normal(size=(count, 3)) * [4, 0.2, 1] + [7, 0.4, -2]
    chance = 1 / (1 + np.exp(-(values - values.mean(axis=0)) @ [0.2, 5, 0]))
    return values, [bool(one) for one in random.random(count) < 0.3 * chance]


def test_minimises_what_scipy_minimises() -> None:
    values, gains = drawn(200)
    labels = np.array(gains, dtype=float)
    standard = np.column_stack([(values - values.mean(axis=0)) / values.std(axis=0), np.ones(200)])
    counts = np.where(labels == 1, 0.5 / labels.mean(), 0.5 / (1 - labels.mean()))

    def loss(solution: np.ndarray) -> float:
        margins = (2 * labels - 1) * (standard @ solution)
        return counts @ np.logaddexp(0, -margins) + RIDGE / 2 * solution[:-1] @ solution[:-1]

    best = optimize.minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-7}).x
    model = fit(rows_of(values), gains)
    assert model.scores(rows_of(values)) == pytest.approx(standard @ best, abs=1e-4)


def test_a_certificate_scores_raw_features_the_same() -> None:
    values, gains = drawn(120)
    rows = rows_of(values)
    model = fit(rows, gains)
    certificate = Certificate(weights=model.weights, bias=model.bias)
    assert [certificate.score(row) for row in rows] == pytest.approx(model.scores(rows))


@given(st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_any_rows_give_finite_weights_that_fit_better_than_none(seed: int, power: int) -> None:
    random = np.random.default_rng(seed)
    values = random.normal(size=(30, 3)) * [10.0**power, 10.0**-power, 0] + random.normal(size=3)
    gains = [True, False, *(bool(one) for one in random.random(28) < 0.5)]
    model = fit(rows_of(values), gains)
    assert "gap" not in model.weights  # never changes
    scores = model.scores(rows_of(values))
    assert np.isfinite(scores).all()
    assert scores[np.array(gains)].mean() >= scores[~np.array(gains)].mean() - 1e-6


def test_classes_that_separate_give_a_finite_model() -> None:
    values = np.column_stack([np.arange(40.0), np.zeros(40), np.arange(40.0) ** 2])
    model = fit(rows_of(values), [number >= 20 for number in range(40)])
    scores = model.scores(rows_of(values))
    assert np.abs(scores).max() < 1e3
    assert scores[:20].max() < scores[20:].min()


def test_the_rarer_class_weighs_as_much() -> None:
    values = np.column_stack([[0.0] * 90 + [1.0] * 10, np.zeros((100, 2))])
    model = fit(rows_of(values), [False] * 90 + [True] * 10)
    assert model.scores(rows_of(np.array([[0.5, 0, 0]])))[0] == pytest.approx(0, abs=0.5)


def test_the_same_rows_give_the_same_model() -> None:
    values, gains = drawn(60)
    assert fit(rows_of(values), gains) == fit(rows_of(values), gains)


def test_no_session_is_scored_by_a_model_that_saw_it() -> None:
    values, gains = drawn(100)
    rows, groups = rows_of(values), [number // 4 for number in range(100)]
    scores = cross_fitted_scores(rows, gains, groups)
    flipped = [not gain if group == 3 else gain for gain, group in zip(gains, groups, strict=True)]
    again = cross_fitted_scores(rows, flipped, groups)
    assert again[12:16] == pytest.approx(scores[12:16])
    assert again[:12] != pytest.approx(scores[:12])
    outside = [number for number in range(100) if groups[number] % 5 != 3]
    model = fit([rows[number] for number in outside], [gains[number] for number in outside])
    assert scores[12:16] == pytest.approx(model.scores(rows[12:16]))


@pytest.mark.parametrize("gains", [[], [True, True], [False, False]])
def test_one_class_is_refused(gains: list[bool]) -> None:
    with pytest.raises(InvalidInput, match="gained and candidates that did not"):
        fit([_BLANK] * len(gains), gains)


@pytest.mark.parametrize(("groups", "folds"), [([1, 1], 5), ([1, 2], 1)])
def test_nothing_to_cross_fit(groups: list[int], folds: int) -> None:
    with pytest.raises(InvalidInput, match="two folds and two sessions"):
        cross_fitted_scores([_BLANK] * 2, [True, False], groups, folds)
