"""Declared families of comparisons: a treatment against several controls, corrected together (PSS, appendix O)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.statistics import (
    Interval,
    check_between,
    check_p_values,
    holm,
    paired_difference,
    sign_flip_test,
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The treatment against one control.

    :param difference: Mean of treatment minus control, with its interval.
    :param p_value: Two-sided, of the sign-flip test.
    :param p_holm: The same, adjusted for the family.
    """

    difference: Interval
    p_value: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class FamilyResult:
    """A declared family of comparisons.

    :param treatment: Name of the arm that is expected to be better.
    :param comparisons: Control name to comparison.
    :param alpha: Level of the family; the intervals, each for itself, cover ``1 - alpha``.
    :param units: How many sessions, or groups of them, change sides independently.
    """

    treatment: str
    comparisons: Mapping[str, Comparison]
    alpha: float
    units: int

    @property
    def decidable(self) -> bool:
        """Whether so few units could show a difference at all: the least p-value there is, corrected, against alpha."""
        return len(self.comparisons) * 2 / 2**self.units < self.alpha

    @property
    def passed(self) -> bool:
        """Whether the treatment is better than every control: :func:`joint_rule`."""
        differences = {name: one.difference.value for name, one in self.comparisons.items()}
        return joint_rule(differences, {name: one.p_holm for name, one in self.comparisons.items()}, alpha=self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**asdict(self), "decidable": self.decidable, "passed": self.passed}


def joint_rule(differences: Mapping[str, float], p_adjusted: Mapping[str, float], *, alpha: float = 0.05) -> bool:
    """Whether a treatment is better than every control of its family (PSS, appendix O).

    :param differences: Control name to treatment minus control.
    :param p_adjusted: Control name to adjusted p-value.
    :raises InvalidInput: If there is no control, the two name different ones, or a p-value lies outside 0 to 1.
    """
    check_between(alpha, "alpha")
    if not differences or differences.keys() != p_adjusted.keys():
        raise InvalidInput(
            f"differences and p-values must be of the same controls, got {sorted(differences)} and {sorted(p_adjusted)}"
        )
    check_p_values(p_adjusted)
    return all(differences[name] > 0 and p_adjusted[name] < alpha for name in differences)


def compare(
    values: Mapping[str, ArrayLike],
    treatment: str,
    controls: Sequence[str],
    *,
    groups: Sequence[Hashable] | None = None,
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> FamilyResult:
    """Compare a treatment with the controls of one declared family.

    :param values: Arm name to one value per session, in the same order for every arm.
    :param treatment: The arm that is expected to be better.
    :param controls: The arms it is compared with, each once.
    :param groups: Source group of each session.
    :param alpha: Level of the family; the intervals, each for itself, cover ``1 - alpha``.
    :raises InvalidInput: As :func:`paired_difference`, or if an arm has no values or the controls are none, repeated or
        the treatment itself.
    """
    check_between(alpha, "alpha")
    _check_arms(values, treatment, controls)
    arms = {name: (values[treatment], values[name]) for name in controls}
    raw = {name: sign_flip_test(*pair, groups=groups, resamples=resamples, seed=seed) for name, pair in arms.items()}
    adjusted = holm(raw)
    comparisons = {
        name: Comparison(
            paired_difference(*pair, groups=groups, confidence=1 - alpha, resamples=resamples, seed=seed),
            raw[name],
            adjusted[name],
        )
        for name, pair in arms.items()
    }
    units = np.size(values[treatment]) if groups is None else len(set(groups))
    return FamilyResult(treatment, comparisons, alpha, units)


def _check_arms(values: Mapping[str, ArrayLike], treatment: str, controls: Sequence[str]) -> None:
    if not controls or len({treatment, *controls}) <= len(controls):
        raise InvalidInput(f"controls must be at least one, each once and none {treatment!r}, got {list(controls)}")
    if unknown := [name for name in (treatment, *controls) if name not in values]:
        raise InvalidInput(f"no values for {', '.join(unknown)}: there are {', '.join(values)}")
