"""Chat models and an extractor for the tests of the belief memory in frameworks."""

from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field

from pss_integrations.beliefs import NewBelief, Provenance
from pss_integrations.beliefs.extraction import Observation
from pss_integrations.types import Message


class Noting:
    """Notes what it is shown; of "remember name: content" it makes a decision."""

    def __init__(self) -> None:
        self.seen: list[Message] = []

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.seen]

    def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
        self.seen += messages
        return Observation(tuple(self._belief(one, scopes) for one in messages if one.text.startswith("remember ")))

    def _belief(self, message: Message, scopes: Sequence[str]) -> NewBelief:
        name, _, content = message.text.removeprefix("remember ").partition(": ")
        source = "user" if message.role == "user" else "assistant"
        return NewBelief(
            type="decision",
            canonical_name=name,
            content=content,
            scopes=tuple(scopes),
            provenance=Provenance(source=source),
        )


class ScriptedChatModel(BaseChatModel):
    """Gives scripted answers in turn, the last one for ever, and notes what it was asked.

    An answer that is an error is raised. Streamed, an answer comes in chunks of so many characters.
    """

    answers: list[Any] = Field(default_factory=lambda: ["Fine."])
    asked: list[list[BaseMessage]] = Field(default_factory=list)
    options: list[dict[str, Any]] = Field(default_factory=list)
    chunk_size: int = 3

    @property
    def system(self) -> str:
        """The system message of the last call."""
        return "\n".join(str(one.text) for one in self.asked[-1] if isinstance(one, SystemMessage))

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(tools=[tool.name for tool in tools], **kwargs)

    def _answer(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        self.asked.append(messages)
        self.options.append(options)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return AIMessage(answer) if isinstance(answer, str) else answer

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages, kwargs).model_copy())])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages, kwargs)
        text = str(answer.text)
        for start in range(0, len(text), self.chunk_size):
            chunk = ChatGenerationChunk(message=AIMessageChunk(text[start : start + self.chunk_size], id=answer.id))
            if run_manager:
                run_manager.on_llm_new_token(str(chunk.text), chunk=chunk)
            yield chunk
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                "",
                id=answer.id,
                tool_calls=answer.tool_calls,
                usage_metadata=answer.usage_metadata,
                chunk_position="last",
            )
        )
