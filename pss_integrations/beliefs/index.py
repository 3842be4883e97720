"""Search of beliefs in memory: admitted by name or alias, then ranked by BM25F.

Admission is look-up, not scoring: a belief comes if one of its names stands in the query as a whole, as it is, written
otherwise or one edit away, and for no other reason. So there is no threshold, and a large store finds what a small one
finds. Ranking only orders what was admitted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from pss_integrations.beliefs import variants
from pss_integrations.beliefs.filing import discount
from pss_integrations.beliefs.fuzzy import Misspellings, edits_between, objection
from pss_integrations.beliefs.names import Stretch, Words, lexemes, misreading, name_key, spelled
from pss_integrations.beliefs.ranking import Corpus, Document, Group, distinct
from pss_integrations.beliefs.schema import Belief
from pss_integrations.beliefs.variants import Asked, Variants

_TAKEN = "these words name another belief"


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name that a query holds.

    :param name: The canonical name or alias, as the belief has it.
    :param words: The words of the query.
    :param edits: 0 if they are the name or a variant of it, such as its plural, 1 if they misspell it.
    """

    name: str
    words: str
    edits: int

    def __str__(self) -> str:
        return f"{self.name!r} matches {self.words!r}{', one edit away' if self.edits else ''}"


@dataclass(frozen=True, slots=True)
class Match:
    """A belief that was admitted.

    :param score: BM25F, above 0; comparable only within one search.
    :param names: Each name that the query holds, in the belief's order.
    """

    belief_id: str
    score: float
    names: tuple[NameMatch, ...]


class _Found(NamedTuple):
    belief_id: str
    key: str
    name: str
    words: Stretch
    edits: int

    @property
    def match(self) -> NameMatch:
        return NameMatch(self.name, spelled(self.words.lexemes), self.edits)


class _Claims:
    """Which words of a query name which beliefs."""

    def __init__(self, found: Iterable[_Found]) -> None:
        self._over = defaultdict[int, dict[int, set[str]]](lambda: defaultdict(set))
        for one in found:
            for place in range(one.words.first, one.words.after):
                self._over[place][one.words.after].add(one.belief_id)

    def hold(self, words: Stretch, belief_id: str) -> bool:
        """Whether words are among those that name another belief."""
        spans = self._over.get(words.first, {})
        return any(after >= words.after and ids != {belief_id} for after, ids in spans.items())


class ScopeIndex:
    """The live beliefs of one scope of one principal; a belief of several scopes is put in the index of each.

    Putting and removing in any order leaves what putting the rest afresh gives. Any number of threads may search
    while none puts or removes.
    """

    def __init__(self) -> None:
        self.groups = defaultdict[frozenset[str], Group](Group)
        self._group_of: dict[str, frozenset[str]] = {}
        self._owners: dict[str, dict[str, tuple[str, ...]]] = {}  # name key, belief id, spellings
        self.sizes = Counter[int]()
        self._variants = Variants()
        self._misspellings = Misspellings()

    def __len__(self) -> int:
        """Return how many beliefs it holds."""
        return len(self._group_of)

    def put(self, belief: Belief) -> None:
        """Add a belief, or replace the one with its id."""
        self.remove(belief.id)
        document = Document.of(belief)
        scopes = self._group_of[belief.id] = frozenset(belief.scopes)
        self.groups[scopes].add(belief.id, document)
        for key, spellings in document.spellings.items():
            if key not in self._owners:
                self._owners[key] = {}
                self.sizes[_size(key)] += 1
                self._variants.add(key)
                self._misspellings.add(key)
            self._owners[key][belief.id] = spellings

    def remove(self, belief_id: str) -> None:
        """Remove a belief, if it is here."""
        scopes = self._group_of.pop(belief_id, None)
        if scopes is None:
            return
        for key in self.groups[scopes].remove(belief_id).spellings:
            del self._owners[key][belief_id]
            if not self._owners[key]:
                del self._owners[key]
                discount(self.sizes, [_size(key)])
                self._variants.remove(key)
                self._misspellings.remove(key)
        if not self.groups[scopes].documents:
            del self.groups[scopes]

    def owners(self, key: str) -> Iterable[str]:
        """Return the ids of the beliefs that have a name with this key."""
        return self._owners.get(key, {}).keys()

    def exact(self, words: Words) -> Iterator[_Found]:
        """Find names that stand in a query."""
        for size in self.sizes:
            for first, key in words.keys(size):
                if key not in self._owners:
                    continue
                found = words.stretch(first, size)
                for belief_id, spellings in self._owners[key].items():
                    name = next((name for name in spellings if misreading(name, found) is None), None)
                    if name is not None:
                        yield _Found(belief_id, key, name, found, 0)

    def variants(self, asked: Asked, indexes: Sequence[ScopeIndex]) -> Iterator[_Found]:
        """Find names that stand in a query written otherwise, where the words are no other belief's name."""
        for key, found in self._variants.find(asked):
            others = set(chain.from_iterable(index.owners(found.key) for index in indexes))
            for belief_id, spellings in self._owners[key].items():
                name = next((name for name in spellings if variants.objection(name, found) is None), None)
                if name is not None and others <= {belief_id}:
                    yield _Found(belief_id, key, name, found, 0)

    def misspelled(self, words: Words, claims: _Claims) -> Iterator[_Found]:
        """Find names that stand in a query misspelled, where the words do not belong to another belief's name."""
        for key, found in self._misspellings.find(words):
            for belief_id, spellings in self._owners[key].items():
                if not claims.hold(found, belief_id):
                    yield _Found(belief_id, key, spellings[0], found, 1)


