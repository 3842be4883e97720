"""Cross-entropy at supervised positions, with its gradient taken in the same pass.

Logits are vocabulary-sized, so each further pass over them costs as much as a layer. Here they are made for some rows
at a time, turned into the gradient in place and dropped: none is kept for the backward pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

_ROWS = 256  # most positions whose logits are held at once


@dataclass(frozen=True, slots=True)
class Conflicts:
    """A hinge on the lead over tokens that must not follow: ``weight * mean(max(0, margin - lead))``.

    Greedy decoding goes wrong at the first token in which a clue and a conflicting one differ, so the margin is put
    there.

    :param pairs: (position, wrong token) each.
    """

    pairs: Sequence[tuple[int, int]]
    weight: float
    margin: float


class CrossEntropy:
    """Mean cross-entropy of the head's logits; keeps the memory for them, which costs as much to get as to fill.

    :param head: The frozen language-model head.
    """

    def __init__(self, head: nn.Linear) -> None:
        self.head = head
        self._buffers = torch.empty(0, dtype=head.weight.dtype), torch.empty(0)

    def __call__(self, hidden: Tensor, labels: Tensor, conflicts: Conflicts | None = None) -> tuple[Tensor, Tensor]:
        """Return the loss, and by how much each label's logit leads all others (N,), without gradient.

        :param hidden: Normalised hidden states (N, D); the gradient flows to them.
        :param labels: Token ids (N,).
        """
        return _CrossEntropy.apply(hidden, self, labels, conflicts)  # pyright: ignore[reportReturnType]

    def leads(self, hidden: Tensor, labels: Tensor) -> Tensor:
        """By how much each label's logit leads all others (N,); for what is checked and not trained."""
        parts = zip(hidden.split(_ROWS), labels.split(_ROWS), strict=True)
        return torch.cat([leads(self.logits(part)[0], right) for part, right in parts])

    def logits(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (n, V) in FP32, and memory for as many in the head's own dtype; good until the next call."""
        shape = len(hidden), self.head.out_features
        if self._buffers[0].numel() < math.prod(shape):
            place = hidden.device
            self._buffers = tuple(torch.empty(shape, dtype=d, device=place) for d in (hidden.dtype, torch.float32))
        stored, logits = (buffer.flatten()[: math.prod(shape)].view(shape) for buffer in self._buffers)
        torch.mm(hidden, self.head.weight.t(), out=stored)
        logits.copy_(stored)
        bias: Tensor | None = getattr(self.head, "bias", None)
        return (logits if bias is None else logits.add_(bias)), stored


def leads(logits: Tensor, labels: Tensor) -> Tensor:
    """By how much each label's logit leads all others (N,), for FP32 logits (N, V), which end as they were."""
    right = logits.gather(1, labels[:, None])
    others = logits.scatter_(1, labels[:, None], -torch.inf).amax(dim=1)
    logits.scatter_(1, labels[:, None], right)
    return right.squeeze(1) - others


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, entropy: CrossEntropy, labels: Tensor, conflicts: Conflicts | None
    ) -> tuple[Tensor, Tensor]:
        count = len(labels)
        loss = torch.zeros((), device=hidden.device)
        gradient, margins = torch.empty_like(hidden), torch.empty(count, device=hidden.device)
        at = 0
        for part in hidden.tensor_split(math.ceil(count / _ROWS)):
            rows = slice(at, at + len(part))
            logits, stored = entropy.logits(part)
            margins[rows] = leads(logits, labels[rows])
            hinge = _hinge(logits, labels[rows], conflicts, at)
            loss += _softmax_gradient(logits, labels[rows], count)
            if hinge is not None:
                loss += hinge[0]
                logits.index_put_(hinge[1], hinge[2], accumulate=True)
            gradient[rows] = stored.copy_(logits) @ entropy.head.weight
            at = rows.stop
        ctx.save_for_backward(gradient)
        ctx.mark_non_differentiable(margins)
        return loss, margins

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * outputs[0], None, None, None


def _softmax_gradient(logits: Tensor, labels: Tensor, count: int) -> Tensor:
    """Turn logits into the gradient of their share of the mean cross-entropy, in place; returns that share."""
    right = logits.gather(1, labels[:, None])
    most = logits.amax(dim=1, keepdim=True)
    total = logits.sub_(most).exp_().sum(dim=1, keepdim=True)
    share = (total.log() + most - right).sum() / count
    logits.div_(total * count)
    logits.scatter_add_(1, labels[:, None], torch.full_like(right, -1 / count))
    return share


def _hinge(
    logits: Tensor, labels: Tensor, conflicts: Conflicts | None, start: int
) -> tuple[Tensor, tuple[Tensor, Tensor], Tensor] | None:
    """The hinge of these rows and its gradient: the loss, the places in the logits, and what to add there."""
    pairs = [(at - start, wrong) for at, wrong in conflicts.pairs if 0 <= at - start < len(labels)] if conflicts else []
    if conflicts is None or not pairs:
        return None
    at, wrong = torch.tensor(pairs, device=logits.device).unbind(1)
    short = conflicts.margin - (logits[at, labels[at]] - logits[at, wrong])
    slope = (short > 0).float() * conflicts.weight / len(conflicts.pairs)
    places = (torch.cat([at, at]), torch.cat([wrong, labels[at]]))
    return (short * slope).sum(), places, torch.cat([slope, -slope])
