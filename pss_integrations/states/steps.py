"""Training steps, of one session or of several at once.

A compile does not run its steps itself: it yields them. Whoever drives it may run steps of several sessions in one
pass through the adapted layers, each session's rows with its own lane. The loss of a session depends on its own rows
and its own lane alone, so its gradient is the one that it would have had by itself, but for rounding (S-LoRA and Punica
do the same for inference).
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

JOINT_POSITIONS = 640
"""Steps are run together up to so many token positions, padding included. On two cores that took 0.87 of the time for
steps of 100 positions and 0.94 for 200; steps of 500 gained nothing, and are run by themselves."""


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

    def fits(self, others: Sequence[Step]) -> bool:
        """Whether it is worth running this step together with the others."""
        rows, longest = zip(self.lower.shape[:2], *(other.lower.shape[:2] for other in others), strict=True)
        return sum(rows) * max(longest) <= JOINT_POSITIONS

    def run(self, others: Sequence[Step] = ()) -> None:
        """Run this step, and those of other sessions in the same pass."""
        steps = [self, *others]
        try:
            self._run(steps)
        except BaseException:
            for step in steps:
                step.discard()
            raise

    def discard(self) -> None:
        """Drop gradients that gathered before a step failed, so that it can be run again."""
        for leaf in self.leaves.values():
            if leaf.grad is not None:
                leaf.grad.zero_()

    def _run(self, steps: Sequence[Step]) -> None:
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
    try:
        while True:
            step = next(work)
            if step is not None:
                step.run()
    except StopIteration as stop:
        return stop.value
    finally:
        work.close()
