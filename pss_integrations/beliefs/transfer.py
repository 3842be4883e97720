"""Beliefs as lines of JSON, to take them elsewhere and back; and memories of other systems."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pss_integrations.beliefs.records import Records
from pss_integrations.beliefs.schema import MAX_ALIASES, Belief, Change, NewBelief, Provenance
from pss_integrations.errors import BeliefConflict, InvalidInput
from pss_integrations.text import content_words, identifiers, names, normalise

OnConflict = Literal["error", "skip", "replace"]

_HEADER = {"format": "pss-beliefs", "version": 1}
_LIKING = frozenset("prefers prefer likes like loves love hates hate dislikes dislike wants want enjoys avoids".split())
_NAME_WORDS = 5


class ExportedChange(Change):
    """A change with its place among all changes of the export."""

    place: int


class Exported(BaseModel):
    """A belief with its part of the log."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    belief: Belief
    changes: Annotated[tuple[ExportedChange, ...], Field(min_length=1)]

    @property
    def substance(self) -> str:
        """All but the places, which depend on what else is exported."""
        return _json(self.model_dump(mode="json", exclude={"changes": {"__all__": {"place"}}}))


def line_of(belief: Belief, changes: Iterable[Change]) -> str:
    """A belief with its changes, for an export that holds nothing else."""
    placed = (ExportedChange(**dict(change), place=place) for place, change in enumerate(changes))
    return _json(Exported(belief=belief, changes=tuple(placed)).model_dump(mode="json"))


def lines_of(records: Records) -> list[str]:
    """All beliefs of a principal with the log, in the order in which they were made."""
    return [_json(_HEADER), *(_json(one.model_dump(mode="json")) for one in _all(records))]


def _all(records: Records) -> list[Exported]:
    changes = dict[str, list[ExportedChange]]()
    for place, change in enumerate(records.log()):
        entry = ExportedChange(**dict(change), place=place)
        changes.setdefault(change.belief.id, []).append(entry)
    beliefs = records.page(live=None, scopes=None, after=None, limit=None)
    return [Exported(belief=one, changes=tuple(changes[one.id])) for one in beliefs]


def read_lines(lines: Iterable[str]) -> list[Exported]:
    """Read what was exported.

    :raises InvalidInput: If a line cannot be read, the first one says that it is something else, or two hold one id.
    """
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered or _loads(*numbered[0]) != _HEADER:
        raise InvalidInput(f"this is no export of beliefs: its first line must be {_json(_HEADER)}")
    found = dict[str, Exported]()
    for number, line in numbered[1:]:
        try:
            one = Exported.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the line"
            raise InvalidInput(f"line {number} holds no belief: {place}: {first['msg']}") from error
        if found.setdefault(one.belief.id, one) is not one:
            raise InvalidInput(f"line {number} holds belief {one.belief.id!r} a second time")
    return [*found.values()]


def write(records: Records, exported: Sequence[Exported], on_conflict: OnConflict) -> int:
    """Write beliefs and their log as they were; returns how many were written.

    :raises BeliefConflict: If one is there and differs, unless ``on_conflict`` says what to do, or the name of one is
        that of another belief there, unless those are skipped.
    """
    if on_conflict not in ("error", "skip", "replace"):
        raise InvalidInput(f"unknown on_conflict {on_conflict!r}: use error, skip or replace")
    here = {one.belief.id: one.substance for one in _all(records)}
    wanted = [one for one in exported if here.get(one.belief.id) != one.substance]
    coming = {one.belief.id for one in wanted}
    taken = list[Exported]()
    for one in wanted:
        rivals = [other for other in _named_alike(records, one.belief) if other not in coming]
        differs = one.belief.id in here and on_conflict != "replace"
        if not (rivals or differs):
            taken.append(one)
        elif on_conflict != "skip":
            rival = rivals[0] if rivals else one.belief.id
            raise BeliefConflict(f"{one.belief.id!r} differs from, or has the name of, {rival!r}, which is there")
    log = sorted((change for one in taken for change in one.changes), key=lambda change: change.place)
    records.restore([one.belief for one in taken], log)
    return len(taken)


def _named_alike(records: Records, belief: Belief) -> list[str]:
    if not belief.live:
        return []
    named = records.named(belief.canonical_name, belief.scopes, belief.type, canonical=True)
    return [other.id for other in named if other.id != belief.id]


# --- other systems


def read_mem0(data: object, scopes: Sequence[str]) -> list[NewBelief]:
    """Read an export of mem0: a list of memories, or ``{"results": [...]}``.

    Nobody confirmed them, so they are exploratory.

    :param data: Parsed JSON.
    :param scopes: Where they shall hold.
    :raises InvalidInput: If it has another form, or holds memories of more than one user.
    """
    memories = data.get("results") if isinstance(data, Mapping) else data
    if not isinstance(memories, Sequence) or not all(
        isinstance(one, Mapping) and isinstance(one.get("memory"), str) and one["memory"].strip() for one in memories
    ):
        raise InvalidInput("this is no export of mem0: a list of objects with a text under 'memory' is needed")
    users = {one.get("user_id") for one in memories}
    if len(users) > 1:
        raise InvalidInput(f"these are memories of {len(users)} users: split them, and import each under its principal")
    return [*_of_mem0(memories, scopes)]


def _of_mem0(memories: Sequence[Mapping[str, Any]], scopes: Sequence[str]) -> Iterator[NewBelief]:
    for one in memories:
        text = str(one["memory"])
        words = normalise(text).split()
        yield NewBelief.model_validate(
            {
                "type": "preference" if not _LIKING.isdisjoint(words[:3]) else "entity",
                "canonical_name": "_".join(content_words(text)[:_NAME_WORDS]) or " ".join(words[:_NAME_WORDS]),
                "aliases": tuple(dict.fromkeys((*names(text), *identifiers(text))))[:MAX_ALIASES],
                "content": text,
                "scopes": scopes,
                "confidence": 0.5,
                "tentative": True,
                "provenance": Provenance(source="import", turn_id=str(one["id"]) if one.get("id") else None),
            }
        )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _loads(number: int, line: str) -> object:
    try:
        return json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"line {number} is no JSON: {error}") from error
