"""Routing: what the router adds to the searches and the read that it asks for, which are answered beforehand here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count, islice
from typing import Any, Final

from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.bench import SEED, Tell, Timing, timed
from pss_integrations.evaluation.pss320 import BenchmarkSession
from pss_integrations.evaluation.routed import ALWAYS, ReadBefore
from pss_integrations.retrieval import BM25Index
from pss_integrations.routing import Router
from pss_integrations.routing.searching import find, router_options
from pss_integrations.routing.wording import Wording
from pss_integrations.types import Clue, Hit, Passage, Route

PASSAGES: Final = 10_000
_K, _SELF_CONTAINED = 10, "How is retry_limit set in Kestrel v2.4?"


def bench_routing(*, quick: bool, tell: Tell) -> dict[str, Any]:
    """Route questions of sessions over 10,000 passages with all three routes, and with a query that stands for itself.

    :param quick: Eight sessions instead of 32.
    :return: Milliseconds without searching and reading: ``overhead_ms`` of a whole decision, ``raw_ms`` of one that the
        query alone decides. ``searches`` and ``reads`` are means for a query of the former.
    """
    tell(f"indexing {PASSAGES:,} passages")
    benchmark = pss320.generate(320, seed=SEED)
    index = many_passages(benchmark.passages)
    sessions = benchmark.sessions[: 8 if quick else 32]
    tell(f"routing the questions of {len(sessions)} sessions")
    routed = [_Timed(index, session) for session in sessions]
    overhead = list(chain.from_iterable(one.route([probe.query for probe in one.session.probes]) for one in routed))
    searches, reads = (sum(each) / len(overhead) for each in zip(*((o.searches, o.reads) for o in routed), strict=True))
    raw = list(chain.from_iterable(one.route([_SELF_CONTAINED]) for one in routed))
    return {
        "passages": len(index),
        "overhead_ms": Timing(tuple(overhead)).to_dict(),
        "raw_ms": Timing(tuple(raw)).to_dict(),
        "searches": round(searches, 2),
        "reads": round(reads, 2),
    }


def many_passages(passages: Sequence[Passage]) -> BM25Index:
    """An index of 10,000 passages, of which several have the same text, with its vocabulary."""
    copies = (replace(one, doc_id=f"{copy}/{one.doc_id}") for copy in count() for one in passages)
    index = BM25Index(islice(copies, PASSAGES))
    _ = index.vocabulary
    return index


class _Timed(ReadBefore):
    """A session whose router is timed without what it asks for; it is the router's reader, too."""

    def __init__(self, index: BM25Index, session: BenchmarkSession) -> None:
        clue = Clue(session.probes[0].gold_rewrite, (-0.1,) * 16, 30, "bench", finished=True)
        super().__init__(clue, len(session.messages))
        self.session, self.searches, self.reads = session, 0, 0
        self._index, self._found = index, dict[Wording, list[Hit]]()
        self._router = Router[Hit](
            self,
            hit=lambda hit: hit,
            rescore=lambda hit, score: Hit(Passage(hit.doc_id, hit.passage.text), score),
            **router_options(index, {"certificate": ALWAYS}),
        )

    def read(self, key: Any, query: str) -> Clue:
        """Return the clue, and count."""
        self.reads += 1
        return super().read(key, query)

    def route(self, queries: Sequence[str]) -> list[float]:
        """Return the milliseconds of each query, when everything that it searches for has been found already."""
        for query in queries:
            self._route(query)
        self.searches = self.reads = 0
        return [1000 * timed(lambda query=query: self._route(query))[1] for query in queries]

    def _route(self, query: str) -> None:
        self._router.route(query, self.session.key, self._search, messages=self.session.messages)

    def _search(self, wording: Wording, route: Route) -> list[Hit]:
        self.searches += 1
        if wording not in self._found:
            self._found[wording] = find(self._index, wording, _K)
        return self._found[wording]
