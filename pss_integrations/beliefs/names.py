"""How names are compared: whole, word for word, without regard to how the words are joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from pss_integrations.text import FUNCTION_WORDS, bare, chunks, clusters, normalise, opens_sentence

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

# Verbs and what follows them make up names: "log in".
_NEVER_LAST = FUNCTION_WORDS - {"in", "on", "up", "out", "off", "down", "over", "by", "through", "around"}
# "Redis.What next?" is two sentences without a space between them.
_GLUED = "|".join(sorted(word.capitalize() for word in FUNCTION_WORDS if len(word) > 1))
_JOINT = re.compile(rf"[-@&]|_+|\.(?=(?:{_GLUED})(?![^\W_]))")
_DIGITS_APART = re.compile(r"\d \d")
_MAIL_ADDRESS = re.compile(r"[^@]+@[^@]+\.[A-Za-z]{2,}")


class Lexeme(NamedTuple):
    """A word of a name or a query.

    :param token: What is compared: folded, without possessive or punctuation around it.
    :param spelling: How it was written.
    :param compound: Whether a hyphen, ``_``, ``@`` or ``&`` joins it to another word: ``R`` in ``R-squared``.
    """

    token: str
    spelling: str
    compound: bool


class Words:
    """The words of a query, in which names are looked up.

    :ivar lexemes: The words.
    :ivar key: Their tokens, joined by spaces.
    :ivar openings: Which of them have a capital that opens a sentence or a line.
    """

    def __init__(self, query: str) -> None:
        """Split a query."""
        self.lexemes: list[Lexeme] = []
        self.openings = set[int]()
        for chunk in chunks(query):
            if chunk[0][0].isupper() and opens_sentence(chunk):
                self.openings.add(len(self.lexemes))
            self.lexemes += _lexemes(chunk)
        self.key = joined(self.lexemes)
        self._starts = _starts([f"{lexeme.token} " for lexeme in self.lexemes])
        self._first_at = {start: first for first, start in enumerate(self._starts)}
        pieces = _pieces([lexeme.token for lexeme in self.lexemes])
        self._solid, self._solid_starts = "".join(pieces), _starts(pieces)

    def __len__(self) -> int:
        return len(self.lexemes)

    def keys(self, size: int) -> Iterator[tuple[int, str]]:
        """Yield each place where so many words begin, and their key."""
        for first, (start, after) in enumerate(zip(self._starts, self._starts[size:], strict=False)):
            yield first, self.key[start : after - 1]

    def solids(self, size: int) -> Iterator[tuple[int, str]]:
        """Yield each place where so many words begin, and their key as :func:`solid` gives it."""
        for first, (start, after) in enumerate(zip(self._solid_starts, self._solid_starts[size:], strict=False)):
            yield first, self._solid[start:after].strip()

    def start(self, first: int) -> int:
        """Return where in :attr:`key` a word begins."""
        return self._starts[first]

    def size(self, first: int, length: int) -> int | None:
        """Return how many words from a place on have a key of this length; ``None`` if it ends inside a word."""
        after = self._first_at.get(self._starts[first] + length + 1)
        return None if after is None else after - first

    def stretch(self, first: int, size: int) -> Stretch:
        """Return so many words from a place on."""
        return Stretch(self, first, first + size)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive words of a query, from one place to before another."""

    words: Words
    first: int
    after: int

    @property
    def lexemes(self) -> list[Lexeme]:
        """The words."""
        return self.words.lexemes[self.first : self.after]

    @property
    def key(self) -> str:
        """Their tokens, joined by spaces."""
        return self.words.key[self.words.start(self.first) : self.words.start(self.after) - 1]

    @property
    def is_all(self) -> bool:
        """Whether the query has no other words."""
        return self.after - self.first == len(self.words)

    @property
    def opens(self) -> bool:
        """Whether the first of them has a capital because it opens a sentence."""
        return self.first in self.words.openings

    @property
    def next(self) -> str | None:
        """The token after them."""
        return self.words.lexemes[self.after].token if self.after < len(self.words) else None


