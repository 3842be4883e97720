"""Any index, searched with what a language model makes of the query."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from threading import Lock
from typing import Any, Final, Generic, TypeVar, cast

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval.files import IndexFormat
from pss_integrations.retrieval.fusion import reciprocal_rank_fusion
from pss_integrations.retrieval.index import PassageIndex, WeightedTexts
from pss_integrations.text import tokenize
from pss_integrations.types import Hit, SearcherKind
from pss_integrations.vocabulary import Vocabulary

RANKING_DEPTH: Final = 1000
"""How much of each ranking is fused, whatever is asked for: else a larger ``k`` would change the first ones."""
PASSAGE_WEIGHT: Final[Mapping[SearcherKind, float]] = {"lexical": 0.2, "dense": 1.0, "unknown": 1.0}
"""What a made-up passage weighs against all that is asked: as HyDE averages embeddings, and as query2doc (Wang et al.,
EMNLP 2023) repeats the query for BM25, which a passage's many words would drown."""
_T = TypeVar("_T")


class TransformedIndex(PassageIndex, Generic[_T]):
    """An index that is searched with more than the query.

    The model is asked once for each query, one query at a time, and what it says is remembered: searching again finds
    the same. What an expanded search adds to the query is part of what the model reads. A query without a token finds
    nothing, and is not given to it.

    :param index: What is searched; also a transformed one.
    :param ask: The language model, given what is searched for.
    :param name: What tells the model and its prompt from every other one; by default the ``name`` of ``ask``.
    :raises InvalidInput: If there is no name.
    """

    def __init__(self, index: PassageIndex, ask: Callable[[str], _T], *, name: str | None = None) -> None:
        self._index = index
        self._passages = [*index.passages]
        self.kind = index.kind
        self._name = _checked_name(name or getattr(ask, "name", None))
        self._ask = _Remembering(ask)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """What the passages of the index name."""
        return self._index.vocabulary

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index that is searched, which is to be loaded by its own class. See :meth:`PassageIndex.save`."""
        self._index.save(path)

    @property
    def _parameters(self) -> Mapping[str, Any]:
        return {"index": self._index.index_id, "model": self._name}

    def _find(self, requests: Sequence[WeightedTexts], k: int) -> list[list[Hit]]:
        return [self._search(texts, " ".join(text for text, _ in texts), k) for texts in map(_saying, requests)]

    @abstractmethod
    def _search(self, texts: WeightedTexts, query: str, k: int) -> list[Hit]:
        """Search once.

        :param texts: Those with a token.
        :param query: The same as one text.
        """


class HydeIndex(TransformedIndex[str]):
    """Searches with the query and a passage that a language model makes up to answer it (HyDE, Gao et al., ACL 2023).

    :param index: As for :class:`TransformedIndex`.
    :param write: Makes up a passage for a query; a blank one leaves the query alone.
    :param name: As for :class:`TransformedIndex`.
    """

    _format = IndexFormat("HyDE index", "pss-hyde-1")

    def __init__(self, index: PassageIndex, write: Callable[[str], str], *, name: str | None = None) -> None:
        super().__init__(index, write, name=name)

    def _search(self, texts: WeightedTexts, query: str, k: int) -> list[Hit]:
        passage = _checked_text("write", self._ask(query)) if texts else ""
        weight = PASSAGE_WEIGHT[self.kind] * sum(weight for _, weight in texts)
        return self._index._find([[*texts, *_saying([(passage, weight)])]], k)[0]


class DecomposedIndex(TransformedIndex[Sequence[str]]):
    """Searches for the query and for each question that a language model splits it into, and fuses what is found.

    Scores are those of :func:`~pss_integrations.retrieval.reciprocal_rank_fusion`, of the first 1,000 passages each.

    :param index: As for :class:`TransformedIndex`.
    :param decompose: Splits a query into questions; those that repeat it or are blank are left out.
    :param name: As for :class:`TransformedIndex`.
    """

    _format = IndexFormat("decomposed index", "pss-decomposed-1")

    def __init__(
        self, index: PassageIndex, decompose: Callable[[str], Sequence[str]], *, name: str | None = None
    ) -> None:
        super().__init__(index, decompose, name=name)

    def _search(self, texts: WeightedTexts, query: str, k: int) -> list[Hit]:
        questions = _checked_texts("decompose", self._ask(query)) if texts else []
        parts = [[(one, 1.0)] for one in dict.fromkeys(questions) if one != query and tokenize(one)]
        rankings = self._index._find([texts, *parts], RANKING_DEPTH)
        fused = reciprocal_rank_fusion(rankings, key=lambda hit: hit.doc_id)
        return [Hit(hit.passage, score) for hit, score in fused[:k]]


class _Remembering(Generic[_T]):
    """A function of a text that is called once for each, by one thread at a time."""

    def __init__(self, function: Callable[[str], _T]) -> None:
        self._function, self._lock = function, Lock()
        self._said = dict[str, _T]()

    def __call__(self, text: str) -> _T:
        with self._lock:
            if text not in self._said:
                self._said[text] = self._function(text)
            return self._said[text]


def _saying(texts: WeightedTexts) -> list[tuple[str, float]]:
    """The texts that have a token."""
    return [(text, weight) for text, weight in texts if tokenize(text)]


def _checked_name(name: object) -> str:
    if not (isinstance(name, str) and name.strip()):
        raise InvalidInput(f"say by name=... what tells this model and its prompt from every other one, got {name!r}")
    return name


def _checked_text(name: str, said: object) -> str:
    if not isinstance(said, str):
        raise InvalidInput(f"{name} must return a string, got {type(said).__name__}")
    return said


def _checked_texts(name: str, said: object) -> list[str]:
    if isinstance(said, str) or not isinstance(said, Sequence):
        raise InvalidInput(f"{name} must return a list of strings, got {type(said).__name__}")
    return [_checked_text(name, one) for one in cast("Sequence[object]", said)]
