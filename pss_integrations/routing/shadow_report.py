"""What a replay of stored chats showed: a record for each query, the figures over all, and a few examples."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from pss_integrations.types import ROUTES, Route, SessionKey


@dataclass(frozen=True, slots=True)
class Replayed:
    """One query, and what the router made of it; no text of the chat is in it.

    :param session: Number of its session, from 0.
    :param key: Whose session it is; ``None`` where that was not said.
    :param position: Number of messages before it.
    :param is_underspecified: Whether it asks or refers back, and does not say by itself what it is about.
    :param in_hindsight: Whether the session's state was compiled from messages that came after the query.
    :param route: What the router chose; ``None`` if it failed.
    :param reason: Why; ``"failed"`` if it failed.
    :param is_supported: Whether what was found holds what the query asks for, if a candidate was tried.
    :param found: For each route that was tried, the ids of its first ``k`` hits.
    :param failures: For each route whose search failed, the type of the error; under ``"router"`` any other error.
    :param searches: Searches that were made.
    :param generations: Clues that were written.
    :param raw_seconds: How long the raw search took.
    :param seconds: How long the whole request took.
    """

    session: int
    key: SessionKey | None
    position: int
    is_underspecified: bool
    in_hindsight: bool
    route: Route | None
    reason: str
    is_supported: bool | None
    found: Mapping[Route, tuple[str, ...]] = field(hash=False)
    failures: Mapping[str, str] = field(hash=False)
    searches: int
    generations: int
    raw_seconds: float
    seconds: float

    @property
    def distance(self) -> float:
        """How much the routes differ: one minus :func:`overlap`, summed over all pairs of what was tried."""
        return sum(1 - overlap(*pair) for pair in combinations(self.found.values(), 2))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain = asdict(self)
        del plain["key"]
        return {
            "user_id": self.key.user_id if self.key else None,
            "session_id": self.key.session_id if self.key else None,
            **plain,
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """How often two routes found something else.

    :param routes: Both.
    :param compared: Queries for which both were tried.
    :param first: Queries of these whose first hits differ.
    :param any: Queries of these for which the first ``k`` hits are not the same passages.
    :param overlap: Share of hits in common, on average; ``None`` if nothing was compared.
    """

    routes: tuple[Route, Route]
    compared: int
    first: int
    any: int
    overlap: float | None


@dataclass(frozen=True, slots=True)
class Latency:
    """Median and 95th percentile of times, in milliseconds."""

    median: float
    p95: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Latency | None:
        """Summarize times in seconds; ``None`` if there are none. The percentile is by nearest rank."""
        if not seconds:
            return None
        rank = math.ceil(0.95 * len(seconds))
        return cls(1000 * statistics.median(seconds), 1000 * sorted(seconds)[rank - 1])


@dataclass(frozen=True, slots=True)
class Shown:
    """A hit of an example: its id, and its title or how its text begins."""

    doc_id: str
    title: str


@dataclass(frozen=True, slots=True)
class Example:
    """A query with its texts, and what each route found for it.

    :param replayed: Its record.
    :param query: As the user put it.
    :param added: For the routes ``card`` and ``pss``, if they were tried: what they added to the query.
    :param found: The first ``k`` hits of each route that was tried.
    """

    replayed: Replayed
    query: str
    added: Mapping[Route, str] = field(hash=False)
    found: Mapping[Route, tuple[Shown, ...]] = field(hash=False)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "session": self.replayed.session,
            "position": self.replayed.position,
            "route": self.replayed.route,
            "reason": self.replayed.reason,
            "query": self.query,
            "added": dict(self.added),
            "found": {route: [asdict(hit) for hit in hits] for route, hits in self.found.items()},
        }


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """What the router would have done with stored chats.

    :param sessions: Sessions that were replayed, those without a query too.
    :param with_state: Sessions of these that have a state.
    :param k: Hits that are compared.
    :param queries: One record for each query, in order.
    :param examples: Those that differ most, with their texts; none if none were wanted.
    """

    sessions: int
    with_state: int
    k: int
    queries: tuple[Replayed, ...]
    examples: tuple[Example, ...] = ()

    @property
    def answered(self) -> tuple[Replayed, ...]:
        """The queries that did not fail; searches, generations and times are theirs."""
        return tuple(one for one in self.queries if one.route is not None)

    @property
    def routes(self) -> dict[Route, int]:
        """How often each route was chosen."""
        chosen = Counter(one.route for one in self.answered)
        return {route: chosen[route] for route in ROUTES}

    @property
    def reasons(self) -> dict[str, int]:
        """How often each reason was given, the most frequent first; ``"failed"`` among them."""
        counts = Counter(one.reason for one in self.queries)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    @property
    def failures(self) -> dict[str, int]:
        """How often what failed with what: ``"raw: TimeoutError"``; a query may count more than once."""
        counts = Counter(f"{what}: {kind}" for one in self.queries for what, kind in one.failures.items())
        return dict(sorted(counts.items()))

    @property
    def differences(self) -> tuple[Difference, ...]:
        """How often raw, card and pss differ, for each two of them."""
        return tuple(self._difference(first, second) for first, second in combinations(ROUTES, 2))

    @property
    def searches_per_query(self) -> float:
        """On average; the raw search counts. 0 if no query was answered."""
        return _mean([one.searches for one in self.answered]) or 0.0

    @property
    def generations_per_query(self) -> float:
        """On average; 0 if no query was answered."""
        return _mean([one.generations for one in self.answered]) or 0.0

    @property
    def raw_latency(self) -> Latency | None:
        """Of the raw search alone."""
        return Latency.of([one.raw_seconds for one in self.answered])

    @property
    def added_latency(self) -> Latency | None:
        """Of all that comes on top of the raw search."""
        return Latency.of([one.seconds - one.raw_seconds for one in self.answered])

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, records and examples as plain data."""
        return {
            "sessions": self.sessions,
            "sessions_with_state": self.with_state,
            "k": self.k,
            "queries": len(self.queries),
            "underspecified": sum(one.is_underspecified for one in self.queries),
            "unsupported": sum(one.is_supported is False for one in self.queries),
            "in_hindsight": sum(one.in_hindsight for one in self.queries),
            "failed": len(self.queries) - len(self.answered),
            "routes": self.routes,
            "reasons": self.reasons,
            "failures": self.failures,
            "differences": [asdict(one) for one in self.differences],
            "searches_per_query": self.searches_per_query,
            "generations_per_query": self.generations_per_query,
            "raw_latency_ms": asdict(self.raw_latency) if self.raw_latency else None,
            "added_latency_ms": asdict(self.added_latency) if self.added_latency else None,
            "replayed": [one.to_dict() for one in self.queries],
            "examples": [one.to_dict() for one in self.examples],
        }

    def _difference(self, first: Route, second: Route) -> Difference:
        pairs = [(one.found[first], one.found[second]) for one in self.queries if {first, second} <= one.found.keys()]
        return Difference(
            (first, second),
            compared=len(pairs),
            first=sum(one[:1] != other[:1] for one, other in pairs),
            any=sum({*one} != {*other} for one, other in pairs),
            overlap=_mean([overlap(*pair) for pair in pairs]),
        )


def overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """Share of the longer list's ids that both hold; 1 if both are empty.

    >>> overlap(["a", "b"], ["b", "c"])
    0.5
    """
    ones, others = {*first}, {*second}
    longest = max(len(ones), len(others))
    return len(ones & others) / longest if longest else 1.0


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None
