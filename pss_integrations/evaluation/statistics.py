"""Paired inference whose unit is the session: a value is a session's mean over its probes (PSS, section S).

Sessions made of one source aren't independent. Where ``groups`` are given, one label per session, whole groups are
resampled together and change sides together; without them every session is a group of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pss_integrations.errors import InvalidInput

try:
    from scipy import stats
    from statsmodels.stats.multitest import multipletests
except ImportError as error:
    from pss_integrations.errors import MissingExtra

    raise MissingExtra("eval", error.name or "scipy") from error

Alternative: TypeAlias = Literal["two-sided", "greater"]

_Array: TypeAlias = NDArray[Any]
_BATCH: Final = 1_000  # resamples in memory at once
_LEAST_RESAMPLES: Final = 100


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over sessions and the bounds of its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class NonInferiority:
    """Whether one arm is at most ``margin`` worse than another.

    :param difference: Mean difference, with its interval.
    :param margin: How much worse still counts as no worse.
    :param p_value: One-sided, of a difference of ``-margin``.
    :param alpha: Level of the test; the interval covers ``1 - alpha``.
    """

    difference: Interval
    margin: float
    p_value: float
    alpha: float

    @property
    def passed(self) -> bool:
        """Whether being worse by the margin is rejected."""
        return self.p_value < self.alpha


def mean_interval(
    values: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Mean over sessions with a BCa bootstrap interval.

    :param values: One per session, shape ``(sessions,)``.
    :param groups: Source group of each session.
    :param confidence: Coverage of the interval.
    :param resamples: How many samples are drawn, at least 100.
    :raises InvalidInput: If there are fewer than two sessions or groups, a value is not a finite number, or the groups
        are not one per session.
    """
    scores = _scores(values)
    check_between(confidence, "confidence")
    _check_resamples(resamples)
    sums, counts = _units(scores, groups)
    value = float(scores.mean())
    if np.allclose(sums / counts, value, rtol=1e-12, atol=1e-12):  # BCa is undefined where nothing varies
        return Interval(value, value, value)
    found = stats.bootstrap(
        (sums, counts),
        _mean,
        paired=True,
        vectorized=True,
        method="BCa",
        confidence_level=confidence,
        n_resamples=resamples,
        batch=_BATCH,
        rng=seed,
    ).confidence_interval
    return Interval(value, float(found.low), float(found.high))


