"""The one path from query to documents; both framework faces run it.

What can be decided from the query alone is decided first, and costs the one search that was asked for. Otherwise
the raw search is made, then that of each candidate, the card and the clue; the guard looks at what each found, and
the best that it lets through is returned. The reasons, in the order in which they are tried:

==================  ======  =======================================================
``blank_query``     raw     nothing to rewrite
``self_contained``  raw     the query needs no session; the reader is never asked
``no_session``      raw     no complete identity
``no_state``        raw     nothing was compiled for the session, and there is no card
``unusable_clue``   raw     the clue is blank, endless, a heading, a loop or an echo
``nothing_to_add``  raw     only cards are tried, and the messages give none
``search_failed``   raw     the searches with what was added failed
``guarded``         raw     the guard let no candidate through
``card``            card    the card was used
``clue``            pss     the clue was used
==================  ======  =======================================================
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os import PathLike
from typing import Generic, TypedDict, Unpack, cast

from pss_integrations.errors import InvalidInput, StateNotFound
from pss_integrations.protocols import ClueReader
from pss_integrations.retrieval.fusion import check_positive_int, is_amount, reciprocal_rank_fusion
from pss_integrations.retrieval.wrapped import check_name
from pss_integrations.routing import features as observed
from pss_integrations.routing.card import Card, CardBuilder, SessionCards
from pss_integrations.routing.certificate import BUILT_IN, Binding, Certificate, as_certificate
from pss_integrations.routing.features import Features
from pss_integrations.routing.flow import AsyncSearch, Find, Flow, Look, Search, awalk, walk
from pss_integrations.routing.guard import Decision, decide
from pss_integrations.routing.rewriter import OnMissingIdentity, SessionReader, check_choice
from pss_integrations.routing.rules import is_usable_clue
from pss_integrations.routing.wording import PLANS, Wording
from pss_integrations.text import tokenize
from pss_integrations.types import (
    COMPOSITIONS,
    ROUTES,
    Clue,
    Composition,
    DocumentT,
    Hit,
    Message,
    Route,
    Routed,
    SearcherKind,
    SessionKey,
)
from pss_integrations.vocabulary import Vocabulary

_log = logging.getLogger(__name__)
_LIGHTEST, _HEAVIEST = 0.01, 100  # a searcher that takes one text gets the query repeated so often


class RouterOptions(TypedDict, total=False):
    """The keyword arguments of :class:`Router` that the faces hand on."""

    routes: Sequence[Route]
    composition: Composition
    query_weight: float | None
    kind: SearcherKind
    vocabulary: Collection[str] | None
    cards: CardBuilder | None
    certificate: Certificate | str | PathLike[str] | None
    index_id: str | None
    on_missing_identity: OnMissingIdentity


@dataclass(frozen=True, slots=True)
class Candidate(Generic[DocumentT]):
    """What was found with something added, and what the guard says of it."""

    route: Route
    documents: Sequence[DocumentT]
    features: Features
    verdict: Decision

    def rank(self, preferred: Route) -> tuple[bool, float, bool, float, bool]:
        """Sorts the better one last: by score; of equals an exact clue, what is supported more, the preferred route."""
        is_exact_clue = self.route == "pss" and self.features.exact > 0
        is_preferred = self.route == preferred
        return self.verdict.activates, self.verdict.score, is_exact_clue, self.features.support, is_preferred


@dataclass(slots=True)
class _Call(Generic[DocumentT]):
    """A query on its way: what it came with, and what was made for it, used or not."""

    query: str
    session: SessionKey | None
    messages: Sequence[Message]
    raw: Sequence[DocumentT]
    features: Features
    certificate: Certificate
    raw_hits: Sequence[Hit] = ()
    card: Card = field(default_factory=Card)
    clue: Clue | None = None
    behind: int | None = None
    reason: str = "nothing_to_add"
    candidates: Sequence[Candidate[DocumentT]] = ()


class Router(SessionReader[DocumentT]):
    """Chooses between the raw query, a card of the session and the clue of its state.

    :param reader: Writes the clues; a ``StateManager``. ``None`` leaves raw and card, which need no identity.
    :param hit: Says what a document is: its id, which names it in ``rrf``, its text and its score.
    :param rescore: Returns a copy of a document that carries its fused score; called in ``rrf`` only.
    :param routes: What is tried and paid for; the raw one always is.
    :param composition: How card and clue meet the query: ``"append"``, ``"replace"`` or ``"rrf"``.
    :param query_weight: Weight of the query in ``append``; what measured best for ``kind`` by default.
    :param kind: What searches: by words, by meaning, or not known.
    :param vocabulary: What the index names; tells names from noise in cards, and rare words in features.
    :param cards: Makes the cards; :class:`~pss_integrations.routing.SessionCards` by default.
    :param certificate: What the guard decides by, or its file; the built-in one, which promises nothing, by default.
    :param index_id: The index that is searched; a calibrated certificate holds for one.
    :param on_missing_identity: See :class:`~pss_integrations.routing.rewriter.SessionReader`.
    :raises InvalidInput: If an option is none of these.
    """

    def __init__(
        self,
        reader: ClueReader | None,
        *,
        hit: Callable[[DocumentT], Hit],
        rescore: Callable[[DocumentT, float], DocumentT],
        **options: Unpack[RouterOptions],
    ) -> None:
        for name in options:
            check_choice("option", name, sorted(RouterOptions.__optional_keys__))
        _check_reader(reader)
        routes = options.get("routes", ROUTES if reader is not None else ("raw", "card"))
        _check_routes(routes, reader)
        super().__init__(reader if "pss" in routes else None, options.get("on_missing_identity", "raw"))
        self._hit, self._rescore, self._routes = hit, rescore, frozenset(routes)
        self._composition: Composition = options.get("composition", "append")
        check_choice("composition", self._composition, COMPOSITIONS)
        self._weight = options.get("query_weight")
        if self._weight is not None and not (is_amount(self._weight) and _LIGHTEST <= self._weight <= _HEAVIEST):
            raise InvalidInput(f"query_weight must be a number from {_LIGHTEST} to {_HEAVIEST}, got {self._weight!r}")
        kind = options.get("kind", "unknown")
        check_choice("kind", kind, tuple(PLANS))
        self._plan = PLANS[kind]
        self._vocabulary = _as_vocabulary(options.get("vocabulary"))
        self._cards = options.get("cards") or SessionCards(self._vocabulary)
        if not isinstance(self._cards, CardBuilder):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"cards must have a method build, got {type(self._cards).__name__}")
        self._certificate = as_certificate(options.get("certificate"))
        check_name("index_id", options.get("index_id"))
        self._index_id = options.get("index_id")
        self._told = False

    @cached_property
    def settings(self) -> str:
        """What is tried and how it is searched for, in words; a calibrated certificate holds for these alone."""
        known = "no" if self._vocabulary is None else f"{len(self._vocabulary)}"
        weight = self._plan if self._weight is None else self._weight
        cards = type(self._cards).__qualname__
        return f"{'+'.join(sorted(self._routes))}, {self._composition}, {weight}, {cards}, {known} names"

    def route(
        self,
        query: str,
        session: SessionKey | None,
        search: Search,
        *,
        k: int | None = None,
        messages: Sequence[Message] = (),
    ) -> Routed[DocumentT]:
        """Decide, search, and fuse.

        :param search: The wrapped retriever. It gets a wording and the route that it is searched for: first, and on
            the raw route alone, the very query.
        :param k: Return no more than these; ``None`` cuts nothing, and ``rrf`` to the longer of its lists.
        :param messages: The live history: what cards are made of, and what tells how old the state is.
        :raises InvalidInput: If ``k`` is no positive integer, or the raw search returns no list.
        :raises MissingIdentity: If there is no session and the router was told to raise.
        """
        flow = self._begin(query, session, k, messages)
        self.last_decision = routed = walk(flow, self._reader, search)
        return routed

    async def aroute(
        self,
        query: str,
        session: SessionKey | None,
        search: AsyncSearch,
        *,
        k: int | None = None,
        messages: Sequence[Message] = (),
    ) -> Routed[DocumentT]:
        """Do the same without blocking the event loop."""
        flow = self._begin(query, session, k, messages)
        self.last_decision = routed = await awalk(flow, self._reader, search)
        return routed

    def observe(
        self, query: str, session: SessionKey | None, search: Search, *, messages: Sequence[Message] = ()
    ) -> tuple[Sequence[DocumentT], Sequence[Candidate[DocumentT]]]:
        """Return what the raw search found, and every candidate, whether the guard lets it through or not.

        :param search: As for :meth:`route`.
        :param messages: As for :meth:`route`.
        """
        call = walk(self._consider(query, session, messages, guarded=False), self._reader, search)
        return call.raw, call.candidates

    def _begin(
        self, query: str, session: SessionKey | None, k: int | None, messages: Sequence[Message]
    ) -> Flow[Routed[DocumentT]]:
        if k is not None:
            check_positive_int("k", k)
        self.last_decision = None  # a failure must not leave the decision of an earlier call behind
        return self._flow(query, session, k, messages)

    def _flow(
        self, query: str, session: SessionKey | None, k: int | None, messages: Sequence[Message]
    ) -> Flow[Routed[DocumentT]]:
        call = yield from self._consider(query, session, messages, guarded=True)
        return self._choose(call, max(call.candidates, key=lambda one: one.rank(self._plan.prefers), default=None), k)

    def _consider(
        self, query: str, session: SessionKey | None, messages: Sequence[Message], *, guarded: bool
    ) -> Flow[_Call[DocumentT]]:
        """Search and read what has to be.

        :param guarded: Whether the guard may end it before anything but the raw search.
        """
        features = observed.of_query(query)
        reason = self._needs_no_session(query, session)
        if reason is None and not self._routes - {"raw"}:
            reason = "nothing_to_add"
        raw: Sequence[DocumentT] = yield Find(Wording(query), "raw")
        if reason:
            return _Call(query, session, messages, raw, features, BUILT_IN, reason=reason)
        hits = self._hits(raw)
        features = yield Look(partial(observed.with_raw, features, query, hits, self._vocabulary))
        certificate = yield from self._fitting_certificate(session)
        call = _Call(query, session, messages, raw, features, certificate, hits)
        if guarded and certificate.sees_query_alone and not decide(features, certificate).activates:
            call.reason = "guarded"
            return call
        if messages and "card" in self._routes:
            call.card = yield Look(lambda: self._cards.build(messages, self._plan.words))
        call.candidates = [*(yield from self._try_card(call)), *(yield from self._try_clue(call))]
        return call

    def _try_card(self, call: _Call[DocumentT]) -> Flow[list[Candidate[DocumentT]]]:
        if "card" not in self._routes or not is_usable_clue(call.card.text, call.query):
            return []
        return (yield from self._try(call, "card", call.card.text, call.features))

    def _try_clue(self, call: _Call[DocumentT]) -> Flow[list[Candidate[DocumentT]]]:
        if "pss" not in self._routes or call.session is None:
            return []
        try:
            call.clue, call.behind = yield from self._clue(call.query, call.session, call.messages)
        except StateNotFound:
            call.reason = "no_state"
            return []
        if not (call.clue.finished and is_usable_clue(call.clue.text, call.query)):
            call.reason = "unusable_clue"
            return []
        said = yield Look(lambda: {token for message in call.messages for token in tokenize(message.text)})
        features = observed.with_clue(call.features, call.clue, said, call.behind)
        return (yield from self._try(call, "pss", call.clue.text, features))

    def _try(
        self, call: _Call[DocumentT], route: Route, added: str, features: Features
    ) -> Flow[list[Candidate[DocumentT]]]:
        weight = self._weight if self._weight is not None else self._plan.weight(route, added)
        wording = Wording(call.query if self._composition == "append" else "", added, weight)
        try:
            documents: Sequence[DocumentT] = yield Find(wording, route)
            found = self._hits(documents)
        except Exception as error:  # the raw search stands
            _log.warning("the search of route %s failed with %s", route, type(error).__name__)
            call.reason = "search_failed"
            return []
        tried = partial(observed.with_candidate, features, call.query, added, found, call.raw_hits, self._vocabulary)
        features = yield Look(tried)
        return [Candidate(route, documents, features, decide(features, call.certificate))]

    def _choose(self, call: _Call[DocumentT], best: Candidate[DocumentT] | None, k: int | None) -> Routed[DocumentT]:
        routed = Routed(
            tuple(call.raw[:k]),
            "raw",
            "guarded" if best else call.reason,
            features=(best.features if best else call.features).to_dict(),
            clue=call.clue,
            card=call.card.text,
            calibrated=call.certificate.is_calibrated,
            supported=best.verdict.is_supported if best else None,
            messages_behind=call.behind,
        )
        if best is None or not best.verdict.activates:
            return routed
        return replace(
            routed,
            passages=tuple(self._finish(best.documents, call.raw, k)),
            route=best.route,
            reason="clue" if best.route == "pss" else best.route,
            composition=self._composition,
        )

    def _finish(self, found: Sequence[DocumentT], raw: Sequence[DocumentT], k: int | None) -> Sequence[DocumentT]:
        if self._composition != "rrf":
            return found[:k]
        fused = reciprocal_rank_fusion([raw, found], key=lambda document: self._hit(document).doc_id)
        return [self._rescore(document, score) for document, score in fused[: k or max(len(raw), len(found))]]

    def _hits(self, documents: Sequence[DocumentT]) -> list[Hit]:
        return [self._hit(document) for document in documents[: observed.TOP]]

    def _fitting_certificate(self, session: SessionKey | None) -> Flow[Certificate]:
        """Return the certificate if it holds here, else the built-in one, and warn once."""
        promised, binding = self._certificate.binding, None
        if promised is not None and self._index_id:
            engine = yield from self._engine(session, promised)
            binding = Binding(index_id=self._index_id, engine=engine, settings=self.settings)
        if mismatch := self._certificate.mismatch(binding):
            if not self._told:
                self._told = True
                warnings.warn(f"the guard's certificate {mismatch}; going on with the built-in one", UserWarning, 2)
            return BUILT_IN
        return self._certificate

    def _engine(self, session: SessionKey | None, promised: Binding) -> Flow[str | None]:
        if self._reader is None or session is None:
            return None
        reader = self._reader
        try:
            return (yield Look(lambda: reader.engine_of(session)))
        except StateNotFound:  # no clue will come of any engine
            return promised.engine


def _as_vocabulary(names: Collection[str] | None) -> Vocabulary | None:
    if names is None or isinstance(names, Vocabulary):
        return names
    if not isinstance(names, Collection):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"vocabulary must be a collection of names, got {type(names).__name__}")
    return Vocabulary(names)


def _check_reader(reader: ClueReader | None) -> None:
    if reader is not None and not isinstance(reader, ClueReader):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a StateManager, or what reads states as it does, is needed, got {type(reader).__name__}")


def _check_routes(routes: Sequence[Route], reader: ClueReader | None) -> None:
    if not isinstance(routes, Collection):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"routes must be a list of routes, got {type(routes).__name__}")
    for route in cast("Sequence[str]", (routes,) if isinstance(routes, str) else routes):
        check_choice("route", route, ROUTES)
    if "pss" in routes and reader is None:
        raise InvalidInput("the route 'pss' needs a manager, which reads the states")
