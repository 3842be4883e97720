"""Names written otherwise: joined or apart, in the plural, or with a version right after."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product

from pss_integrations.beliefs.filing import Filed
from pss_integrations.beliefs.names import COMMON_WORDS, Stretch, Words, lexemes, meets_by_chance, name_key, solid

MOST_APART = 4
"""A name of one word may be asked for in so many: "get user by id" for ``getUserById``."""

_SHORTEST = 3
_HISSING = ("ses", "xes", "zes", "ches", "shes", "oes")
_PLURAL = re.compile(r"(?:[A-Z]|[^iusIUS])s\Z")  # "KPIs" and "policies", but not "Redis" or "AWS"
_VERSION = "0123456789."


def are_variants(name: str, words: str) -> bool:
    """Whether words may be a name written otherwise: ``gpt4`` for ``gpt 4``, ``policies`` for ``policy``.

    They may be joined where the name is apart, or the reverse; one of the two may be an English plural; and digits may
    follow the name, as in ``python3``. Names of one or two characters have no variants.

    :param name: A name's key.
    :param words: The key of some words of a query.
    """
    return name != words and not set(_forms(name)).isdisjoint(_asked(solid(words), words.split(" ")[-1]))


def objection(name: str, found: Stretch) -> str | None:
    """Say why words that may be a name written otherwise don't mean it; ``None`` if they do."""
    key = name_key(name)
    if key in COMMON_WORDS or found.key in COMMON_WORDS:
        return "everyday words have to be as they are"
    if meets_by_chance(key, found.key) and not all(lexeme.compound for lexeme in found.lexemes):
        return "everyday words that stand side by side"
    if solid(found.key) in _singulars(solid(key)) and not _PLURAL.search(lexemes(name)[-1].spelling):
        return "the final s belongs to the name"
    return None


class Asked:
    """What the words of a query may stand for: forms, each with where so many words begin.

    :ivar words: The words.
    :ivar places: First words and numbers of words, by form.
    """

    def __init__(self, words: Words, sizes: Iterable[int]) -> None:
        """Read words.

        :param sizes: How many words the names have that are looked for.
        """
        self.words = words
        self.places = defaultdict[str, list[tuple[int, int]]](list)
        for size in {*sizes, *range(1, MOST_APART + 1)}:
            for first, written in words.solids(size):
                for form in _asked(written, words.lexemes[first + size - 1].token):
                    self.places[form].append((first, size))


class Variants:
    """Names that can be found by another way of writing them."""

    def __init__(self) -> None:
        """Hold none."""
        self._filed = Filed()

    def add(self, name: str) -> None:
        """Add a name's key, which must not be in yet."""
        self._filed.add(name, _forms(name))

    def remove(self, name: str) -> None:
        """Remove a name's key."""
        self._filed.remove(name, _forms(name))

    def find(self, asked: Asked) -> Iterator[tuple[str, Stretch]]:
        """Yield the keys of names, each with words that may be a variant of it."""
        for form in self._filed.taken(asked.places.keys()):
            for name, (first, size) in product(self._filed.at([form]), asked.places[form]):
                found = asked.words.stretch(first, size)
                if name != found.key:
                    yield name, found


def _forms(name: str) -> list[str]:
    """Return what a name is filed under: itself without spaces, and its singular if it may be a plural."""
    form = solid(name)
    return [one for one in (form, *_singulars(form)) if len(one) >= _SHORTEST]


def _asked(written: str, last: str) -> list[str]:
    """Return the forms that words without spaces between them may stand for.

    :param last: The last of the words.
    """
    head = len(written) - len(last)
    return [written, *(written[:head] + ending for ending in _endings(last))]


@lru_cache(maxsize=1 << 16)
def _endings(last: str) -> tuple[str, ...]:
    unversioned = last.rstrip(_VERSION)
    is_versioned = _SHORTEST <= len(unversioned) < len(last)
    return (*_singulars(last), unversioned) if is_versioned else tuple(_singulars(last))


def _singulars(word: str) -> list[str]:
    """Return what a word may be the English plural of."""
    if word[-1:] != "s" or word[-2:] == "ss" or not word[-2:].isalpha():
        return []
    found = [word[:-1]]
    if word.endswith("ies"):
        found.append(f"{word[:-3]}y")
    elif word.endswith(_HISSING):
        found.append(word[:-2])
    return found
