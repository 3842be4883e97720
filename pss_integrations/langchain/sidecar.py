"""A chat model that records what it learned in a block of its answers, which nobody else sees."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, TypeVar

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig, ensure_config
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, PrivateAttr, model_validator

from pss_integrations.beliefs.extraction import SIDECAR_PROMPT, SidecarStripper
from pss_integrations.errors import InvalidInput
from pss_integrations.langchain.belief_identity import BeliefAware, Caller
from pss_integrations.langchain.belief_messages import spoken, with_told
from pss_integrations.text import whole
from pss_integrations.types import Message

MessageT = TypeVar("MessageT", bound=BaseMessage)
Content = str | list[str | dict[str, Any]]


class SidecarChatModel(BaseChatModel, BeliefAware):
    """Asks a model for a block of what it learned, keeps that, and takes the block out of the answer.

    No caller, callback or token stream meets the block, wherever its chunks begin and end; all else passes through:
    tool calls, usage, ids. What the wrapped model is set up with, such as callbacks, a cache or a rate limiter, serves
    its calls from here. An answer from a cache is not kept again. Where the wrapped model answers by a schema
    (:meth:`with_structured_output`), it is not asked for a block. For an agent::

        memory = BeliefMemory(store, scopes=["project:{project}"], extractor=SidecarExtractor())
        create_agent(
            SidecarChatModel(wrapped=model, memory=memory),
            middleware=[BeliefStateMiddleware(memory, observe=False)],
        )

    :param wrapped: Any chat model.
    :param memory: Its extractor is a ``SidecarExtractor``.
    :raises ValidationError: If it is another one.
    """

    model_config = ConfigDict(frozen=False)  # BaseChatModel fills in fields of its own

    wrapped: BaseChatModel
    _config: RunnableConfig | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _take_over(cls, values: Any) -> Any:
        wrapped = values.get("wrapped")
        if not isinstance(wrapped, BaseChatModel):
            return values
        return {**{name: getattr(wrapped, name) for name in BaseChatModel.model_fields}, **values}

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a memory that does not read the blocks."""
        super().model_post_init(context)
        if not self.reads_sidecars:
            raise InvalidInput("the memory of a SidecarChatModel needs extractor=SidecarExtractor()")

    @property
    def _llm_type(self) -> str:
        return f"pss-sidecar-{self.wrapped._llm_type}"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"wrapped": dict(self.wrapped._identifying_params)}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return self.wrapped._get_ls_params(stop, **kwargs)

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools as the wrapped model does.

        :raises InvalidInput: If that gives something else than a model with arguments.
        """
        bound = self.wrapped.bind_tools(tools, tool_choice=tool_choice, **kwargs)
        model = bound.bound if isinstance(bound, RunnableBinding) else bound
        if not isinstance(model, BaseChatModel):
            raise InvalidInput(f"{type(self.wrapped).__name__}.bind_tools gives no chat model: wrap another one")
        ours = self.model_copy(update={"wrapped": model})
        return bound.model_copy(update={"bound": ours}) if isinstance(bound, RunnableBinding) else ours

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, dict[str, Any] | BaseModel]:
        """Do what the wrapped model does, without a block."""
        return self.wrapped.with_structured_output(schema, include_raw=include_raw, **kwargs)

    # The hooks are given no config: a copy that knows it makes the call.

    def invoke(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """Return the answer without its block.

        :raises MissingIdentity: If nothing names a user; the model is not called then.
        :raises InvalidInput: If the call does not fill a place of a scope; the model is not called then either.
        """
        return BaseChatModel.invoke(self._with(config), input, config, **kwargs)

    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AIMessage:
        """Do the same without blocking the event loop."""
        return await BaseChatModel.ainvoke(self._with(config), input, config, **kwargs)

    def stream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[AIMessageChunk]:
        """Yield the answer without its block."""
        return BaseChatModel.stream(self._with(config), input, config, **kwargs)

    def astream(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[AIMessageChunk]:
        """Do the same without blocking the event loop."""
        return BaseChatModel.astream(self._with(config), input, config, **kwargs)

    def stream_events(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Give the events of a stream without the block."""
        return BaseChatModel.stream_events(self._with(config), input, config, **kwargs)

    def astream_events(self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Do the same without blocking the event loop."""
        return BaseChatModel.astream_events(self._with(config), input, config, **kwargs)

    def _with(self, config: RunnableConfig | None) -> SidecarChatModel:
        calling = self.model_copy()
        calling._config = ensure_config(config)
        return calling

    def _asking(self) -> Caller:
        caller = self.caller(self._config or ensure_config())
        self.memory.scopes(caller.context)  # raises before the model is asked, not when its answer is kept
        return caller

    # The wrapped model gets no run manager, which would send the block to the callbacks.

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        caller = self._asking()
        result = self.wrapped._generate(with_told(messages, SIDECAR_PROMPT), stop=stop, **kwargs)
        shown, raw = _shown(result)
        self.keep(caller, [*_asked(messages), *raw])
        return shown

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        caller = self._asking()
        result = await self.wrapped._agenerate(with_told(messages, SIDECAR_PROMPT), stop=stop, **kwargs)
        shown, raw = _shown(result)
        await self.akeep(caller, [*_asked(messages), *raw])
        return shown

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        caller, answer = self._asking(), _Answer()
        told = with_told(messages, SIDECAR_PROMPT)
        if type(self.wrapped)._stream is BaseChatModel._stream:
            chunks = map(_as_chunk, self.wrapped._generate(told, stop=stop, **kwargs).generations[:1])
        else:
            chunks = self.wrapped._stream(told, stop=stop, **kwargs)
        for chunk in chunks:
            yield answer.shown_chunk(chunk)
        yield from answer.rest()
        self.keep(caller, [*_asked(messages), answer.raw])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        caller, answer = self._asking(), _Answer()
        told = with_told(messages, SIDECAR_PROMPT)
        model = type(self.wrapped)
        if model._stream is BaseChatModel._stream and model._astream is BaseChatModel._astream:
            result = await self.wrapped._agenerate(told, stop=stop, **kwargs)
            yield answer.shown_chunk(_as_chunk(result.generations[0]))
        else:
            async for chunk in self.wrapped._astream(told, stop=stop, **kwargs):
                yield answer.shown_chunk(chunk)
        for chunk in answer.rest():
            yield chunk
        await self.akeep(caller, [*_asked(messages), answer.raw])


class _Answer:
    """One answer, as it comes: what may be shown of it, and all of it."""

    def __init__(self) -> None:
        self._stripper = SidecarStripper()
        self._text: list[str] = []
        self._id: str | None = None
        self._form: dict[str, Any] | None = None  # of a text block, where content is a list of blocks

    @property
    def raw(self) -> Message:
        """All that was said."""
        return Message("assistant", whole("".join(self._text)), self._id)

    def shown(self, message: MessageT, *, last: bool) -> MessageT:
        """Return a copy of a message or chunk without what belongs to a block."""
        self._text.append(str(message.text))
        self._id = message.id or self._id
        content: Content = message.content
        if isinstance(content, str):
            shown: Content = self._stripper.feed(content) + (self._stripper.finish() if last else "")
        else:
            shown = [self._shown_block(block) for block in content] + (self._rest_of_blocks() if last else [])
        return message.model_copy(update={"content": shown})

    def shown_chunk(self, chunk: ChatGenerationChunk) -> ChatGenerationChunk:
        """Do the same for a chunk of a stream."""
        message = chunk.message
        last = isinstance(message, AIMessageChunk) and message.chunk_position == "last"
        return ChatGenerationChunk(message=self.shown(message, last=last), generation_info=chunk.generation_info)

    def rest(self) -> Iterator[ChatGenerationChunk]:
        """Yield what was held back, at the end of a stream."""
        content = self._stripper.finish() if self._form is None else self._rest_of_blocks()
        if content:
            yield ChatGenerationChunk(message=AIMessageChunk(content=content, id=self._id))

    def _shown_block(self, block: str | dict[str, Any]) -> str | dict[str, Any]:
        if isinstance(block, str):
            return self._stripper.feed(block)
        if block.get("type") != "text" or not isinstance(block.get("text"), str):
            return block  # annotations may come without a text
        self._form = {key: block[key] for key in ("type", "index") if key in block}
        return {**block, "text": self._stripper.feed(block["text"])}

    def _rest_of_blocks(self) -> list[str | dict[str, Any]]:
        text = self._stripper.finish()
        return [{**(self._form or {"type": "text"}), "text": text}] if text else []


def _shown(result: ChatResult) -> tuple[ChatResult, list[Message]]:
    """A result without blocks, and all that was said."""
    shown: list[ChatGeneration] = []
    raw: list[Message] = []
    for generation in result.generations:
        answer = _Answer()
        message = answer.shown(generation.message, last=True)
        shown.append(ChatGeneration(message=message, generation_info=generation.generation_info))
        raw.append(answer.raw)
    return ChatResult(generations=shown, llm_output=result.llm_output), raw


def _asked(messages: Sequence[BaseMessage]) -> list[Message]:
    """What the user said, by which claims of the model about it are checked."""
    return [one for one in spoken(messages) if one.role == "user"]


def _as_chunk(generation: ChatGeneration) -> ChatGenerationChunk:
    fields = generation.message.model_dump(exclude={"type"})
    message = AIMessageChunk(**fields, chunk_position="last")
    return ChatGenerationChunk(message=message, generation_info=generation.generation_info)
