"""Beliefs as lines of JSON, to take them elsewhere and back; and memories of other systems."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pss_integrations.beliefs.records import Records
from pss_integrations.beliefs.schema import Belief, Change
from pss_integrations.errors import BeliefConflict, InvalidInput

OnConflict = Literal["error", "skip", "replace"]

_HEADER = {"format": "pss-beliefs", "version": 1}


class ExportedChange(Change):
    """A change with its place among all changes of the export."""

    place: int


class Exported(BaseModel):
    """A belief with its part of the log."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    belief: Belief
    changes: Annotated[tuple[ExportedChange, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        if not self.belief.id or "\0" in self.belief.id or {one.belief.id for one in self.changes} != {self.belief.id}:
            raise ValueError("its changes are those of another belief, or it has no id")
        if self.changes[-1].belief != self.belief:
            raise ValueError("its last change does not give the belief")
        return self

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
    for place, change in enumerate(records.log.entries()):
        entry = ExportedChange(**dict(change), place=place)
        changes.setdefault(change.belief.id, []).append(entry)
    beliefs = records.page(live=None, scopes=None, after=None, limit=None)
    return [Exported(belief=one, changes=tuple(changes[one.id])) for one in beliefs]


def read_lines(lines: Iterable[str]) -> list[Exported]:
    """Read what was exported.

    :raises InvalidInput: If a line cannot be read, the first one says that it is something else, or two hold one id.
    """
    given = None if isinstance(lines, str) or not isinstance(lines, Iterable) else [*lines]  # pyright: ignore[reportUnnecessaryIsInstance]
    if given is None or not all(isinstance(line, str) for line in given):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput("an export is a list of lines, each a string")
    numbered = [(number, line) for number, line in enumerate(given, 1) if line.strip()]
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


def write(records: Records, exported: Sequence[Exported], on_conflict: OnConflict, now: datetime) -> int:
    """Write beliefs and their log as they were; returns how many were written.

    Versions of one belief, and what contradicted them, are taken or left together.

    :raises InvalidInput: If a change is dated later than now.
    :raises BeliefConflict: If one is there and differs, unless ``on_conflict`` says what to do, or the name of one is
        that of another belief there, unless those are skipped.
    """
    if on_conflict not in get_args(OnConflict):
        raise InvalidInput(f"unknown on_conflict {on_conflict!r}: use {', '.join(get_args(OnConflict))}")
    for one in exported:
        if one.changes[-1].at > now:
            raise InvalidInput(f"belief {one.belief.id!r} was changed at {one.changes[-1].at}, which is yet to come")
    here = {one.belief.id: one.substance for one in _all(records)}
    taken, gone = list[Exported](), set[str]()
    for group in _groups(exported):
        if all(here.get(one.belief.id) == one.substance for one in group):
            continue
        coming = {one.belief.id for one in group}
        there = {other.id for key in coming & here.keys() for other in records.related(key)}
        rivals = sorted({other for one in group for other in _named_alike(records, one.belief)} - coming - there)
        if not rivals and (not there or on_conflict == "replace"):
            taken += group
            gone |= there
        elif on_conflict != "skip":
            rival = rivals[0] if rivals else sorted(there)[0]
            raise BeliefConflict(f"{group[0].belief.id!r} differs from, or has the name of, {rival!r}, which is there")
    log = sorted((change for one in taken for change in one.changes), key=lambda change: change.place)
    records.restore([one.belief for one in taken], log, instead_of=gone)
    return len(taken)


def _groups(exported: Sequence[Exported]) -> list[list[Exported]]:
    """Beliefs with their links, in the order of the first of each group."""
    group_of = dict[str, list[Exported]]()
    for one in exported:
        links = (one.belief.supersedes, one.belief.superseded_by, one.belief.contradicts)
        near = [group_of[key] for key in links if key in group_of]
        joined = [one, *(member for group in {id(group): group for group in near}.values() for member in group)]
        group_of |= {member.belief.id: joined for member in joined}
        # A link may name one that comes later: it joins when it comes, if it links back; all of ours do.
    order = {one.belief.id: place for place, one in enumerate(exported)}
    groups = {id(group): group for group in group_of.values()}.values()
    return [sorted(group, key=lambda one: order[one.belief.id]) for group in groups]


def _named_alike(records: Records, belief: Belief) -> list[str]:
    if not belief.live:
        return []
    named = records.named(belief.canonical_name, belief.scopes, belief.type, canonical=True)
    return [other.id for other in named]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _loads(number: int, line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInput(f"line {number} is no JSON: {error}") from error
