"""A model that records what it learned in a block of its answers, which nobody else sees."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
    TextBlock,
)
from llama_index.core.bridge.pydantic import SerializeAsAny
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import LLM, ToolSelection
from llama_index.core.tools import BaseTool

from pss_integrations.beliefs.extraction import SIDECAR_PROMPT, SidecarStripper, strip_sidecar
from pss_integrations.beliefs.extraction.sidecar import ended_blocks, sidecar_blocks
from pss_integrations.errors import InvalidInput
from pss_integrations.llama_index.belief_identity import BeliefAware
from pss_integrations.llama_index.belief_messages import with_told
from pss_integrations.text import whole
from pss_integrations.types import Message

ResponseT = TypeVar("ResponseT", ChatResponse, CompletionResponse)


class SidecarLLM(BeliefAware, FunctionCallingLLM):
    """Asks a model for a block of what it learned, keeps that, and takes the block out of the answer.

    Of chats, a caller sees the answer without its block, wherever the chunks of a stream begin and end; all else
    passes through: tool calls, usage, ids. Completions are not asked for a block. Events come from the wrapped model
    alone, and tell all that it said. For a chat engine or an agent::

        beliefs = BeliefMemory(store, scopes=["project:{project}"], extractor=SidecarExtractor())
        who = {"memory": beliefs, "user_id": "ada", "context": {"project": "atlas"}}
        SimpleChatEngine.from_defaults(llm=SidecarLLM(llm=llm, **who), memory=BeliefStateMemory(observe=False, **who))

    It is not for query engines: what they send as the user's message holds documents.

    :param llm: Any model.
    :param memory: Its extractor is a ``SidecarExtractor``.
    :raises InvalidInput: If it is another one.
    """

    llm: SerializeAsAny[LLM]

    def __init__(self, *, llm: LLM, **fields: Any) -> None:
        inherited = {name: getattr(llm, name) for name in LLM.model_fields}
        super().__init__(llm=llm, **{**inherited, **fields})
        if not self.reads_sidecars:
            raise InvalidInput("the memory of a SidecarLLM needs extractor=SidecarExtractor()")

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "SidecarLLM"

    @property
    def metadata(self) -> LLMMetadata:
        """That of the wrapped model."""
        return self.llm.metadata

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Return the answer without its block; if what that holds cannot be kept, the error is logged.

        :raises MissingIdentity: If nothing says who the user is; the model is not called then.
        :raises InvalidInput: If the context lacks what a scope needs; the model is not called then.
        """
        caller = self.caller()
        response = self.llm.chat(with_told(messages, SIDECAR_PROMPT), **kwargs)
        self.keep(caller, self._learnt(messages, _text(response)))
        return _stripped(response)

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Do the same without blocking the event loop."""
        caller = self.caller()
        response = await self.llm.achat(with_told(messages, SIDECAR_PROMPT), **kwargs)
        await self.akeep(caller, self._learnt(messages, _text(response)))
        return _stripped(response)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Yield the answer without its block; what that holds is kept when the stream has ended.

        Where it breaks off or is abandoned, the blocks that came whole are kept.
        """
        caller, answer = self.caller(), _Answer[ChatResponse]()
        chunks = self.llm.stream_chat(with_told(messages, SIDECAR_PROMPT), **kwargs)

        def shown() -> ChatResponseGen:
            try:
                yield from answer.stream(chunks)
            finally:
                self.keep(caller, self._learnt(messages, answer.heard))

        return shown()

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseAsyncGen:
        """Do the same without blocking the event loop."""
        caller, answer = self.caller(), _Answer[ChatResponse]()
        chunks = await self.llm.astream_chat(with_told(messages, SIDECAR_PROMPT), **kwargs)

        async def shown() -> ChatResponseAsyncGen:
            try:
                async for chunk in answer.astream(chunks):
                    yield chunk
            finally:
                await self.akeep(caller, self._learnt(messages, answer.heard))

        return shown()

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Return the completion, without a block if there is one."""
        return _stripped(self.llm.complete(prompt, formatted=formatted, **kwargs))

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Do the same without blocking the event loop."""
        return _stripped(await self.llm.acomplete(prompt, formatted=formatted, **kwargs))

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        """Yield the completion, without a block if there is one."""
        chunks = self.llm.stream_complete(prompt, formatted=formatted, **kwargs)
        return _Answer[CompletionResponse]().stream(chunks)

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseAsyncGen:
        """Do the same without blocking the event loop."""
        chunks = await self.llm.astream_complete(prompt, formatted=formatted, **kwargs)
        return _Answer[CompletionResponse]().astream(chunks)

    def get_tool_calls_from_response(
        self, response: ChatResponse, error_on_no_tool_call: bool = True, **kwargs: Any
    ) -> list[ToolSelection]:
        """Read tool calls as the wrapped model does.

        :raises InvalidInput: If it calls no tools.
        """
        return self._tool_caller.get_tool_calls_from_response(
            response, error_on_no_tool_call=error_on_no_tool_call, **kwargs
        )

    def _learnt(self, messages: Sequence[ChatMessage], answer: str) -> list[Message]:
        """An answer with a block, after what the user said, by which its claims about that are checked."""
        if not sidecar_blocks(answer):
            return []
        return [*(one for one in self.spoken(messages) if one.role == "user"), Message("assistant", whole(answer))]

    @property
    def _tool_caller(self) -> FunctionCallingLLM:
        if not isinstance(self.llm, FunctionCallingLLM):
            raise InvalidInput(f"{type(self.llm).__name__} calls no tools: wrap a FunctionCallingLLM")
        return self.llm

    def _prepare_chat_with_tools(
        self,
        tools: Sequence[BaseTool],
        user_msg: str | ChatMessage | None = None,
        chat_history: list[ChatMessage] | None = None,
        verbose: bool = False,
        allow_parallel_tool_calls: bool = False,
        tool_required: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        return self._tool_caller._prepare_chat_with_tools_compat(
            tools, user_msg, chat_history, verbose, allow_parallel_tool_calls, tool_required, **kwargs
        )

    def _validate_chat_with_tools_response(
        self, response: ChatResponse, tools: Sequence[BaseTool], allow_parallel_tool_calls: bool = False, **kwargs: Any
    ) -> ChatResponse:
        return self._tool_caller._validate_chat_with_tools_response(
            response, tools, allow_parallel_tool_calls, **kwargs
        )


class _Answer(Generic[ResponseT]):
    """One answer, as it comes: what may be shown of it so far, and all of it."""

    def __init__(self) -> None:
        self._text = ""
        self._is_whole = False
        self._shown = ""
        self._stripper = SidecarStripper()

    @property
    def heard(self) -> str:
        """All that was said; of an answer that broke off, up to the last block that came whole."""
        return self._text if self._is_whole else ended_blocks(self._text)

    def stream(self, chunks: Iterable[ResponseT]) -> Generator[ResponseT]:
        """Yield chunks without what belongs to a block, then what was held back."""
        chunk: ResponseT | None = None
        for chunk in chunks:
            yield self._next(chunk)
        yield from self._rest(chunk)

    async def astream(self, chunks: AsyncIterable[ResponseT]) -> AsyncGenerator[ResponseT]:
        """Do the same without blocking the event loop."""
        chunk: ResponseT | None = None
        async for chunk in chunks:
            yield self._next(chunk)
        for rest in self._rest(chunk):
            yield rest

    def _next(self, chunk: ResponseT) -> ResponseT:
        delta = _text(chunk)[len(self._text) :] if chunk.delta is None else chunk.delta
        self._text += delta
        return self._with_next(chunk, self._stripper.feed(delta))

    def _rest(self, last: ResponseT | None) -> Iterator[ResponseT]:
        self._is_whole = True
        if last is not None and (rest := self._stripper.finish()):
            yield self._with_next(last, rest)

    def _with_next(self, chunk: ResponseT, delta: str) -> ResponseT:
        self._shown += delta
        return _with_text(chunk, self._shown, delta)


def _stripped(response: ResponseT) -> ResponseT:
    delta = response.delta
    return _with_text(response, strip_sidecar(_text(response)), None if delta is None else strip_sidecar(delta))


def _text(response: ChatResponse | CompletionResponse) -> str:
    return response.text if isinstance(response, CompletionResponse) else response.message.content or ""


def _with_text(response: ResponseT, text: str, delta: str | None) -> ResponseT:
    """Return a copy that says something else, in one block of text."""
    if isinstance(response, CompletionResponse):
        return response.model_copy(update={"text": text, "delta": delta})
    blocks = response.message.blocks
    place = next((at for at, block in enumerate(blocks) if isinstance(block, TextBlock)), 0)
    others = [block for block in blocks[place:] if not isinstance(block, TextBlock)]
    said = [TextBlock(text=text)] if text or len(others) < len(blocks) - place else []
    message = response.message.model_copy(update={"blocks": [*blocks[:place], *said, *others]})
    return response.model_copy(update={"message": message, "delta": delta})
