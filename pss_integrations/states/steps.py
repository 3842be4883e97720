"""Training steps, of one session or of several at once.

A compile does not run its steps itself: it yields them. Whoever drives it may run steps of several sessions in one
pass through the adapted layers, each session's rows with its own lane. The loss of a session depends on its own rows
and its own lane alone, so its gradient is the one that it would have had by itself (S-LoRA and Punica do the same for
inference).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import chain
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from pss_integrations.states.lora import Leaves, LoraBank
from pss_integrations.states.split import SplitModel

ResultT = TypeVar("ResultT")

JOINT_POSITIONS = 1024
"""Steps are run together up to so many token positions; from there on the processor is busy with one."""


class Step:
    """The forward and backward pass of one optimiser step; gradients gather in the leaves.

    :param lane: The lane that is trained.
    :param leaves: Its matrices.
    :param lower: What enters the first adapted layer (rows, T, D).
    :param loss_of: Loss for what leaves the last one (rows, T, D).
    """

    def __init__(
        self,
        split: SplitModel,
        bank: LoraBank,
        lane: int,
        leaves: Leaves,
        lower: Tensor,
        loss_of: Callable[[Tensor], Tensor],
    ) -> None:
        self._split, self._bank, self._loss_of = split, bank, loss_of
        self.lane, self.leaves, self.lower = lane, leaves, lower
        self.loss = float("nan")

    @property
    def positions(self) -> int:
        """Token positions, padding included."""
        return self.lower.shape[0] * self.lower.shape[1]

    def fits(self, others: Sequence[Step]) -> bool:
        """Whether it is worth running this step together with the others."""
        return self.positions + sum(other.positions for other in others) <= JOINT_POSITIONS

    def run(self, others: Sequence[Step] = ()) -> None:
        """Run this step, and those of other sessions in the same pass."""
        steps = [self, *others]
        longest = max(step.lower.shape[1] for step in steps)
        lower = torch.cat([F.pad(step.lower, (0, 0, 0, longest - step.lower.shape[1])) for step in steps])
        lanes = list(chain.from_iterable([step.lane] * len(step.lower) for step in steps))
        with torch.enable_grad(), self._bank.use(lanes, {step.lane: step.leaves for step in steps}):
            upper = self._split.upper(lower).split([len(step.lower) for step in steps])
            losses = [step._loss_of(hidden) for step, hidden in zip(steps, upper, strict=True)]
            torch.stack(losses).sum().backward()
        for step, loss in zip(steps, losses, strict=True):
            step.loss = loss.item()


def finish(work: Generator[Step | None, None, ResultT]) -> ResultT:
    """Run work to its end in the caller's thread, each step by itself."""
    while True:
        try:
            step = next(work)
        except StopIteration as stop:
            return stop.value
        if step is not None:
            step.run()
