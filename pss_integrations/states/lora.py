"""The resident LoRA bank: one vector per lane, bound by a copy and unloaded by zeroing (PSS, section 2.2).

A state is one flat vector. Its tensors lie in the order in which a PEFT file stores them, so the layout below
is the only place that knows where a matrix is.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pss_integrations.errors import InvalidInput, StateCorrupt, UnsupportedBackbone
from pss_integrations.states.config import StateConfig

TARGET_MODULES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
FUSED_MODULES = ("qkv_proj", "gate_up_proj")
"""Phi-3's names for q, k and v in one, and for gate and up in one."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A linear layer that is adapted."""

    path: str
    in_features: int
    out_features: int


@dataclass(frozen=True)
class Layout:
    """Where each LoRA matrix lies in a state vector.

    :param projections: The adapted layers.
    :param rank: Rank of the stored update (all segments together).
    """

    projections: tuple[Projection, ...]
    rank: int

    @cached_property
    def spans(self) -> dict[str, tuple[int, tuple[int, int]]]:
        """PEFT tensor key to (offset, shape), in file order."""
        shapes = {
            f"base_model.model.{p.path}.lora_{side}.weight": shape
            for p in self.projections
            for side, shape in (("A", (self.rank, p.in_features)), ("B", (p.out_features, self.rank)))
        }
        spans, offset = dict[str, tuple[int, tuple[int, int]]](), 0
        for key in sorted(shapes):
            spans[key] = (offset, shapes[key])
            offset += math.prod(shapes[key])
        return spans

    @property
    def numel(self) -> int:
        """Parameters in a state."""
        return self.rank * sum(p.in_features + p.out_features for p in self.projections)

    def matrices(self, vector: Tensor) -> dict[str, Tensor]:
        """Split a state vector (numel,) into views by PEFT key."""
        return {key: vector[at : at + math.prod(shape)].view(shape) for key, (at, shape) in self.spans.items()}

    def vector(self, tensors: Mapping[str, Tensor]) -> Tensor:
        """Join tensors by PEFT key into a state vector (numel,).

        :raises StateCorrupt: If a tensor is missing, unknown or of another shape.
        """
        if set(tensors) != set(self.spans):
            odd = sorted(set(tensors) ^ set(self.spans))[0]
            raise StateCorrupt(f"the state's tensors are not those of this backbone and configuration: {odd}")
        for key, (_, shape) in self.spans.items():
            if tuple(tensors[key].shape) != shape:
                raise StateCorrupt(f"{key} has shape {tuple(tensors[key].shape)}, expected {shape}")
        return torch.cat([tensors[key].reshape(-1) for key in self.spans])

    def segment(self, index: int, rank: int) -> Tensor:
        """Mask (numel,) of the entries of one segment: ``rank`` rows of each A and columns of each B."""
        mask = torch.zeros(self.numel, dtype=torch.bool)
        part = slice(index * rank, (index + 1) * rank)
        for key, matrix in self.matrices(mask).items():
            (matrix[part] if ".lora_A." in key else matrix[:, part]).fill_(True)
        return mask


def decoder_layers(model: nn.Module) -> nn.ModuleList:
    """Return the decoder layers of a Hugging Face causal LM.

    :raises UnsupportedBackbone: If the model does not have the usual ``model.layers``.
    """
    layers = getattr(getattr(model, "model", None), "layers", None)
    if not isinstance(layers, nn.ModuleList) or not len(layers):
        raise UnsupportedBackbone(f"{type(model).__name__} has no decoder layers at model.layers")
    return layers


def layout_of(model: nn.Module, config: StateConfig) -> Layout:
    """Find the projections of the last layers of a model; works on ``meta`` tensors too.

    :raises UnsupportedBackbone: If a layer holds none of the known projections.
    :raises InvalidInput: If more layers are asked for than there are.
    """
    layers = decoder_layers(model)
    if config.layers > len(layers):
        raise InvalidInput(f"layers={config.layers}, but the backbone has {len(layers)}")
    projections = list[Projection]()
    for index in range(len(layers) - config.layers, len(layers)):
        found = [
            Projection(f"model.layers.{index}.{name}", module.in_features, module.out_features)
            for name, module in layers[index].named_modules()
            if isinstance(module, nn.Linear) and name.rpartition(".")[2] in TARGET_MODULES + FUSED_MODULES
        ]
        if not found:
            raise UnsupportedBackbone(f"layer {index} of {type(model).__name__} has no known projection")
        projections += found
    return Layout(tuple(projections), config.total_rank)


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
        self.vectors = torch.zeros(lanes, self.layout.numel, dtype=parameter.dtype, device=parameter.device)
        self.bound = [False] * lanes
        self._active = threading.local()
        self._hooks = [
            model.get_submodule(p.path).register_forward_hook(self._hook(p)) for p in self.layout.projections
        ]

    def close(self) -> None:
        """Take the hooks off the model."""
        for hook in self._hooks:
            hook.remove()

    def bind(self, lane: int, vector: Tensor) -> None:
        """Copy a state vector (numel,) into a lane."""
        self.bound[lane] = True
        self.vectors[lane].copy_(vector)

    def unbind(self, lane: int) -> None:
        """Zero a lane."""
        self.vectors[lane].zero_()
        self.bound[lane] = False

    @contextmanager
    def use(self, lanes: int | Sequence[int], leaves: Mapping[str, Tensor] | None = None) -> Generator[None]:
        """Apply one lane to every row of the batch, or to each row its own; -1 is the base model.

        :param lanes: The lane, or one for each row.
        :param leaves: What :meth:`leaves` gave for the lane, to get gradients for.
        """
        device = self.vectors.device
        self._active.lanes = lanes if isinstance(lanes, int) else torch.tensor(lanes, device=device)
        self._active.leaves = leaves
        try:
            yield
        finally:
            self._active.lanes = self._active.leaves = None

    def leaves(self, lane: int) -> dict[str, Tensor]:
        """Return the matrices of a lane by PEFT key, as leaves of autograd that share its memory."""
        return {key: m.detach().requires_grad_() for key, m in self.layout.matrices(self.vectors[lane]).items()}

    def _hook(self, projection: Projection) -> Callable[..., Tensor | None]:
        key_a, key_b = (f"base_model.model.{projection.path}.lora_{side}.weight" for side in "AB")
        stack_a, stack_b = self._stack(key_a), self._stack(key_b)

        def add_update(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
            lanes = getattr(self._active, "lanes", None)
            if lanes is None:
                return None
            if isinstance(lanes, int):
                leaves = self._active.leaves
                a, b = (leaves[key_a], leaves[key_b]) if leaves else (stack_a[lanes], stack_b[lanes])
                return output + F.linear(F.linear(args[0], a) * self.scaling, b)
            rows = lanes.clamp(min=0)
            hidden = torch.bmm(args[0], stack_a[rows].transpose(1, 2)) * self.scaling  # (rows, T, rank)
            updated = output + torch.bmm(hidden, stack_b[rows].transpose(1, 2))  # (rows, T, out)
            return torch.where((lanes >= 0)[:, None, None], updated, output)

        return add_update

    def _stack(self, key: str) -> Tensor:
        """One matrix of every lane (lanes, rows, columns), as a view."""
        at, shape = self.layout.spans[key]
        return self.vectors[:, at : at + math.prod(shape)].unflatten(1, shape)
