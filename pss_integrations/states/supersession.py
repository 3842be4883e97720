"""What a history says is in force, and what that superseded: the latest statement counts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from pss_integrations.states.cues import (
    ASIDE,
    FIRST,
    LAST,
    RULES,
    SENTENCE_END,
    TERM,
    is_quantity,
    is_versioned,
    kind_beside,
    measured_beside,
    noun_beside,
    without_runs,
)
from pss_integrations.states.ledger import Group, Ledger, Standing, Value


def read_standing(texts: Iterable[str], terms: Collection[str]) -> Standing:
    """Follow statements through a history, in order; questions state nothing.

    A term is a value where it looks like one (letters with digits) or stands beside its kind ("owner:
    Kim"), and is in force or over by what is said about it. What is stated without such words supersedes an
    earlier value of the same kind, or of the same shape (``ckpt-12``, ``ckpt-15``). "It" and "them" are the
    last value of the same make. A quantity is a value with the name of what is measured, or none.

    :param texts: Texts of the messages, oldest first.
    :param terms: Identifiers, names and quantities that occur in them, as they are written there.
    """
    coded, ledger = _Code(terms), Ledger()
    for number, text in enumerate(texts):
        ledger.message = number
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

    def values(self, sentence: str, start: int, end: int) -> list[Value]:
        return [self._value(sentence, at) for at in range(start, end) if sentence[at] in self._term]

    def side(self, sentence: str, start: int, end: int) -> list[Value]:
        """Return the values of one side of a change; a single one with its noun."""
        values = self.values(sentence, start, end)
        return [replace(values[0], noun=noun_beside(sentence, start, end))] if len(values) == 1 else values

    def without_runs(self, sentence: str) -> tuple[str, list[tuple[str, str]]]:
        """Take out what something else runs: the rest, and pairs like ``ESP32`` and ``ESPHome 2024.6``."""
        rest, pairs = without_runs(sentence, self._may_run)
        return rest, [(self._term.get(base, ""), self._term[run]) for base, run in pairs]

    def _may_run(self, base: str, run: str) -> bool:
        return is_versioned(self._term.get(run, "")) and not is_versioned(self._term.get(base, ""))

    def _value(self, sentence: str, at: int) -> Value:
        term = self._term[sentence[at]]
        return Value(term, (measured_beside if is_quantity(term) else kind_beside)(sentence, at))


def _read_sentence(sentence: str, coded: _Code, ledger: Ledger) -> None:
    sentence, pairs = coded.without_runs(sentence)
    for base, run in pairs:
        ledger.runs(base, run)
        _mention([Value(run)], ledger)
    ledger.recall(re.findall(r"[\w-]+", sentence.casefold()))
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


def _mention(values: Iterable[Value], ledger: Ledger) -> None:
    """Take what is stated without a cue as in force, unless it is known to be over."""
    for value in map(ledger.resolve, values):
        if ledger.knows(value) and value.text not in (group := ledger.find(value)).before:
            if group.current not in (None, value.text):
                ledger.changed([value], is_pair=False)
            group.activate(value.text)
            group.is_stated |= value.kind is not None or group.title == "version"


def _apply(found: re.Match[str], coded: _Code, ledger: Ledger) -> None:
    old, new, instead, heir = (_side(found, side, coded, ledger) for side in ("old", "new", "instead", "heir"))
    if heir:
        thing = found["thing"] if "thing" in found.re.groupindex else None
        old = ledger.stands_for(thing, heir[0])
        heir = heir if old or not thing else [replace(heir[0], noun=thing.casefold()), *heir[1:]]
    partners = ledger.ended_last if instead else old
    new, aside = _matching(partners, [*new, *instead, *heir], found)
    is_pair = len(partners) == len(new) > 0
    for before, after in zip(partners, new, strict=True) if is_pair else ():
        ledger.pair(before, after)
    for value in old:
        _state(value, ledger).archive(value.text)
    ledger.ended_last = old or ledger.ended_last
    stated = [value for value in new if partners or value.noun or ledger.knows(value)]
    for value in stated:
        _state(value, ledger).activate(value.text)
    ledger.changed([*old, *stated], is_pair=is_pair)
    _mention(aside, ledger)


def _matching(old: list[Value], new: list[Value], found: re.Match[str]) -> tuple[list[Value], list[Value]]:
    """Part new values from circumstances: what is of no make of the old ones, or comes after "in", "since"."""
    if not old or len(old) >= len(new):
        return new, []
    makes = {value.make for value in old}
    kept = [value for value in new if value.make in makes] or new
    if len(kept) > len(old) and ASIDE.search(found[0]):
        kept = kept[: len(old)]
    return kept, [value for value in new if value not in kept]


def _state(value: Value, ledger: Ledger) -> Group:
    group = ledger.find(value)
    group.is_stated, group.is_passing = True, False
    return group


def _side(found: re.Match[str], side: str, coded: _Code, ledger: Ledger) -> list[Value]:
    if side not in found.re.groupindex or found[side] is None:
        return []
    return list(map(ledger.resolve, coded.side(found.string, *found.span(side))))
