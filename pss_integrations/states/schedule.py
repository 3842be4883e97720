"""Which clue targets a pass visits: all that are new, and some of those known before, against forgetting."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pss_integrations.states.config import CompileConfig


class Schedule:
    """Keeps the lead of each row over its best rival, as last seen, and draws the batches of each pass.

    A pass visits every row that is new or does not lead by the margin. Of the rows that were known before and still
    lead it visits ``config.replay`` times as many (one batch at least), the longest unvisited first. So a pass after
    new messages costs in proportion to what is new, however much was known before.

    :param rows: How many rows there are.
    :param known: How many of the last rows the state reproduces already.
    """

    def __init__(self, rows: int, config: CompileConfig, *, known: int = 0) -> None:
        self._config = config
        self._leads = torch.full((rows,), -torch.inf)
        self._leads[rows - known :] = torch.inf
        self._known = torch.arange(rows) >= rows - known
        self._visited = torch.full((rows,), -1)
        self._passes = 0
        self._shuffle = torch.Generator().manual_seed(config.seed)

    @property
    def reproduced(self) -> int:
        """How many rows led by the margin when they were last seen."""
        return int((self._leads >= self._config.margin).sum())

    def batches(self) -> Sequence[Tensor]:
        """Row numbers of the batches of the next pass, in random order."""
        order = torch.randperm(len(self._leads), generator=self._shuffle)
        spare = (self._known & (self._leads >= self._config.margin))[order]
        room = max(math.ceil(self._config.replay * int((~spare).sum())), self._config.batch_size)
        longest_unvisited = spare.nonzero().flatten()[self._visited[order[spare]].argsort(stable=True)]
        spare[longest_unvisited[:room]] = False
        chosen = order[~spare]
        self._visited[chosen] = self._passes
        self._passes += 1
        return chosen.split(self._config.batch_size)

    def note(self, rows: Sequence[int], leads: Sequence[float]) -> None:
        """Note by how much these rows lead."""
        self._leads[torch.tensor(rows, dtype=torch.long)] = torch.tensor(leads)
