"""The sessions that a LlamaIndex chat store holds, for :func:`~pss_integrations.routing.shadow.shadow`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.storage.chat_store.base import BaseChatStore

from pss_integrations.llama_index.convert import to_messages
from pss_integrations.types import Message, SessionKey


def sessions_from_chat_store(
    store: BaseChatStore, session: Callable[[str], SessionKey]
) -> Iterator[tuple[SessionKey, list[Message]]]:
    """Yield the messages of each key of a chat store; those without text are left out.

    :param store: Any chat store; it is only read.
    :param session: Tells whose session a key of the store names: ``lambda key: SessionKey(None, key)`` where keys are
        session ids, and there are no users.
    """
    for key in list(store.get_keys()):
        yield session(key), _messages(store.get_messages(key))


async def asessions_from_chat_store(
    store: BaseChatStore, session: Callable[[str], SessionKey]
) -> AsyncIterator[tuple[SessionKey, list[Message]]]:
    """Do the same without blocking the event loop."""
    for key in list(await store.aget_keys()):
        yield session(key), _messages(await store.aget_messages(key))


def _messages(said: Sequence[ChatMessage]) -> list[Message]:
    return [message for message in to_messages(said) if message.text.strip()]
