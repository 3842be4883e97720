"""Sets a threshold that bounds a rate: Learn-then-Test (Angelopoulos et al., 2021) with exact binomial tails.

The nulls of one kind are independent of each other, one a session, and each has a score; those that reach the
threshold activate. Thresholds are tested from strict to loose, and the first that fails ends it: whichever is
taken, the true rate exceeds the bound with a probability of at most one minus the confidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from pss_integrations.errors import InvalidInput

_HALVINGS = 60  # of an interval of length 1: beyond them nothing changes


def tail(activated: int, nulls: int, rate: float) -> float:
    """Probability that at most so many of the nulls activate where each does at this rate."""
    return min(1.0, math.fsum(_probability(count, nulls, rate) for count in range(activated + 1)))


def upper_bound(activated: int, nulls: int, confidence: float) -> float:
    """Largest rate that goes with what was seen (Clopper and Pearson, 1934; one-sided).

    >>> round(upper_bound(0, 59, 0.95), 3)
    0.049

    :raises InvalidInput: If more activated than there are nulls, or the confidence is none.
    """
    check_share("confidence", confidence)
    if not 0 <= activated <= nulls:
        raise InvalidInput(f"{activated} of {nulls} nulls cannot activate")
    if activated == nulls:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(activated, nulls, middle) > 1 - confidence else (low, middle)
    return high


def nulls_needed(activated: int, max_activation: float, confidence: float) -> int:
    """Fewest nulls among which so many may activate.

    >>> [nulls_needed(count, 0.05, 0.95) for count in range(3)]
    [59, 93, 124]

    :raises InvalidInput: If rate or confidence is none.
    """
    check_share("max_activation", max_activation)
    check_share("confidence", confidence)
    low, high = activated, activated + 1
    while not _passes(activated, high, max_activation, confidence):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _passes(activated, middle, max_activation, confidence) else (middle, high)
    return high


def threshold(scores_by_kind: Mapping[str, Sequence[float]], max_activation: float, confidence: float) -> float | None:
    """Return the least score that may activate; ``None`` if there is none such, or nothing to test on.

    Each kind is tested by itself, and the strictest of the thresholds is taken.

    :param scores_by_kind: Kind of null to its scores, one a session. Scores that are equal activate together.
    :raises InvalidInput: If rate or confidence is none, or a score is not finite.
    """
    check_share("max_activation", max_activation)
    check_share("confidence", confidence)
    found = [_threshold(scores, max_activation, confidence) for scores in scores_by_kind.values()]
    passing = [one for one in found if one is not None]
    return max(passing) if passing and len(passing) == len(found) else None


def check_share(name: str, value: object) -> None:
    """Refuse what is no number between 0 and 1, both excluded.

    :raises InvalidInput: If it is none.
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < 1:
        raise InvalidInput(f"{name} must be a number between 0 and 1, got {value!r}")


def _threshold(scores: Sequence[float], max_activation: float, confidence: float) -> float | None:
    if not all(map(math.isfinite, scores)):
        raise InvalidInput("scores of nulls must be finite numbers")
    loosest: float | None = None
    for candidate, activated in _candidates(scores):
        if not _passes(activated, len(scores), max_activation, confidence):
            break
        loosest = candidate
    return loosest


def _candidates(scores: Sequence[float]) -> Iterator[tuple[float, int]]:
    """From strict to loose: the least number above a score, and how many nulls reach it."""
    falling = sorted(scores, reverse=True)
    for activated, score in enumerate(falling):
        if activated == 0 or score < falling[activated - 1]:
            yield math.nextafter(score, math.inf), activated


def _passes(activated: int, nulls: int, max_activation: float, confidence: float) -> bool:
    return tail(activated, nulls, max_activation) <= 1 - confidence


def _probability(count: int, nulls: int, rate: float) -> float:
    ways = math.lgamma(nulls + 1) - math.lgamma(count + 1) - math.lgamma(nulls - count + 1)
    return math.exp(ways + count * math.log(rate) + (nulls - count) * math.log1p(-rate))
