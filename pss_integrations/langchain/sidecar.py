"""A chat model that records what it learned in a block of its answers, which nobody else sees."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig, ensure_config
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ConfigDict, PrivateAttr, model_validator

from pss_integrations.beliefs.aware import Caller
from pss_integrations.beliefs.extraction import SIDECAR_PROMPT
from pss_integrations.errors import InvalidInput
from pss_integrations.langchain.belief_answers import Answer, as_chunk, shown_result
from pss_integrations.langchain.belief_identity import BeliefAware
from pss_integrations.langchain.belief_messages import with_told
from pss_integrations.types import Message

_WRAPPED_ONLY: dict[str, Any] = {"cache": False, "rate_limiter": None}
"""What must stand behind the wrapper, with what switches it off in front."""


class SidecarChatModel(BaseChatModel, BeliefAware):
    """Asks a model for a block of what it learned, keeps that, and takes the block out of the answer.

    No caller, callback or token stream meets the block, wherever its chunks begin and end; all else passes through:
    tool calls, usage, ids. What the wrapped model is set up with, such as callbacks or a rate limiter, serves its calls
    from here. A cache, the wrapped model's, one given here or the global one, holds what the wrapped model said: each
    time that it answers, the block is read anew, and kept for who asked. Of a stream that breaks off or is abandoned,
    the blocks that came whole are kept. In one turn, as in a loop of tool calls, the same is kept once. Where the
    wrapped model answers by a schema (:meth:`with_structured_output`), it is not asked for a block. For an agent::

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
        ours = {**{name: getattr(wrapped, name) for name in BaseChatModel.model_fields}, **values}
        set_up = {name: ours[name] for name in _WRAPPED_ONLY if ours[name] is not getattr(wrapped, name)}
        if set_up:
            ours["wrapped"] = wrapped.model_copy(update=set_up)
        return {**ours, **_WRAPPED_ONLY}

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
        result = self.wrapped._generate_with_cache(with_told(messages, SIDECAR_PROMPT), stop=stop, **kwargs)
        shown, raw = shown_result(result)
        self.keep(caller, [*self._asked(caller, messages), *raw])
        return shown

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        caller = self._asking()
        result = await self.wrapped._agenerate_with_cache(with_told(messages, SIDECAR_PROMPT), stop=stop, **kwargs)
        shown, raw = shown_result(result)
        await self.akeep(caller, [*self._asked(caller, messages), *raw])
        return shown

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        caller, answer = self._asking(), Answer()
        try:
            for chunk in self._chunks(with_told(messages, SIDECAR_PROMPT), stop, kwargs):
                yield answer.shown_chunk(chunk)
            yield from answer.rest()
        finally:
            self.keep(caller, self._heard(caller, messages, answer))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        caller, answer = self._asking(), Answer()
        try:
            async for chunk in self._achunks(with_told(messages, SIDECAR_PROMPT), stop, kwargs):
                yield answer.shown_chunk(chunk)
            for chunk in answer.rest():
                yield chunk
        finally:
            await self.akeep(caller, self._heard(caller, messages, answer))

    def _chunks(
        self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> Iterator[ChatGenerationChunk]:
        if type(self.wrapped)._stream is BaseChatModel._stream:
            yield from map(as_chunk, self.wrapped._generate_with_cache(messages, stop=stop, **kwargs).generations[:1])
            return
        if self.wrapped.rate_limiter:
            self.wrapped.rate_limiter.acquire(blocking=True)
        yield from self.wrapped._stream(messages, stop=stop, **kwargs)

    async def _achunks(
        self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]
    ) -> AsyncIterator[ChatGenerationChunk]:
        model = type(self.wrapped)
        if model._stream is BaseChatModel._stream and model._astream is BaseChatModel._astream:
            result = await self.wrapped._agenerate_with_cache(messages, stop=stop, **kwargs)
            yield as_chunk(result.generations[0])
            return
        if self.wrapped.rate_limiter:
            await self.wrapped.rate_limiter.aacquire(blocking=True)
        async for chunk in self.wrapped._astream(messages, stop=stop, **kwargs):
            yield chunk

    def _asked(self, caller: Caller, messages: Sequence[BaseMessage]) -> list[Message]:
        """What the user said, by which claims of the model about it are checked."""
        return [one for one in self.spoken(caller, messages) if one.role == "user"]

    def _heard(self, caller: Caller, messages: Sequence[BaseMessage], answer: Answer) -> list[Message]:
        return [*self._asked(caller, messages), answer.heard] if answer.heard.text else []
