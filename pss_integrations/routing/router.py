"""The one path from query to documents; both framework faces run it.

Reasons, in the order in which they are tried:

==================  =====  =========================================================
``blank_query``     raw    nothing to rewrite
``self_contained``  raw    the query needs no session; the reader is never asked
``no_session``      raw    no complete identity
``no_state``        raw    nothing was compiled for the session
``unusable_clue``   raw    the clue is blank, endless, a heading, a loop or an echo
``clue_failed``     raw    ``rrf``: the search with the clue failed, the raw one stands
``raw_failed``      pss    ``rrf``: the raw search failed, the one with the clue stands
``clue``            pss    the clue was used
==================  =====  =========================================================
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Generic, Literal, TypedDict, Unpack, get_args

from pss_integrations.errors import HistoryDiverged, InvalidInput, StateNotFound
from pss_integrations.identity import MISSING_IDENTITY, require
from pss_integrations.protocols import ClueReader
from pss_integrations.retrieval.fusion import check_positive_int, reciprocal_rank_fusion
from pss_integrations.routing.guard import is_self_contained, is_usable_clue
from pss_integrations.types import (
    COMPOSITIONS,
    Clue,
    Composition,
    DocumentT,
    Message,
    Route,
    Routed,
    SessionKey,
)

OnMissingIdentity = Literal["raw", "raise"]
Search = Callable[[str, Route], Sequence[DocumentT]]
AsyncSearch = Callable[[str, Route], Coroutine[Any, Any, Sequence[DocumentT]]]

_log = logging.getLogger(__name__)


class RewriterOptions(TypedDict, total=False):
    """The keyword arguments of :class:`Rewriter`."""

    composition: Composition
    query_weight: int
    on_missing_identity: OnMissingIdentity


class Rewriter:
    """Turns a query into the text to search with, or leaves it alone.

    :param reader: Writes the clues; a ``StateManager``.
    :param composition: How a clue meets the query: ``"append"``, ``"replace"`` or ``"rrf"``.
    :param query_weight: How often ``append`` repeats the query before the clue; at least 1.
    :param on_missing_identity: ``"raw"`` leaves queries without a session alone and warns once;
        ``"raise"`` raises, whatever the query.
    :raises InvalidInput: If an option is none of these.
    """

    def __init__(
        self,
        reader: ClueReader,
        *,
        composition: Composition = "append",
        query_weight: int = 1,
        on_missing_identity: OnMissingIdentity = "raw",
    ) -> None:
        _check_choice("composition", composition, COMPOSITIONS)
        _check_choice("on_missing_identity", on_missing_identity, get_args(OnMissingIdentity))
        check_positive_int("query_weight", query_weight)
        self._reader = reader
        self._composition: Composition = composition
        self._query_weight = query_weight
        self._on_missing_identity = on_missing_identity
        self._warned = False
        self._last: ContextVar[Routed[Any] | None] = ContextVar("last_decision", default=None)

    @property
    def last_decision(self) -> Routed[Any] | None:
        """The last decision made in this context (task or thread); ``None`` if there was none."""
        return self._last.get()

    @last_decision.setter
    def last_decision(self, decision: Routed[Any] | None) -> None:
        self._last.set(decision)

    def decide(self, query: str, session: SessionKey | None, messages: Sequence[Message] = ()) -> Routed[Any]:
        """Decide before any search; the result has no documents yet.

        :param messages: The live history, only to say how old the state is.
        :raises MissingIdentity: If there is no session and the rewriter was told to raise.
        :raises StateError: What the reader raises, ``StateNotFound`` excepted.
        """
        self.last_decision = None  # a failure must not leave the decision of an earlier call behind
        decision = self._abstain(query, session) or self._read(query, require(session), messages)
        self.last_decision = decision
        return decision

    async def adecide(self, query: str, session: SessionKey | None, messages: Sequence[Message] = ()) -> Routed[Any]:
        """Do the same without blocking the event loop."""
        self.last_decision = None
        decision = self._abstain(query, session) or await self._aread(query, require(session), messages)
        self.last_decision = decision
        return decision

    def text(self, query: str, decision: Routed[Any]) -> str:
        """Return the text to search with: the query itself on the raw route."""
        if decision.route == "raw" or decision.clue is None:
            return query
        if self._composition == "append":
            return " ".join([query] * self._query_weight + [decision.clue.text])
        return decision.clue.text

    def _abstain(self, query: str, session: SessionKey | None) -> Routed[Any] | None:
        """Return the decision where the reader need not be asked."""
        if self._on_missing_identity == "raise":
            require(session)
        if not query.strip():
            return _raw("blank_query")
        if is_self_contained(query):
            return _raw("self_contained")
        if session is None:
            self._warn_once()
            return _raw("no_session")
        return None

    def _read(self, query: str, session: SessionKey, messages: Sequence[Message]) -> Routed[Any]:
        try:
            clue = self._reader.read(session, query)
        except StateNotFound:
            return _raw("no_state")
        return self._judge(query, clue, self._behind(session, messages) if messages else None)

    async def _aread(self, query: str, session: SessionKey, messages: Sequence[Message]) -> Routed[Any]:
        try:
            clue = await self._reader.aread(session, query)
        except StateNotFound:
            return _raw("no_state")
        behind = await asyncio.to_thread(self._behind, session, messages) if messages else None
        return self._judge(query, clue, behind)

    def _warn_once(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"{MISSING_IDENTITY}; searching with the query as it is", UserWarning, 2)

    def _behind(self, key: SessionKey, messages: Sequence[Message]) -> int | None:
        """Count what came after the compile; a history that was cut or edited tells nothing."""
        try:
            return self._reader.messages_behind(key, messages)
        except (HistoryDiverged, StateNotFound):
            return None

    def _judge(self, query: str, clue: Clue, behind: int | None) -> Routed[Any]:
        if not clue.finished or not is_usable_clue(clue.text, query):
            return Routed((), "raw", "unusable_clue", clue=clue, messages_behind=behind)
        return Routed((), "pss", "clue", self._composition, clue, behind)


class Router(Rewriter, Generic[DocumentT]):
    """Searches with what :class:`Rewriter` decided, over the framework's own documents.

    :param reader: Writes the clues; a ``StateManager``.
    :param key: Names a document; two that share a key are one in ``rrf``.
    :param rescore: Returns a copy of a document that carries its fused score; called in ``rrf`` only.
    :param options: Those of :class:`Rewriter`.
    """

    def __init__(
        self,
        reader: ClueReader,
        *,
        key: Callable[[DocumentT], str],
        rescore: Callable[[DocumentT, float], DocumentT],
        **options: Unpack[RewriterOptions],
    ) -> None:
        super().__init__(reader, **options)
        self._key = key
        self._rescore = rescore

    def route(
        self,
        query: str,
        session: SessionKey | None,
        search: Search[DocumentT],
        *,
        k: int | None = None,
        messages: Sequence[Message] = (),
    ) -> Routed[DocumentT]:
        """Decide, search, and fuse.

        :param search: The wrapped retriever. It gets a text and the route that it is searched for, and on
            the raw route the very query, once.
        :param k: Return no more than these; ``None`` cuts nothing, and ``rrf`` to the longer of its lists.
        :param messages: The live history, only to say how old the state is.
        :raises InvalidInput: If ``k`` is no positive integer.
        :raises MissingIdentity: If there is no session and the router was told to raise.
        """
        if k is not None:
            check_positive_int("k", k)
        decision = self.decide(query, session, messages)
        found = [_attempt(search, text, route) for text, route in self._searches(query, decision)]
        self.last_decision = routed = self._finish(decision, found, k)
        return routed

    async def aroute(
        self,
        query: str,
        session: SessionKey | None,
        search: AsyncSearch[DocumentT],
        *,
        k: int | None = None,
        messages: Sequence[Message] = (),
    ) -> Routed[DocumentT]:
        """Do the same without blocking the event loop; the two searches of ``rrf`` run concurrently."""
        if k is not None:
            check_positive_int("k", k)
        decision = await self.adecide(query, session, messages)
        searches = [search(text, route) for text, route in self._searches(query, decision)]
        found = await asyncio.gather(*searches, return_exceptions=True)
        self.last_decision = routed = self._finish(decision, found, k)
        return routed

    def _searches(self, query: str, decision: Routed[Any]) -> list[tuple[str, Route]]:
        chosen: tuple[str, Route] = (self.text(query, decision), decision.route)
        return [(query, "raw"), chosen] if decision.composition == "rrf" else [chosen]

    def _finish(
        self, decision: Routed[Any], found: Sequence[Sequence[DocumentT] | BaseException], k: int | None
    ) -> Routed[DocumentT]:
        """Put the documents into the decision; one failed search of two does not sink the other."""
        lists = [one for one in found if not isinstance(one, BaseException)]
        errors = [one for one in found if isinstance(one, BaseException)]
        if not lists:
            raise errors[0]
        if errors:
            _log.warning("one of the two searches of rrf failed with %s", type(errors[0]).__name__)
            decision = _without(decision, "raw" if found[0] is errors[0] else "pss")
        documents = lists[0][:k] if len(lists) == 1 else self._fuse(lists, k)
        return replace(decision, documents=tuple(documents))

    def _fuse(self, lists: Sequence[Sequence[DocumentT]], k: int | None) -> list[DocumentT]:
        fused = reciprocal_rank_fusion(lists, key=self._key)
        return [self._rescore(document, score) for document, score in fused[: k or max(map(len, lists))]]


def _raw(reason: str) -> Routed[Any]:
    return Routed((), "raw", reason)


def describe(decision: Routed[Any], query: str, *, explain: bool) -> dict[str, Any]:
    """Return what events and metadata say of a decision; texts only if ``explain``.

    ``confidence`` is the clue's mean log-probability per token: no score of a document, and not calibrated.
    """
    clue = decision.clue
    said = {
        "route": decision.route,
        "reason": decision.reason,
        "composition": decision.composition,
        "confidence": clue.mean_logprob if clue else None,
        "messages_behind": decision.messages_behind,
    }
    return said | {"query": query, "clue": clue.text if clue else None} if explain else said


def _attempt(search: Search[DocumentT], text: str, route: Route) -> Sequence[DocumentT] | Exception:
    try:
        return search(text, route)
    except Exception as error:  # raised again unless the other search of rrf stands
        return error


def _without(decision: Routed[Any], failed: Route) -> Routed[Any]:
    if failed == "raw":
        return replace(decision, reason="raw_failed")
    return replace(decision, route="raw", reason="clue_failed", composition=None)


def _check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InvalidInput(f"unknown {name} {value!r}: use one of {', '.join(choices)}")
