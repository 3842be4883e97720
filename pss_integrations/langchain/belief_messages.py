"""What a memory reads in a list of messages, and what it adds to one; no message is changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from pss_integrations.errors import InvalidInput
from pss_integrations.langchain.convert import to_messages
from pss_integrations.text import whole
from pss_integrations.types import Message


def last_query(messages: Sequence[BaseMessage]) -> str:
    """Text of the last message of the user; ``""`` if there is none."""
    return next((str(one.text) for one in reversed(messages) if is_asked(one)), "")


def turn_start(messages: Sequence[BaseMessage]) -> int:
    """Where the last turn begins: with the last messages of the user that follow each other.

    At 0 if there is none: then all is of a turn whose question was removed.
    """
    start = max((at for at, one in enumerate(messages) if is_asked(one)), default=0)
    while start > 0 and is_asked(messages[start - 1]):
        start -= 1
    return start


def led_up(messages: Sequence[BaseMessage], start: int) -> list[BaseMessage]:
    """What the assistant said just before a place, if anything: "Yes, do that" means nothing without it."""
    earlier = [one for one in messages[:start] if _is_said(one) and str(one.text).strip()]
    return [one for one in earlier[-1:] if isinstance(one, AIMessage)]


def spoken(messages: Sequence[BaseMessage], trusted_names: Collection[str] | None = ()) -> list[Message]:
    """What user and assistant said, in words; results of tools and summaries written by a middleware are neither.

    :param trusted_names: What comes in as the user's under another name than these counts as the assistant's;
        ``None`` if all of it does.
    """
    said = [(_is_own(one, trusted_names), _in_words(one)) for one in messages if _is_said(one)]
    return [one if is_own else replace(one, role="assistant") for is_own, one in said if one.text.strip()]


def heard(messages: Sequence[BaseMessage], trusted_names: Collection[str] = ()) -> list[Message]:
    """All that was said, in words: also by tools, without summaries written by a middleware, and in known roles.

    :param trusted_names: As for :func:`spoken`.
    """
    said = list[Message]()
    for one in messages:
        if _is_summary(one):
            continue
        with suppress(InvalidInput):  # a role that no session has
            words = _in_words(one)
            is_anothers = words.role == "user" and not _is_own(one, trusted_names)
            said.append(replace(words, role="assistant") if is_anothers else words)
    return said


def is_asked(message: BaseMessage) -> bool:
    """Whether it comes in as the user's: a summary written by a middleware only looks so."""
    return isinstance(message, HumanMessage) and not _is_summary(message)


def with_told(messages: Sequence[BaseMessage], text: str) -> list[BaseMessage]:
    """Return copies of the messages, with a text at the end of the first system message, or in a new one.

    :param text: What is told; nothing is added for ``""``.
    """
    copies = [one.model_copy() for one in messages]
    if not text:
        return copies
    for at, one in enumerate(copies):
        if isinstance(one, SystemMessage):
            return [*copies[:at], extended(one, text), *copies[at + 1 :]]
    return [extended(None, text), *copies]


def extended(system: SystemMessage | None, text: str) -> SystemMessage:
    """Return a system message with a text at its end; a new one if there is none, or it is empty."""
    if system is None or not system.content:
        return SystemMessage(text)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{text}"})
    return system.model_copy(update={"content": [*system.content, {"type": "text", "text": text}]})


def _is_own(message: BaseMessage, trusted_names: Collection[str] | None) -> bool:
    return trusted_names is not None and (not message.name or message.name in trusted_names)


def _in_words(message: BaseMessage) -> Message:
    (said,) = to_messages([message.model_copy(update={"content": whole(str(message.text))})])
    return said


def _is_said(message: BaseMessage) -> bool:
    return isinstance(message, HumanMessage | AIMessage) and not _is_summary(message)


def _is_summary(message: BaseMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == "summarization"
