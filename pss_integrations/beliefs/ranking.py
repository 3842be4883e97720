"""What was admitted, ranked by BM25F."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from math import log

from pss_integrations.beliefs.filing import discount
from pss_integrations.beliefs.names import Lexeme, joined, lexemes, spelled
from pss_integrations.beliefs.schema import Belief
from pss_integrations.text import FUNCTION_WORDS, tokenize

_Tokens = tuple[str, ...]


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
class Document:
    """What is looked up and ranked of a belief.

    :param spellings: Name keys, each with the names that have it.
    :param fields: Tokens of each field, in the order of :class:`BM25F`; of the aliases each once.
    """

    spellings: dict[str, tuple[str, ...]]
    fields: tuple[_Tokens, ...]

    @classmethod
    def of(cls, belief: Belief) -> Document:
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


class Group:
    """Beliefs of an index that have the same scopes, and what BM25F counts of them."""

    def __init__(self, documents: Iterable[tuple[str, Document]] = ()) -> None:
        self.documents: dict[str, Document] = {}
        self.frequencies = Counter[str]()
        self.tokens = Counter[int]()
        self.filled = Counter[int]()
        for belief_id, document in documents:
            self.add(belief_id, document)

    def add(self, belief_id: str, document: Document) -> None:
        self.documents[belief_id] = document
        self.frequencies.update(set(chain.from_iterable(document.fields)))
        for field, tokens in enumerate(document.fields):
            self.tokens[field] += len(tokens)
            self.filled[field] += bool(tokens)

    def remove(self, belief_id: str) -> Document:
        document = self.documents.pop(belief_id)
        discount(self.frequencies, set(chain.from_iterable(document.fields)))
        for field, tokens in enumerate(document.fields):
            self.tokens[field] -= len(tokens)
            self.filled[field] -= bool(tokens)
        return document


class Corpus:
    """What is ranked together."""

    def __init__(self, groups: Sequence[Group], query: str) -> None:
        """Count what some groups hold; they have no belief in common."""
        self._groups = groups
        self._asked = frozenset(tokenize(query)) - _UNRANKED
        self._count = sum(len(group.documents) for group in groups)
        tokens, filled = Counter[int](), Counter[int]()
        for group in groups:
            tokens.update(group.tokens)
            filled.update(group.filled)
        self._averages = [tokens[field] / (filled[field] or 1) for field in range(len(_BM25F.weights))]
        self._idf = cache(self._lucene_idf)

    def document(self, belief_id: str) -> Document:
        """Return what is ranked of a belief."""
        return next(group.documents[belief_id] for group in self._groups if belief_id in group.documents)

    def score(self, document: Document, names: Iterable[str]) -> float:
        """Rank a belief for what was asked and, where that is misspelled or cut otherwise, for its names found."""
        wanted = self._asked.union(_name_tokens(map(lexemes, names)))
        occurrences = self._weighted(document, wanted)
        # Sorted, so that one more term can only add, however sums of floats round.
        return sum(self._idf(term) * x / (_BM25F.k1 + x) for term, x in sorted(occurrences.items()))

    def _weighted(self, document: Document, wanted: frozenset[str]) -> dict[str, float]:
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


def distinct(parts: Iterable[Mapping[frozenset[str], Group]]) -> list[Group]:
    """Return groups with each belief once.

    :param parts: Groups by the scopes of their beliefs; what two parts hold for the same scopes is the same beliefs.
    """
    groups: dict[frozenset[str], Group] = {}
    for part in parts:
        for scopes, group in part.items():
            known = groups.setdefault(scopes, group)
            if known is not group and known.documents.keys() != group.documents.keys():
                groups[scopes] = Group({**group.documents, **known.documents}.items())
    return list(groups.values())


def _name_tokens(names: Iterable[Sequence[Lexeme]]) -> _Tokens:
    """Tokenize names as they are compared: "redis_cache" has the words of "redis cache"."""
    return tuple(tokenize("\n".join(map(spelled, names))))
