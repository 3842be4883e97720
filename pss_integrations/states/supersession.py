"""What a history says is in force, and what that superseded. English; the latest statement counts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pss_integrations.text import content_words

# Each value (an identifier or a name) is read as one private-use character, so that the rules see cue words and
# values, and nothing of what the values look like.
_FIRST, _LAST = 0xE000, 0xF8FF
_RANGE = f"{chr(_FIRST)}-{chr(_LAST)}"
_SEP = rf"[^\w{_RANGE}]+"


def _few(stop: str) -> str:
    return rf"(?:(?!(?:{stop})\b)[\w']+{_SEP}){{0,3}}?"


_TURN = r"to|onto|with|by|for|instead|rather|from|but|not|replac\w*|supersed\w*"
_SWITCH = r"is|are|was|were|has|have|now|then|archived|active|current|previous|former|old|new|latest"
_TO = _SEP + _few(_TURN)
_LIST = rf"[{_RANGE}](?:{_SEP}{_few(f'{_TURN}|{_SWITCH}')}[{_RANGE}]){{0,11}}"
_OLD, _NEW = rf"(?P<old>{_LIST})", rf"(?P<new>{_LIST})"
_BE = r"(?:is|are|was|were|(?:has|have) been|got)"
_MOVE = r"(?:switch|mov|migrat|upgrad|updat|chang|went|go|roll|revert|bump|downgrad|promot|transition)"
_DEAD = (
    r"(?:archived|deprecated|retired|obsolete|outdated|decommissioned|superseded|replaced|dropped|discontinued|"
    r"abandoned|gone|old|no longer|not (?:used|in use))"
)
_DROP = (
    r"(?:drop(?:s|ped|ping)?|(?:retir|archiv|deprecat)(?:e|es|ed|ing)|(?:abandon|ditch|discard|decommission)"
    r"(?:ed|ing)?|(?:got|get|getting) rid of|away from|no longer|"
    r"(?:do not|don't|never|not|stop(?:ped)?|quit) (?:use|using|run|running|on))"
)
_PAST = r"(?:old|older|previous|previously|former|formerly|prior|earlier|original|used to)"
_USE = (
    r"(?:now|currently|current|active|latest|newest|new|uses?|using|runs?|running|adopt\w*|chose|choose|picked?|"
    r"settled on|decided on|going with|go with|deploy(?:ed|ing)?|set to|pin(?:ned)?)"
)
# The first rule to match a stretch of text decides about it.
_RULES = tuple(
    re.compile(rule, re.IGNORECASE)
    for rule in (
        rf"\b{_MOVE}\w*\b.{{0,60}}?\bfrom{_TO}{_OLD}{_TO}(?:to|onto|into){_TO}{_NEW}",
        rf"\b(?:replac|swap|exchang)\w*{_TO}{_OLD}{_TO}(?:with|by|for){_TO}{_NEW}",
        rf"{_OLD}{_TO}(?:replaced|superseded|succeeded) (?:by|with){_TO}{_NEW}",
        rf"{_NEW}{_SEP}(?:(?:has|have|now|just) )*(?:replac|supersed)\w+{_TO}{_OLD}",
        rf"{_NEW}{_TO}(?:instead of|rather than|in place of){_TO}{_OLD}",
        rf"\binstead of{_TO}{_OLD}{_TO}{_NEW}",
        rf"{_OLD}{_TO}{_BE} (?:(?:now|already|officially|being|been) )*{_DEAD}\b",
        rf"\b(?:{_DROP}|{_PAST}){_TO}{_OLD}",
        rf"\b(?:{_MOVE}\w*(?: back| over| up| on)* (?:to|onto)|back (?:to|on)){_TO}{_NEW}",
        rf"\b{_USE}{_TO}{_NEW}",
        rf"{_NEW}{_TO}(?:is|are) (?:(?:now|the|currently) )*(?:active|live|current|in use|in force|deployed)\b",
    )
)
_KINDS = frozenset(
    "version checkpoint build release branch route config configuration setup setting model index dataset owner "  # noqa: SIM905
    "tag commit image environment cluster region port endpoint plan ticket order policy contract invoice snapshot "
    "deployment database library framework provider server host budget deadline date lead maintainer reviewer "
    "contact schema table queue job key code place venue hotel restaurant".split()
)
_NO_KINDS = re.compile(rf"{_DEAD}|{_PAST}|{_USE}|project|component|service|module|product|app|topic", re.I)
_BEFORE = re.compile(r"([\w-]+)(\s*[:=]|\s+(?:is|was))?\s*(?:(?:now|currently|the|still|to|from|id|number)\s+)*$")
_AFTER = re.compile(r"\s*([\w-]+)")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


@dataclass(frozen=True)
class Standing:
    """What a history leaves standing.

    :param active: Kind of value ("checkpoint", "owner") to the value in force.
    :param archived: Kind to the value that was in force last before.
    :param pairs: Kinds whose only value is a name that was never superseded.
    :param values: Every value of the three.
    """

    active: Mapping[str, str]
    archived: Mapping[str, str]
    pairs: Mapping[str, str]
    values: frozenset[str]


def read_standing(texts: Iterable[str], identifiers: Collection[str], names: Collection[str]) -> Standing:
    """Follow statements through a history, in order; questions state nothing.

    :param texts: Texts of the messages, oldest first.
    :param identifiers: Identifiers that occur in them, as they are written there.
    :param names: Names that occur in them. A name counts as a value only beside a kind ("owner: ...") or
        where something is said to supersede or end it.
    """
    coded = _Code(identifiers, names)
    ledger = _Ledger(frozenset(identifiers))
    for text in texts:
        for sentence in _SENTENCE.split(coded.encode(text)):
            if not sentence.rstrip().endswith("?"):
                _read_sentence(sentence, coded, ledger)
    return ledger.standing()


class _Code:
    """Values as single private-use characters, and back."""

    def __init__(self, identifiers: Collection[str], names: Collection[str]) -> None:
        values = list(dict.fromkeys([*identifiers, *names]))[-(_LAST - _FIRST + 1) :]
        self._char = {value: chr(_FIRST + number) for number, value in enumerate(values)}
        self._value = {char: value for value, char in self._char.items()}
        longest_first = sorted(map(re.escape, values), key=len, reverse=True)
        self._any = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(longest_first)})(?![A-Za-z0-9])") if values else None

    def encode(self, text: str) -> str:
        plain = re.sub(rf"[{_RANGE}]", " ", text).replace("\u2019", "'")
        coded = self._any.sub(lambda found: self._char[found.group()], plain) if self._any else plain
        return re.sub(r"[^\S\n]+", " ", coded)

    def decode(self, stretch: str) -> list[str]:
        return [self._value[char] for char in stretch if char in self._value]


@dataclass
class _Group:
    """Values of one kind, of which at most one is in force."""

    kind: str | None
    current: str | None = None
    before: list[str] = field(default_factory=list[str])


class _Ledger:
    """Which values belong together, which is in force, and which were."""

    def __init__(self, identifiers: frozenset[str]) -> None:
        self._identifiers = identifiers
        self._groups: list[_Group] = []
        self._by_value: dict[str, _Group] = {}
        self._by_kind: dict[str, _Group] = {}
        self._by_shape: dict[str, _Group] = {}

    def is_value(self, value: str) -> bool:
        return value in self._identifiers or value in self._by_value

    def activate(self, value: str, kind: str | None, partner: str | None = None) -> None:
        group = self._group(value, kind, partner)
        if group.current not in (None, value):
            self._retire(group, group.current)
        group.before = [other for other in group.before if other != value]
        group.current = value

    def archive(self, value: str, kind: str | None) -> None:
        group = self._group(value, kind)
        self._retire(group, value)

    def mention(self, value: str, kind: str | None) -> None:
        """Take a value that is stated without a cue as in force, unless it is known to be over."""
        if value not in self._group(value, kind).before:
            self.activate(value, kind)
