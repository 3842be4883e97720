"""Beliefs: searches among ten thousand, how soon a write is seen, and what a million beliefs of others change.

The principal's beliefs lie in two databases, alone and beside those of others, and each query is asked in both in turn.
Others have the same names, so that a search that counted theirs would give other scores.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pss_integrations.beliefs import Belief, BeliefHit, BeliefStore, NewBelief, Principal
from pss_integrations.beliefs.database import Database
from pss_integrations.evaluation.bench import SEED, Tell, Timing, compare, ratios, timed
from pss_integrations.evaluation.bench_belief_data import MADE_AT, SCOPES, load, make_beliefs, make_queries, stored

_USER: Final = Principal.user("ada")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured.

    :param own: Beliefs of the principal that searches.
    :param others: Beliefs of other principals.
    :param each: Beliefs of each of those, at most ``own``.
    :param queries: Different queries.
    :param repeats: How often each is asked.
    :param puts: Beliefs that are put, each searched for at once.
    :param cold: Stores that are opened to search once.
    """

    own: int = 10_000
    others: int = 1_000_000
    each: int = 1_000
    queries: int = 500
    repeats: int = 3
    puts: int = 100
    cold: int = 5


QUICK: Final = Sizes(others=50_000, queries=250, repeats=2, puts=40, cold=3)


def bench_beliefs(*, quick: bool, tell: Tell) -> dict[str, Any]:
    """Measure with 10,000 beliefs of the principal and a million of others; times are in milliseconds.

    :param quick: 50,000 beliefs of others, and fewer repeats.
    """
    return measure(QUICK if quick else Sizes(), tell)


def measure(sizes: Sizes, tell: Tell) -> dict[str, Any]:
    """Measure with other sizes.

    ``search_median_ms``, ``search_p99_ms`` and ``cold_start_ms`` are those of the principal alone; the same beside
    others are under ``others``, with the median ratio of each search to its pair. ``write_visible_ms`` is beside
    others, too.
    """
    known = make_beliefs(sizes.own + sizes.puts, seed=SEED)
    known, new = known[: sizes.own], known[sizes.own :]
    queries = make_queries(sizes.queries, known, seed=SEED)
    with TemporaryDirectory() as folder:
        alone, beside = Path(folder) / "alone.db", Path(folder) / "beside.db"
        tell(f"writing {sizes.own} beliefs of one principal, and {sizes.others} of others")
        _write(alone, known, sizes, others=False)
        loading = timed(lambda: _write(beside, known, sizes, others=True))[1]
        tell("searching")
        result, with_others = _searches(alone, beside, queries, sizes.repeats)
        tell("opening stores")
        own, other = _cold_starts(alone, beside, queries[0], sizes.cold)
        tell("putting, and searching for what was put")
        return {
            "sizes": asdict(sizes),
            **result,
            "cold_start_ms": round(own.median, 1),
            **_writes(beside, new),
            "others": {
                **with_others,
                "cold_start_ms": round(other.median, 1),
                "file_mebibytes": round(beside.stat().st_size / 2**20, 1),
                "loading_seconds": round(loading, 1),
            },
        }


def _searches(alone: Path, beside: Path, queries: Sequence[str], repeats: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Ask each query in both in turn, and in the other order in the next round; a first round doesn't count."""
    with BeliefStore(alone) as one, BeliefStore(beside) as other:
        stores = [one, other]
        found = [[store.search(_USER, SCOPES, query) for store in stores] for query in queries]
        times: dict[BeliefStore, list[float]] = {one: [], other: []}
        for _ in range(repeats):
            for query in queries:
                for store in stores:
                    times[store].append(_search_ms(store, query)[1])
            stores.reverse()
    mine, theirs = Timing(tuple(times[one])), Timing(tuple(times[other]))
    return (
        {
            **_quantiles(mine),
            "searches": len(mine.runs),
            "hits_median": statistics.median(len(own) for own, _ in found),
        },
        {
            **_quantiles(theirs),
            **ratios("median_ratio", theirs, mine),
            "same_results_and_scores": all(own == beside_others for own, beside_others in found),
        },
    )


def _search_ms(store: BeliefStore, query: str) -> tuple[list[BeliefHit], float]:
    hits, seconds = timed(lambda: store.search(_USER, SCOPES, query))
    return hits, 1000 * seconds


def _cold_starts(alone: Path, beside: Path, query: str, repeats: int) -> tuple[Timing, Timing]:
    """The first search of a store, its opening included."""

    def start(file: Path) -> None:
        with BeliefStore(file) as store:
            store.search(_USER, SCOPES, query)

    return compare(lambda: start(alone), lambda: start(beside), repeats, warm_up=False)


def _writes(file: Path, new: Sequence[NewBelief]) -> dict[str, Any]:
    """Put each belief, then search for it by its name, in turn with the store that put it and with another one."""
    puts, times, found = list[float](), list[float](), list[bool]()
    with BeliefStore(file) as writer, BeliefStore(file) as other:
        for store in (writer, other):
            store.search(_USER, SCOPES, "")
        for belief, store in zip(new, cycle((writer, other)), strict=False):
            put, seconds = timed(partial(writer.put, _USER, belief))
            hits, milliseconds = _search_ms(store, belief.canonical_name)
            puts.append(1000 * seconds)
            times.append(milliseconds)
            found.append(put.belief.id in {hit.belief.id for hit in hits})
    return {
        "write_visible_ms": _rounded(statistics.median(times)),
        "writes": {
            "put_median_ms": _rounded(statistics.median(puts)),
            "visible_same_store_ms": _rounded(statistics.median(times[::2])),
            "visible_second_store_ms": _rounded(statistics.median(times[1::2])),
            "all_visible_at_once": all(found),
        },
    }


def _write(file: Path, known: Sequence[NewBelief], sizes: Sizes, *, others: bool) -> None:
    held = [stored(one, f"belief-{number}", MADE_AT) for number, one in enumerate(known)]
    database = Database(file)
    try:
        load(database, _USER, held)
        for principal, theirs in _of_others(held, sizes) if others else ():
            load(database, principal, theirs)
    finally:
        database.close()


def _of_others(held: Sequence[Belief], sizes: Sizes) -> Iterator[tuple[Principal, list[Belief]]]:
    """Principals that have the same beliefs, each a stretch of them that begins elsewhere."""
    for number, first in enumerate(range(0, sizes.others, sizes.each)):
        count = min(sizes.each, sizes.others - first)
        theirs = [held[(first + at) % len(held)] for at in range(count)]
        yield Principal.user(f"other-{number}"), theirs


def _quantiles(timing: Timing) -> dict[str, float]:
    ordered = sorted(timing.runs)
    return {
        "search_median_ms": _rounded(timing.median),
        "search_p99_ms": _rounded(ordered[int(0.99 * (len(ordered) - 1))]),
    }


def _rounded(milliseconds: float) -> float:
    return round(milliseconds, 3)