def lexemes(text: str) -> list[Lexeme]:
    """Split a text into words.

    Hyphens, ``_``, ``/``, ``@`` and ``&`` separate, dots inside don't: ``try-catch`` and ``try/catch`` are two
    words, ``node.js``, ``v1.2``, ``.NET``, ``C++``, ``C#`` and e-mail addresses one. A script without spaces gives
    each character with its marks, but katakana its runs. Blanks, punctuation and emoji give nothing.
    """
    found: list[Lexeme] = []
    for chunk in chunks(text):
        found += _lexemes(chunk)
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


def solid(key: str) -> str:
    """Return a key without its spaces, but for those between digits: ``gpt4`` of ``gpt 4``; "10 5" is not "105"."""
    return "".join(_pieces(key.split(" "))) if _DIGITS_APART.search(key) else key.replace(" ", "")


def is_common(key: str) -> bool:
    """Whether a key consists of :data:`COMMON_WORDS` only."""
    return COMMON_WORDS.issuperset(key.split(" "))


def meets_by_chance(name: str, words: str) -> bool:
    """Whether words that are more than a name's give it only because they stand side by side: ``red is`` and Redis.

    :param name: A name's key.
    :param words: The key of some words of a query.
    """
    apart = words.split(" ")
    if len(apart) <= name.count(" ") + 1:
        return False
    return apart[0] in FUNCTION_WORDS or apart[-1] in _NEVER_LAST or is_common(words)


def misreading(name: str, found: Stretch) -> str | None:
    """Say why words with the key of a name don't mean it; ``None`` if they do, as when nothing else is asked.

    An everyday word that begins a sentence has a capital whatever it means, so it is taken for the word: "Go" in
    "Go is fast" is not found. And "R and D" is read as R, since nothing tells whether two things are listed.
    """
    if found.is_all:
        return None
    if len(found.key) <= 2 and found.key.isalpha() and found.lexemes[0].compound:
        return f"{name!r}: so short a name has to stand by itself, not inside a compound"
    if len(found.key) == 1 and found.next == "sharp":
        return f"{name!r}: {spelled(found.lexemes)!r} followed by 'sharp' is another name"
    kind = "a single letter" if len(found.key) == 1 else "an everyday word" if found.key in COMMON_WORDS else None
    if kind and _spellings(lexemes(name)) != _spellings(found.lexemes):
        return f"{name!r}: {kind}, which has to be spelled like the name, got {spelled(found.lexemes)!r}"
    if found.key in COMMON_WORDS and found.opens and spelled(found.lexemes).istitle():
        return f"{name!r}: an everyday word, whose capital says nothing where a sentence begins"
    return None


def _lexemes(chunk: re.Match[str]) -> tuple[Lexeme, ...]:
    parts = _parts(chunk[0])
    if len(chunk[0]) <= 2 and chunk.start() and chunk.string[chunk.start() - 1] == "-":  # "-R" is an option
        return (*parts[:-1], parts[-1]._replace(compound=True))
    return parts


@lru_cache(maxsize=1 << 16)
def _parts(chunk: str) -> tuple[Lexeme, ...]:
    if run := clusters(chunk):
        return tuple(Lexeme(normalise(part), part, compound=False) for part in _without_spaces(run))
    word = bare(chunk)
    parts = [word] if _MAIL_ADDRESS.fullmatch(word) else [part for part in _JOINT.split(word) if part]
    return tuple(Lexeme(normalise(part), part, compound=len(parts) > 1) for part in parts)


def _without_spaces(run: list[str]) -> Iterator[str]:
    """Yield the words of a script without spaces, which only katakana shows; elsewhere each character is one."""
    for is_katakana, characters in groupby(run, lambda character: "\u30a1" <= character[0] <= "\u30ff"):
        if is_katakana:
            yield "".join(characters)
        else:
            yield from characters


def _spellings(words: Iterable[Lexeme]) -> list[str]:
    return [lexeme.spelling for lexeme in words]


def _pieces(tokens: list[str]) -> list[str]:
    """Return tokens, each with a space before it if it has to be kept apart from the last."""
    gaps = [" " if left[-1:].isdecimal() and right[:1].isdecimal() else "" for left, right in pairwise(["", *tokens])]
    return [gap + token for gap, token in zip(gaps, tokens, strict=True)]


def _starts(pieces: list[str]) -> list[int]:
    return list(accumulate(map(len, pieces), initial=0))
