"""A model of LlamaIndex, an extractor and unruly stores for the tests of its belief memory."""

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from belief_making import new
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.bridge.pydantic import Field
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection

from pss_integrations.beliefs import BeliefStore, NewBelief, Principal, PutResult
from pss_integrations.beliefs.extraction import Observation
from pss_integrations.beliefs.injection import BLOCK_START
from pss_integrations.errors import BeliefStorageError
from pss_integrations.types import Message


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def assistant(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def texts(messages: Sequence[ChatMessage]) -> list[tuple[str, str]]:
    """Role and text of each message."""
    return [(message.role.value, message.content or "") for message in messages]


def blocks(messages: Sequence[ChatMessage]) -> list[str]:
    """Messages with a block of beliefs."""
    return [text for _, text in texts(messages) if BLOCK_START in text]


async def call(mode: str, memory: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a method, or its asynchronous twin."""
    if mode == "async":
        return await getattr(memory, f"a{name}")(*args, **kwargs)
    return getattr(memory, name)(*args, **kwargs)


class FailsOnce(BeliefStore):
    """Cannot write the first time."""

    has_failed = False

    def put(self, principal: Principal, belief: NewBelief, *, actor: Principal | None = None) -> PutResult:
        if not self.has_failed:
            self.has_failed = True
            raise BeliefStorageError("no space left")
        return super().put(principal, belief, actor=actor)


class Gate:
    """A clock that tells no time before its gate is open."""

    def __init__(self) -> None:
        self._open = threading.Event()

    def __call__(self) -> datetime:
        assert self._open.wait(30), "the loop stood still"
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def passed_by(self, working: Coroutine[Any, Any, Any]) -> Any:
        """What something gives that needs the time, while the loop goes on."""
        self._open.clear()
        task = asyncio.create_task(working)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not task.done()
        self._open.set()
        return await task


class KeepsLines:
    """Makes a decision of each "name: content" that the user says; notes what it was shown."""

    def __init__(self) -> None:
        self.shown: list[list[Message]] = []

    def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
        self.shown.append(list(messages))
        lines = [one.text.partition(": ") for one in messages if one.role == "user"]
        return Observation(tuple(new(name, content, scopes=scopes) for name, colon, content in lines if colon))


class ScriptedLLM(FunctionCallingLLM):
    """Gives scripted answers in turn, the last one for ever, and notes what it was asked.

    Streamed, an answer comes in chunks of so many characters; its tool calls come with the last.
    """

    answers: list[str | ChatMessage] = Field(default_factory=lambda: ["Fine."])
    asked: list[list[ChatMessage]] = Field(default_factory=list)
    chunk_size: int = 3
    is_cumulative_only: bool = False
    name: str = "scripted"

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, is_function_calling_model=True, model_name=self.name)

    @property
    def seen(self) -> list[tuple[str, str]]:
        """The messages of the last call."""
        return texts(self.asked[-1])

    def _answer(self, messages: Sequence[ChatMessage]) -> ChatMessage:
        self.asked.append(list(messages))
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        return assistant(answer) if isinstance(answer, str) else answer

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return ChatResponse(message=self._answer(messages).model_copy(deep=True))

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self.chat(messages)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Iterator[ChatResponse]:
        answer = self._answer(messages)

        def chunks() -> Iterator[ChatResponse]:
            text = answer.content or ""
            for start in range(0, max(len(text), 1), self.chunk_size):
                end = start + self.chunk_size
                message = answer.model_copy(deep=True) if end >= len(text) else assistant(text[:end])
                yield ChatResponse(message=message, delta=None if self.is_cumulative_only else text[start:end])

        return chunks()

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> AsyncIterator[ChatResponse]:
        chunks = self.stream_chat(messages)

        async def gen() -> AsyncIterator[ChatResponse]:
            for chunk in chunks:
                yield chunk

        return gen()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self._answer([user(prompt)]).content or "")

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return self.complete(prompt)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Iterator[CompletionResponse]:
        for chunk in self.stream_chat([user(prompt)]):
            yield CompletionResponse(text=chunk.message.content or "", delta=chunk.delta)

    async def astream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> AsyncIterator[CompletionResponse]:
        async def gen() -> AsyncIterator[CompletionResponse]:
            for chunk in self.stream_complete(prompt):
                yield chunk

        return gen()

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: list[ChatMessage] | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        return {"messages": [*(chat_history or []), *([user_msg] if user_msg else [])]}

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        return response.message.additional_kwargs.get("tool_calls", [])
