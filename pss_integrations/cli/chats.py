"""Reads stored chats from files: what was said, and whose it is where that is known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard, cast

from pss_integrations import loaders
from pss_integrations.errors import IdentityError, InvalidInput
from pss_integrations.identity import PartialIdentity, resolve
from pss_integrations.types import Message, SessionKey

Chat = tuple[SessionKey | None, Sequence[Message]]
_MESSAGES = ("messages", "turns")


def load_chats(paths: Sequence[Path], who: PartialIdentity) -> list[Chat]:
    """Read chats from files. A file is any of these:

    - JSON Lines or a JSON array of sessions, ``{"session_id", "user_id", "messages": [...]}``; ``"turns"`` for
      ``"messages"`` is understood, and other fields are ignored;
    - a LlamaIndex ``SimpleChatStore`` dump, whose keys are session ids;
    - one session, as :func:`~pss_integrations.loaders.load_messages` reads it.

    :param paths: The files.
    :param who: What was said of all of them; it fills what a file leaves open.
    :return: The chats, in order. One of which user or session is not known has no key.
    :raises InvalidInput: If a file cannot be read or is malformed, the text says where; or if ``who`` names a session
        and more than one chat does not say which it is.
    :raises IdentityConflict: If a file names another user or session than ``who``.
    """
    read = [one for path in paths for one in _chats(path, who)]
    nameless = sum(not isinstance(said.session_id, str) for said, _ in read)
    if isinstance(who.session_id, str) and nameless > 1:
        raise InvalidInput(
            f"one session_id cannot name {nameless} chats that do not say theirs: give one of them, or let each say "
            "its own"
        )
    return [chat for _, chat in read]


def _chats(path: Path, who: PartialIdentity) -> Iterator[tuple[PartialIdentity, Chat]]:
    """Yield each chat of a file with what it says itself of whose it is."""
    rows = _sessions(path)
    if rows is None:
        yield PartialIdentity(), (resolve(who), loaders.load_messages(path))
        return
    for where, row in rows:
        try:
            yield _chat(where, row, who)
        except (InvalidInput, IdentityError) as error:
            raise type(error)(f"{where}: {error}") from error


def _chat(where: str, row: object, who: PartialIdentity) -> tuple[PartialIdentity, Chat]:
    if not _is_session(row):
        raise InvalidInput(f'expected a session, {{"session_id", "user_id", "messages": [...]}}, got {_kind(row)}')
    said = PartialIdentity.from_mapping(row, where)
    messages = map(_message, next(row[name] for name in _MESSAGES if isinstance(row.get(name), list)))
    return said, (resolve(said, who), [one for one in messages if one.text.strip()])


def _message(value: object) -> Message:
    if not isinstance(value, dict):
        raise InvalidInput(f"a message must be a JSON object, got {type(value).__name__}")
    return loaders.message_of(cast("dict[str, Any]", value))


def _sessions(path: Path) -> Iterable[tuple[str, object]] | None:
    """The sessions of a file, each with where it stands; ``None`` if it is one session, or cannot be read."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    match _parsed(text):
        case {"store": dict() as store}:
            kept = cast("dict[str, Any]", store)
            return [(f"{path}, key {key!r}", {"session_id": key, "messages": said}) for key, said in kept.items()]
        case [first, *_] as items if _is_session(first):
            return [(f"{path}, item {number}", item) for number, item in enumerate(cast("list[Any]", items), start=1)]
        case dict() as row if _is_session(row):
            return [(str(path), row)]
        case _:
            pass
    lines = [(f"{path}, line {number}", line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    return map(_parsed_line, lines) if lines and _is_session(_parsed(lines[0][1])) else None


def _parsed_line(line: tuple[str, str]) -> tuple[str, object]:
    where, text = line
    if (value := _parsed(text)) is None:
        raise InvalidInput(f"{where}: no valid JSON")
    return where, value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_session(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, dict) and any(isinstance(value.get(name), list) for name in _MESSAGES)


def _kind(value: object) -> str:
    return "an object without them" if isinstance(value, dict) else type(value).__name__
