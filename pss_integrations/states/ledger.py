"""The books of what was in force and what replaced it, kept while a history is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from pss_integrations.states.cues import (
    SCOPE_KINDS,
    is_quantity,
    is_versioned,
)

_UNNAMED = "setting"


@dataclass(frozen=True)
class Change:
    """What was superseded by one statement, or by the statements without an old value of one message.

    :param name: The kind of thing as the history calls it, or ``None``.
    :param old: The values before.
    :param new: The values in force; none if nothing took their place.
    """

    name: str | None
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class Standing:
    """What a history leaves standing.

    :param active: Kind of value ("checkpoint", "owner") to the value in force.
    :param archived: Kind to the value that was in force last before.
    :param pairs: The same for values that go with the session and were never superseded: people, dates.
    :param changes: What changed, in order, values that changed together in one.
    """

    active: Mapping[str, str]
    archived: Mapping[str, str]
    pairs: Mapping[str, str]
    changes: tuple[Change, ...] = ()

    @property
    def values(self) -> list[str]:
        """Every value of the three."""
        return [*self.active.values(), *self.archived.values(), *self.pairs.values()]


@dataclass(frozen=True)
class Value:
    """A term at one place of a text, the kind that is named beside it there, and the noun that introduces it."""

    text: str
    kind: str | None = None
    noun: str | None = None

    @property
    def shape(self) -> str | None:
        """What values of the same make share: ``ckpt-12`` and ``ckpt-7`` are both ``ckpt-#``."""
        if is_quantity(self.text):
            return None
        shape = re.sub(r"\d+(?:[.\-_]\d+)*", "#", self.text.casefold())
        return shape if "#" in shape and re.search(r"[^\W\d_]", shape) else None

    @property
    def owner(self) -> str | None:
        """The name before a version."""
        return self.text.rsplit(" ", 1)[0] if is_versioned(self.text) else None

    @property
    def make(self) -> str:
        """What "it" must share with what replaces it."""
        if is_quantity(self.text):
            return "quantity"
        return "number" if re.fullmatch(r"v?[\d.]+", self.text) else "name"


@dataclass
class Group:
    """Values of one kind, of which at most one is in force."""

    number: int
    kind: str | None
    noun: str | None
    shape: str | None
    make: str
    owner: str | None
    current: str | None = None
    before: list[str] = field(default_factory=list[str])
    is_stated: bool = False
    is_passing: bool = True
    change: tuple[int, int] = (0, 0)

    def activate(self, value: str) -> None:
        if self.current is not None:
            self.archive(self.current)
        self.before = [other for other in self.before if other != value]
        self.current = value

    def archive(self, value: str) -> None:
        if self.current == value:
            self.current = None
        self.before = [*(other for other in self.before if other != value), value]

    def learn(self, value: Value) -> None:
        """Take the kind and the noun that are said of a value, where none is known."""
        if self.make == "quantity" and len((value.kind or "").split()) >= len((self.kind or "").split()):
            self.kind = value.kind
        self.kind, self.noun = self.kind or value.kind, self.noun or value.noun

    @property
    def is_pair(self) -> bool:
        """Whether the value only goes with the session, like an owner, and is no part of what is in force."""
        is_scope = self.kind in SCOPE_KINDS if self.kind else self.shape is not None
        return not (is_scope or self.before)

    @property
    def called(self) -> str | None:
        """What the history calls it."""
        return self.kind or self.noun

    @property
    def title(self) -> str:
        """The kind, or what the shape tells of it: ``v#`` is a version, ``ckpt-#`` a "ckpt"."""
        prefix = re.match(r"[^\W\d_]+", self.shape or "")
        short = prefix.group() if prefix else ""
        return self.called or ("version" if short == "v" else short or _UNNAMED)

    def is_about(self, words: Collection[str]) -> bool:
        return bool({*(self.kind or "").split(), self.noun or ""} & {*words})


