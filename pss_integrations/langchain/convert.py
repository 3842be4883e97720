"""The only mapping between LangChain's messages and documents and our own values."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired

from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    MessageLikeRepresentation,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from typing_extensions import TypedDict

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval.wrapped import as_number
from pss_integrations.types import Hit, Message, Passage, Role

_ROLES: dict[type[BaseMessage], Role] = {
    HumanMessage: "user",
    AIMessage: "assistant",
    SystemMessage: "system",
    ToolMessage: "tool",
    FunctionMessage: "tool",
}


class HistoryInput(TypedDict):
    """A query with the live history, as history-aware chains pass it."""

    input: str
    chat_history: NotRequired[Sequence[MessageLikeRepresentation]]


QueryInput = str | HistoryInput


def split_input(value: QueryInput) -> tuple[str, list[Message]]:
    """Return the query, unchanged, and the messages said before it.

    :raises InvalidInput: If it is neither a string nor ``{"input": str, "chat_history": [...]}``.
    """
    if isinstance(value, str):
        return value, []
    # The types promise it, LCEL checks none of them.
    if not isinstance(value, Mapping) or not isinstance(value.get("input"), str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput('the input must be a string or {"input": <string>, "chat_history": [<messages>]}')
    return value["input"], to_messages(value.get("chat_history") or [])


def to_messages(history: Sequence[MessageLikeRepresentation]) -> list[Message]:
    """Convert a chat history in any form that LangChain accepts.

    :raises InvalidInput: If it is a bare string, or a message has a role that we do not know.
    """
    if isinstance(history, str):
        raise InvalidInput("a chat history must be a list of messages, got one string")
    return [_to_message(message) for message in convert_to_messages(history)]


def _to_message(message: BaseMessage) -> Message:
    if isinstance(message, ChatMessage):
        return Message(message.role, str(message.text), message.id)  # type: ignore[arg-type]
    for kind, role in _ROLES.items():
        if isinstance(message, kind):
            return Message(role, str(message.text), message.id)
    raise InvalidInput(f"a {type(message).__name__} is no message of a session: leave it out of the history")


def document_key(document: Document, id_key: str | None = None) -> str:
    """Name a document: by its id, else by ``metadata[id_key]``, else by a hash of its text."""
    if document.id is not None:
        return document.id
    if id_key is not None and id_key in document.metadata:
        return str(document.metadata[id_key])
    return f"sha256:{hashlib.sha256(document.page_content.encode('utf-8', 'surrogatepass')).hexdigest()}"


def to_passage(document: Document, id_key: str | None = None) -> Passage:
    """Return a document as a passage of its own: :func:`document_key` names it, ``metadata["title"]`` titles it."""
    title = document.metadata.get("title")
    return Passage(
        document_key(document, id_key),
        document.page_content,
        title if isinstance(title, str) else "",
        dict(document.metadata),
    )


def to_hit(document: Document, id_key: str | None = None) -> Hit:
    """Return a document as a hit; its score is what we wrote on it, or 0.0: LangChain's documents have none."""
    return Hit(to_passage(document, id_key), as_number(document.metadata.get("pss_score")) or 0.0)


def to_document(hit: Hit) -> Document:
    """Return a hit of an index of ours as a document, with ``pss_score`` and its title, if any, in its metadata."""
    passage = hit.passage
    title = {"title": passage.title} if passage.title else {}
    metadata = {**passage.metadata, **title, "pss_score": hit.score}
    return Document(passage.text, id=passage.doc_id, metadata=metadata)


def annotated(document: Document, entries: Mapping[str, Any]) -> Document:
    """Return a copy of a document with ``pss_<name>`` for each entry that is not ``None``."""
    ours = {f"pss_{name}": value for name, value in entries.items() if value is not None}
    return document.model_copy(update={"metadata": {**document.metadata, **ours}})
