"""The answers of a model with their blocks, and what of them may be shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from pss_integrations.beliefs.extraction import SidecarStripper
from pss_integrations.beliefs.extraction.sidecar import ended_blocks
from pss_integrations.text import whole
from pss_integrations.types import Message

MessageT = TypeVar("MessageT", bound=BaseMessage)
Content = str | list[str | dict[str, Any]]


class Answer:
    """One answer, as it comes: what may be shown of it, and all of it."""

    def __init__(self) -> None:
        self._stripper = SidecarStripper()
        self._text: list[str] = []
        self._is_whole = False
        self._id: str | None = None
        self._form: dict[str, Any] | None = None  # of a text block, where content is a list of blocks

    @property
    def heard(self) -> Message:
        """All that was said; of an answer that broke off, up to the last block that came whole."""
        text = whole("".join(self._text))
        return Message("assistant", text if self._is_whole else ended_blocks(text), self._id)

    def shown(self, message: MessageT, *, last: bool) -> MessageT:
        """Return a copy of a message or chunk without what belongs to a block."""
        self._text.append(str(message.text))
        self._is_whole = last
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
        self._is_whole = True
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


def shown_result(result: ChatResult) -> tuple[ChatResult, list[Message]]:
    """A result without blocks, and all that was said."""
    shown: list[ChatGeneration] = []
    raw: list[Message] = []
    for generation in result.generations:
        answer = Answer()
        message = answer.shown(generation.message, last=True)
        shown.append(ChatGeneration(message=message, generation_info=generation.generation_info))
        raw.append(answer.heard)
    return ChatResult(generations=shown, llm_output=result.llm_output), raw


def as_chunk(generation: ChatGeneration) -> ChatGenerationChunk:
    fields = generation.message.model_dump(exclude={"type"})
    message = AIMessageChunk(**fields, chunk_position="last")
    return ChatGenerationChunk(message=message, generation_info=generation.generation_info)
