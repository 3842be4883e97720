"""A wrapped retriever, a handler that notes events, and belief memories."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from belief_llms import KeepsLines
from belief_making import Clock
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer, Memory
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from pss_integrations.beliefs import BeliefMemory, BeliefStore
from pss_integrations.llama_index import BeliefStateMemory


def node(id: str, score: float | None = None, text: str = "text") -> NodeWithScore:
    return NodeWithScore(node=TextNode(id_=id, text=f"{text} {id}"), score=score)


class ListRetriever(BaseRetriever):
    """Returns ``found[query]``, else a default list; sync and async are noted apart."""

    def __init__(
        self, default: list[NodeWithScore] | None = None, found: dict[str, list[NodeWithScore]] | None = None
    ) -> None:
        super().__init__()
        self.default = [node(f"d{n}", 1.0 - n / 10) for n in range(5)] if default is None else default
        self.found = found or {}
        self.calls: list[tuple[str, QueryBundle]] = []

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._note("sync", query_bundle)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        await asyncio.sleep(0)
        return self._note("async", query_bundle)

    def _note(self, mode: str, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.calls.append((mode, QueryBundle(**{name: vars(query_bundle)[name] for name in vars(QueryBundle("x"))})))
        query_bundle.embedding = [9.0]  # as a vector retriever does
        return self.found.get(query_bundle.query_str, self.default)

    @property
    def searched(self) -> list[tuple[str, str]]:
        return [(mode, bundle.query_str) for mode, bundle in self.calls]


@pytest.fixture
def make_retriever() -> Callable[..., ListRetriever]:
    return ListRetriever


@pytest.fixture
def make_node() -> Callable[..., NodeWithScore]:
    return node


@pytest.fixture
def events() -> Iterator[list[Any]]:
    """Decision events sent during the test."""
    seen: list[Any] = []

    class Listener(BaseEventHandler):
        def handle(self, event: Any, **_: Any) -> None:
            if event.class_name() == "PSSDecisionEvent":
                seen.append(event)

    root, listener = get_dispatcher(), Listener()
    root.add_event_handler(listener)
    yield seen
    root.event_handlers.remove(listener)


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BeliefStore]:
    with BeliefStore(tmp_path / "beliefs.db", clock=Clock()) as opened:
        yield opened


@pytest.fixture
def extractor() -> KeepsLines:
    return KeepsLines()


@pytest.fixture
def beliefs(store: BeliefStore, extractor: KeepsLines) -> BeliefMemory:
    return BeliefMemory(store, scopes=["project:{project}"], extractor=extractor, background=False)


@pytest.fixture(params=["buffer", "memory"])
async def primary(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BaseMemory]:
    if request.param == "buffer":
        yield ChatMemoryBuffer.from_defaults()
        return
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}", poolclass=NullPool)
    yield Memory.from_defaults(async_engine=engine)
    await engine.dispose()


Make = Callable[..., BeliefStateMemory]


@pytest.fixture
def make(beliefs: BeliefMemory) -> Make:
    """Make Ada's memory of a project, over a buffer."""

    def make(**fields: Any) -> BeliefStateMemory:
        made = {
            "memory": beliefs,
            "primary_memory": ChatMemoryBuffer.from_defaults(),
            "user_id": "ada",
            "context": {"project": "atlas"},
        }
        return BeliefStateMemory(**{**made, **fields})

    return make
