"""A wrapped retriever, and a handler that notes what traces see."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.callbacks.base import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field


class ListRetriever(BaseRetriever):
    """Returns ``found[query]``, else a default list; sync and async are noted apart."""

    found: dict[str, list[Document]] = Field(default_factory=dict)
    default: list[Document] = Field(
        default_factory=lambda: [Document(f"text {n}", id=f"d{n}", metadata={"n": n}) for n in range(5)]
    )
    calls: list[tuple[str, str]] = Field(default_factory=list)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        self.calls.append(("sync", query))
        return self.found.get(query, self.default)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        await asyncio.sleep(0)
        self.calls.append(("async", query))
        return self.found.get(query, self.default)


class Listener(BaseCallbackHandler):
    """Notes starts, errors and custom events."""

    def __init__(self) -> None:
        self.started: list[tuple[str, list[str]]] = []
        self.errors: list[BaseException] = []
        self.events: list[tuple[str, dict[str, Any]]] = []

    def on_retriever_start(self, serialized: Any, query: str, *, tags: Any = None, **_: Any) -> None:
        self.started.append((query, tags or []))

    def on_retriever_error(self, error: BaseException, **_: Any) -> None:
        self.errors.append(error)

    def on_chain_error(self, error: BaseException, **_: Any) -> None:
        self.errors.append(error)

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self.events.append((name, data))


@pytest.fixture
def make_retriever() -> Callable[..., ListRetriever]:
    return ListRetriever


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture(params=["sync", "async"])
def call(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Call a runnable either way: ``await call(runnable, input, config)``."""

    async def invoke(runnable: Any, value: Any, config: Any = None, **rest: Any) -> Any:
        if request.param == "sync":
            return runnable.invoke(value, config, **rest)
        return await runnable.ainvoke(value, config, **rest)

    invoke.mode = request.param
    return invoke
