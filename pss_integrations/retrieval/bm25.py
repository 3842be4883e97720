"""Full-text search over passages: BM25 in Lucene's form, on our own tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval.files import IndexFormat
from pss_integrations.retrieval.fusion import is_amount
from pss_integrations.retrieval.index import PassageIndex, WeightedTexts, checked_passages, searched_text
from pss_integrations.text import tokenize
from pss_integrations.types import Hit, Passage


class BM25Index(PassageIndex):
    """Passages that can be searched by words; a hit shares a term with what is searched, and scores above 0.

    Every term adds its score (there is no AND, no query syntax, and no stop words); a term that the query
    repeats counts as often as it is repeated. So :meth:`search_expanded` with a whole ``query_weight`` finds
    what the query finds that is repeated so often before the added text.

    :param passages: What can be found; any number, also none.
    :param k1: How fast repetitions of a term saturate, at least 0; Lucene's default.
    :param b: How much a passage's length counts, from 0 to 1; Lucene's default.
    :raises InvalidInput: If an item is no passage of strings, two passages share a ``doc_id``, or ``k1`` or
        ``b`` is out of range.
    """

    # Count up when files or tokens change: an index only fits queries tokenized its way.
    kind = "lexical"
    _format = IndexFormat("BM25 index", "pss-bm25-1")

    def __init__(self, passages: Iterable[Passage], *, k1: float = 1.2, b: float = 0.75) -> None:
        _check_parameters(k1, b)
        self._passages = checked_passages(passages)
        self._terms = _score_terms(self._passages, k1, b)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a directory. See :meth:`PassageIndex.save`."""
        self._format.save(path, self._passages, self._save_terms, self._parameters)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> BM25Index:
        """Read an index that :meth:`save` wrote; it finds what the saved one found, with the same scores.

        :raises InvalidInput: If the directory is missing, holds something else, or a file in it was
            truncated, altered or mixed in from another index.
        """
        index = cls.__new__(cls)
        index._passages, manifest = cls._format.load(path)
        index._terms = bm25s.BM25.load(path, show_progress=False) if len(manifest["files"]) > 1 else None
        return index

    @property
    def _parameters(self) -> Mapping[str, Any]:
        # Without a term nothing is scored, whatever they were.
        return {"k1": float(self._terms.k1), "b": float(self._terms.b)} if self._terms else {}

    def _save_terms(self, directory: Path) -> None:
        if self._terms:
            self._terms.save(directory, show_progress=False)

    def _find(self, requests: Sequence[WeightedTexts], k: int) -> list[list[Hit]]:
        return [self._best(self._scores(texts), k) for texts in requests]

    def _scores(self, texts: WeightedTexts) -> NDArray[np.float64]:
        """Return the score of each passage, shape (passages,)."""
        scores = np.zeros(len(self._passages))
        if not self._terms:
            return scores
        for text, weight in texts:
            # Sorted, so that word order cannot change how a sum of floats rounds.
            if terms := sorted(self._terms.get_tokens_ids(tokenize(text))):
                scores += weight * self._terms.get_scores_from_ids(terms).astype(np.float64)
        return scores

    def _best(self, scores: NDArray[np.float64], k: int) -> list[Hit]:
        matched = np.flatnonzero(scores > 0)
        best = matched[np.argsort(-scores[matched], kind="stable")[:k]]
        return [Hit(self._passages[row], float(scores[row])) for row in best]


def _check_parameters(k1: float, b: float) -> None:
    if not is_amount(k1):
        raise InvalidInput(f"k1 must be a finite number of at least 0, got {k1!r}")
    if not (is_amount(b) and b <= 1):
        raise InvalidInput(f"b must be a number from 0 to 1, got {b!r}")


def _score_terms(passages: list[Passage], k1: float, b: float) -> bm25s.BM25 | None:
    """Return the score of each term in each passage; ``None`` without any term, which bm25s cannot hold."""
    vocabulary: dict[str, int] = {}
    rows = [
        [vocabulary.setdefault(token, len(vocabulary)) for token in tokenize(searched_text(passage))]
        for passage in passages
    ]
    if not vocabulary:
        return None
    terms = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy")
    terms.index((rows, vocabulary), create_empty_token=False, show_progress=False)
    return terms
