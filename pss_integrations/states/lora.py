"""The resident LoRA bank: a lane for each bound state, loaded by a copy and unloaded by zeroing (PSS, section 2.2)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pss_integrations.states.config import StateConfig
from pss_integrations.states.layout import Projection, layout_of

Leaves = Mapping[str, Tensor]
"""Matrices of one lane by PEFT key, to get gradients for."""
BASE = -1
"""In place of a lane: the base model."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows of a batch, one after another, that use the same lane."""

    lane: int
    rows: slice


@dataclass(frozen=True, slots=True)
class _Use:
    """Which rows use which lanes.

    :param spread: The lanes in one piece, if each row has the lane after that of the row before.
    """

    runs: tuple[_Run, ...]
    spread: slice | None
    leaves: Mapping[int, Leaves]


class LoraBank:
    """Lanes for states beside a frozen model, applied by forward hooks.

    A forward pass meets a state only inside :meth:`use`, and only in the thread that entered it; any other pass
    runs the base model, bit for bit.

    :param model: The frozen model.
    :param config: Shape of the states.
    :param lanes: How many states can be bound at once.
    """

    def __init__(self, model: nn.Module, config: StateConfig, lanes: int) -> None:
        parameter = next(model.parameters())
        self.layout = layout_of(model, config)
        self.scaling = config.scaling
        self.dtype, self.device = parameter.dtype, parameter.device
        # a matrix of all lanes lies in one piece: batched products of strided ones are three times slower
        self._stacks = {
            key: torch.zeros(lanes, *shape, dtype=self.dtype, device=self.device)
            for key, (_, shape) in self.layout.spans.items()
        }
        self.bound = [False] * lanes
        self._active = threading.local()
        self._hooks = [
            model.get_submodule(p.path).register_forward_hook(self._hook(p)) for p in self.layout.projections
        ]

    def close(self) -> None:
        """Take the hooks off the model."""
        for hook in self._hooks:
            hook.remove()

    @property
    def state_bytes(self) -> int:
        """Bytes of one lane."""
        return self.layout.numel * self.dtype.itemsize

    def bind(self, lane: int, vector: Tensor) -> None:
        """Copy a state vector (numel,) into a lane."""
        self.bound[lane] = True
        matrices = self.layout.matrices(vector)
        for key, matrix in self.leaves(lane).items():
            matrix.copy_(matrices[key])

    def unbind(self, lane: int) -> None:
        """Zero a lane."""
        for matrix in self.leaves(lane).values():
            matrix.zero_()
        self.bound[lane] = False

    def vector(self, lane: int) -> Tensor:
        """A copy of what is in a lane, as a state vector (numel,)."""
        return self.layout.vector(self.leaves(lane))

    def leaves(self, lane: int) -> dict[str, Tensor]:
        """The matrices of a lane by PEFT key, without gradient; they share its memory."""
        return {key: stack[lane] for key, stack in self._stacks.items()}

    @contextmanager
    def use(self, lanes: int | Sequence[int], leaves: Mapping[int, Leaves] | None = None) -> Generator[None]:
        """Apply one lane to every row of the batch, or to each row its own; -1 is the base model.

        :param lanes: The lane, or one for each row. Fastest if all are the same, or each is the one after that of
            the row before.
        :param leaves: By lane, what takes the place of its matrices and gets gradients.
        """
        self._active.use = _use(lanes, leaves or {})
        try:
            yield
        finally:
            self._active.use = None

    def _hook(self, projection: Projection) -> Callable[..., Tensor | None]:
        key_a, key_b = (f"base_model.model.{projection.path}.lora_{side}.weight" for side in "AB")
        stack_a, stack_b = self._stacks[key_a], self._stacks[key_b]

        def updated(output: Tensor, x: Tensor, lane: int, leaves: Mapping[int, Leaves]) -> Tensor:
            if lane == BASE:
                return output
            own = leaves.get(lane)
            a, b = (own[key_a], own[key_b]) if own else (stack_a[lane], stack_b[lane])
            return output.add(F.linear(F.linear(x, a), b), alpha=self.scaling)

        def add_update(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
            use: _Use | None = getattr(self._active, "use", None)
            if use is None:
                return None
            x = args[0]
            if use.spread is not None:
                hidden = torch.bmm(x, stack_a[use.spread].transpose(1, 2))  # (rows, T, rank)
                return output.baddbmm(hidden, stack_b[use.spread].transpose(1, 2), alpha=self.scaling)
            if len(use.runs) == 1:
                return updated(output, x, use.runs[0].lane, use.leaves)
            return torch.cat([updated(output[run.rows], x[run.rows], run.lane, use.leaves) for run in use.runs])

        return add_update


def _use(lanes: int | Sequence[int], leaves: Mapping[int, Leaves]) -> _Use:
    if isinstance(lanes, int):
        return _Use((_Run(lanes, slice(None)),), None, leaves)
    first = lanes[0]
    if len(lanes) > 1 and first != BASE and not leaves and list(lanes) == list(range(first, first + len(lanes))):
        return _Use((), slice(first, first + len(lanes)), leaves)
    runs, at = list[_Run](), 0
    for lane, rows in groupby(lanes):
        runs.append(_Run(lane, slice(at, at := at + len(list(rows)))))
    return _Use(tuple(runs), None, leaves)
