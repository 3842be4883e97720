"""Read sessions, passages, targets and fields from files; frameworks' dumps are read without the frameworks.

Every error names the file and the line, or the item of a JSON array. Files are UTF-8, with or without a
byte order mark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from pss_integrations.errors import InvalidInput
from pss_integrations.types import ClueTarget, Message, Passage, Role, SessionFields

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "chatbot": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_CONTENT = ("text", "content", "blocks")
_TEXT_BLOCKS = ("text", "input_text", "output_text")
_KEYS_SHOWN = 20
_SURROGATE = re.compile("[\ud800-\udfff]")

Rows = Iterable[tuple[str, Any]]
"""Parsed values, each with where it stands."""


def load_messages(path: str | Path, *, store_key: str | None = None) -> list[Message]:
    """Read a session: JSON Lines with one message per line, or one JSON array of messages.

    A message may be any of these, and forms may be mixed:

    - ``{"role", "text"}``, with ``"id"`` and ``"created_at"`` (ISO 8601) where known;
    - ``{"role", "content"}``, as in OpenAI's API and older LlamaIndex;
    - LangChain's ``messages_to_dict`` (``{"type", "data"}``), ``dumpd`` (``{"lc", "id", "kwargs"}``) or
      ``model_dump`` (``{"type", "content"}``);
    - LlamaIndex's ``ChatMessage.model_dump`` (``{"role", "blocks"}``).

    A LlamaIndex ``SimpleChatStore`` dump is read too. Of content in blocks the text blocks count, joined by
    newlines; messages without any text, such as pure tool calls, are left out.

    :param path: The file.
    :param store_key: Which session of a ``SimpleChatStore`` dump; needed if it holds several.
    :raises InvalidInput: If the file cannot be read, is malformed, or holds no text.
    """
    messages: list[Message] = []
    for where, value in _message_rows(path, store_key):
        with _at(where):
            message = message_of(_object(value))
        if message.text.strip():
            messages.append(message)
    if not messages:
        raise InvalidInput(f"{path}: no message has any text")
    return messages


def load_passages(path: str | Path) -> list[Passage]:
    """Read JSON Lines of ``{"doc_id", "text"}``, with ``"title"`` where there is one; the rest is metadata.

    :raises InvalidInput: If the file cannot be read, a line is malformed, or a ``doc_id`` comes twice.
    """
    seen: dict[str, str] = {}
    passages: list[Passage] = []
    for where, value in _lines(path, _read(path)):
        with _at(where):
            passage = _passage(_object(value))
            if passage.doc_id in seen:
                raise InvalidInput(f"doc_id {passage.doc_id!r} was used before, at {seen[passage.doc_id]}")
        seen[passage.doc_id] = where
        passages.append(passage)
    return passages


def load_targets(path: str | Path) -> list[ClueTarget]:
    """Read JSON Lines of ``{"request", "clue"}``, with ``"conflicts"``, a list, where there are any.

    :raises InvalidInput: If the file cannot be read or a line is malformed.
    """
    targets: list[ClueTarget] = []
    for where, value in _lines(path, _read(path)):
        with _at(where):
            row = _only(_object(value), "request", "clue", "conflicts")
            conflicts = tuple(_string(item, "a conflict") for item in _list(row, "conflicts"))
            targets.append(ClueTarget(_required(row, "request"), _required(row, "clue"), conflicts))
    return targets


def load_fields(path: str | Path) -> SessionFields:
    """Read a JSON object of the fields of :class:`SessionFields`.

    :raises InvalidInput: If the file cannot be read or is malformed.
    """
    text = _read(path)
    with _at(str(path)):
        row = _only(_object(_parse(text)), "project", "active", "archived", "component", "other")
        return SessionFields(
            project=_required(row, "project"),
            active=_pairs(row, "active"),
            archived=_pairs(row, "archived"),
            component=_optional(row, "component"),
            other=_pairs(row, "other"),
        )


# --- files


def _read(path: str | Path) -> str:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{path}, line {line}: this is no UTF-8; save the file as UTF-8") from error
    if not text.strip():
        raise InvalidInput(f"{path} is empty")
    return text


def _lines(path: str | Path, text: str) -> Rows:
    # Not splitlines(): JSON strings may hold U+2028 and the like.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            with _at(where):
                value = _parse(line)
            yield where, value


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        row = f"line {error.lineno}, " if "\n" in text else ""
        raise InvalidInput(f"no valid JSON at {row}column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"no usable JSON: {error}") from error


@contextmanager
def _at(where: str) -> Generator[None]:
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{where}: {error}") from error


# --- messages


def _message_rows(path: str | Path, store_key: str | None) -> Rows:
    text = _read(path)
    with _at(str(path)):
        document = _document(text)
        if isinstance(document, dict) and "store" in document:
            document = _from_store(cast(dict[str, Any], document)["store"], store_key)
        elif store_key is not None:
            raise InvalidInput(f"store_key {store_key!r} was given, but this is no chat store")
    if document is None:
        return _lines(path, text)
    items = cast(list[Any], document if isinstance(document, list) else [document])
    return [(f"{path}, item {number}", item) for number, item in enumerate(items, start=1)]


def _document(text: str) -> object | None:
    """Parse a JSON array, a chat store, or one object over several lines; ``None`` for JSON Lines."""
    first = text.lstrip().partition("\n")[0].strip()
    one_value = first.startswith("[") or first == "{"
    try:
        document = _parse(text)
    except InvalidInput:
        if one_value:
            raise
        return None
    return document if one_value or (isinstance(document, dict) and "store" in document) else None


def _from_store(store: object, key: str | None) -> object:
    if not isinstance(store, dict) or not store:
        raise InvalidInput("the chat store holds no session")
    sessions = cast(dict[str, Any], store)
    if key is None and len(sessions) == 1:
        return next(iter(sessions.values()))
    if key not in sessions:
        names = sorted(sessions)
        shown = ", ".join(map(repr, names[:_KEYS_SHOWN])) + (", ..." if len(names) > _KEYS_SHOWN else "")
        asked = "the chat store holds several sessions" if key is None else f"the chat store has no key {key!r}"
        raise InvalidInput(f"{asked}: give store_key, one of {shown}")
    return sessions[key]


def message_of(value: Mapping[str, Any]) -> Message:
    """Read one message: ours, OpenAI's, or LangChain's or LlamaIndex's dump of one.

    :raises InvalidInput: If it has no role that we know, or no text.
    """
    kind, body = _unwrapped(value)
    role = _role(body.get("role") or body.get("type") or kind)
    return Message(role, _text(body), _optional(body, "id"), _time(_optional(body, "created_at")))


def _unwrapped(value: Mapping[str, Any]) -> tuple[object, Mapping[str, Any]]:
    """Return what the wrapper calls the message, if there is one, and what holds its content."""
    if "lc" in value:  # LangChain's dumpd; its id is the path of the class, such as [..., "HumanMessage"]
        return (_list(value, "id") or [None])[-1], _object(value.get("kwargs"))
    return value.get("type"), _object(value["data"]) if "data" in value else value


def _role(name: object) -> Role:
    if not isinstance(name, str):
        raise InvalidInput("a message needs a role")
    role = _ROLES.get(name.removesuffix("Chunk").removesuffix("Message").lower())
    if role is None:
        raise InvalidInput(f"unknown role {name!r}: use user, assistant, system or tool")
    return role


def _text(body: Mapping[str, Any]) -> str:
    key = next((key for key in _CONTENT if key in body), None)
    if key is None:
        raise InvalidInput(f"a message needs one of {', '.join(_CONTENT)}")
    content: Any = body[key]
    if content is None:  # as OpenAI's API has it where there are tool calls only
        return ""
    if not isinstance(content, list):
        return _string(content, key)
    return "\n".join(text for block in cast(list[Any], content) if (text := _block_text(block)))


def _block_text(block: object) -> str:
    if isinstance(block, str):
        return block
    fields = _object(block)
    if fields.get("type", fields.get("block_type")) not in _TEXT_BLOCKS:
        return ""
    return _required(fields, "text")


def _time(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text is not None else None
    except ValueError as error:
        raise InvalidInput(f"created_at {text!r} is no ISO 8601 time, such as 2026-01-31T09:30:00+00:00") from error


def _passage(row: Mapping[str, Any]) -> Passage:
    doc_id, text = _required(row, "doc_id"), _required(row, "text")
    if not doc_id:
        raise InvalidInput("doc_id is empty")
    rest = {name: value for name, value in row.items() if name not in ("doc_id", "text", "title")}
    return Passage(doc_id, text, _optional(row, "title") or "", rest)


# --- values


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidInput(f"expected a JSON object, got {type(value).__name__}")
    return cast(dict[str, Any], value)


def _only(row: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in row:
        if name not in names:
            raise InvalidInput(f"unknown field {name!r}: use {', '.join(names)}")
    return row


def _string(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, got {type(value).__name__}")
    if _SURROGATE.search(value):
        raise InvalidInput(f"{name} holds half of a surrogate pair, which no encoding can carry")
    return value


def _required(row: Mapping[str, Any], name: str) -> str:
    if name not in row:
        raise InvalidInput(f"{name} is missing")
    return _string(row[name], name)


def _optional(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    return None if value is None else _string(value, name)


def _list(row: Mapping[str, Any], name: str) -> list[Any]:
    value = row.get(name)
    if value is not None and not isinstance(value, list):
        raise InvalidInput(f"{name} must be a list, got {type(value).__name__}")
    return cast(list[Any], value or [])


def _pairs(row: Mapping[str, Any], name: str) -> Mapping[str, str]:
    values = row.get(name)
    pairs = _object({} if values is None else values)
    return {key: _string(value, f"{name}.{key}") for key, value in pairs.items()}
