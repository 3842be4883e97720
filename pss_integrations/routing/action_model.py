"""Which features say that a candidate gains: logistic regression with a ridge penalty, in numpy alone."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pss_integrations.errors import InvalidInput
from pss_integrations.routing.features import Features

_Vector: TypeAlias = NDArray[np.float64]

RIDGE = 1.0
"""Penalty on each squared weight of a standardised feature, halved; keeps weights finite where classes separate."""
_STEPS, _CLOSE = 100, 1e-10
_CONSTANT = 1e-9  # of a feature's size: deviations below are rounding


@dataclass(frozen=True, slots=True)
class ActionModel:
    """Weights of the raw features; more is better.

    :param weights: Feature name to weight, without those that weigh nothing.
    :param bias: Added to the weighed sum.
    """

    weights: Mapping[str, float]
    bias: float

    def scores(self, rows: Sequence[Features]) -> _Vector:
        """Score each row. Returns shape (rows,)."""
        names = list(self.weights)
        return _table(rows, names) @ np.array([self.weights[name] for name in names]) + self.bias


def fit(rows: Sequence[Features], gains: Sequence[bool], *, ridge: float = RIDGE) -> ActionModel:
    """Fit by iteratively reweighted least squares, both classes weighing the same.

    The same rows give the same model; a feature that never changes weighs nothing.

    :param gains: Of each row, whether its candidate gained over the raw search.
    :raises InvalidInput: If there are no rows of one of the classes.
    """
    labels = np.asarray(gains, dtype=float)
    if not 0 < labels.sum() < len(labels):
        raise InvalidInput("an action model needs candidates that gained and candidates that did not")
    names = list(Features.__slots__)
    values = _table(rows, names)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    varies = deviation > _CONSTANT * (1 + np.abs(mean))
    kept = [name for name, is_kept in zip(names, varies, strict=True) if is_kept]
    mean, deviation = mean[varies], deviation[varies]
    coefficients = _solve((values[:, varies] - mean) / deviation, labels, _balanced(labels), ridge)
    weights = coefficients[:-1] / deviation
    return ActionModel(dict(zip(kept, map(float, weights), strict=True)), bias=float(coefficients[-1] - weights @ mean))


def cross_fitted_scores(
    rows: Sequence[Features], gains: Sequence[bool], groups: Sequence[Hashable], folds: int = 5
) -> _Vector:
    """Score each row by a model that saw nothing of its group.

    :param groups: Of each row, whose it is: a session. The groups are dealt to the folds in order of appearance.
    :return: Shape (rows,).
    :raises InvalidInput: If there are fewer than two groups or folds, or a fold leaves one class only.
    """
    fold_of = {group: number % folds for number, group in enumerate(dict.fromkeys(groups))}
    if folds < 2 or len(fold_of) < 2:
        raise InvalidInput("cross-fitting needs two folds and two sessions at least")
    scores = np.empty(len(rows))
    for fold in sorted({*fold_of.values()}):
        inside = [number for number, group in enumerate(groups) if fold_of[group] == fold]
        outside = [number for number, group in enumerate(groups) if fold_of[group] != fold]
        model = fit([rows[number] for number in outside], [gains[number] for number in outside])
        scores[inside] = model.scores([rows[number] for number in inside])
    return scores


def _table(rows: Sequence[Features], names: Sequence[str]) -> _Vector:
    """Return shape (rows, names)."""
    return np.array([[getattr(row, name) for name in names] for row in rows], dtype=float).reshape(-1, len(names))


def _balanced(labels: _Vector) -> _Vector:
    share = labels.mean()
    return np.where(labels == 1, 0.5 / share, 0.5 / (1 - share))


def _solve(values: _Vector, labels: _Vector, counts: _Vector, ridge: float) -> _Vector:
    """Return shape (features + 1,), the bias last, which is not penalised."""
    design = np.column_stack([values, np.ones(len(values))])
    penalty = np.full(design.shape[1], ridge)
    penalty[-1] = 0.0
    solution = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = 0.5 * (1 + np.tanh(design @ solution / 2))  # the logistic function, which cannot overflow so
        slope = design.T @ (counts * (labels - chance)) - penalty * solution
        curvature = (design * (counts * chance * (1 - chance))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curvature, slope)
        solution = solution + step
        if np.abs(step).max() < _CLOSE:
            break
    return solution
