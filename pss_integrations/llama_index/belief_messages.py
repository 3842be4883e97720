"""What a memory reads in a list of messages, and what it adds to one; no message is changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock

from pss_integrations.llama_index.convert import to_messages
from pss_integrations.text import whole
from pss_integrations.types import Message

InsertMethod = Literal["system", "user"]

_SYSTEM = (MessageRole.SYSTEM, MessageRole.DEVELOPER)


def last_query(messages: Sequence[ChatMessage]) -> str:
    """Text of the last message of the user; ``""`` if there is none."""
    said = (message.content for message in reversed(messages) if message.role == MessageRole.USER)
    return next(said, None) or ""


def spoken(messages: Sequence[ChatMessage], trusted_names: Collection[str] = ()) -> list[Message]:
    """What user and assistant said, in words; results of tools are neither.

    :param trusted_names: What comes in as the user's under another name than these counts as the assistant's.
    """
    said = [
        ChatMessage(
            role=message.role if _is_own(message, trusted_names) else MessageRole.ASSISTANT,
            content=whole(message.content or ""),
        )
        for message in messages
    ]
    return [one for one in to_messages(said) if one.role in ("user", "assistant") and one.text.strip()]


def said_by_user(said: Sequence[Message]) -> Sequence[Message]:
    """What is spoken up to the last message of the user; answers to that are read with the reply to them."""
    return said[: max((at for at, one in enumerate(said, 1) if one.role == "user"), default=0)]


def until_answer(said: Sequence[Message]) -> Sequence[Message]:
    """What is spoken up to the last answer: what the user said since may be said again, as a call that failed is."""
    return said[: max((at for at, one in enumerate(said, 1) if one.role == "assistant"), default=0)]


def is_new(message: ChatMessage, messages: Sequence[ChatMessage], held: Sequence[ChatMessage]) -> bool:
    """Whether a message stands in a conversation more often than in what was known of it before."""
    times, times_held = (sum(_is_same(one, message) for one in known) for known in (messages, held))
    return times > times_held


def with_told(messages: Iterable[ChatMessage], text: str, method: InsertMethod = "system") -> list[ChatMessage]:
    """Return copies of the messages, with a text added.

    :param text: What is told; nothing is added for ``""``.
    :param method: At the end of the first system message, or before the last message of the user. If there is no such
        message, a new one is made, at the start or at the end.
    """
    copies = [_copy(message) for message in messages]
    if not text:
        return copies
    block = TextBlock(text=text)
    if method == "system":
        system = next((message for message in copies if message.role in _SYSTEM), None)
        if system is None:
            return [ChatMessage(role=MessageRole.SYSTEM, blocks=[block]), *copies]
        system.blocks.append(block)
        return copies
    user = next((message for message in reversed(copies) if message.role == MessageRole.USER), None)
    if user is None:
        return [*copies, ChatMessage(role=MessageRole.USER, blocks=[block])]
    user.blocks.insert(0, block)
    return copies


def _is_own(message: ChatMessage, trusted_names: Collection[str]) -> bool:
    name = message.additional_kwargs.get("name")
    return message.role != MessageRole.USER or not name or name in trusted_names


def _is_same(one: ChatMessage, other: ChatMessage) -> bool:
    return one.role == other.role and one.content == other.content


def _copy(message: ChatMessage) -> ChatMessage:
    # agents write into the blocks of the messages that they get
    blocks = [block.model_copy() for block in message.blocks]
    return message.model_copy(update={"blocks": blocks, "additional_kwargs": dict(message.additional_kwargs)})
