"""How long reads wait while a session is compiled, in compile steps, and how long the event loop does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import torch

from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.bench import SEED, Timing, session_targets
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.compiler import CompileProgress
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.manager import StateManager
from pss_integrations.types import SessionKey

_LASTING: Final = CompileConfig(max_epochs=1_000_000, margin=1e9)  # no compile reaches that margin
_TICK: Final = 0.002  # seconds between two looks at the event loop


@dataclass(slots=True)
class _Watch:
    """Counts the compile's steps where they happen, in the model, whoever drives them.

    :param steps: Passes with gradient that reached the last layer.
    :param at_read: How many there were at the first pass without gradient since it was last set to ``None``.
    """

    steps: int = 0
    at_read: int | None = None

    def __call__(self, *_: object) -> None:
        if torch.is_grad_enabled():
            self.steps += 1
        elif self.at_read is None:
            self.at_read = self.steps


@contextmanager
def _watched(backbone: Backbone) -> Generator[_Watch]:
    watch = _Watch()
    hook = backbone.model.model.layers[-1].register_forward_pre_hook(watch)
    try:
        yield watch
    finally:
        hook.remove()


async def waiting(backbone: Backbone, home: str, asked: Sequence[tuple[SessionKey, str]]) -> dict[str, Any]:
    """Read one query after another while another session is compiled, then cancel the compile.

    :param home: Where the states of the sessions that are read lie.
    :return: ``most_steps_before_first_pass``: compile steps that reached the model between a read's submission and its
        own first pass; the one that was running may be among them.
    """
    session = pss320.generate(1, seed=SEED).sessions[0]
    loop, started, lags = asyncio.get_running_loop(), asyncio.Event(), list[float]()

    def tell_started(_: CompileProgress) -> None:
        loop.call_soon_threadsafe(started.set)

    with StateManager(home, backbone=backbone, config=_LASTING) as manager, _watched(backbone) as watch:
        targets = session_targets(session)
        work = manager.acompile(session.key, session.messages, targets=targets, progress=tell_started)
        compiling, under_way = asyncio.create_task(work), asyncio.create_task(started.wait())
        ticker = asyncio.create_task(_tick(lags))
        try:
            await asyncio.wait({compiling, under_way}, return_when=asyncio.FIRST_COMPLETED)
            reads = [await _read(manager, watch, compiling, *one) for one in asked]
        finally:
            for task in (ticker, under_way, compiling):
                task.cancel()
            with suppress(asyncio.CancelledError):
                await compiling
    waited = [steps for steps, _ in reads]
    return {
        "reads": len(reads),
        "most_steps_before_first_pass": max(waited),
        "mean_steps_before_first_pass": round(sum(waited) / len(waited), 2),
        "read_ms": Timing(tuple(milliseconds for _, milliseconds in reads)).to_dict(),
        "worst_event_loop_lag_ms": round(1000 * max(lags), 2),
    }


async def _read(
    manager: StateManager, watch: _Watch, compiling: asyncio.Task[Any], key: SessionKey, query: str
) -> tuple[int, float]:
    """Compile steps between a read's submission and its first pass, and the read's milliseconds."""
    if compiling.done():
        await compiling  # raises what went wrong
    before, watch.at_read = watch.steps, None
    begun = time.perf_counter()
    await manager.aread(key, query)
    milliseconds = 1000 * (time.perf_counter() - begun)
    waited = (watch.steps if watch.at_read is None else watch.at_read) - before
    await asyncio.sleep(_TICK * (watch.steps % 7))  # the next one comes at another moment of a step
    return waited, milliseconds


async def _tick(lags: list[float]) -> None:
    """Note by how much each short sleep is too long, which is what other tasks of the loop would feel."""
    while True:
        begun = time.perf_counter()
        await asyncio.sleep(_TICK)
        lags.append(time.perf_counter() - begun - _TICK)
