"""Replays stored chats through the router: what it would have done, before anybody lets it do so.

It needs no labels, compiles nothing and writes nothing: neither to the states nor to the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, TypeVar, Unpack, cast

from pss_integrations.errors import InvalidInput, StateError
from pss_integrations.protocols import ClueReader, Searcher
from pss_integrations.retrieval.fusion import check_positive_int
from pss_integrations.routing import features as observed
from pss_integrations.routing.router import Router, RouterOptions
from pss_integrations.routing.rules import is_self_contained
from pss_integrations.routing.searching import find, router_options
from pss_integrations.routing.shadow_report import Example, Replayed, ShadowReport, Shown
from pss_integrations.routing.wording import Wording
from pss_integrations.types import ROUTES, Hit, Message, Route, Routed, SessionKey

EXAMPLES = 10
_TITLE_CHARS = 80
ShownT = TypeVar("ShownT")

StoredSession = tuple[SessionKey | None, Sequence[Message]]
"""A stored chat, and whose it is; ``None`` where that is not known: no state is read for it."""


def shadow(
    sessions: Iterable[StoredSession],
    searcher: Searcher,
    reader: ClueReader | None = None,
    *,
    k: int = 4,
    examples: bool = True,
    progress: Callable[[int], None] | None = None,
    **options: Unpack[RouterOptions],
) -> ShadowReport:
    """Ask the router for every query of stored chats, with the messages before it as the live history.

    A query is a user's message after the first one. An error of the retriever or of a state is counted, and the
    replay goes on.

    :param sessions: Chats, each read once, one after the other.
    :param searcher: What is searched; a retriever of a framework in its face's ``RetrieverSearcher``.
    :param reader: Writes the clues; a ``StateManager``. Sessions without a state have the routes raw and card.
    :param k: Hits of each search, as many as where the router is to be used: the guard looks at no more than these.
    :param examples: Keep the texts of the ten queries whose routes differ most; without it no text is kept.
    :param progress: Called after each query with the number of queries so far.
    :param options: As for :class:`~pss_integrations.routing.Router`. What kind of index it is, what it names and its
        ``index_id`` are known of our own ones.
    :raises InvalidInput: If ``k`` is no positive int, an option is none, or an item of ``sessions`` is no pair of a key
        and messages.
    """
    check_positive_int("k", k)
    options = router_options(searcher, options)
    routes = options.get("routes", ROUTES)
    without_states: RouterOptions = {**options, "routes": [route for route in routes if route != "pss"]}
    replay = _Replay(
        searcher,
        reader if "pss" in routes else None,
        k,
        router=_router(reader, options),
        nobody=_router(None, without_states),
        examples=[] if examples else None,
    )
    for number, item in enumerate(sessions):
        replay.add(*_checked(number, item), progress)
    return replay.report()


def asked(messages: Sequence[Message]) -> list[int]:
    """Return the positions of a chat's queries: its user's messages, but for the first."""
    return [position for position, message in enumerate(messages) if message.role == "user"][1:]


def is_underspecified(query: str) -> bool:
    """Whether a query asks or refers back, and does not say by itself what it is about."""
    features = observed.of_query(query)
    return bool(query.strip()) and not is_self_contained(query) and bool(features.asks or features.refers)


@dataclass(slots=True)
class _Watch:
    """Searches for one query, and notes what came of it."""

    searcher: Searcher
    k: int
    found: dict[Route, list[Hit]] = field(default_factory=dict[Route, list[Hit]])
    added: dict[Route, str] = field(default_factory=dict[Route, str])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    searches: int = 0
    raw_seconds: float = 0.0

    def search(self, wording: Wording, route: Route) -> list[Hit]:
        self.searches += 1
        started = perf_counter()
        try:
            hits = find(self.searcher, wording, self.k)
        except Exception as error:
            self.failures[route] = type(error).__name__
            raise
        if route == "raw":
            self.raw_seconds = perf_counter() - started
        else:
            self.added[route] = wording.added
        self.found[route] = hits
        return hits

    def first(self, shown: Callable[[Hit], ShownT]) -> dict[Route, tuple[ShownT, ...]]:
        """The first ``k`` hits of each route, the way they are shown."""
        return {route: tuple(map(shown, hits[: self.k])) for route, hits in self.found.items()}


@dataclass(slots=True)
class _Replay:
    """The replay so far."""

    searcher: Searcher
    reader: ClueReader | None
    k: int
    router: Router[Hit]
    nobody: Router[Hit]
    sessions: int = 0
    with_state: int = 0
    queries: list[Replayed] = field(default_factory=list[Replayed])
    examples: list[Example] | None = None

    def report(self) -> ShadowReport:
        return ShadowReport(self.sessions, self.with_state, self.k, tuple(self.queries), tuple(self.examples or ()))

    def add(self, key: SessionKey | None, messages: Sequence[Message], progress: Callable[[int], None] | None) -> None:
        compiled = self._compiled(key, messages)
        for position in asked(messages):
            self._ask(key, messages, position, in_hindsight=position < compiled)
            if progress is not None:
                progress(len(self.queries))
        self.sessions += 1

    def _compiled(self, key: SessionKey | None, messages: Sequence[Message]) -> int:
        """How many of the messages the session's state was compiled from."""
        if key is None or self.reader is None or not self.reader.has_state(key):
            return 0
        self.with_state += 1
        try:
            return len(messages) - self.reader.messages_behind(key, messages)
        except StateError:  # each query meets it again, and is counted
            return 0

    def _ask(self, key: SessionKey | None, messages: Sequence[Message], position: int, *, in_hindsight: bool) -> None:
        query, watch = messages[position].text, _Watch(self.searcher, self.k)
        routed, seconds = self._route(query, key, watch, messages[:position])
        replayed = Replayed(
            session=self.sessions,
            key=key,
            position=position,
            is_underspecified=is_underspecified(query),
            in_hindsight=in_hindsight,
            route=routed.route if routed else None,
            reason=routed.reason if routed else "failed",
            is_supported=routed.supported if routed else None,
            found=watch.first(lambda hit: hit.doc_id),
            failures=watch.failures,
            searches=watch.searches,
            generations=int(routed is not None and routed.clue is not None),
            raw_seconds=watch.raw_seconds,
            seconds=seconds,
        )
        self.queries.append(replayed)
        if self.examples is not None and replayed.distance > 0:
            example = Example(replayed, query, watch.added, watch.first(lambda hit: Shown(hit.doc_id, _title(hit))))
            self.examples = sorted([*self.examples, example], key=_order)[:EXAMPLES]

    def _route(
        self, query: str, key: SessionKey | None, watch: _Watch, history: Sequence[Message]
    ) -> tuple[Routed[Hit] | None, float]:
        """Return the decision, or ``None`` if there was an error, and the seconds that it took."""
        router = self.nobody if key is None else self.router
        started = perf_counter()
        try:
            routed = router.route(query, key, watch.search, k=self.k, messages=history)
        except Exception as error:  # whatever the retriever and the reader raise
            if "raw" not in watch.failures:
                watch.failures["router"] = type(error).__name__
            routed = None
        return routed, perf_counter() - started


def _order(example: Example) -> tuple[float, str, str, int, int]:
    """Those that differ most first, then by session and position."""
    one = example.replayed
    user_id, session_id = (one.key.user_id or "", one.key.session_id) if one.key else ("", "")
    return -one.distance, user_id, session_id, one.session, one.position


def _title(hit: Hit) -> str:
    if hit.passage.title:
        return hit.passage.title
    text = " ".join(hit.passage.text.split())
    return text if len(text) <= _TITLE_CHARS else f"{text[:_TITLE_CHARS].rstrip()}..."


def _router(reader: ClueReader | None, options: RouterOptions) -> Router[Hit]:
    return Router[Hit](reader, hit=lambda hit: hit, rescore=lambda hit, score: replace(hit, score=score), **options)


def _checked(number: int, item: object) -> StoredSession:
    match item:
        case (SessionKey() | None, [*messages]) if all(isinstance(one, Message) for one in cast("list[Any]", messages)):
            return cast("StoredSession", item)
        case _:
            raise InvalidInput(f"session {number} must be a pair of a SessionKey, or None, and a list of messages")
