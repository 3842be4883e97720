"""Where each LoRA matrix lies in a state (PSS, section 2.2).

A state is one flat vector. Its tensors lie in the order in which a PEFT file stores them, and nothing but the layout
knows where a matrix is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
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
