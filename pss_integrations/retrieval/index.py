"""What every index of passages has in common: its contract, its checks, and how two texts are searched as one."""

from __future__ import annotations

import asyncio
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, Self

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval.files import IndexFormat
from pss_integrations.retrieval.fusion import check_positive_int, is_amount
from pss_integrations.text import tokenize
from pss_integrations.types import Hit, Passage, SearcherKind
from pss_integrations.vocabulary import Vocabulary

WeightedTexts = Sequence[tuple[str, float]]
"""Texts that are searched as one, each with its weight."""

_LIGHTEST, _HEAVIEST = 1e-6, 1e6  # beyond them one of two texts is lost in rounding


class PassageIndex(ABC):
    """Passages that can be searched; the searched text is title and text together.

    It never changes once built, and any number of threads may search it. What it finds depends on the set
    of passages, not on their order. A text without a token (:func:`~pss_integrations.text.tokenize`: blanks,
    punctuation, emoji) neither finds anything nor is found.
    """

    kind: SearcherKind
    """What it compares."""
    _format: ClassVar[IndexFormat]
    _passages: list[Passage]
    """In order of ``doc_id``, which a stable sort keeps among equal scores."""

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self._passages)

    @property
    def passages(self) -> Sequence[Passage]:
        """What is searched, in order of ``doc_id``."""
        return self._passages

    def __deepcopy__(self, memo: object) -> Self:
        """Return the index itself: it never changes, and copies of what holds it share it."""
        return self

    @cached_property
    def index_id(self) -> str:
        """SHA-256 of all that decides what a query finds, 64 hex digits; it survives saving and loading.

        Kind, format and parameters of the index count, and each passage's id, title and text; the order of the
        passages and their metadata do not.
        """
        texts = ([passage.doc_id, passage.title, passage.text] for passage in self._passages)
        digest = hashlib.sha256()
        # JSON, a line each: no two indexes write the same bytes, and a lone surrogate can be encoded.
        for record in (self._format.version, self._parameters, *texts):
            digest.update(f"{json.dumps(record, sort_keys=True)}\n".encode())
        return digest.hexdigest()

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """What its passages name; made when it is first asked for."""
        return Vocabulary.from_passages(self._passages)

    def search(self, query: str, k: int) -> list[Hit]:
        """Find passages.

        :param query: Any text; blank or punctuation alone finds nothing.
        :param k: The most hits to return, a positive int; it may exceed the number of passages.
        :return: Hits, best first, ties by ``doc_id``.
        :raises InvalidInput: If the query is no string or ``k`` no positive int.
        """
        return self.search_batch([query], k)[0]

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search once per query.

        :return: One list of hits per query, in order.
        :raises InvalidInput: As :meth:`search`, or if ``queries`` is itself a string.
        """
        check_request(queries, k)
        return self._find([[(query, 1.0)] for query in queries], k)

    def search_expanded(self, query: str, added: str, k: int, *, query_weight: float = 1.0) -> list[Hit]:
        """Search with a query and a text added to it, which weigh ``query_weight`` to 1 (Rocchio, 1971).

        What is weighed is what the index scores with: the scores of both texts' terms, or their embeddings.

        :param query: As for :meth:`search`.
        :param added: Any text; a blank one makes this a plain :meth:`search`.
        :param k: As for :meth:`search`.
        :param query_weight: From a millionth to a million.
        :return: As :meth:`search`.
        :raises InvalidInput: As :meth:`search`, or if ``added`` is no string or the weight is out of range.
        """
        _check_text("added", added)
        if not (is_amount(query_weight) and _LIGHTEST <= query_weight <= _HEAVIEST):
            raise InvalidInput(f"query_weight must be a number from {_LIGHTEST} to {_HEAVIEST}, got {query_weight!r}")
        if not tokenize(added):
            return self.search(query, k)
        check_request([query], k)
        return self._find([[(query, query_weight), (added, 1.0)]], k)[0]

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Search in a worker thread, so that the event loop goes on. See :meth:`search`."""
        return await asyncio.to_thread(self.search, query, k)

    @abstractmethod
    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a directory, which is complete whenever it is there.

        :param path: A directory that does not exist yet, is empty, or holds such an index, which is replaced.
        :raises InvalidInput: If something else is there, or a passage's metadata cannot be kept as JSON.
        """

    @property
    @abstractmethod
    def _parameters(self) -> Mapping[str, Any]:
        """Plain JSON: what else than the passages decides what is found."""

    @abstractmethod
    def _find(self, requests: Sequence[WeightedTexts], k: int) -> list[list[Hit]]:
        """Search once per request; all is checked, but a text may lack tokens."""


def check_request(queries: Sequence[str], k: int) -> None:
    """Refuse what no searcher can search for.

    :raises InvalidInput: If ``queries`` is itself a string or holds anything else, or ``k`` is no positive int.
    """
    if isinstance(queries, str):
        raise InvalidInput("queries must be a list of strings, got one string")
    for query in queries:
        _check_text("query", query)
    check_positive_int("k", k)


def checked_passages(passages: Iterable[Passage]) -> list[Passage]:
    """Return passages in order of ``doc_id``.

    :raises InvalidInput: If an item is no passage of strings, or two share a ``doc_id``.
    """
    by_id: dict[str, Passage] = {}
    for passage in passages:
        _check_passage(passage)
        if passage.doc_id in by_id:
            raise InvalidInput(f"two passages have the doc_id {passage.doc_id!r}: each needs one of its own")
        by_id[passage.doc_id] = passage
    return [by_id[doc_id] for doc_id in sorted(by_id)]


def searched_text(passage: Passage) -> str:
    """Title and text together."""
    return f"{passage.title}\n{passage.text}".strip()


def _check_passage(passage: object) -> None:
    if not isinstance(passage, Passage):
        raise InvalidInput(f"an index is made of Passage values, got {type(passage).__name__}")
    texts: list[Any] = [passage.doc_id, passage.title, passage.text]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInput(f"doc_id, title and text of passage {passage.doc_id!r} must be strings")


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, got {type(value).__name__}")
