"""Sessions that are compiled, read, changed and deleted at random, each by one driver that knows what must come out."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from state_making import KITS, MORE, NAMES, key_of, targets_of
from tiny import MESSAGES

from pss_integrations.errors import StateNotFound
from pss_integrations.langchain import GuardedRouterRetriever as LangChainRetriever
from pss_integrations.langchain import PSSQueryTransformer as LangChainTransformer
from pss_integrations.llama_index import GuardedRouterRetriever as LlamaIndexRetriever
from pss_integrations.llama_index import PSSQueryTransformer as LlamaIndexTransformer
from pss_integrations.retrieval import BM25Index
from pss_integrations.routing import Certificate
from pss_integrations.states import StateInfo, StateManager
from pss_integrations.types import Clue, Passage, SessionKey

INDEX = BM25Index(Passage(f"{name} {kit}", f"How {kit} serves the {name}.") for name in NAMES for kit in KITS.values())
ALWAYS = Certificate(weights={}, threshold=0.0)
WEIGHTS = {
    "read": 5,
    "read_both": 2,
    "read_another": 3,
    "rewrite_in_langchain": 2,
    "rewrite_in_llama_index": 2,
    "retrieve_in_langchain": 2,
    "retrieve_in_llama_index": 2,
    "compile": 5,
    "recompile": 3,
    "roll_back": 2,
    "delete": 2,
    "cancel_a_read": 2,
    "cancel_a_compile": 2,
}


async def by_threads(manager: Any, name: str, *args: Any, **options: Any) -> Any:
    """Call a method of anything, and block."""
    return getattr(manager, name)(*args, **options)


async def by_tasks(manager: Any, name: str, *args: Any, **options: Any) -> Any:
    """Await its async twin."""
    return await getattr(manager, f"a{name}")(*args, **options)


class World:
    """What all drivers share: one manager, and one of each thing that reads through it."""

    def __init__(self, manager: StateManager, call: Callable[..., Awaitable[Any]]) -> None:
        self.manager, self.call = manager, call
        self.had: dict[str, set[str]] = {name: set() for name in NAMES}
        self.read: list[tuple[str, Clue]] = []
        self.langchain_transformer = LangChainTransformer(manager=manager)
        self.langchain_retriever = LangChainRetriever(retriever=INDEX, manager=manager, k=2, certificate=ALWAYS)
        self.llama_index_transformer = LlamaIndexTransformer(manager)
        self.llama_index_retriever = LlamaIndexRetriever(INDEX, manager, similarity_top_k=2, certificate=ALWAYS)

    def drivers(self, seed: int) -> list["Driver"]:
        return [Driver(self, name, random.Random(f"{seed} {name}")) for name in NAMES]

    def check_clues(self) -> None:
        """Each clue is one of the session that was asked."""
        for name, clue in self.read:
            assert clue.state_id in self.had[name]
            assert clue.text in {f"{name} {kit}" for kit in KITS.values()}


@dataclass
class Driver:
    """The only one who changes its session, so it knows at each moment which state must be read."""

    world: World
    name: str
    random: random.Random
    current: str | None = None
    done: list[str] = field(default_factory=list)

    async def go(self, steps: int) -> None:
        for step in self.random.choices([*WEIGHTS], [*WEIGHTS.values()], k=steps):
            await getattr(self, step)()
            self.done.append(step)

    @property
    def key(self) -> SessionKey:
        return key_of(self.name)

    async def _call(self, name: str, *args: Any, **options: Any) -> Any:
        return await self.world.call(self.world.manager, name, *args, **options)

    def _is_now(self, info: StateInfo) -> None:
        assert info.key == self.key
        assert info.write.confirmed
        self.current = info.state_id
        self.world.had[self.name].add(info.state_id)

    def _is_own(self, clue: Clue, query: str) -> None:
        assert (clue.state_id, clue.text) == (self.current, f"{self.name} {KITS[query]}")

    @contextmanager
    def _only_if_there_is_none(self) -> Iterator[None]:
        """A state is not found if there is none, and never otherwise."""
        try:
            yield
        except StateNotFound:
            assert self.current is None
        else:
            assert self.current is not None

    def _query(self) -> str:
        return self.random.choice([*KITS])

    # --- reads

    async def read(self) -> None:
        query = self._query()
        with self._only_if_there_is_none():
            self._is_own(await self._call("read", self.key, query), query)

    async def read_both(self) -> None:
        with self._only_if_there_is_none():
            clues = await self._call("read_batch", [(self.key, query) for query in KITS])
            for query, clue in zip(KITS, clues, strict=True):
                self._is_own(clue, query)

    async def read_another(self) -> None:
        name = self.random.choice(NAMES)
        with suppress(StateNotFound):
            self.world.read.append((name, await self._call("read", key_of(name), self._query())))

    async def rewrite_in_langchain(self) -> None:
        query = self._query()
        text = await self.world.call(self.world.langchain_transformer, "invoke", query, self._config())
        assert text == self._rewritten(query)

    async def rewrite_in_llama_index(self) -> None:
        query = self._query()
        transformer = self.world.llama_index_transformer.bind(**self._identity())
        bundle = await self.world.call(transformer, "run", query)
        assert bundle.query_str == self._rewritten(query)

    async def retrieve_in_langchain(self) -> None:
        query, retriever = self._query(), self.world.langchain_retriever
        found = await self.world.call(retriever, "invoke", query, self._config())
        self._is_found([document.id for document in found], query, retriever.last_decision)

    async def retrieve_in_llama_index(self) -> None:
        query, retriever = self._query(), self.world.llama_index_retriever.bind(**self._identity())
        found = await self.world.call(retriever, "retrieve", query)
        self._is_found([node.node_id for node in found], query, retriever.last_decision)

    def _rewritten(self, query: str) -> str:
        return query if self.current is None else f"{query} {self.name} {KITS[query]}"

    def _is_found(self, ids: list[str], query: str, decision: Any) -> None:
        if self.current is None:
            assert (decision.route, decision.reason, decision.clue) == ("raw", "no_state", None)
        else:
            assert (decision.route, ids[0]) == ("pss", f"{self.name} {KITS[query]}")
            self._is_own(decision.clue, query)

    def _identity(self) -> dict[str, Any]:
        return {"user_id": self.key.user_id, "session_id": self.key.session_id}

    def _config(self) -> Any:
        return {"configurable": self._identity()}

    # --- changes

    async def compile(self) -> None:
        self._is_now(await self._call("compile", self.key, MESSAGES, targets=targets_of(self.name)))

    async def recompile(self) -> None:
        with self._only_if_there_is_none():
            self._is_now(await self._call("recompile", self.key, MORE, targets=targets_of(self.name)))

    async def roll_back(self) -> None:
        with suppress(StateNotFound):  # there may be no earlier one
            info = await self._call("rollback", self.key)
            assert info.state_id in self.world.had[self.name]
            self._is_now(info)

    async def delete(self) -> None:
        assert await self._call("delete", self.key) is (self.current is not None)
        self.current = None

    # --- cancellations

    async def cancel_a_read(self) -> None:
        reading = asyncio.create_task(self.world.manager.aread(self.key, f"{self._query()} {self.random.random()}"))
        await asyncio.sleep(0)
        reading.cancel()
        with suppress(asyncio.CancelledError, StateNotFound):
            await reading

    async def cancel_a_compile(self) -> None:
        """In the middle of it, or when all is written and only the answer was not waited for."""
        loop = asyncio.get_running_loop()
        work = self.world.manager.acompile(
            self.key,
            MORE,
            targets=targets_of(self.name),
            progress=lambda _: loop.call_soon_threadsafe(compiling.cancel),
        )
        compiling = asyncio.create_task(work)
        with suppress(asyncio.CancelledError):
            await compiling
        with suppress(StateNotFound):  # its turn comes when nothing of the compile is under way
            await self._call("read", self.key, "now?")
        with self._only_if_there_is_some():
            self._is_now(self.world.manager.info(self.key))

    @contextmanager
    def _only_if_there_is_some(self) -> Iterator[None]:
        try:
            yield
        except StateNotFound:
            assert self.current is None


def steps_done(drivers: Iterable[Driver]) -> dict[str, int]:
    """How often each step was done."""
    done = [step for driver in drivers for step in driver.done]
    return {step: done.count(step) for step in WEIGHTS}
