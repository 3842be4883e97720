from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock
from llama_index.core.storage.chat_store import SimpleChatStore

from pss_integrations.llama_index import RetrieverSearcher
from pss_integrations.llama_index.chat_stores import asessions_from_chat_store, sessions_from_chat_store
from pss_integrations.routing.shadow import shadow
from pss_integrations.types import Message, SessionKey

Read = Callable[..., Any]


@pytest.fixture
def store() -> SimpleChatStore:
    store = SimpleChatStore()
    store.set_messages("ada:s", [ChatMessage("one", role="user"), ChatMessage("two", role="assistant")])
    store.set_messages("bob:s", [ChatMessage(role="user", blocks=[ImageBlock(url="https://example.org/a.png")])])
    return store


@pytest.fixture(params=["sync", "async"])
def read(request: pytest.FixtureRequest) -> Read:
    async def sessions(*args: Any) -> list[Any]:
        if request.param == "sync":
            return list(sessions_from_chat_store(*args))
        return [one async for one in asessions_from_chat_store(*args)]

    return sessions


async def test_each_key_is_a_session(read: Read, store: SimpleChatStore) -> None:
    assert await read(store, lambda key: SessionKey(*key.split(":"))) == [
        (SessionKey("ada", "s"), [Message("user", "one"), Message("assistant", "two")]),
        (SessionKey("bob", "s"), []),
    ]


async def test_keys_may_be_session_ids(read: Read, store: SimpleChatStore) -> None:
    found = await read(store, lambda key: SessionKey(None, key))
    assert [key for key, _ in found] == [SessionKey(None, "ada:s"), SessionKey(None, "bob:s")]
    assert await read(SimpleChatStore(), lambda key: SessionKey(None, key)) == []


async def test_reading_changes_nothing(read: Read, store: SimpleChatStore) -> None:
    before = deepcopy(store.store)
    await read(store, lambda key: SessionKey(None, key))
    assert store.store == before


def test_a_replay_over_a_retriever(make_retriever) -> None:
    store = SimpleChatStore()
    store.set_messages("s", [ChatMessage(text, role="user") for text in ("Plan Heron on kit-9", "is it retired?")])
    searcher = RetrieverSearcher(make_retriever())
    report = shadow(sessions_from_chat_store(store, lambda key: SessionKey(None, key)), searcher)
    (query,) = report.queries
    assert (query.key, set(query.found), query.failures) == (SessionKey(None, "s"), {"raw", "card"}, {})