def paired_difference(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """:func:`mean_interval` of ``a - b``.

    :param a: One value per session.
    :param b: One value for each of the same sessions.
    :raises InvalidInput: As :func:`mean_interval`, or if ``a`` and ``b`` differ in length.
    """
    return mean_interval(_differences(a, b), groups=groups, confidence=confidence, resamples=resamples, seed=seed)


def sign_flip_test(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    alternative: Alternative = "two-sided",
    resamples: int = 10_000,
    seed: int = 0,
) -> float:
    """p-value of a paired permutation test: under the null, ``a`` and ``b`` of a session could be swapped.

    Exact where there are at most ``resamples`` ways to swap, ``2 ** groups`` in all; else from that many random ways,
    and ``(hits + 1) / (resamples + 1)``. Two-sided means by the absolute difference: the null distribution is
    symmetric, and doubling the smaller tail, as scipy does, would double the least p-value that can be reached.

    :param a: One value per session.
    :param b: One value for each of the same sessions.
    :param groups: Source group of each session.
    :param alternative: ``"greater"`` if only ``a > b`` counts.
    :raises InvalidInput: As :func:`paired_difference`, or if the alternative is unknown.
    """
    if alternative not in get_args(Alternative):
        raise InvalidInput(f"alternative must be one of {', '.join(get_args(Alternative))}, got {alternative!r}")
    _check_resamples(resamples)
    sums, _ = _units(_differences(a, b), groups)

    def total(signed: _Array, axis: int) -> _Array:
        return np.abs(signed.sum(axis=axis)) if alternative == "two-sided" else signed.sum(axis=axis)

    found = stats.permutation_test(
        (sums,),
        total,
        permutation_type="samples",
        alternative="greater",
        vectorized=True,
        n_resamples=resamples,
        batch=_BATCH,
        rng=seed,
    )
    return float(found.pvalue)


def sign_test(wins: int, losses: int) -> float:
    """Exact two-sided p-value of a fair coin; ties are left out by the caller (PSS, section S.2).

    :raises InvalidInput: If a count is negative.
    """
    if wins < 0 or losses < 0:
        raise InvalidInput(f"wins and losses must be 0 or more, got {wins} and {losses}")
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def mcnemar_test(a: ArrayLike, b: ArrayLike) -> float:
    """Exact McNemar test of two binary outcomes per session: :func:`sign_test` of where they differ.

    :param a: 0 or 1 per session.
    :param b: 0 or 1 for each of the same sessions.
    :raises InvalidInput: If a value is neither 0 nor 1, there is none, or ``a`` and ``b`` differ in length.
    """
    if not np.isin([*_scores(a), *_scores(b)], (0, 1)).all():
        raise InvalidInput("McNemar's test is of binary outcomes: every value must be 0 or 1")
    differences = _differences(a, b)
    return sign_test(int((differences > 0).sum()), int((differences < 0).sum()))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjust the p-values of one family by Holm's step-down method.

    :param p_values: Name to p-value.
    :raises InvalidInput: If there is none, or one lies outside 0 to 1.
    """
    if not p_values:
        raise InvalidInput("a family needs at least one p-value")
    check_p_values(p_values)
    adjusted = np.asarray(multipletests(list(p_values.values()), method="holm")[1])
    return dict(zip(p_values, adjusted.tolist(), strict=True))


def non_inferiority(
    a: ArrayLike,
    b: ArrayLike,
    *,
    margin: float,
    groups: Sequence[Hashable] | None = None,
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> NonInferiority:
    """Test that ``a`` is no worse than ``b``: the one-sided sign-flip test with ``a`` raised by the margin.

    :param a: One value per session.
    :param b: One value for each of the same sessions.
    :param margin: How much worse still counts as no worse, above 0.
    :param alpha: Level of the test; the interval covers ``1 - alpha``.
    :raises InvalidInput: As :func:`paired_difference`, or if the margin is not above 0.
    """
    check_between(alpha, "alpha")
    if not margin > 0:
        raise InvalidInput(f"margin must be above 0, got {margin}")
    difference = paired_difference(a, b, groups=groups, confidence=1 - alpha, resamples=resamples, seed=seed)
    raised = _scores(a) + margin
    p_value = sign_flip_test(raised, b, groups=groups, alternative="greater", resamples=resamples, seed=seed)
    return NonInferiority(difference, margin, p_value, alpha)


def _mean(sums: _Array, counts: _Array, axis: int) -> _Array:
    return sums.sum(axis=axis) / counts.sum(axis=axis)


def _units(scores: _Array, groups: Sequence[Hashable] | None) -> tuple[_Array, _Array]:
    """Per group, in order of first appearance, the sum of its scores and how many they are."""
    labels = range(len(scores)) if groups is None else groups
    if len(labels) != len(scores):
        raise InvalidInput(f"groups must be one per session: got {len(labels)} for {len(scores)} sessions")
    number = {label: at for at, label in enumerate(dict.fromkeys(labels))}
    if len(number) < 2:
        raise InvalidInput(f"at least two sessions, of two groups, are needed to infer from, got {len(number)}")
    codes = [number[label] for label in labels]
    return np.bincount(codes, weights=scores), np.bincount(codes)


def _differences(a: ArrayLike, b: ArrayLike) -> _Array:
    left, right = _scores(a), _scores(b)
    if len(left) != len(right):
        raise InvalidInput(f"a and b must be of the same sessions, got {len(left)} and {len(right)} values")
    return left - right


def _scores(values: ArrayLike) -> _Array:
    try:
        scores = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"values must be one number per session: {error}") from error
    if scores.ndim != 1 or not scores.size:
        raise InvalidInput(f"values must be one number per session, at least one, got an array of shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise InvalidInput(f"values must be finite, those of sessions {np.flatnonzero(~np.isfinite(scores))} are not")
    return scores


def check_p_values(p_values: Mapping[str, float]) -> None:
    """Refuse p-values outside 0 to 1."""
    if wrong := {name: p for name, p in p_values.items() if not 0 <= p <= 1}:
        raise InvalidInput(f"p-values must lie from 0 to 1, got {wrong}")


def check_between(share: float, name: str) -> None:
    """Refuse a share that isn't strictly between 0 and 1."""
    if not 0 < share < 1:
        raise InvalidInput(f"{name} must lie between 0 and 1, got {share}")


def _check_resamples(resamples: int) -> None:
    if resamples < _LEAST_RESAMPLES:
        raise InvalidInput(f"resamples must be at least {_LEAST_RESAMPLES}, got {resamples}")
