"""What a history says is in force, and what that superseded: the latest statement counts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from pss_integrations.states.cues import FIRST, LAST, RULES, SCOPE_KINDS, SENTENCE_END, TERM, kind_beside

_UNNAMED = "setting"


@dataclass(frozen=True)
class Standing:
    """What a history leaves standing.

    :param active: Kind of value ("checkpoint", "owner") to the value in force.
    :param archived: Kind to the value that was in force last before.
    :param pairs: The same for values that go with the session and were never superseded: people, dates.
    """

    active: Mapping[str, str]
    archived: Mapping[str, str]
    pairs: Mapping[str, str]

    @property
    def values(self) -> list[str]:
        """Every value of the three."""
        return [*self.active.values(), *self.archived.values(), *self.pairs.values()]


def read_standing(texts: Iterable[str], terms: Collection[str]) -> Standing:
    """Follow statements through a history, in order; questions state nothing.

    A term is a value where it looks like one (letters with digits) or stands beside its kind ("owner:
    Kim"), and is in force or over by what is said about it. What is stated without such words supersedes an
    earlier value of the same kind, or of the same shape (``ckpt-12``, ``ckpt-15``).

    :param texts: Texts of the messages, oldest first.
    :param terms: Identifiers and names that occur in them, as they are written there.
    """
    coded, ledger = _Code(terms), _Ledger()
    for text in texts:
        for sentence in SENTENCE_END.split(coded.encode(text)):
            if not sentence.rstrip().endswith("?"):
                _read_sentence(sentence, coded, ledger)
    return ledger.standing()


class _Code:
    """Terms as single private-use characters, and back."""

    def __init__(self, terms: Collection[str]) -> None:
        kept = list(dict.fromkeys(terms))[-(LAST - FIRST + 1) :]
        self._char = {term: chr(FIRST + number) for number, term in enumerate(kept)}
        self._term = {char: term for term, char in self._char.items()}

    def encode(self, text: str) -> str:
        plain = re.sub(TERM, " ", text).replace("\u2019", "'")
        here = map(re.escape, sorted((term for term in self._char if term in plain), key=len, reverse=True))
        terms = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(here) or TERM})(?![A-Za-z0-9])")
        return re.sub(r"[^\S\n]+", " ", terms.sub(lambda found: self._char[found[0]], plain))

    def values(self, sentence: str, start: int, end: int) -> list[_Value]:
        places = (at for at in range(start, end) if sentence[at] in self._term)
        return [_Value(self._term[sentence[at]], kind_beside(sentence, at)) for at in places]


@dataclass(frozen=True)
class _Value:
    """A term at one place of a text, and the kind that is named beside it there."""

    text: str
    kind: str | None

    @property
    def shape(self) -> str | None:
        """What values of the same make share: ``ckpt-12`` and ``ckpt-7`` are both ``ckpt-#``."""
        shape = re.sub(r"\d+(?:[.\-_]\d+)*", "#", self.text.casefold())
        return shape if "#" in shape and re.search(r"[^\W\d_]", shape) else None


@dataclass
class _Group:
    """Values of one kind, of which at most one is in force."""

    kind: str | None
    shape: str | None
    current: str | None = None
    before: list[str] = field(default_factory=list[str])
    is_stated: bool = False

    def activate(self, value: str) -> None:
        if self.current is not None:
            self.archive(self.current)
        self.before = [other for other in self.before if other != value]
        self.current = value

    def archive(self, value: str) -> None:
        if self.current == value:
            self.current = None
        self.before = [*(other for other in self.before if other != value), value]

    @property
    def is_pair(self) -> bool:
        """Whether the value only goes with the session, like an owner, and is no part of what is in force."""
        is_scope = self.kind in SCOPE_KINDS if self.kind else self.shape is not None
        return not (is_scope or self.before)

    @property
    def title(self) -> str:
        """The kind, or what the shape tells of it: ``v#`` is a version, ``ckpt-#`` a "ckpt"."""
        prefix = re.match(r"[^\W\d_]+", self.shape or "")
        short = prefix.group() if prefix else ""
        return self.kind or ("version" if short == "v" else short or _UNNAMED)


class _Ledger:
    """Which values belong together."""

    def __init__(self) -> None:
        self._groups: list[_Group] = []
        self._by_value: dict[str, _Group] = {}
        self.ended_last: list[_Value] = []

    def find(self, value: _Value, partner: _Group | None = None) -> _Group:
        """Return the value's group: its own, else one of its kind, its shape, or what it is paired with."""
        group = self._by_value.get(value.text)
        if group is None or (value.kind and group.kind not in (None, value.kind)):
            group = self._like(value) or partner or self._new(value)
        group.kind = group.kind or value.kind
        self._by_value[value.text] = group
        return group

    def pair(self, old: _Value, new: _Value) -> None:
        """Put the new value with the old one, unless it is known to belong elsewhere."""
        group = self.find(old)
        own = self._by_value.get(new.text)
        if own is not None and own is not group and own.kind is None and not own.before:
            own.current = None
            del self._by_value[new.text]
        self.find(new, group)

    def knows(self, value: _Value) -> bool:
        return bool(value.kind or value.shape or value.text in self._by_value)

    def standing(self) -> Standing:
        active: dict[str, str] = {}
        archived: dict[str, str] = {}
        pairs: dict[str, str] = {}
        for group in (group for group in self._groups if group.is_stated):
            if group.current:
                _add(pairs if group.is_pair else active, group.title, group.current)
            if group.before:
                _add(archived, group.title, group.before[-1])
        return Standing(active, archived, pairs)

    def _like(self, value: _Value) -> _Group | None:
        for group in self._groups:
            if value.kind and group.kind == value.kind:
                return group
        for group in self._groups:
            if value.shape and group.shape == value.shape and None in (value.kind, group.kind):
                return group
        return None

    def _new(self, value: _Value) -> _Group:
        self._groups.append(_Group(value.kind, value.shape))
        return self._groups[-1]


def _add(found: dict[str, str], title: str, value: str) -> None:
    found[title] = f"{found[title]} {value}" if title in found else value


def _read_sentence(sentence: str, coded: _Code, ledger: _Ledger) -> None:
    done = 0
    for rule_match in _matches(sentence):
        _mention(coded.values(sentence, done, rule_match.start()), ledger)
        _apply(rule_match, coded, ledger)
        done = rule_match.end()
    _mention(coded.values(sentence, done, len(sentence)), ledger)


def _matches(sentence: str) -> list[re.Match[str]]:
    taken: list[re.Match[str]] = []
    for rule in RULES:
        for found in rule.finditer(sentence):
            if all(found.end() <= other.start() or found.start() >= other.end() for other in taken):
                taken.append(found)
    return sorted(taken, key=lambda found: found.start())


def _mention(values: Iterable[_Value], ledger: _Ledger) -> None:
    """Take what is stated without a cue as in force, unless it is known to be over."""
    for value in values:
        if ledger.knows(value) and value.text not in (group := ledger.find(value)).before:
            group.activate(value.text)
            group.is_stated |= value.kind is not None or group.title == "version"


def _apply(found: re.Match[str], coded: _Code, ledger: _Ledger) -> None:
    old, new, instead = (_side(found, side, coded) for side in ("old", "new", "instead"))
    partners = ledger.ended_last if instead else old
    if len(partners) == len(new + instead):
        for before, after in zip(partners, new + instead, strict=True):
            ledger.pair(before, after)
    for value in old:
        _state(value, ledger).archive(value.text)
    ledger.ended_last = old or ledger.ended_last
    for value in new + instead:
        if partners or ledger.knows(value):
            _state(value, ledger).activate(value.text)


def _state(value: _Value, ledger: _Ledger) -> _Group:
    group = ledger.find(value)
    group.is_stated = True
    return group


def _side(found: re.Match[str], side: str, coded: _Code) -> list[_Value]:
    if side not in found.re.groupindex:
        return []
    return coded.values(found.string, *found.span(side))
