"""The event loop: how late a tick of ten milliseconds comes while other tasks of the loop use the package."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pss_integrations.beliefs import BeliefMemory, BeliefStore, NewBelief, Principal
from pss_integrations.beliefs.database import Database
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.bench import SEED, Load, Tell, Timing
from pss_integrations.evaluation.bench_belief_data import MADE_AT, SCOPES, make_beliefs, make_queries, stored
from pss_integrations.evaluation.bench_belief_data import load as load_beliefs
from pss_integrations.evaluation.bench_routing import PASSAGES, many_passages
from pss_integrations.evaluation.pss320 import BenchmarkSession
from pss_integrations.retrieval import BM25Index
from pss_integrations.states import CompileConfig, StateManager
from pss_integrations.types import Message, SessionKey

Ask = Callable[[str], Awaitable[object]]
"""Finds passages for one query."""
Face = Callable[[BM25Index, StateManager, SessionKey, Sequence[Message]], Ask]
"""Makes a framework's retriever for a session with its live messages."""
Work = Callable[[], Awaitable[object]]

_TICK: Final = 0.01  # seconds
_USER: Final = Principal.user("ada")
_CONFIG: Final = CompileConfig(max_epochs=6)  # what could stall has happened by then


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured.

    :param repeats: How often each part is.
    :param beliefs: Beliefs of the principal that recalls and observes.
    :param queries: Queries of each part, and observed conversations.
    """

    repeats: int = 3
    beliefs: int = 10_000
    queries: int = 20


QUICK: Final = Sizes(repeats=2, beliefs=1_000, queries=10)


@dataclass(frozen=True, slots=True)
class Stalls:
    """By how many milliseconds ticks came too late, for each repeat."""

    repeats: tuple[tuple[float, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """The worst tick and the 99th percentile of all; how the worst of each repeat spread; how many there were."""
        late = sorted(itertools.chain.from_iterable(self.repeats))
        return {
            "worst_ms": round(late[-1], 2),
            "p99_ms": round(late[ceil(0.99 * len(late)) - 1], 2),
            "worst_of_a_repeat_ms": Timing(tuple(map(max, self.repeats))).to_dict(),
            "ticks": len(late),
        }


def bench_loop(load: Load, faces: Mapping[str, Face], *, quick: bool, tell: Tell) -> dict[str, Any]:
    """Watch the event loop while a session is compiled and read, beliefs are recalled and observed, and queries routed.

    Threads share the interpreter with the loop, and the machine with whatever else runs: ``nothing`` is an idle loop,
    ``python_thread`` one beside a thread that computes in plain Python, as any library may.

    :param load: Loads the backbone; called once.
    :param faces: The retrievers of both frameworks, by name; each routes over 10,000 passages.
    :param quick: Fewer repeats, queries and beliefs.
    :return: What :meth:`Stalls.to_dict` gives, by the name of the part.
    """
    sizes = QUICK if quick else Sizes()
    benchmark = pss320.generate(320, seed=SEED)
    session = benchmark.sessions[0]
    tell(f"indexing {PASSAGES:,} passages")
    index = many_passages(benchmark.passages)
    with TemporaryDirectory() as home, StateManager(home, backbone=load(), config=_CONFIG) as manager:
        known = make_beliefs(sizes.beliefs, seed=SEED)
        _write(beliefs := Path(home) / "beliefs.db", known)
        fresh = _Fresh(sizes.queries)
        parts: dict[str, Work] = {
            "nothing": lambda: asyncio.sleep(100 * _TICK),
            "python_thread": lambda: asyncio.to_thread(_compute, 100 * _TICK),
            "compile": lambda: manager.acompile(session.key, session.messages),
            "read": lambda: _each(partial(manager.aread, session.key), fresh.queries()),
            "recall": lambda: _recall(beliefs, make_queries(sizes.queries, known, seed=SEED)),
            "observe": lambda: _observe(beliefs, benchmark.sessions[: sizes.queries]),
        }
        for name, face in faces.items():
            ask = face(index, manager, session.key, session.messages)
            parts[name] = lambda ask=ask: _each(ask, fresh.queries())
        return {"tick_ms": 1000 * _TICK, "repeats": sizes.repeats, "passages": len(index)} | {
            name: _stalls(name, work, sizes.repeats, tell).to_dict() for name, work in parts.items()
        }


def _stalls(name: str, work: Work, repeats: int, tell: Tell) -> Stalls:
    tell(f"the loop during: {name.replace('_', ' ')}")
    return Stalls(tuple(asyncio.run(_late(work)) for _ in range(repeats)))


async def _late(work: Work) -> tuple[float, ...]:
    """Tick until the work is done, once more than that: what stalls at its very end is seen, too."""
    late, task = list[float](), asyncio.ensure_future(work())
    is_last = False
    while not is_last:
        is_last = task.done()
        begun = time.perf_counter()
        await asyncio.sleep(_TICK)
        late.append(1000 * (time.perf_counter() - begun - _TICK))
    await task
    return tuple(late)


async def _each(ask: Ask, queries: Sequence[str]) -> None:
    for query in queries:
        await ask(query)


class _Fresh:
    """Queries that refer back, of which none was asked before: what was read once is remembered."""

    def __init__(self, count: int) -> None:
        self._count, self._numbers = count, itertools.count(1000)

    def queries(self) -> list[str]:
        return [f"what was setting {next(self._numbers)} before we switched?" for _ in range(self._count)]


def _compute(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        sum(range(1000))


def _write(file: Path, known: Sequence[NewBelief]) -> None:
    with closing(Database(file)) as database:
        load_beliefs(database, _USER, [stored(one, f"b{number}", MADE_AT) for number, one in enumerate(known)])


@asynccontextmanager
async def _opened(file: Path) -> AsyncGenerator[BeliefStore]:
    store = await asyncio.to_thread(BeliefStore, file)
    try:
        yield store
    finally:
        await asyncio.to_thread(store.close)


async def _recall(file: Path, queries: Sequence[str]) -> None:
    """Recall with a store that was just opened, so that it first reads all beliefs."""
    async with _opened(file) as store:
        memory = BeliefMemory(store, scopes=SCOPES)
        await _each(lambda query: memory.arecall(_USER, query, {}), queries)


async def _observe(file: Path, sessions: Sequence[BenchmarkSession]) -> None:
    """Observe conversations, and wait until all is kept."""
    async with _opened(file) as store:
        memory = BeliefMemory(store, scopes=["project:atlas"])
        for session in sessions:
            await memory.aobserve(_USER, session.messages, {}, session_id=session.key.session_id)
        await asyncio.to_thread(memory.close)
