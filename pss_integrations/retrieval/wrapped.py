"""A framework's retriever as a searcher: what both faces share, without a framework."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Generic, TypeVar, cast

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval.index import check_request
from pss_integrations.types import Hit, Passage

FoundT = TypeVar("FoundT")
"""What the framework's retrievers return lists of."""


class WrappedRetriever(ABC, Generic[FoundT]):
    """Searches as a framework's retriever does, in the retriever's own order.

    The retriever is asked for a query as it is, a blank one too, and decides itself how much it returns: more
    than ``k`` is cut, fewer is fine. What it returns twice counts once, where it came first.

    Scores are the retriever's own if each is a finite number and none is above the one before. Otherwise, as
    with missing scores or distances, they are ``1 / rank``. What it raises is raised on as it is.

    :param retriever: The retriever; nothing it returns is changed.
    :param index_id: What tells its index, as it is now, from every other one, if the caller knows.
    :raises InvalidInput: If ``retriever`` is none of the framework's, or ``index_id`` is blank or no string.
    """

    _retriever_kind: ClassVar[type]
    _found_kind: ClassVar[type[Any]]

    def __init__(self, retriever: Any, index_id: str | None) -> None:
        if not isinstance(retriever, self._retriever_kind):
            raise InvalidInput(
                f"retriever must be a {self._retriever_kind.__name__} of the framework, got {type(retriever).__name__}"
            )
        check_name("index_id", index_id)
        self._retriever = retriever
        self._index_id = index_id

    @property
    def index_id(self) -> str | None:
        """What the caller said tells its index from every other one; ``None`` if not known."""
        return self._index_id

    @property
    def name(self) -> str | None:
        """The retriever's own name; ``None`` if it has none."""
        name = getattr(self._retriever, "name", None)
        return name if isinstance(name, str) else None

    def search(self, query: str, k: int) -> list[Hit]:
        """Find passages.

        :param query: Any text.
        :param k: The most hits to return, a positive int.
        :return: Hits, best first, in the retriever's order.
        :raises InvalidInput: If the query is no string, ``k`` no positive int, or the retriever returned
            anything but a list of what retrievers return.
        """
        check_request([query], k)
        return self._hits(self._retrieve(query), k)

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search once per query, one after the other.

        :return: One list of hits per query, in order.
        :raises InvalidInput: As :meth:`search`, or if ``queries`` is itself a string.
        """
        check_request(queries, k)
        return [self._hits(self._retrieve(query), k) for query in queries]

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Search without blocking the event loop. See :meth:`search`."""
        check_request([query], k)
        return self._hits(await self._aretrieve(query), k)

    def _hits(self, found: object, k: int) -> list[Hit]:
        by_id: dict[str, tuple[Passage, object]] = {}
        for item in checked_list(found, self._found_kind, self._retriever):
            passage = self._passage(item)
            by_id.setdefault(passage.doc_id, (passage, self._score(item)))
        # Of all that was found, so that a hit's score does not depend on k.
        scores = _falling([score for _, score in by_id.values()])
        return [Hit(passage, score) for (passage, _), score in zip(by_id.values(), scores, strict=True)][:k]

    @abstractmethod
    def _retrieve(self, query: str) -> object:
        """Ask the retriever; what comes back is checked."""

    @abstractmethod
    async def _aretrieve(self, query: str) -> object:
        """Do the same without blocking the event loop."""

    @abstractmethod
    def _passage(self, item: FoundT) -> Passage: ...

    @abstractmethod
    def _score(self, item: FoundT) -> object:
        """Return what the retriever says is the score, which may be anything."""


def checked_list(found: object, kind: type[FoundT], retriever: object) -> list[FoundT]:
    """Return what a retriever found, if it is a list of what retrievers return.

    :raises InvalidInput: If it is anything else, such as ``None``.
    """
    if not isinstance(found, list):
        raise no_list(kind, retriever, f"got {type(found).__name__}")
    for item in cast("list[object]", found):
        if not isinstance(item, kind):
            raise no_list(kind, retriever, f"got a list with a {type(item).__name__}")
    return cast("list[FoundT]", found)


def no_list(kind: type, retriever: object, what: str) -> InvalidInput:
    """Return the error that says what a retriever must return, and what it did instead."""
    return InvalidInput(
        f"{type(retriever).__name__} must return a list of {kind.__name__}, an empty one where nothing is found: {what}"
    )


def check_name(name: str, value: object) -> None:
    """Refuse anything but ``None`` or a string that is not blank.

    :raises InvalidInput: If it is something else.
    """
    if value is not None and not (isinstance(value, str) and value.strip()):
        raise InvalidInput(f"{name} must be a string that is not blank, or None, got {value!r}")


def _falling(scores: Sequence[Any]) -> list[float]:
    """The scores themselves if they are numbers that never rise, else one over the rank."""
    numbers = [number for score in scores if (number := as_number(score)) is not None]
    if len(numbers) == len(scores) and all(before >= after for before, after in pairwise(numbers)):
        return numbers
    return [1 / rank for rank in range(1, len(scores) + 1)]


def as_number(value: Any) -> float | None:
    """Return a finite number, numpy's too, as a float; ``None`` for anything else."""
    numpy = sys.modules.get("numpy")  # nobody has made a number of it who did not import it
    value = value.item() if numpy and isinstance(value, numpy.generic) else value
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) <= sys.float_info.max else None