def search_indexes(indexes: Sequence[ScopeIndex], query: str) -> list[Match]:
    """Find the beliefs that a query names, the best first.

    Documents and lengths are counted over all of the indexes together, and over nothing else. Each index counts by
    the sets of scopes that its beliefs have; a set that another index has as well is the same beliefs, counted once.

    :param indexes: Those of the scopes that are searched, of one principal.
    :param query: What is asked, cleaned by :func:`clean_query` where it may hold code.
    :return: Each belief once, by score from high to low, then by id; empty where nothing is named.
    """
    words = Words(query)
    written = [found for index in indexes for found in index.exact(words)]
    asked = Asked(words, (size for index in indexes for size in index.sizes))
    written += [found for index in indexes for found in index.variants(asked, indexes)]
    claims = _Claims(written)
    misspelled = (found for index in indexes for found in index.misspelled(words, claims))
    names: dict[str, dict[str, NameMatch]] = defaultdict(dict)
    for found in chain(written, misspelled):
        names[found.belief_id].setdefault(found.key, found.match)
    if not names:
        return []
    corpus = Corpus(distinct(index.groups for index in indexes), query)
    matches = [_match(corpus, belief_id, found) for belief_id, found in names.items()]
    return sorted(matches, key=lambda match: (-match.score, match.belief_id))


def why_not(belief: Belief, query: str) -> str:
    """Say why a query does not find a belief.

    :param query: The query, as it was searched.
    """
    words = Words(query)
    names = [name for name in belief.names if lexemes(name)]
    if not names or not len(words):
        return "the query holds no words" if names else "its names hold no words"
    reasons = [reason for name in names for reason in _reasons(name, words)]
    nearest = min(reasons, key=itemgetter(0), default=(0, "no name or alias occurs in the query as a whole"))
    return nearest[1]


def _match(corpus: Corpus, belief_id: str, found: dict[str, NameMatch]) -> Match:
    document = corpus.document(belief_id)
    names = tuple(found[key] for key in document.spellings if key in found)
    return Match(belief_id, corpus.score(document, (match.name for match in names)), names)


def _reasons(name: str, words: Words) -> Iterator[tuple[int, str]]:
    """Yield why words that are near to a name are not taken for it, with how near they are."""
    key = name_key(name)
    for size in range(1, max(_size(key) + 1, variants.MOST_APART) + 1):
        for first, there in words.keys(size):
            edits, found = edits_between(key, there), words.stretch(first, size)
            if edits == 0:
                yield 0, misreading(name, found) or f"{name!r} does occur in the query"
            elif variants.are_variants(key, there):
                yield 1, _denial(name, found, variants.objection(name, found) or _TAKEN)
            elif edits == 1 and len(key) > 2:  # everything is near to a shorter name
                yield 1, _denial(name, found, f"one edit away, but {objection(key, there) or _TAKEN}")
            elif edits == 2 and len(key) > 4:
                yield 2, _denial(name, found, "two edits away")


def _denial(name: str, found: Stretch, why: str) -> str:
    return f"{spelled(found.lexemes)!r} is not {name!r}: {why}"


def _size(key: str) -> int:
    return key.count(" ") + 1
