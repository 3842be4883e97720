"""Misspelled names: one edit over the whole name, found by symmetric deletion (SymSpell).

Two texts are one edit apart only if leaving out at most one character of each can make them equal. So a name is
filed under itself and under each text that lacks one of its characters, and words are looked up the same way. As the
first two characters have to agree, they are never left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from rapidfuzz.distance import OSA

from pss_integrations.beliefs.filing import Filed, discount
from pss_integrations.beliefs.names import Stretch, Words, is_common, meets_by_chance
from pss_integrations.text import clusters

_SHORTEST = 5
_PREFIX = 2
_INFLECTED = ("ed", "ing")
# Longer names are filed by so many characters: two names that are one edit apart have beginnings that are, too. It
# bounds what a name costs, and what the many longer stretches that begin at a word of a query cost.
_HEAD = 12


def edits_between(name: str, words: str) -> int:
    """Return how many characters are missing, added, wrong or swapped with their neighbour; 3 if more than two."""
    return OSA.distance(name, words, score_cutoff=2)


def objection(name: str, words: str) -> str | None:
    """Say why words that are one edit away from a name are no misspelling of it; ``None`` if they are one.

    The edit may be anywhere, spaces included: two words may be run together. The first two characters have to agree,
    and the name to have five. With five, a wrong character makes another word more often than a slip ("scale" for
    Scala), and so does a missing final s. So does the ending of a verb ("docked" for Docker) in a name of one word.
    Words with a digit, and characters of a script without spaces, have to be right. Everyday words are right as they
    are. Without a dictionary, some other words remain: "chrome" is taken for Chroma.

    :param name: A name's key.
    :param words: The key of some words of a query.
    """
    if _rigid(name) != _rigid(words):
        return "digits differ (or characters of a script without spaces)"
    if len(name) < _SHORTEST:
        return "the name is too short for edits"
    if name[:_PREFIX] != words[:_PREFIX]:
        return "the first two characters differ"
    if is_common(name) or is_common(words):
        return "everyday words have no misspellings"
    if meets_by_chance(name, words):
        return "they only stand side by side"
    if len(name) == _SHORTEST and (_is_wrong_character(name, words) or name == f"{words}s"):
        return f"in {_SHORTEST} characters none may be wrong, and no final s missing"
    if " " not in name and words.endswith(_INFLECTED) and not name.endswith(_INFLECTED):
        return "the words have the ending of a verb"
    return None


class Misspellings:
    """Names that can be found by a misspelling."""

    def __init__(self) -> None:
        """Hold none."""
        self._filed = Filed()
        self._beginnings = Counter[str]()

    def add(self, name: str) -> None:
        """Add a name's key, which must not be in yet."""
        if not _may_be_misspelled(name):
            return
        self._beginnings.update(_beginnings(name))
        self._filed.add(name, _places(name[:_HEAD]))

    def remove(self, name: str) -> None:
        """Remove a name's key."""
        if not _may_be_misspelled(name):
            return
        discount(self._beginnings, _beginnings(name))
        self._filed.remove(name, _places(name[:_HEAD]))

    def find(self, words: Words) -> Iterator[tuple[str, Stretch]]:
        """Yield the keys of misspelled names, each with the words that misspell it."""
        for first in range(len(words)):
            for name in self._near(words, first):
                for length in (len(name) - 1, len(name), len(name) + 1):
                    if size := words.size(first, length):
                        found = words.stretch(first, size)
                        if edits_between(name, found.key) == 1 and objection(name, found.key) is None:
                            yield name, found

    def _near(self, words: Words, first: int) -> set[str]:
        """Return names that words from this one on may misspell."""
        word, start = words.lexemes[first].token, words.start(first)
        if words.key[start : start + _PREFIX] not in self._beginnings:
            return set()
        # Where no name begins with this word, it is in the word that the slip is, or right after it.
        until = _HEAD if word in self._beginnings else len(word) + 1
        return self._filed.at(chain.from_iterable(_places(head, until) for head in _heads(words, first)))


def _is_wrong_character(name: str, words: str) -> bool:
    return len(name) == len(words) and sorted(name) != sorted(words)


def _may_be_misspelled(name: str) -> bool:
    return len(name) >= _SHORTEST and not is_common(name) and not all(map(_is_rigid, name.split(" ")))


def _beginnings(name: str) -> set[str]:
    return {name[:_PREFIX], name.partition(" ")[0]}


def _places(head: str, until: int = _HEAD) -> set[str]:
    """Return a beginning, whole and without one of its characters before ``until``, or without its last."""
    left_out = [head[:at] + head[at + 1 :] for at in range(_PREFIX, min(until, len(head)))]
    return {head, head[:-1], *left_out}


def _heads(words: Words, first: int) -> Iterator[str]:
    """Yield the beginnings of all stretches from a word on that may misspell a name."""
    start = words.start(first)
    longest = words.key[start : start + _HEAD]
    for length in range(_SHORTEST - 1, len(longest)):
        if words.size(first, length):
            yield longest[:length]
    yield longest


def _rigid(key: str) -> list[str]:
    return [token for token in key.split(" ") if _is_rigid(token)]


@lru_cache(maxsize=1 << 16)
def _is_rigid(token: str) -> bool:
    return any(map(str.isdecimal, token)) or bool(clusters(token))
