"""How many records one state holds: recall over their number, and whether it shows where it bends (PSS, section Q).

A broken line always fits better than a straight one, and some breakpoint is always the best. So a breakpoint is
reported only if the data speak for one: by BIC against a constant and a line, and by a bootstrap in which sessions are
drawn as a whole, their records at every number together. The paper found 42 of 240 to be identifiable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.analysis import categories, scores
from pss_integrations.evaluation.record import RunRecord
from pss_integrations.evaluation.statistics import Interval

Array: TypeAlias = NDArray[Any]
Verdict: TypeAlias = Literal["identifiable", "too few points", "flat", "straight", "bends upwards", "uncertain"]

_COUNT: Final = re.compile(r"K = (\d+)")
_LEAST_COUNTS: Final = 5  # a broken line has four parameters
_LEAST_GAIN: Final = 6.0  # strong evidence, by the usual reading of BIC
_CANDIDATES: Final = 121
_NEAR: Final = 1e-9
_LEAST_VARIANCE: Final = 1e-6  # a fit that is a thousandth off is exact
_PARAMETERS: Final[Mapping[str, int]] = {"constant": 1, "line": 2, "broken line": 4}


@dataclass(frozen=True, slots=True)
class Capacity:
    """A capacity curve and its best broken line, over the logarithm of the number of records.

    :param counts: Numbers of records in a state.
    :param means: Mean recall at each.
    :param verdict: ``"identifiable"``, or why the breakpoint is not: ``"flat"`` and ``"straight"`` if a constant or a
        line does as well, ``"bends upwards"`` if recall falls less behind it, ``"uncertain"`` if it might lie at either
        end of where it could.
    :param breakpoint: Where the broken line bends, in records, with its 95 % interval; ``None`` if a simpler one does.
    :param slopes: Change of recall with each doubling, before and behind it.
    :param bic: Of each model, less is better; none of too few points.
    """

    counts: tuple[int, ...]
    means: tuple[float, ...]
    verdict: Verdict
    breakpoint: Interval | None = None
    slopes: tuple[float, float] | None = None
    bic: Mapping[str, float] | None = None

    @property
    def identifiable(self) -> bool:
        """Whether the data show where recall begins to fall."""
        return self.verdict == "identifiable"

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**asdict(self), "identifiable": self.identifiable}


def capacity_curves(record: RunRecord, searcher: str, arms: Sequence[str]) -> dict[str, Capacity]:
    """Fit a record of the K-record benchmark, arm by arm, on its primary metric.

    :raises InvalidInput: If the record has no such searcher or arm, or no categories ``K = ...``.
    """
    found = {int(match[1]): match[0] for name in categories(record) if (match := _COUNT.fullmatch(name))}
    if not found:
        raise InvalidInput(f"a run of {record.kind} has no numbers of records to draw a curve over")
    counts = sorted(found)
    return {
        arm: fit_capacity(
            counts, np.transpose([scores(record, searcher, arm, category=found[k]).values for k in counts])
        )
        for arm in arms
    }


def fit_capacity(counts: Sequence[int], values: ArrayLike, *, resamples: int = 2_000, seed: int = 0) -> Capacity:
    """Fit a broken line, and judge whether its breakpoint is identifiable.

    :param counts: Numbers of records, ascending.
    :param values: Recall of each session at each number, shape (sessions, counts).
    :param resamples: How many samples of sessions are drawn.
    :raises InvalidInput: If the counts do not ascend from 1 or more, or the values are not of that shape.
    """
    scored = np.asarray(values, dtype=np.float64)
    ascending = all(one < two for one, two in zip([0, *counts], counts, strict=False))
    if scored.ndim != 2 or not ascending or scored.shape[1] != len(counts):
        raise InvalidInput(f"values must be (sessions, counts) with ascending counts, got {scored.shape} and {counts}")
    means = scored.mean(axis=0)
    curve = tuple(counts), tuple(means.tolist())
    if len(counts) < _LEAST_COUNTS or len(scored) < 2:
        return Capacity(*curve, "too few points")
    x = np.log2(np.asarray(counts, dtype=np.float64))
    lines, rng = _BrokenLines(x), np.random.default_rng(seed)
    bic = _bic(x, scored, lines)
    simple = min(bic["constant"], bic["line"])
    if simple - bic["broken line"] < _LEAST_GAIN:
        return Capacity(*curve, "flat" if simple == bic["constant"] else "straight", bic=bic)
    drawn = scored[rng.integers(0, len(scored), (resamples, len(scored)))].mean(axis=1)  # (resamples, counts)
    at, (low, high) = float(lines.breakpoints(means)), np.quantile(lines.breakpoints(drawn), [0.025, 0.975])
    before, bend = lines.slopes(means, at)
    where = Interval(*(float(2**one) for one in (at, low, high)))
    at_an_end = low <= lines.candidates[0] + _NEAR or high >= lines.candidates[-1] - _NEAR
    verdict: Verdict = "bends upwards" if bend >= 0 else "uncertain" if at_an_end else "identifiable"
    return Capacity(*curve, verdict, where, (before, before + bend), bic)


class _BrokenLines:
    """Continuous lines with one bend, by least squares over all candidates for where it is.

    :param x: Positions (counts,). A bend lies between the second and the last but one, so that each side has two.
    """

    def __init__(self, x: Array) -> None:
        self._x = x
        self.candidates = np.linspace(x[1], x[-2], _CANDIDATES)
        designs = [self._design(at) for at in self.candidates]
        # What a fit leaves of a curve, for each candidate: (candidates, counts, counts)
        self._residuals = np.stack([np.eye(len(x)) - design @ np.linalg.pinv(design) for design in designs])

    def breakpoints(self, curves: Array) -> Array:
        """The best candidate for each curve (..., counts); the first of equals."""
        return self.candidates[self._left(curves).argmin(axis=-1)]

    def least(self, curve: Array) -> float:
        """Sum of squares that the best one leaves of a curve (counts,)."""
        return float(self._left(curve).min())

    def slopes(self, curve: Array, at: float) -> tuple[float, float]:
        """Slope before a bend, and what is added to it there."""
        _, before, bend = np.linalg.lstsq(self._design(at), curve, rcond=None)[0]
        return float(before), float(bend)

    def _left(self, curves: Array) -> Array:
        return np.square(np.einsum("tij,...j->...ti", self._residuals, curves)).sum(axis=-1)

    def _design(self, at: float) -> Array:
        return np.column_stack([np.ones_like(self._x), self._x, np.maximum(self._x - at, 0.0)])


def _bic(x: Array, scored: Array, lines: _BrokenLines) -> dict[str, float]:
    """BIC of each model of the sessions' own values: what a model leaves of the means, and the spread about them."""
    means, count = scored.mean(axis=0), scored.size
    spread = float(((scored - means) ** 2).sum())
    line = np.polyval(np.polyfit(x, means, 1), x)
    left = {
        "constant": float(((means - means.mean()) ** 2).sum()),
        "line": float(((means - line) ** 2).sum()),
        "broken line": lines.least(means),
    }
    return {
        name: count * float(np.log(max((len(scored) * left[name] + spread) / count, _LEAST_VARIANCE)))
        + parameters * float(np.log(count))
        for name, parameters in _PARAMETERS.items()
    }
