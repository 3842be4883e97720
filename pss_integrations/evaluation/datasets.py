"""Loads conversations with retrieval questions from a folder with ``sessions.jsonl`` and ``corpus.jsonl``.

What ``gold_doc_ids`` means depends on the data set:

- CANARD: the one answer span; none where the article does not answer the question.
- MTRAG: every passage that annotators found relevant; there is always one.
- DSTC11: every review or FAQ that answers, several per probe; none where the turn asks for no knowledge. Whether
  any document of the right entity was found is a second, easier measure: see :func:`dstc11_entity`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AliasPath, Field, NonNegativeInt, TypeAdapter, ValidationError

from pss_integrations.errors import InvalidInput
from pss_integrations.types import Message, Passage

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class RecordedProbe:
    """A question that was asked in a conversation.

    :param query: The question as it was asked.
    :param gold_rewrite: The same made self-contained, if the data set has one.
    :param gold_doc_ids: What answers it; see the module for what that means. Empty if nothing does.
    :param category: The data set's own word for its kind.
    :param turn_index: Number of messages before it: the history it may use.
    :param needs_history: Whether the rewrite says something that the query does not; ``None`` without a rewrite.
    """

    query: str
    gold_rewrite: str | None
    gold_doc_ids: frozenset[str]
    category: str
    turn_index: NonNegativeInt
    needs_history: bool | None


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """A conversation and the questions asked in it.

    :param session_id: Unique within the data set.
    :param messages: All messages, in order.
    :param probes: The questions, in order.
    :param cut: How many messages a state is compiled from; ``None`` if it is never compiled.
    :param group: Sessions of one group share content: split by group, never by session.
    """

    session_id: str
    messages: Annotated[tuple[Message, ...], Field(validation_alias="turns")]
    probes: tuple[RecordedProbe, ...]
    cut: Annotated[NonNegativeInt | None, Field(validation_alias=AliasPath("meta", "cut"))]
    group: Annotated[str, Field(validation_alias=AliasPath("meta", "group"))]

    @property
    def compiled(self) -> tuple[Message, ...]:
        """The messages that a state is compiled from."""
        return self.messages[: self.cut or 0]

    @property
    def probes_with_state(self) -> tuple[RecordedProbe, ...]:
        """The probes asked after the cut; before it there is no state."""
        return tuple(probe for probe in self.probes if self.cut and probe.turn_index >= self.cut)

    def live(self, probe: RecordedProbe) -> tuple[Message, ...]:
        """The messages between the cut and the probe, which no state has seen."""
        return self.messages[self.cut or 0 : probe.turn_index]


@dataclass(frozen=True, slots=True)
class SessionData:
    """A data set: its folder's name, its sessions and the passages that all of them search."""

    name: str
    sessions: tuple[RecordedSession, ...]
    passages: tuple[Passage, ...]


def load_sessions(directory: str | Path) -> SessionData:
    """Load a data set.

    :param directory: Holds ``sessions.jsonl`` and ``corpus.jsonl``.
    :raises InvalidInput: If a file is missing or empty, a line is no valid record, an id occurs twice, a gold id is
        not in the corpus, or a cut or turn index lies beyond the messages. The text says where.
    """
    folder = Path(directory)
    passages = _load(folder / "corpus.jsonl", TypeAdapter(Passage))
    doc_ids = {passage.doc_id for passage in passages}
    if len(doc_ids) < len(passages):
        raise InvalidInput(f"{folder / 'corpus.jsonl'}: {len(passages) - len(doc_ids)} passages repeat a doc_id")
    sessions = _load(folder / "sessions.jsonl", TypeAdapter(RecordedSession))
    if len({session.session_id for session in sessions}) < len(sessions):
        raise InvalidInput(f"{folder / 'sessions.jsonl'}: a session_id occurs more than once")
    for session in sessions:
        _check_references(session, doc_ids)
    return SessionData(folder.name, sessions, passages)


def dstc11_entity(doc_id: str) -> str:
    """The hotel or restaurant that a DSTC11 document is about: ``"hotel:7"`` of ``"hotel:7:review:0"``."""
    return ":".join(doc_id.split(":")[:2])


def _load(file: Path, adapter: TypeAdapter[ValueT]) -> tuple[ValueT, ...]:
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read as UTF-8 text: {error}") from error
    values = tuple(_read_lines(file, lines, adapter))
    if not values:
        raise InvalidInput(f"{file} holds no record: one JSON object per line is needed")
    return values


def _read_lines(file: Path, lines: list[str], adapter: TypeAdapter[ValueT]) -> Iterator[ValueT]:
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield adapter.validate_python(json.loads(line))
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"])) or "record"
                raise InvalidInput(f"{file}, line {number}: {where}: {first['msg']}") from error
            except json.JSONDecodeError as error:
                raise InvalidInput(f"{file}, line {number}: no JSON: {error}") from error


def _check_references(session: RecordedSession, doc_ids: set[str]) -> None:
    count = len(session.messages)
    if (session.cut or 0) > count:
        raise InvalidInput(f"session {session.session_id}: cut {session.cut} lies beyond its {count} messages")
    for probe in session.probes:
        where = f"session {session.session_id}, probe {probe.query!r}"
        if probe.turn_index > count:
            raise InvalidInput(f"{where}: turn_index {probe.turn_index} lies beyond {count} messages")
        if missing := probe.gold_doc_ids - doc_ids:
            raise InvalidInput(f"{where}: gold documents {sorted(missing)} are not in the corpus")