class Ledger:
    """Which values belong together."""

    def __init__(self) -> None:
        self._groups: list[Group] = []  # the one mentioned last comes last
        self._by_value: dict[str, Group] = {}
        self._runs: dict[str, str] = {}
        self._changes = 0
        self.ended_last: list[Value] = []
        self.message = 0

    def find(self, value: Value, partner: Group | None = None) -> Group:
        """Return the value's group: its own, else one of its kind, its shape, or what it is paired with."""
        group = partner if value.make == "quantity" and partner else self._by_value.get(value.text)
        if group is None or (value.kind and not _same_kind(group, value) and group.kind and group is not partner):
            group = self._like(value) or partner or self._new(value)
        group.learn(value)
        self._by_value[value.text] = group
        self._touch(group)
        return group

    def pair(self, old: Value, new: Value) -> None:
        """Put the new value with the old one, unless it is known to belong elsewhere."""
        group = self.find(old)
        own = self._by_value.get(new.text)
        if own is not None and own is not group and own.kind is None and not own.before:
            own.current = None
            del self._by_value[new.text]
        self.find(new, group)

    def resolve(self, value: Value) -> Value:
        """Return the longer name that an earlier statement gives what is cut short here: "the Pi"."""
        if value.kind or value.text in self._by_value or not value.text.isalpha():
            return value
        named = [group for group in reversed(self._groups) if group.called and group.current]
        longer = [group.current for group in named if group.current and value.text in group.current.split()]
        return replace(value, text=longer[0]) if longer else value

    def knows(self, value: Value) -> bool:
        if value.make == "quantity":
            return value.kind is not None
        return bool(value.kind or value.shape or value.text in self._by_value)

    def recall(self, words: Collection[str]) -> None:
        """Take the groups that are mentioned by their kind as mentioned last."""
        for group in [group for group in self._groups if group.is_about(words)]:
            self._touch(group)

    def stands_for(self, thing: str | None, heir: Value) -> list[Value]:
        """Return the value that "it", or a noun, stands for: the last one of the heir's make, at best of a kind."""
        known = [group for group in reversed(self._groups) if self._last(group) and group.make == heir.make]
        if thing:
            known = [group for group in known if group.is_about([thing.casefold()])]
        known = [group for group in known if group.called] or known
        return [Value(value) for value in map(self._last, known[:1]) if value]

    def _last(self, group: Group) -> str | None:
        """Return the value in force, or the one that this very message ended."""
        ended = group.before[-1:] if group.change[0] == self.message else []
        return group.current or next(iter(ended), None)

    def runs(self, base: str, run: str) -> None:
        """Note that one value runs another; without a name it is the last that was mentioned."""
        base = base or next((group.current or "" for group in reversed(self._groups) if group.called), "")
        if base:
            self._runs[base] = run

    def changed(self, values: Iterable[Value], *, is_pair: bool) -> None:
        """Note what changed together: both sides of one statement, or what one message says without an old side."""
        self._changes += is_pair
        for value in values:
            self.find(value).change = (self.message, self._changes if is_pair else 0)

    def standing(self) -> Standing:
        active: dict[str, str] = {}
        archived: dict[str, str] = {}
        pairs: dict[str, str] = {}
        stated = sorted((group for group in self._groups if group.is_stated), key=lambda group: group.number)
        changes = _changes(stated, self._spoken)
        for group in stated:
            if group.current:
                is_pair = group.is_pair or (len(changes) > 1 and group.is_passing and not group.before)
                shown = group.current if is_pair else self._spoken(group, group.current)
                _add(pairs if is_pair else active, group.title, shown)
            if group.before:
                _add(archived, group.title, self._spoken(group, group.before[-1]))
        return Standing(active, archived, pairs, changes)

    def _spoken(self, group: Group, value: str) -> str:
        """Return a value with what it runs; a mere number with its name, or nothing without one."""
        if not any(map(str.isalpha, value)) or group.make == "quantity":
            return f"{group.called} {value}" if group.called else ""
        if re.fullmatch(r"v?[\d.]+", value) and group.owner:
            return f"{group.owner} {value}"
        run = self._runs.get(value)
        is_own = run is not None and run in self._by_value and self._by_value[run].is_stated
        return f"{value} {run}" if run and not is_own else value

    def _like(self, value: Value) -> Group | None:
        recent = self._groups[::-1]
        for group in recent:
            if value.kind and _same_kind(group, value):
                return group
        for group in recent:
            if value.shape and group.shape == value.shape and None in (value.kind, group.kind):
                return group
        owned = [group for group in recent if value.make == "number" and group.owner and group.is_stated]
        return owned[0] if len(owned) == 1 and not value.kind else None

    def _new(self, value: Value) -> Group:
        self._groups.append(Group(len(self._groups), value.kind, value.noun, value.shape, value.make, value.owner))
        return self._groups[-1]

    def _touch(self, group: Group) -> None:
        self._groups = [*(other for other in self._groups if other is not group), group]


def _same_kind(group: Group, value: Value) -> bool:
    if group.make == value.make == "quantity":
        ours, theirs = {*(group.kind or "").split()}, {*(value.kind or "").split()}
        return bool(ours and theirs) and (ours <= theirs or theirs <= ours)
    return group.kind == value.kind or (group.kind is None and group.noun == value.kind)


def _changes(groups: Iterable[Group], spoken: Callable[[Group, str], str]) -> tuple[Change, ...]:
    together: dict[tuple[int, int], list[Group]] = {}
    for group in groups:
        if group.before and spoken(group, group.before[-1]):
            together.setdefault(group.change, []).append(group)
    return tuple(
        Change(
            _name(same[0]) if len(same) == 1 else None,
            tuple(spoken(group, group.before[-1]) for group in same),
            tuple(spoken(group, group.current) for group in same if group.current),
        )
        for _, same in sorted(together.items())
    )


def _name(group: Group) -> str | None:
    """Return what the history calls a group, or the name that its versions share."""
    owners = {Value(value).owner for value in (group.before[-1], group.current) if value}
    return group.called or (owners.pop() if len(owners) == 1 else None)


def _add(found: dict[str, str], title: str, value: str) -> None:
    if value:
        found[title] = f"{found[title]} {value}" if title in found else value
