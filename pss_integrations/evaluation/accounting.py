"""Accounting: what a state costs to write, to keep and to read, and when that is paid back (PSS, sections R and V.5).

It joins what the measurement of rewriting gives for histories of several lengths with the complete path of a query
through the router, part by part: card, searches, read and decision.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final, Literal

from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.bench import SEED, Load, Tell, Timing, session_targets, timed
from pss_integrations.evaluation.bench_rewriting import bench_rewriting, break_even
from pss_integrations.evaluation.bench_routing import many_passages
from pss_integrations.evaluation.pss320 import BenchmarkSession
from pss_integrations.retrieval import BM25Index
from pss_integrations.routing import Card, Router, SessionCards
from pss_integrations.routing.searching import find, router_options
from pss_integrations.routing.wording import Wording
from pss_integrations.states.manager import StateManager
from pss_integrations.states.manifest import StateInfo
from pss_integrations.states.store import ADAPTER, MANIFEST, StateStore
from pss_integrations.types import Clue, Hit, Message, Route

PARTS: Final = ("card", "searches", "read", "decision", "total")
_K: Final = 10
_WARM_UP: Final = "what was it called again?"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one query cost.

    :param ms: Milliseconds by part, see :data:`PARTS`.
    :param searches: How many were made.
    :param clue: What was read; ``None`` if the query was decided without.
    :param card: What was made of the messages.
    """

    ms: Mapping[str, float]
    searches: int
    clue: Clue | None
    card: str


@dataclass
class QueryPath:
    """The path of a session's queries through the router, with a watch on each part; it makes the cards, too.

    :param manager: Reads the session's state; ``None`` leaves the raw query and the card.
    :param index: What is searched.
    :param count_tokens: Counts a text's tokens, for cards.
    """

    manager: StateManager | None
    session: BenchmarkSession
    index: BM25Index
    count_tokens: Callable[[str], int]
    _cards: list[float] = field(default_factory=list[float])
    _searches: list[float] = field(default_factory=list[float])

    def build(self, messages: Sequence[Message], words: int) -> Card:
        """Make a card, as the router does by itself."""
        made, seconds = timed(lambda: SessionCards(self.index.vocabulary, self.count_tokens).build(messages, words))
        self._cards.append(seconds)
        return made

    def take(self, query: str) -> Cost:
        """Take a query that was not asked before: its clue is read first, by itself, and is in memory from then on."""
        self._cards.clear()
        self._searches.clear()
        manager, key, router = self.manager, self.session.key, self._router()
        read = timed(lambda: manager.read(key, query))[1] if manager else 0.0
        routed, rest = timed(lambda: router.route(query, key, self._find, messages=self.session.messages))
        spent = {
            "card": sum(self._cards),
            "searches": sum(self._searches),
            "read": read if routed.clue else 0.0,
            "decision": rest - sum(self._cards) - sum(self._searches),
        }
        ms = {part: 1000 * seconds for part, seconds in (*spent.items(), ("total", sum(spent.values())))}
        return Cost(ms, len(self._searches), routed.clue, routed.card)

    def _router(self) -> Router[Hit]:
        return Router[Hit](
            self.manager,
            hit=lambda hit: hit,
            rescore=lambda hit, score: replace(hit, score=score),
            **router_options(self.index, {"cards": self}),
        )

    def _find(self, wording: Wording, route: Route) -> list[Hit]:
        found, seconds = timed(lambda: find(self.index, wording, _K))
        self._searches.append(seconds)
        return found


