"""Clue targets as tokens, and the positions of a batch of them that are supervised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from pss_integrations.states.backbone import Backbone
from pss_integrations.states.reader import clue_tokens, prompt_tokens
from pss_integrations.types import ClueTarget


@dataclass(frozen=True, slots=True)
class Row:
    """A clue target as tokens.

    :param prompt: What is read.
    :param clue: What has to follow, the end token included.
    :param wrong: Where conflicting clues first part from the right one: (position in the clue, token) each.
    """

    prompt: tuple[int, ...]
    clue: tuple[int, ...]
    wrong: tuple[tuple[int, int], ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """What the model reads while it is trained: all but the last token."""
        return self.prompt + self.clue[:-1]


@dataclass(frozen=True, slots=True)
class Supervised:
    """The positions of a batch that clue tokens follow, N of them.

    :param rows: Row of the batch (N,).
    :param columns: Position in the row (N,).
    :param labels: Token that has to follow (N,).
    :param wrong: (index into the N, token that must not follow) each.
    """

    rows: Tensor
    columns: Tensor
    labels: Tensor
    wrong: list[tuple[int, int]]


def rows_of(backbone: Backbone, targets: Sequence[ClueTarget]) -> list[Row]:
    """Turn targets into tokens."""
    return [
        Row(
            tuple(prompt_tokens(backbone, target.request)),
            clue := tuple(clue_tokens(backbone, target.clue)),
            _partings(clue, [clue_tokens(backbone, text) for text in target.conflicts]),
        )
        for target in targets
    ]


def supervised(batch: Sequence[Row], device: torch.device) -> Supervised:
    """Find where the clues of a batch stand."""
    spans = [(i, at) for i, row in enumerate(batch) for at in range(len(row.prompt) - 1, len(row.inputs))]
    rows, columns = torch.tensor(spans, device=device).unbind(1)
    labels = torch.tensor([token for row in batch for token in row.clue], device=device)
    starts = accumulate((len(row.clue) for row in batch), initial=0)
    wrong = [(start + at, token) for start, row in zip(starts, batch, strict=False) for at, token in row.wrong]
    return Supervised(rows, columns, labels, wrong)


def _partings(clue: Sequence[int], conflicts: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    found = set[tuple[int, int]]()
    for conflict in conflicts:
        pairs = enumerate(zip(clue, conflict, strict=False))
        found.update([(at, wrong) for at, (right, wrong) in pairs if right != wrong][:1])
    return tuple(sorted(found))
