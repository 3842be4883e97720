"""How names are compared: whole, word for word, without regard to how the words are joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from pss_integrations.text import FUNCTION_WORDS, bare, chunks, clusters, normalise

COMMON_WORDS: frozenset[str] = FUNCTION_WORDS | frozenset(
    """
    add ask began begin build buy call came change check come comes feel find first follow found gave get gets
    getting give gives go goes going gone good got help hold keep knew know knows last leave let like look looks
    made make makes making mean meet move need needs new next open play put read run said saw say says see seen
    set show start stop take takes talk tell test think took try turn use used uses using want wants watch well
    went work works write
    """.split()
)
"""Function words and everyday verbs: a name like ``Go`` or ``IT`` is told from the word by its spelling only."""

_JOINT = re.compile(r"[-@&]|_+")


class Lexeme(NamedTuple):
    """A word of a name or a query.

    :param token: What is compared: folded, without possessive or punctuation around it.
    :param spelling: How it was written.
    :param compound: Whether a hyphen, ``_``, ``@`` or ``&`` joins it to another word: ``R`` in ``R-squared``.
    """

    token: str
    spelling: str
    compound: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive words of a query.

    :param key: Their tokens, joined by spaces.
    :param is_all: Whether the query has no other words.
    """

    lexemes: tuple[Lexeme, ...]
    key: str
    is_all: bool


class Words:
    """The words of a query, in which names are looked up.

    :ivar lexemes: The words.
    :ivar key: Their tokens, joined by spaces.
    """

    def __init__(self, query: str) -> None:
        """Split a query."""
        self.lexemes = lexemes(query)
        self.key = joined(self.lexemes)
        self._starts = list(accumulate((len(lexeme.token) + 1 for lexeme in self.lexemes), initial=0))
        self._first_at = {start: first for first, start in enumerate(self._starts)}

    def __len__(self) -> int:
        return len(self.lexemes)

    def keys(self, size: int) -> Iterator[tuple[int, str]]:
        """Yield each place where so many words begin, and their key."""
        for first, (start, after) in enumerate(zip(self._starts, self._starts[size:], strict=False)):
            yield first, self.key[start : after - 1]

    def stretch(self, first: int, size: int) -> Stretch:
        """Return so many words from a place on."""
        key = self.key[self._starts[first] : self._starts[first + size] - 1]
        return Stretch(tuple(self.lexemes[first : first + size]), key, size == len(self))

    def start(self, first: int) -> int:
        """Return where in :attr:`key` a word begins."""
        return self._starts[first]

    def size(self, first: int, length: int) -> int | None:
        """Return how many words from a place on have a key of this length; ``None`` if it ends inside a word."""
        after = self._first_at.get(self._starts[first] + length + 1)
        return None if after is None else after - first


def lexemes(text: str) -> list[Lexeme]:
    """Split a text into words.

    Hyphens, ``_``, ``/``, ``@`` and ``&`` separate, dots inside don't: ``try-catch`` and ``try/catch`` are two
    words, ``node.js``, ``v1.2``, ``.NET``, ``C++`` and ``C#`` one. A script without spaces gives each character
    with its marks. Blanks, punctuation and emoji give nothing.
    """
    found: list[Lexeme] = []
    for chunk in chunks(text):
        found += _parts(word := chunk[0])
        if len(word) <= 2 and chunk.start() and chunk.string[chunk.start() - 1] == "-":  # "-R" is an option
            found[-1] = found[-1]._replace(compound=True)
    return found


def joined(words: Iterable[Lexeme]) -> str:
    """Return the key of some words."""
    return " ".join([lexeme.token for lexeme in words])


def spelled(words: Iterable[Lexeme]) -> str:
    """Return some words as written; characters of a script without spaces stay together."""
    spaced = [lexeme.spelling if clusters(lexeme.token) else f"{lexeme.spelling} " for lexeme in words]
    return "".join(spaced).rstrip()


def name_key(name: str) -> str:
    """Return what two spellings of a name have in common: ``redis_cache``, ``Redis-Cache`` and ``ｒｅｄｉｓ cache``.

    :return: The tokens, joined by spaces; of a name without any, such as ``!!!``, the normalised text.
    """
    return joined(lexemes(name)) or normalise(name)


def is_common(key: str) -> bool:
    """Whether a key consists of :data:`COMMON_WORDS` only."""
    return COMMON_WORDS.issuperset(key.split(" "))


def misreading(name: str, found: Stretch) -> str | None:
    """Say why words with the key of a name don't mean it; ``None`` if they do, as when nothing else is asked."""
    if found.is_all:
        return None
    if len(found.key) <= 2 and found.key.isalpha() and found.lexemes[0].compound:
        return f"{name!r}: so short a name has to stand by itself, not inside a compound"
    if is_common(found.key) and _spellings(lexemes(name)) != _spellings(found.lexemes):
        return f"{name!r}: an everyday word, which has to be spelled like the name, got {spelled(found.lexemes)!r}"
    return None


@lru_cache(maxsize=1 << 16)
def _parts(chunk: str) -> tuple[Lexeme, ...]:
    if run := clusters(chunk):
        return tuple(Lexeme(normalise(part), part, compound=False) for part in run)
    parts = [part for part in _JOINT.split(bare(chunk)) if part]
    return tuple(Lexeme(normalise(part), part, compound=len(parts) > 1) for part in parts)


def _spellings(words: Iterable[Lexeme]) -> list[str]:
    return [lexeme.spelling for lexeme in words]
