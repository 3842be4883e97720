"""Writes a state in two stages (PSS, section 2.3): language modelling on the history, then clue readout.

The optimiser works on FP32 masters; the model always runs with the values that will be stored, so what is checked
at the end is what a later read will find.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Literal

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.history import Window
from pss_integrations.states.lora import LoraBank
from pss_integrations.states.loss import Conflicts, cross_entropy
from pss_integrations.states.loss import leads as leads_of
from pss_integrations.states.optimizer import Optimizer, initial_vector
from pss_integrations.states.reader import clue_tokens, decode, prompt_tokens
from pss_integrations.states.split import SplitModel
from pss_integrations.types import ClueTarget

logger = logging.getLogger(__name__)

Progress = Callable[["CompileProgress"], None]


@dataclass(frozen=True, slots=True)
class CompileProgress:
    """How far a compile is.

    :param stage: ``"history"``, ``"targets"`` or ``"confirm"``.
    :param step: Passes done over the history, or over the targets.
    :param steps: The most there will be.
    :param reproduced: Clue targets reproduced with margin in the last pass.
    :param targets: Clue targets in all.
    """

    stage: Literal["history", "targets", "confirm"]
    step: int
    steps: int
    reproduced: int
    targets: int


@dataclass(slots=True)
class CompileResult:
    """A written state with the record of its writing."""

    vector: Tensor
    history_tokens: int = 0
    windows: int = 0
    history_losses: list[float] = field(default_factory=list[float])
    target_losses: list[float] = field(default_factory=list[float])
    reproduced: int = 0
    targets: int = 0
    steps: int = 0
    confirmed: bool = False
    seconds: float = 0.0


@dataclass(slots=True)
class _Row:
    """A clue target as tokens: what is read, what has to follow, and which tokens must not."""

    prompt: list[int]
    clue: list[int]
    wrong: list[tuple[int, int]]

    @property
    def inputs(self) -> list[int]:
        return self.prompt + self.clue[:-1]


class Compiler:
    """Writes states into one lane of the bank.

    :param lane: The lane that is used, free again when a compile ends in whatever way.
    """

    def __init__(
        self, backbone: Backbone, bank: LoraBank, state: StateConfig, config: CompileConfig, *, lane: int = 0
    ) -> None:
        self._backbone, self._bank, self._state, self._config, self._lane = backbone, bank, state, config, lane
        self._split = SplitModel(backbone, state.layers)
        self._stored: torch.dtype = getattr(torch, state.dtype)

    def compile(
        self,
        windows: Sequence[Window],
        targets: Sequence[ClueTarget],
        *,
        start: Tensor | None = None,
        progress: Progress | None = None,
    ) -> Generator[None, None, CompileResult]:
        """Write a state; yields after each step.

        :param windows: The history, from :func:`~pss_integrations.states.history.history_windows`.
        :param targets: What to reproduce.
        :param start: A state vector (numel,) to go on from; a fresh one otherwise.
        """
        begun = time.perf_counter()
        if start is None:
            start = initial_vector(self._bank.layout, self._config.seed)
        result = CompileResult(start, targets=len(targets), windows=len(windows))
        result.history_tokens = sum(len(w.tokens) - w.past for w in windows)
        try:
            self._bank.bind(self._lane, start)
            optimizer = Optimizer(self._bank, self._lane, start, self._stored, self._config)
            if windows and self._config.history_steps:
                yield from self._write_history(optimizer, windows, result, progress)
            if targets:
                yield from self._write_targets(optimizer, self._rows(targets), result, progress)
            result.vector = self._bank.vectors[self._lane].to("cpu", self._stored, copy=True)
        finally:
            self._bank.unbind(self._lane)
        result.seconds = time.perf_counter() - begun
        return result

    def _write_history(
        self,
        optimizer: Optimizer,
        windows: Sequence[Window],
        result: CompileResult,
        progress: Progress | None,
    ) -> Generator[None, None, None]:
        lower = list[Tensor]()
        for window in windows:
            lower.append(self._split.lower(self._ids(window.tokens[:-1])))
            yield
        steps = self._config.history_steps
        for step in range(steps):
            losses = list[float]()
            for window, hidden in zip(windows, lower, strict=True):
                optimizer.mask = self._segment_mask(window.segment)
                first = max(window.past, 1)
                labels = self._ids(window.tokens[first:])[0]
                losses.append(self._step(optimizer, partial(self._history_loss, hidden, first, labels)))
                result.steps += 1
                yield
            result.history_losses.append(sum(losses) / len(losses))
            _tell(progress, CompileProgress("history", step + 1, steps, 0, result.targets))
        optimizer.mask = None
        optimizer.restart()

    def _segment_mask(self, segment: int) -> Tensor | None:
        if self._state.segments == 1:
            return None
        return self._bank.layout.segment(segment, self._state.rank).to(self._backbone.device)

    def _history_loss(self, lower: Tensor, first: int, labels: Tensor) -> Tensor:
        hidden = self._split.upper(lower)[0, first - 1 :]
        return cross_entropy(self._split.norm(hidden), self._split.head, labels)[0]

    def _write_targets(
        self, optimizer: Optimizer, rows: Sequence[_Row], result: CompileResult, progress: Progress | None
    ) -> Generator[None, None, None]:
        lower = self._split.lower_rows([row.inputs for row in rows])
        shuffle = torch.Generator().manual_seed(self._config.seed)
        for epoch in range(self._config.max_epochs):
            leads, losses = list[float](), list[float]()
            for chosen in torch.randperm(len(rows), generator=shuffle).split(self._config.batch_size):
                batch = [rows[i] for i in chosen.tolist()]
                hidden = pad_sequence([lower[i] for i in chosen.tolist()], batch_first=True)
                losses.append(self._step(optimizer, partial(self._target_loss, batch, hidden, leads)))
                result.steps += 1
                yield
            result.target_losses.append(sum(losses) / len(losses))
            result.reproduced = sum(lead >= self._config.margin for lead in leads)
            told = (epoch + 1, self._config.max_epochs, result.reproduced, len(rows))
            _tell(progress, CompileProgress("targets", *told))
            if result.reproduced == len(rows) and epoch + 1 >= self._config.min_epochs:
                _tell(progress, CompileProgress("confirm", *told))
                result.confirmed = yield from self._confirm(rows, lower)
                if result.confirmed:
                    return
        if self._config.max_epochs > self._config.min_epochs:
            logger.warning("%d of %d clue targets were not reproduced", len(rows) - result.reproduced, len(rows))

    def _target_loss(self, batch: Sequence[_Row], lower: Tensor, leads: list[float]) -> Tensor:
        """Cross-entropy of the clues, plus the margin against conflicting ones; notes by how much each row leads."""
        hidden, labels, row_of = self._supervised(batch, lower)
        starts = accumulate((len(row.clue) for row in batch), initial=0)
        wrong = [(start + at, token) for start, row in zip(starts, batch, strict=False) for at, token in row.wrong]
        config = self._config
        conflicts = Conflicts(wrong, config.conflict_weight, config.conflict_margin) if config.conflict_weight else None
        loss, margins = cross_entropy(self._split.norm(hidden), self._split.head, labels, conflicts)
        leads += _worst(margins, row_of, len(batch))
        return loss

    def _supervised(self, batch: Sequence[_Row], lower: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Last hidden states (N, D) at the positions that clue tokens follow, those tokens (N,), their rows (N,)."""
        spans = [(i, at) for i, row in enumerate(batch) for at in range(len(row.prompt) - 1, len(row.inputs))]
        rows, columns = torch.tensor(spans, device=lower.device).unbind(1)
        labels = torch.tensor([token for row in batch for token in row.clue], device=lower.device)
        return self._split.upper(lower)[rows, columns], labels, rows

    def _step(self, optimizer: Optimizer, loss_of: Callable[[], Tensor]) -> float:
        with torch.enable_grad(), self._bank.use(self._lane, optimizer.leaves):
            loss = loss_of()
            loss.backward()
        optimizer.step()
        return loss.item()

    def _confirm(self, rows: Sequence[_Row], lower: Sequence[Tensor]) -> Generator[None, None, bool]:
        """Whether the state as stored reproduces every clue: by margin, then by decoding."""
        for at in range(0, len(rows), 16):
            batch = rows[at : at + 16]
            with torch.no_grad(), self._bank.use(self._lane):
                hidden = pad_sequence(list(lower[at : at + 16]), batch_first=True)
                last, labels, row_of = self._supervised(batch, hidden)
                margins = leads_of(self._split.logits(last), labels)
            if min(_worst(margins, row_of, len(batch))) < self._config.margin:
                return False
            yield
        prompts = [row.prompt for row in rows]
        longest = max(len(row.clue) for row in rows)
        decoded = yield from decode(self._backbone, self._bank, [self._lane] * len(rows), prompts, longest)
        return all(d.finished and d.tokens == row.clue[:-1] for d, row in zip(decoded, rows, strict=True))

    def _rows(self, targets: Sequence[ClueTarget]) -> list[_Row]:
        return [
            _Row(
                prompt_tokens(self._backbone, target.request),
                clue := clue_tokens(self._backbone, target.clue),
                _partings(clue, [clue_tokens(self._backbone, text) for text in target.conflicts]),
            )
            for target in targets
        ]

    def _ids(self, tokens: Sequence[int]) -> Tensor:
        return torch.tensor([tokens], device=self._backbone.device)


def _partings(clue: Sequence[int], conflicts: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Where each conflicting clue first parts from the right one, and with which token."""
    found = set[tuple[int, int]]()
    for conflict in conflicts:
        pairs = enumerate(zip(clue, conflict, strict=False))
        found.update([(at, wrong) for at, (right, wrong) in pairs if right != wrong][:1])
    return sorted(found)


def _worst(margins: Tensor, rows: Tensor, count: int) -> list[float]:
    """The least of the margins (N,) of each row."""
    worst = torch.full((count,), torch.inf, device=margins.device)
    return worst.scatter_reduce(0, rows, margins, "amin").tolist()


def _tell(progress: Progress | None, event: CompileProgress) -> None:
    if progress is not None:
        progress(event)
