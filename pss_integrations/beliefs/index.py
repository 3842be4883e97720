"""Search of beliefs in memory: admitted by name or alias, then ranked by BM25F.

Admission is look-up, not scoring: a belief comes if one of its names stands in the query as a whole, at most one edit
away, and for no other reason. So there is no threshold, and a large store finds what a small one finds. Ranking only
orders what was admitted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from math import log
from operator import itemgetter

from pss_integrations.beliefs.fuzzy import Misspellings, discount, edits_between, objection
from pss_integrations.beliefs.names import Lexeme, Stretch, Words, joined, lexemes, misreading, name_key, spelled
from pss_integrations.beliefs.schema import Belief
from pss_integrations.text import FUNCTION_WORDS, tokenize

_Tokens = tuple[str, ...]
_Found = tuple[str, str, "NameMatch"]  # belief id, name key, match


@dataclass(frozen=True, slots=True)
class BM25F:
    """Parameters of the ranking, by field: canonical_name, aliases, content, why_it_matters.

    Tenure boosts names by 14 and aliases by 5 (arXiv 2605.11325); the text, which it does not search, counts once.
    ``k1`` and ``b`` are Lucene's, but aliases know neither length nor repetition: they are ways to ask, not a text,
    and more of them must not make one count less (a belief with 25 aliases fell from 7.7 to 1.6 there).
    """

    weights: tuple[float, ...] = (14.0, 5.0, 1.0, 1.0)
    b: tuple[float, ...] = (0.75, 0.0, 0.75, 0.75)
    k1: float = 1.2


_BM25F = BM25F()
# In a small store function words are as rare as names, and would outweigh them.
_UNRANKED = frozenset(tokenize(" ".join(FUNCTION_WORDS)))


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name that a query holds.

    :param name: The canonical name or alias, as the belief has it.
    :param words: The words of the query.
    :param edits: 0 if they are the name, 1 if they misspell it.
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


@dataclass(frozen=True, slots=True)
class _Document:
    """What is looked up and ranked of a belief.

    :param spellings: Name keys, each with the names that have it.
    :param fields: Tokens of each field, in the order of :class:`BM25F`; of the aliases each once.
    """

    spellings: dict[str, tuple[str, ...]]
    fields: tuple[_Tokens, ...]

    @classmethod
    def of(cls, belief: Belief) -> _Document:
        spellings: dict[str, tuple[str, ...]] = {}
        words = [lexemes(name) for name in belief.names]
        for name, own in zip(belief.names, words, strict=True):
            if own:  # a name without any word, such as "!!!", is never asked for
                key = joined(own)
                spellings[key] = (*spellings.get(key, ()), name)
        fields = (
            _name_tokens(words[:1]),
            tuple(dict.fromkeys(_name_tokens(words[1:]))),
            tuple(tokenize(belief.content)),
            tuple(tokenize(belief.why_it_matters or "")),
        )
        return cls(spellings, fields)


class _Group:
    """Beliefs of an index that have the same scopes, and what BM25F counts of them."""

    def __init__(self, documents: Iterable[tuple[str, _Document]] = ()) -> None:
        self.documents: dict[str, _Document] = {}
        self.frequencies = Counter[str]()
        self.tokens = Counter[int]()
        self.filled = Counter[int]()
        for belief_id, document in documents:
            self.add(belief_id, document)

    def add(self, belief_id: str, document: _Document) -> None:
        self.documents[belief_id] = document
        self.frequencies.update(set(chain.from_iterable(document.fields)))
        for field, tokens in enumerate(document.fields):
            self.tokens[field] += len(tokens)
            self.filled[field] += bool(tokens)

    def remove(self, belief_id: str) -> _Document:
        document = self.documents.pop(belief_id)
        discount(self.frequencies, set(chain.from_iterable(document.fields)))
        for field, tokens in enumerate(document.fields):
            self.tokens[field] -= len(tokens)
            self.filled[field] -= bool(tokens)
        return document


class ScopeIndex:
    """The live beliefs of one scope of one principal; a belief of several scopes is put in the index of each.

    Putting and removing in any order leaves what putting the rest afresh gives. Any number of threads may search
    while none puts or removes.
    """

    def __init__(self) -> None:
        self.groups = defaultdict[frozenset[str], _Group](_Group)
        self._group_of: dict[str, frozenset[str]] = {}
        self._owners: dict[str, dict[str, tuple[str, ...]]] = {}  # name key, belief id, spellings
        self._sizes = Counter[int]()
        self._misspellings = Misspellings()

    def __len__(self) -> int:
        """Return how many beliefs it holds."""
        return len(self._group_of)

    def put(self, belief: Belief) -> None:
        """Add a belief, or replace the one with its id."""
        self.remove(belief.id)
        document = _Document.of(belief)
        scopes = self._group_of[belief.id] = frozenset(belief.scopes)
        self.groups[scopes].add(belief.id, document)
        for key, spellings in document.spellings.items():
            if key not in self._owners:
                self._owners[key] = {}
                self._sizes[_size(key)] += 1
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
                discount(self._sizes, [_size(key)])
                self._misspellings.remove(key)
        if not self.groups[scopes].documents:
            del self.groups[scopes]

    def owners(self, key: str) -> Iterable[str]:
        """Return the ids of the beliefs that have a name with this key."""
        return self._owners.get(key, {}).keys()

    def exact(self, words: Words) -> Iterator[_Found]:
        """Find names that stand in a query."""
        for size in self._sizes:
            for first, key in words.keys(size):
                if key in self._owners:
                    yield from self._read(key, words.stretch(first, size))

    def misspelled(self, words: Words, indexes: Sequence[ScopeIndex]) -> Iterator[_Found]:
        """Find names that stand in a query misspelled, where the words are no other belief's name."""
        for key, found in self._misspellings.find(words):
            others = set(chain.from_iterable(index.owners(found.key) for index in indexes))
            for belief_id, spellings in self._owners[key].items():
                if others <= {belief_id}:
                    yield belief_id, key, NameMatch(spellings[0], spelled(found.lexemes), 1)

    def _read(self, key: str, found: Stretch) -> Iterator[_Found]:
        for belief_id, spellings in self._owners[key].items():
            meant = next((name for name in spellings if misreading(name, found) is None), None)
            if meant is not None:
                yield belief_id, key, NameMatch(meant, spelled(found.lexemes), 0)