def account(load: Load, *, quick: bool, tell: Tell) -> dict[str, Any]:
    """Account for a PSS-320 session with one backbone.

    :param load: Loads the backbone; called twice.
    :param quick: Two lengths of history and not four, three queries and not six.
    :return: ``compile``; ``storage`` in bytes; ``paths`` of a query, ``guarded`` and with a ``card`` alone:
        milliseconds by part, and means of searches, reads and tokens. ``by_length``: what a read and a rewriting from
        the whole history cost, of 24 tokens at most, and after how many queries a compile has paid for itself.
    """
    rewriting = bench_rewriting(load, quick=quick, tell=tell)
    benchmark, backbone = pss320.generate(320, seed=SEED), load()
    session, index = benchmark.sessions[0], many_passages(benchmark.passages)
    queries = [probe.query for probe in session.probes][: 3 if quick else 6]
    tell("compiling the session whose queries are routed")
    with tempfile.TemporaryDirectory() as home, StateManager(home, backbone=backbone) as manager:
        info = manager.compile(session.key, session.messages, targets=session_targets(session))
        tell("routing its queries, with its state and with a card alone")
        guarded = _costs(QueryPath(manager, session, index, backbone.count_tokens), queries)
        card = _costs(QueryPath(None, session, index, backbone.count_tokens), queries)
        storage = _storage(StateStore(Path(home)), session, card)
    paths = {"guarded": _path(guarded), "card": _path(card)}
    return {
        "backbone": backbone.name,
        "compile": _compile(info),
        "storage": storage,
        "paths": paths,
        "by_length": [_length(point, paths) for point in rewriting["by_length"]],
    }


def _costs(path: QueryPath, queries: Sequence[str]) -> list[Cost]:
    path.take(_WARM_UP)
    return [path.take(query) for query in queries]


def _compile(info: StateInfo) -> dict[str, Any]:
    write = info.write
    return {
        "seconds": round(write.seconds, 2),
        "targets": info.targets.count,
        "reproduced": write.reproduced,
        "confirmed": write.confirmed,
        "steps": write.steps,
        "history_tokens": write.history_tokens,
    }


def _storage(store: StateStore, session: BenchmarkSession, card: Sequence[Cost]) -> dict[str, int]:
    """Bytes of a state and of what would do without one."""
    home = store.directory(session.key)
    return {
        "adapter": (home / ADAPTER).stat().st_size,
        "manifest": (home / MANIFEST).stat().st_size,
        "history": sum(len(message.text.encode()) for message in session.messages),
        "card": len(card[-1].card.encode()),
    }


def _path(costs: Sequence[Cost]) -> dict[str, Any]:
    read = [cost.clue for cost in costs if cost.clue]
    return {
        "queries": len(costs),
        "ms": {part: Timing(tuple(cost.ms[part] for cost in costs)).to_dict() for part in PARTS},
        "searches": round(fmean(cost.searches for cost in costs), 2),
        "reads": round(len(read) / len(costs), 2),
        "prompt_tokens": round(sum(clue.prompt_tokens for clue in read) / len(costs), 1),
        "generated_tokens": round(sum(clue.generated_tokens for clue in read) / len(costs), 1),
    }


def _length(point: Mapping[str, Any], paths: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """One length of history: what was measured, and when a compile of it is paid back.

    A read and a rewriting are compared by themselves, since one search follows either; the guarded path, which has its
    searches in it, with a rewriting and one search.
    """
    seconds = point["compile_seconds"]
    rewrite, read, drafted = (point[way]["median"] for way in ("rewrite_ms", "read_ms", "read_drafted_ms"))
    guarded, card = (paths[name]["ms"]["total"]["median"] for name in ("guarded", "card"))
    search = paths["card"]["ms"]["searches"]["median"] / paths["card"]["searches"]
    return {
        "history_tokens": point["history_tokens"],
        "compile_seconds": seconds,
        "rewrite_ms": rewrite,
        "read_ms": read,
        "read_drafted_ms": drafted,
        "prompt_tokens": point["prompt_tokens"],
        "rewrite_new_tokens": point["rewrite_new_tokens"],
        "break_even": {
            "read_against_rewriting": _paid_after(seconds, rewrite, read),
            "drafted_read_against_rewriting": _paid_after(seconds, rewrite, drafted),
            "guarded_against_rewriting": _paid_after(seconds, rewrite + search, guarded),
            "guarded_against_card": _paid_after(seconds, card, guarded),
        },
    }


def _paid_after(compile_seconds: float, other_ms: float, own_ms: float) -> int | Literal["never"]:
    queries = break_even(compile_seconds, other_ms, own_ms)
    return "never" if queries is None else queries
