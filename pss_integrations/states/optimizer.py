"""The optimiser of one lane: FP32 masters, while the model runs with the values that will be stored."""

from __future__ import annotations

import torch
from torch import Tensor

from pss_integrations.states.config import CompileConfig
from pss_integrations.states.layout import Layout
from pss_integrations.states.lora import LoraBank


class Optimizer:
    """AdamW on FP32 masters of one lane; A and B have learning rates of their own (LoRA+)."""

    def __init__(self, bank: LoraBank, lane: int, start: Tensor, stored: torch.dtype, config: CompileConfig) -> None:
        self.lane = lane
        self._bank, self._stored, self._config = bank, stored, config
        self.leaves = {key: matrix.requires_grad_() for key, matrix in bank.leaves(lane).items()}
        self._master = start.to(bank.device, torch.float32, copy=True)
        self._gradient = torch.zeros(bank.layout.numel, dtype=bank.dtype, device=bank.device)
        for key, view in bank.layout.matrices(self._gradient).items():
            self.leaves[key].grad = view  # autograd adds in place, so one vector holds all gradients
        self.mask: Tensor | None = None
        self.restart()
        self._publish()

    def restart(self) -> None:
        """Forget moments and start the warm-up again."""
        self._step = 0
        masters, self._gradient32 = self._bank.layout.matrices(self._master), torch.zeros_like(self._master)
        for key, view in self._bank.layout.matrices(self._gradient32).items():
            masters[key].grad = view
        sides = {side: [m for key, m in masters.items() if f".lora_{side}." in key] for side in "AB"}
        self._adam = torch.optim.AdamW(
            [
                {"params": sides["A"], "lr": self._config.lr_a, "base": self._config.lr_a},
                {"params": sides["B"], "lr": self._config.lr_b, "base": self._config.lr_b},
            ],
            weight_decay=0.0,
            fused=True,
        )

    def step(self) -> None:
        """Apply the gradients that have gathered and put the new values into the lane."""
        self._step += 1
        gradient = self._gradient32.copy_(self._gradient)
        self._gradient.zero_()
        if self.mask is not None:
            gradient.mul_(self.mask)
        gradient.mul_((self._config.max_grad_norm / (gradient.norm() + 1e-6)).clamp(max=1.0))
        for group in self._adam.param_groups:
            group["lr"] = group["base"] * min(1.0, self._step / max(1, self._config.warmup))
        self._adam.step()
        self._publish()

    def _publish(self) -> None:
        """Put the masters, rounded as they will be stored, into the lane."""
        self._bank.bind(self.lane, self._master.to(self._stored))


def initial_vector(layout: Layout, seed: int) -> Tensor:
    """A fresh state (numel,): A uniform as in PEFT, B zero, so it changes nothing yet."""
    vector = torch.zeros(layout.numel)
    generator = torch.Generator().manual_seed(seed)
    for key, matrix in layout.matrices(vector).items():
        if ".lora_A." in key:
            bound = matrix.shape[1] ** -0.5  # kaiming_uniform_(a=sqrt(5))
            matrix.uniform_(-bound, bound, generator=generator)
    return vector
