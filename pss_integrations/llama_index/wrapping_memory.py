"""What memories around another one share here."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, SerializeAsAny
from llama_index.core.memory import BaseMemory, Memory
from llama_index.core.memory.memory import DEFAULT_TOKEN_LIMIT


class WrappingMemory(BaseMemory):
    """Base of a memory that keeps its messages in another one.

    :param primary_memory: Where they are; a new ``Memory`` by default.
    """

    primary_memory: SerializeAsAny[BaseMemory] = Field(default_factory=Memory.from_defaults)

    @classmethod
    def from_defaults(
        cls,
        *,
        chat_history: list[ChatMessage] | None = None,
        token_limit: int = DEFAULT_TOKEN_LIMIT,
        **fields: Any,
    ) -> Self:
        """Make one over a new ``Memory``.

        :param chat_history: Its first messages.
        :param token_limit: Its token limit.
        :param fields: Other fields of this class.
        """
        return cls(primary_memory=Memory.from_defaults(chat_history=chat_history, token_limit=token_limit), **fields)

    def get(self, input: str | ChatMessage | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Return what the other memory returns.

        :param kwargs: Passed on to it.
        """
        return self.primary_memory.get(text_of(input), **kwargs)

    async def aget(self, input: str | ChatMessage | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Do the same without blocking the event loop."""
        return await self.primary_memory.aget(text_of(input), **kwargs)

    def get_all(self) -> list[ChatMessage]:
        """Return all messages, as they were put."""
        return self.primary_memory.get_all()

    async def aget_all(self) -> list[ChatMessage]:
        """Do the same without blocking the event loop."""
        return await self.primary_memory.aget_all()

    def put(self, message: ChatMessage) -> None:
        """Add a message."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """Do the same without blocking the event loop."""
        await self.aput_messages([message])

    @abstractmethod
    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages."""

    @abstractmethod
    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Do the same without blocking the event loop."""

    def reset(self) -> None:
        """Remove the messages."""
        self.primary_memory.reset()

    async def areset(self) -> None:
        """Do the same without blocking the event loop."""
        await self.primary_memory.areset()


def text_of(input: str | ChatMessage | None) -> str | None:
    """What is asked for, as memories and their blocks understand it."""
    return input.content if isinstance(input, ChatMessage) else input
