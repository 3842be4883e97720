"""How a state is shaped and how it is written. The defaults are the paper's where it gives them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pss_integrations.errors import InvalidInput

KeepText = Literal["none", "targets", "history"]
READ_ROWS = 32
"""Most queries that are read in one batch."""


@dataclass(frozen=True, slots=True)
class StateConfig:
    """Shape of a state (PSS, section 2.2): what a backbone must agree on to load it.

    :param rank: LoRA rank of one segment.
    :param alpha: LoRA alpha of one segment; the update is scaled by ``alpha / rank``.
    :param layers: How many of the last decoder layers are adapted, all their projections.
    :param segments: Consecutive parts of the history that get an adapter each; they are summed.
    :param dtype: What a state is stored in: ``"bfloat16"``, or ``"float32"`` for exact comparisons.
    :raises InvalidInput: If a value is not positive or the dtype unknown.
    """

    rank: int = 32
    alpha: float = 64.0
    layers: int = 8
    segments: int = 1
    dtype: Literal["bfloat16", "float32"] = "bfloat16"

    def __post_init__(self) -> None:
        if self.dtype not in ("bfloat16", "float32"):
            raise InvalidInput(f"states are stored in 'bfloat16' or 'float32', not {self.dtype!r}")
        for name in ("rank", "alpha", "layers", "segments"):
            if getattr(self, name) <= 0:
                raise InvalidInput(f"{name} must be positive, got {getattr(self, name)}")

    @property
    def total_rank(self) -> int:
        """Rank of the summed update: segments stack along the rank, which equals adding them."""
        return self.rank * self.segments

    @property
    def scaling(self) -> float:
        """Factor on ``B @ A``."""
        return self.alpha / self.rank

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class CompileConfig:
    """How a state is written (PSS, section 2.3; the paper publishes none of these values).

    :param history_steps: Passes of language modelling over the history; 0 gives a target-only state.
    :param max_epochs: Most visits to the clue targets, in multiples of their number; fewer if all are reproduced.
    :param min_epochs: Fewest visits, in the same measure, early stop or not.
    :param batch_size: Clue targets per step.
    :param replay: How many of the targets known before a pass of a recompile visits, for each new one; one batch at
        least.
    :param lr_a: Learning rate of the A matrices.
    :param lr_b: Learning rate of the B matrices (LoRA+: larger than A's).
    :param warmup: Steps over which each stage's learning rate rises.
    :param max_grad_norm: Gradients are clipped to this norm.
    :param margin: Early stop once each target token's logit leads by this much.
    :param conflict_weight: Weight of the margin against conflicting clues; 0 switches negatives off.
    :param conflict_margin: Lead, in logits, over a conflicting clue where the two part.
    :param max_clue_tokens: Most tokens of a clue, when written and when read.
    :param history_window: Most tokens of one language-modelling window; the backbone's context at most.
    :param seed: Seeds the adapter and the order of batches; the same seed gives the same state, but for rounding where
        sessions are compiled together.
    :param keep_text: What text the stored state keeps: ``"none"``, ``"targets"`` (needed for a warm
        recompile) or ``"history"``.
    :raises InvalidInput: If a value is out of range.
    """

    history_steps: int = 2
    max_epochs: int = 40
    min_epochs: int = 1
    batch_size: int = 8
    replay: float = 1.0
    lr_a: float = 1e-3
    lr_b: float = 4e-3
    warmup: int = 4
    max_grad_norm: float = 1.0
    margin: float = 0.5
    conflict_weight: float = 2.0
    conflict_margin: float = 4.0
    max_clue_tokens: int = 64
    history_window: int = 8192
    seed: int = 0
    keep_text: KeepText = "targets"

    def __post_init__(self) -> None:
        at_least = {
            "history_steps": 0,
            "min_epochs": 1,
            "max_epochs": self.min_epochs,
            "batch_size": 1,
            "warmup": 0,
        }
        at_least |= {"max_clue_tokens": 1, "history_window": 2, "margin": 0, "conflict_weight": 0}
        for name, least in at_least.items():
            if getattr(self, name) < least:
                raise InvalidInput(f"{name} must be at least {least}, got {getattr(self, name)}")
        for name in ("lr_a", "lr_b", "max_grad_norm"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"{name} must be positive, got {getattr(self, name)}")
        if not 0 <= self.replay < math.inf:
            raise InvalidInput(f"replay must be a number of at least 0, got {self.replay}")
        if self.keep_text not in ("none", "targets", "history"):
            raise InvalidInput(f"keep_text must be 'none', 'targets' or 'history', got {self.keep_text!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        return asdict(self)
