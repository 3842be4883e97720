"""Writes a state in two stages (PSS, section 2.3): language modelling on the history, then clue readout.

The optimiser works on FP32 masters; the model always runs with the values that will be stored, so what is checked
at the end is what a later read will find.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import READ_ROWS, CompileConfig, StateConfig
from pss_integrations.states.context import Best, Context
from pss_integrations.states.draft_tree import DraftTree
from pss_integrations.states.history import Window
from pss_integrations.states.lora import LoraBank
from pss_integrations.states.loss import Conflicts, CrossEntropy
from pss_integrations.states.optimizer import Optimizer, initial_vector
from pss_integrations.states.rows import Row, rows_of, supervised
from pss_integrations.states.schedule import Schedule
from pss_integrations.states.split import SplitModel
from pss_integrations.states.steps import Step
from pss_integrations.types import ClueTarget

logger = logging.getLogger(__name__)

Progress = Callable[["CompileProgress"], None]
Steps = Generator[Step | None, None, None]


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


class Compiler:
    """Writes states into lanes of the bank.

    :param lanes: The lanes that are used, each free again when its compile ends in whatever way; so many compiles can
        be under way at once.
    """

    def __init__(
        self,
        backbone: Backbone,
        bank: LoraBank,
        state: StateConfig,
        config: CompileConfig,
        *,
        lanes: Sequence[int] = (0,),
    ) -> None:
        self._backbone, self._bank, self._state, self._config = backbone, bank, state, config
        self._free = list(lanes)
        self._split = SplitModel(backbone, state.layers)
        self._cross_entropy = CrossEntropy(self._split.head)
        self._stored: torch.dtype = getattr(torch, state.dtype)

    def compile(
        self,
        windows: Sequence[Window],
        targets: Sequence[ClueTarget],
        *,
        start: Tensor | None = None,
        known: int = 0,
        progress: Progress | None = None,
    ) -> Generator[Step | None, None, CompileResult]:
        """Write a state; yields each training step to be run, and ``None`` after other work.

        :param windows: The history, from :func:`~pss_integrations.states.history.history_windows`.
        :param targets: What to reproduce.
        :param start: A state vector (numel,) to go on from; a fresh one otherwise.
        :param known: How many of the last targets ``start`` reproduces already.
        """
        begun = time.perf_counter()
        if start is None:
            start = initial_vector(self._bank.layout, self._config.seed)
        lane = self._free.pop()
        result = CompileResult(start, targets=len(targets), windows=len(windows))
        result.history_tokens = sum(len(w.tokens) - w.past for w in windows)
        try:
            self._bank.bind(lane, start)
            optimizer = Optimizer(self._bank, lane, start, self._stored, self._config)
            if windows and self._config.history_steps:
                yield from self._write_history(optimizer, windows, result, progress)
            if targets:
                schedule = Schedule(len(targets), self._config, known=known)
                rows = rows_of(self._backbone, targets)
                yield from self._write_targets(optimizer, rows, schedule, result, progress)
            result.vector = self._bank.vector(lane).to("cpu", self._stored)
        finally:
            self._bank.unbind(lane)
            self._free.append(lane)
        result.seconds = time.perf_counter() - begun
        return result

    def _write_history(
        self, optimizer: Optimizer, windows: Sequence[Window], result: CompileResult, progress: Progress | None
    ) -> Steps:
        lower = list[Tensor]()
        for window in windows:
            lower.append(self._split.lower(self._ids(window.tokens[:-1])))
            yield
        steps = self._config.history_steps
        for done in range(1, steps + 1):
            losses = list[float]()
            for window, hidden in zip(windows, lower, strict=True):
                optimizer.mask = self._segment_mask(window.segment)
                step = self._step(optimizer, hidden, self._history_loss(window))
                yield step
                optimizer.step()
                losses.append(step.loss)
            result.steps += len(windows)
            result.history_losses.append(sum(losses) / len(losses))
            _tell(progress, CompileProgress("history", done, steps, 0, result.targets))
        optimizer.mask = None
        optimizer.restart()

    def _segment_mask(self, segment: int) -> Tensor | None:
        if self._state.segments == 1:
            return None
        return self._bank.layout.segment(segment, self._state.rank).to(self._backbone.device)

    def _history_loss(self, window: Window) -> Callable[[Tensor], Tensor]:
        first = max(window.past, 1)
        labels = self._ids(window.tokens[first:])[0]

        def loss_of(upper: Tensor) -> Tensor:
            hidden = upper[0, first - 1 : len(window.tokens) - 1]
            return self._cross_entropy(self._split.norm(hidden), labels)[0]

        return loss_of

    def _write_targets(
        self,
        optimizer: Optimizer,
        rows: Sequence[Row],
        schedule: Schedule,
        result: CompileResult,
        progress: Progress | None,
    ) -> Steps:
        lower = dict[int, Tensor]()
        visits, most, least = 0, self._config.max_epochs * len(rows), self._config.min_epochs * len(rows)
        while visits < most:
            losses = list[float]()
            for chosen in schedule.batches():
                batch = chosen.tolist()
                missing = [row for row in batch if row not in lower]
                lower |= zip(missing, self._split.lower_rows([rows[row].inputs for row in missing]), strict=True)
                hidden = pad_sequence([lower[row] for row in batch], batch_first=True)
                step = self._step(optimizer, hidden, self._target_loss(rows, batch, schedule))
                yield step
                optimizer.step()
                losses.append(step.loss)
                visits += len(batch)
            result.steps += len(losses)
            result.target_losses.append(sum(losses) / len(losses))
            result.reproduced = schedule.reproduced
            told = (min(math.ceil(visits / len(rows)), self._config.max_epochs), self._config.max_epochs)
            _tell(progress, CompileProgress("targets", *told, result.reproduced, len(rows)))
            if result.reproduced == len(rows) and visits >= least:
                _tell(progress, CompileProgress("confirm", *told, result.reproduced, len(rows)))
                yield from self._confirm(optimizer.lane, rows, lower, schedule)
                result.reproduced = schedule.reproduced
                result.confirmed = result.reproduced == len(rows)
                if result.confirmed:
                    return
        if most > least:
            logger.warning("%d of %d clue targets were not reproduced", len(rows) - result.reproduced, len(rows))

    def _target_loss(self, rows: Sequence[Row], batch: Sequence[int], schedule: Schedule) -> Callable[[Tensor], Tensor]:
        """Cross-entropy of the clues, plus the margin against conflicting ones; notes by how much each row leads."""
        where = supervised([rows[row] for row in batch], self._backbone.device)
        weight, margin = self._config.conflict_weight, self._config.conflict_margin
        conflicts = Conflicts(where.wrong, weight, margin) if weight else None

        def loss_of(upper: Tensor) -> Tensor:
            hidden = self._split.norm(upper[where.rows, where.columns])
            loss, leads = self._cross_entropy(hidden, where.labels, conflicts)
            schedule.note(batch, _worst(leads, where.rows, len(batch)))
            return loss

        return loss_of

    def _step(self, optimizer: Optimizer, lower: Tensor, loss_of: Callable[[Tensor], Tensor]) -> Step:
        return Step(self._split, self._bank, optimizer.lane, optimizer.leaves, lower, loss_of)

    def _confirm(self, lane: int, rows: Sequence[Row], lower: Mapping[int, Tensor], schedule: Schedule) -> Steps:
        """Note by how much each clue leads in the state as stored: cheaply where rows were trained, then by reading.

        A clue leads at each of its tokens, read after its own beginning, if and only if greedy decoding writes it.
        """
        for batch in _batches(sorted(lower)):
            schedule.note(batch, self._leads_trained(lane, [rows[row] for row in batch], [lower[row] for row in batch]))
            yield
        if schedule.reproduced < len(rows):
            return
        for batch in _batches(range(len(rows))):
            schedule.note(batch, self._leads_read(lane, [rows[row] for row in batch]))
            yield

    def _leads_trained(self, lane: int, batch: Sequence[Row], lower: Sequence[Tensor]) -> list[float]:
        where = supervised(batch, self._backbone.device)
        with torch.no_grad(), self._bank.use(lane):
            upper = self._split.upper(pad_sequence(list(lower), batch_first=True))
            leads = self._cross_entropy.leads(self._split.norm(upper[where.rows, where.columns]), where.labels)
        return _worst(leads, where.rows, len(batch))

    def _leads_read(self, lane: int, batch: Sequence[Row]) -> list[float]:
        context = Context(self._backbone, self._bank, [lane] * len(batch))
        found = context.read([row.prompt for row in batch], [DraftTree.of(row.clue[:-1]) for row in batch])
        return [_lead(row, best) for row, best in zip(batch, found, strict=True)]

    def _ids(self, tokens: Sequence[int]) -> Tensor:
        return torch.tensor([tokens], device=self._backbone.device)


def _batches(rows: Sequence[int]) -> list[Sequence[int]]:
    return [rows[at : at + READ_ROWS] for at in range(0, len(rows), READ_ROWS)]


def _worst(leads: Tensor, rows: Tensor, count: int) -> list[float]:
    """The least of the leads (N,) of each row."""
    worst = torch.full((count,), torch.inf, device=leads.device)
    return worst.scatter_reduce(0, rows, leads, "amin").tolist()


def _lead(row: Row, found: Sequence[Best]) -> float:
    """By how much the tokens of a clue lead at least; less than nothing if one of them is not the best."""
    right = all(best.token == token for best, token in zip(found, row.clue, strict=True))
    return min(best.lead for best in found) if right else -math.inf


def _tell(progress: Progress | None, event: CompileProgress) -> None:
    if progress is not None:
        progress(event)
