"""States as what they do to the model, whatever they are written as (PSS, section C).

The factors of an update ``B @ A`` are not determined by it: ``(B / c) @ (c A)`` is the same update, and so is
``(B G^-1) @ (G A)`` for any invertible ``G``. So nothing here looks at a factor alone, and the product, as large as the
model's own matrix, is never made: a random projection of it takes the products of each side with a vector, and its norm
the Gram matrices of the factors, rank by rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pss_integrations.states.layout import Layout

Array: TypeAlias = NDArray[Any]

DIRECTIONS: Final = 1024
"""Numbers in the fingerprint of one module. Cosines of two sessions' states lie 0.016 about their mean (standard
deviation), so an error has to be smaller: it is 0.006 with 56 modules, and would be 0.018 with 128 numbers."""


def fingerprint(layout: Layout, vector: Tensor, *, directions: int = DIRECTIONS, seed: int = 0) -> Array:
    """Project a state's updates at random, module by module; inner products are kept in the mean.

    Number ``i`` of a module is ``u_i^T (B A) v_i`` with signs drawn for ``u_i`` and ``v_i``, which depend on the seed
    and the module's name alone. The inner product of two fingerprints estimates the sum over modules of the inner
    products of the updates.

    :param layout: The layout of the state.
    :param vector: State vector (numel,).
    :param directions: Numbers for each module.
    :return: Shape (modules * directions,), scaled so that lengths are kept.
    """
    parts = list[Array]()
    for path, a, b in _factors(layout, vector):
        rng = np.random.default_rng([seed, crc32(path.encode())])
        left, right = _signs(rng, (directions, len(b))) @ b, a @ _signs(rng, (a.shape[1], directions))
        parts.append((left * right.T).sum(axis=1))  # (directions,)
    return np.concatenate(parts) / np.sqrt(directions)


def update_energies(layout: Layout, vector: Tensor, scaling: float = 1.0) -> dict[str, float]:
    """Frobenius norm of each module's update, ``scaling * B @ A``.

    :param layout: The layout of the state.
    :param vector: State vector (numel,).
    :param scaling: What the update is multiplied by when it is applied: ``alpha / rank``.
    :return: Module path to norm.
    """
    return {
        path: scaling * float(np.sqrt(max(0.0, float(((b.T @ b) * (a @ a.T)).sum()))))
        for path, a, b in _factors(layout, vector)
    }


def _factors(layout: Layout, vector: Tensor) -> Iterator[tuple[str, Array, Array]]:
    """Each module's path with its A (rank, in) and B (out, rank), in double precision."""
    matrices = layout.matrices(vector.to("cpu", torch.float64))
    for projection in layout.projections:
        a, b = (matrices[f"base_model.model.{projection.path}.lora_{side}.weight"].numpy() for side in "AB")
        yield projection.path, a, b


def _signs(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return 2.0 * rng.integers(0, 2, shape, dtype=np.int8) - 1.0