def search_indexes(indexes: Sequence[ScopeIndex], query: str) -> list[Match]:
    """Find the beliefs that a query names, the best first.

    Documents and lengths are counted over all of the indexes together, and over nothing else. Each index counts by
    the sets of scopes that its beliefs have; a set that another index has as well is the same beliefs, counted once.

    :param indexes: Those of the scopes that are searched, of one principal.
    :param query: What is asked, cleaned by :func:`clean_query` where it may hold code.
    :return: Each belief once, by score from high to low, then by id; empty where nothing is named.
    """
    words = Words(query)
    names: dict[str, dict[str, NameMatch]] = defaultdict(dict)
    exact = (found for index in indexes for found in index.exact(words))
    misspelled = (found for index in indexes for found in index.misspelled(words, indexes))
    for belief_id, key, match in chain(exact, misspelled):
        names[belief_id].setdefault(key, match)
    if not names:
        return []
    corpus, asked = _Corpus(_distinct(indexes)), frozenset(tokenize(query)) - _UNRANKED
    matches = [corpus.match(belief_id, asked, found) for belief_id, found in names.items()]
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


def _reasons(name: str, words: Words) -> Iterator[tuple[int, str]]:
    """Yield why words that are at most two edits away from a name are not taken for it, with the edits."""
    key = name_key(name)
    for size in range(max(1, _size(key) - 1), _size(key) + 2):
        for first, there in words.keys(size):
            edits = edits_between(key, there)
            if edits <= 2 and len(key) > 2 * edits:  # everything is near to a shorter name
                yield edits, _reason(name, words.stretch(first, size), edits)


def _reason(name: str, found: Stretch, edits: int) -> str:
    if edits == 0:
        return misreading(name, found) or f"{name!r} does occur in the query"
    why = "two edits away"
    if edits == 1:
        why = f"one edit away, but {objection(name_key(name), found.key) or 'these words name another belief'}"
    return f"{spelled(found.lexemes)!r} is not {name!r}: {why}"


class _Corpus:
    """What is ranked together."""

    def __init__(self, groups: Sequence[_Group]) -> None:
        self._groups = groups
        self._count = sum(len(group.documents) for group in groups)
        tokens, filled = Counter[int](), Counter[int]()
        for group in groups:
            tokens.update(group.tokens)
            filled.update(group.filled)
        self._averages = [tokens[field] / (filled[field] or 1) for field in range(len(_BM25F.weights))]
        self._idf = cache(self._lucene_idf)

    def match(self, belief_id: str, asked: frozenset[str], found: dict[str, NameMatch]) -> Match:
        """Rank a belief for what was asked and, where that is misspelled or cut otherwise, for its names found."""
        document = next(group.documents[belief_id] for group in self._groups if belief_id in group.documents)
        names = tuple(found[key] for key in document.spellings if key in found)
        wanted = asked.union(_name_tokens(lexemes(match.name) for match in names))
        occurrences = self._weighted(document, wanted)
        # Sorted, so that one more term can only add, however sums of floats round.
        score = sum(self._idf(term) * x / (_BM25F.k1 + x) for term, x in sorted(occurrences.items()))
        return Match(belief_id, score, names)

    def _weighted(self, document: _Document, wanted: frozenset[str]) -> dict[str, float]:
        """Return the weighted occurrences of the wanted terms, each field's by its length."""
        occurrences: dict[str, float] = defaultdict(float)
        for tokens, weight, b, average in zip(document.fields, _BM25F.weights, _BM25F.b, self._averages, strict=True):
            if tokens:
                each = weight / (1 - b + b * len(tokens) / average)
                for token in tokens:
                    if token in wanted:
                        occurrences[token] += each
        return occurrences

    def _lucene_idf(self, term: str) -> float:
        holding = sum(group.frequencies[term] for group in self._groups)
        return log(1 + (self._count - holding + 0.5) / (holding + 0.5))


def _distinct(indexes: Iterable[ScopeIndex]) -> list[_Group]:
    """Return the groups that make up some indexes, with each belief once."""
    distinct: dict[frozenset[str], _Group] = {}
    for index in indexes:
        for scopes, group in index.groups.items():
            known = distinct.setdefault(scopes, group)
            if known is not group and known.documents.keys() != group.documents.keys():
                distinct[scopes] = _Group({**group.documents, **known.documents}.items())
    return list(distinct.values())


def _name_tokens(names: Iterable[Sequence[Lexeme]]) -> _Tokens:
    """Tokenize names as they are compared: "redis_cache" has the words of "redis cache"."""
    return tuple(tokenize("\n".join(map(spelled, names))))


def _size(key: str) -> int:
    return key.count(" ") + 1
