"""Do states of one kind lie near each other? Measured on fingerprints, before any picture is drawn (PSS, section C)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pss_integrations.errors import InvalidInput

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """How states lie that have labels.

    :param states: How many states.
    :param labels: How many labels.
    :param silhouette: Mean cosine silhouette, from -1 to 1; near 0 or below if the labels say nothing.
    :param same: Share of the states whose nearest neighbour has their label.
    :param chance: The same share if any other state were as likely to be the nearest.
    """

    states: int
    labels: int
    silhouette: float
    same: float
    chance: float

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


def neighbourhood(fingerprints: ArrayLike, labels: Sequence[str]) -> Neighbourhood:
    """Measure how states of one label lie to each other and to the rest.

    :param fingerprints: Shape (states, numbers); only their directions matter.
    :param labels: One for each state.
    :raises InvalidInput: If a state has no direction, the labels are not one for each, or there are fewer than two.
    """
    distances = cosine_distances(fingerprints)
    names, codes = np.unique(np.asarray(labels), return_inverse=True)
    if len(codes) != len(distances) or len(names) < 2:
        raise InvalidInput(f"labels must be one for each of {len(distances)} states, and two or more, got {[*names]}")
    counts = np.bincount(codes)
    nearest = np.argmin(distances + np.diag(np.full(len(codes), np.inf)), axis=1)
    return Neighbourhood(
        states=len(codes),
        labels=len(names),
        silhouette=float(_silhouettes(distances, codes, counts).mean()),
        same=float((codes[nearest] == codes).mean()),
        chance=float((counts[codes] - 1).mean() / (len(codes) - 1)),
    )


def cosine_distances(fingerprints: ArrayLike) -> Array:
    """One minus the cosine of each pair: shape (states, states), with zeros on the diagonal.

    :param fingerprints: Shape (states, numbers).
    :raises InvalidInput: If a state has no direction.
    """
    unit = _directions(fingerprints)
    distances = np.clip(1.0 - unit @ unit.T, 0.0, 2.0)
    np.fill_diagonal(distances, 0.0)
    return distances


def principal_components(fingerprints: ArrayLike, count: int = 2) -> tuple[Array, Array]:
    """Where states lie along the directions in which they differ most.

    :param fingerprints: Shape (states, numbers); only their directions matter.
    :return: Coordinates (states, count), and the share of the variance that each explains. A component's sign is the
        one with which its farthest state is positive.
    :raises InvalidInput: If a state has no direction, or there are fewer states than components.
    """
    unit = _directions(fingerprints)
    if len(unit) < count:
        raise InvalidInput(f"{count} components need as many states, got {len(unit)}")
    u, singular, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    coordinates = (u * singular)[:, :count]
    farthest = np.abs(coordinates).argmax(axis=0)
    signs = np.where(coordinates[farthest, range(count)] < 0, -1.0, 1.0)
    variance = singular**2
    return coordinates * signs, variance[:count] / max(float(variance.sum()), np.finfo(float).tiny)


def _directions(fingerprints: ArrayLike) -> Array:
    """The fingerprints at length 1."""
    points = np.asarray(fingerprints, dtype=np.float64)
    lengths = np.linalg.norm(points, axis=1)
    if not lengths.all():
        raise InvalidInput(f"states without any update have no direction: {np.flatnonzero(lengths == 0).tolist()}")
    return points / lengths[:, None]


def _silhouettes(distances: Array, codes: Array, counts: Array) -> Array:
    """Per state how much nearer its own label is than the nearest other; 0 for the only state of a label."""
    rows = np.arange(len(codes))
    totals = distances @ np.eye(len(counts))[codes]  # (states, labels)
    own = totals[rows, codes] / np.maximum(counts[codes] - 1, 1)
    means = totals / counts
    means[rows, codes] = np.inf
    other = means.min(axis=1)
    wider = np.maximum(own, other)
    return np.where((counts[codes] > 1) & (wider > 0), (other - own) / np.where(wider > 0, wider, 1.0), 0.0)
