"""Many threads that read through one manager against the same reads behind a lock."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, islice
from threading import Lock
from typing import Any, Final

import torch

from pss_integrations.evaluation.bench import CLUE_TOKENS, SEED, Endless, Load, Tell, compare, new_engine, ratios
from pss_integrations.evaluation.bench_waiting import waiting
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.manager import StateManager
from pss_integrations.states.reader import decode, prompt_tokens
from pss_integrations.states.steps import finish
from pss_integrations.types import Message, SessionKey

THREADS: Final = 32
_LANE: Final = 1
_KEYS: Final = [SessionKey("bench", f"session {number}") for number in range(THREADS)]
_MESSAGES: Final = (Message("user", "The quay crane runs on profile amber-kite, and nobody may touch it."),)
# without kept text there are no drafts; the history alone is written, which an endless backbone can do too
_CONFIG: Final = CompileConfig(history_steps=1, max_clue_tokens=CLUE_TOKENS, keep_text="none")


def bench_concurrency(load: Load, *, quick: bool, tell: Tell) -> dict[str, Any]:
    """Read 32 sessions from 32 threads, and some of them while another one is compiled.

    :param load: Loads the backbone; called once.
    :param quick: Fewer repeats.
    :return: ``ratio_vs_lock``: how many times as long the same reads take one at a time behind a lock, on an engine
        without a scheduler. Both sides generate 24 tokens a read, without drafts, and no query is asked twice.
        ``during_a_compile`` is what :func:`~pss_integrations.evaluation.bench_waiting.waiting` gives.
    """
    backbone = load()
    with tempfile.TemporaryDirectory() as home:
        threads = _threads(backbone, home, repeats=3 if quick else 7, tell=tell)
        tell("reads during a compile")
        asked = list(islice(zip(_KEYS * 2, _queries(), strict=False), 10 if quick else 40))
        return {**threads, "during_a_compile": asyncio.run(waiting(backbone, home, asked))}


def _queries() -> Generator[str]:
    """Queries that were not asked before, all of one length."""
    for number in count(1000):
        yield f"what was setting {number} before we switched?"


def _threads(backbone: Backbone, home: str, *, repeats: int, tell: Tell) -> dict[str, Any]:
    endless, queries = Endless(backbone), _queries()
    options: dict[str, Any] = {"backbone": endless, "config": _CONFIG, "read_lanes": THREADS}
    with StateManager(home, **options) as manager, _locked(endless) as behind_lock, ThreadPoolExecutor(THREADS) as pool:
        tell(f"writing {THREADS} small states")
        for key in _KEYS:
            manager.compile(key, _MESSAGES, targets=[])

        def one_manager() -> None:
            list(pool.map(manager.read, _KEYS, [next(queries) for _ in _KEYS]))

        def one_lock() -> None:
            list(pool.map(behind_lock, range(THREADS), [next(queries) for _ in _KEYS]))

        tell(f"reads from {THREADS} threads")
        lock, together = compare(one_lock, one_manager, repeats)
    return {
        **ratios("ratio_vs_lock", lock, together),
        "threads": THREADS,
        "clue_tokens": CLUE_TOKENS,
        "one_manager_ms": together.to_dict(),
        "one_lock_ms": lock.to_dict(),
    }


class _LockedReads:
    """What one would write without a scheduler: a lock around bind, read and unload."""

    def __init__(self, backbone: Backbone) -> None:
        self.engine, self._lock = new_engine(backbone, _CONFIG), Lock()
        numbers = torch.Generator().manual_seed(SEED)
        bank = self.engine.bank
        states = torch.randn(THREADS, bank.layout.numel, generator=numbers) * 0.01
        self._states = states.to(bank.device, bank.dtype)  # as the manager keeps them in memory

    def __call__(self, session: int, query: str) -> None:
        bank, prompt = self.engine.bank, prompt_tokens(self.engine.backbone, query)
        with self._lock:
            bank.bind(_LANE, self._states[session])
            try:
                finish(decode(self.engine.backbone, bank, [_LANE], [prompt], CLUE_TOKENS))
            finally:
                bank.unbind(_LANE)


@contextmanager
def _locked(backbone: Backbone) -> Generator[_LockedReads]:
    reads = _LockedReads(backbone)
    try:
        yield reads
    finally:
        reads.engine.close()
