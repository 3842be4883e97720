"""Texts as directions, by their words or by an embedder, in rows whose product with another one rounds alike.

Rows are sparse also where they are full: a row's product with a vector is then summed in order of columns, wherever
the row stands, so that equal texts score equally.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, pairwise
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pss_integrations.errors import InvalidInput, MissingExtra
from pss_integrations.protocols import Embedder
from pss_integrations.retrieval.index import WeightedTexts
from pss_integrations.text import tokenize
from pss_integrations.types import SearcherKind

try:
    from scipy.sparse import csr_array
except ImportError as error:
    raise MissingExtra("eval", error.name or "scipy") from error

Rows: TypeAlias = Any
"""A ``csr_array`` (texts, dimension), each row of length 1, or of zeros for a text that says nothing."""
Direction: TypeAlias = NDArray[np.float64]
"""Shape (dimension,), of length 1, or zeros."""


class Vectors(Protocol):
    """Gives texts directions."""

    kind: ClassVar[SearcherKind]

    @property
    def name(self) -> str:
        """What tells it from others, but for the texts it was made of."""
        ...

    def rows(self, texts: Sequence[str]) -> Rows:
        """Directions of texts that are searched; those of later calls may have more columns."""
        ...

    def direction(self, request: WeightedTexts) -> Direction:
        """The direction of what is searched for."""
        ...


class WordVectors:
    """Directions by words: each counts with its inverse document frequency, in a text also with how often it is said.

    Its dimensions are the words of all texts that it made rows of, and it is not to be searched with before.

    :param texts: In which words are counted.
    """

    kind: ClassVar[SearcherKind] = "lexical"
    name = "words"

    def __init__(self, texts: Iterable[str]) -> None:
        said = [set(tokenize(text)) for text in texts]
        self._texts, self._frequency = len(said), Counter(chain.from_iterable(said))
        self._columns, self._rarity = dict[str, int](), np.zeros(0)

    def rows(self, texts: Sequence[str]) -> Rows:
        """See :class:`Vectors`."""
        self._learn(set(chain.from_iterable(map(tokenize, texts))))
        found = [self._counts(text) for text in texts]
        starts = np.cumsum([0, *map(len, found)])
        columns = np.fromiter(chain.from_iterable(found), dtype=np.int64, count=starts[-1])
        counts = np.fromiter(chain.from_iterable(one.values() for one in found), np.float64, count=starts[-1])
        weights = (1 + np.log(counts)) * self._rarity[columns]
        lengths = [math.sqrt(math.fsum(weights[a:b] ** 2)) for a, b in pairwise(starts)]
        weights /= np.repeat(lengths, np.diff(starts))
        return csr_array((weights, columns, starts), shape=(len(texts), len(self._columns)))

    def direction(self, request: WeightedTexts) -> Direction:
        """See :class:`Vectors`; a word that is repeated counts as often."""
        total = np.zeros(len(self._columns))
        for text, weight in request:
            for column, count in self._counts(text).items():
                total[column] += weight * count * self._rarity[column]
        return _unit(total)

    def _learn(self, tokens: set[str]) -> None:
        new = sorted(tokens - self._columns.keys())
        self._columns.update(zip(new, range(len(self._columns), len(self._columns) + len(new)), strict=True))
        counts = np.array([self._frequency[token] for token in new], dtype=np.float64)
        self._rarity = np.append(self._rarity, np.log1p((self._texts - counts + 0.5) / (counts + 0.5)))

    def _counts(self, text: str) -> dict[int, int]:
        """How often a text holds each known word, by column, in order."""
        counts = Counter(self._columns[token] for token in tokenize(text) if token in self._columns)
        return dict(sorted(counts.items()))


class EmbeddedVectors:
    """Directions by an embedder; a text without a token has none."""

    kind: ClassVar[SearcherKind] = "dense"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        """Kind, name and dimension of the embedder."""
        return f"embedder {self._embedder.name} of dimension {self._embedder.dimension}"

    def rows(self, texts: Sequence[str]) -> Rows:
        """See :class:`Vectors`."""
        # Sorted and once each: a text must not get another vector by the batch that it is embedded in.
        vectors = self._embed(sorted({*texts}), self._embedder.embed_documents)
        zeros = np.zeros(self._embedder.dimension)
        return csr_array(np.array([vectors.get(text, zeros) for text in texts]).reshape(len(texts), len(zeros)))

    def direction(self, request: WeightedTexts) -> Direction:
        """See :class:`Vectors`; each text counts with its direction, however long it is."""
        vectors = self._embed([text for text, _ in request], self._embedder.embed_queries)
        total = np.zeros(self._embedder.dimension)
        for text, weight in request:
            total += weight * vectors.get(text, 0.0)
        return _unit(total)

    def _embed(self, texts: Sequence[str], embed: Callable[[Sequence[str]], Any]) -> dict[str, Direction]:
        said = [text for text in texts if tokenize(text)]
        if not said:
            return {}
        vectors = np.asarray(embed(said), dtype=np.float64)
        if vectors.shape != (len(said), self._embedder.dimension) or not np.isfinite(vectors).all():
            raise InvalidInput(
                f"the {self.name} must give {len(said)} finite vectors of its dimension, got shape {vectors.shape}"
            )
        return {text: _unit(vector) for text, vector in zip(said, vectors, strict=True)}


def _unit(vector: Direction) -> Direction:
    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector
