import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import HistoryDiverged, InvalidInput, MissingIdentity, StateCorrupt
from pss_integrations.routing import Router
from pss_integrations.routing.router import describe
from pss_integrations.types import Clue, Message, Routed, SessionKey

ADA = SessionKey("ada", "s")
FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4?"
CLUE = "Kestrel v2.4 retry_limit"


@dataclass(frozen=True)
class Doc:
    id: str
    score: float | None = None


class Index:
    """Returns a fixed list per text, and notes what was searched."""

    def __init__(self, found: dict[str, list[str]] | None = None, failing: tuple[str, ...] = ()) -> None:
        self.found, self.failing = found or {}, failing
        self.searched: list[tuple[str, str]] = []

    def search(self, text: str, route: str) -> list[Doc]:
        self.searched.append((text, route))
        if route in self.failing:
            raise LookupError(route)
        return [Doc(one) for one in self.found.get(text, ["a", "b", "c"])]

    async def asearch(self, text: str, route: str) -> list[Doc]:
        await asyncio.sleep(0)
        return self.search(text, route)


def router(reader: Any, **options: Any) -> Router[Doc]:
    return Router(reader, key=lambda doc: doc.id, rescore=lambda doc, score: replace(doc, score=score), **options)


async def run(mode: str, router: Router[Doc], query: str, key: SessionKey | None, index: Index, **rest: Any):
    if mode == "sync":
        return router.route(query, key, index.search, **rest)
    return await router.aroute(query, key, index.asearch, **rest)


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


def ids(routed: Routed[Doc]) -> list[str]:
    return [doc.id for doc in routed.documents]


@pytest.mark.parametrize(
    ("query", "reason"), [("", "blank_query"), (" \n", "blank_query"), (ON_ITS_OWN, "self_contained")]
)
async def test_a_query_that_needs_no_session_asks_no_reader(make_reader, mode: str, query: str, reason: str):
    reader, index = make_reader({ADA: CLUE}), Index()
    routed = await run(mode, router(reader), query, ADA, index)
    assert (routed.route, routed.reason, ids(routed)) == ("raw", reason, ["a", "b", "c"])
    assert index.searched == [(query, "raw")]
    assert reader.calls == []


@pytest.mark.parametrize("clue", ["", "\n", "# Plan", "...", "go go go go", FOLLOW_UP])
async def test_an_unusable_clue_falls_back_and_is_shown(make_reader, mode: str, clue: str) -> None:
    index = Index()
    routed = await run(mode, router(make_reader({ADA: clue})), FOLLOW_UP, ADA, index)
    assert (routed.route, routed.reason, routed.composition) == ("raw", "unusable_clue", None)
    assert routed.clue.text == clue
    assert index.searched == [(FOLLOW_UP, "raw")]


async def test_a_clue_without_an_end_falls_back(make_reader, mode: str) -> None:
    reader, index = make_reader({ADA: CLUE}), Index()
    reader.finished = False
    routed = await run(mode, router(reader), FOLLOW_UP, ADA, index)
    assert (routed.route, routed.reason) == ("raw", "unusable_clue")


@pytest.mark.parametrize("key", [SessionKey("bob", "s"), SessionKey(None, "s"), SessionKey("ada", "S")])
async def test_only_the_exact_session_has_the_state(make_reader, mode: str, key: SessionKey) -> None:
    index = Index()
    routed = await run(mode, router(make_reader({ADA: CLUE})), FOLLOW_UP, key, index)
    assert (routed.route, routed.reason, routed.clue) == ("raw", "no_state", None)
    assert index.searched == [(FOLLOW_UP, "raw")]


async def test_no_session_searches_raw_and_warns_once(make_reader, mode: str) -> None:
    reader, index = make_reader({ADA: CLUE}), Index()
    one = router(reader)
    with pytest.warns(UserWarning, match="no complete identity"):
        routed = await run(mode, one, FOLLOW_UP, None, index)
    assert (routed.route, routed.reason) == ("raw", "no_session")
    await run(mode, one, FOLLOW_UP, None, index)  # a second warning would be an error here
    assert reader.calls == []


@pytest.mark.parametrize("query", [FOLLOW_UP, ON_ITS_OWN])
async def test_no_session_can_raise_whatever_the_query(make_reader, mode: str, query: str) -> None:
    index = Index()
    with pytest.raises(MissingIdentity):
        await run(mode, router(make_reader({}), on_missing_identity="raise"), query, None, index)
    assert index.searched == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, f"{FOLLOW_UP} {CLUE}"),
        ({"query_weight": 3}, f"{FOLLOW_UP} {FOLLOW_UP} {FOLLOW_UP} {CLUE}"),
        ({"composition": "replace"}, CLUE),
    ],
)
async def test_one_search_with_the_composed_text(make_reader, mode: str, options: dict, text: str) -> None:
    reader, index = make_reader({ADA: CLUE}), Index({text: ["x", "x", "y"]})
    routed = await run(mode, router(reader, **options), FOLLOW_UP, ADA, index)
    assert (routed.route, routed.reason) == ("pss", "clue")
    assert routed.documents == (Doc("x"), Doc("x"), Doc("y"))
    assert index.searched == [(text, "pss")]
    assert reader.calls == [("read" if mode == "sync" else "aread", ADA, FOLLOW_UP)]


async def test_rrf_fuses_both_rankings_by_key(make_reader, mode: str) -> None:
    index = Index({FOLLOW_UP: ["a", "b", "c"], CLUE: ["c", "d"]})
    routed = await run(mode, router(make_reader({ADA: CLUE}), composition="rrf"), FOLLOW_UP, ADA, index)
    assert sorted(index.searched) == sorted([(FOLLOW_UP, "raw"), (CLUE, "pss")])
    assert ids(routed) == ["c", "a", "b"]  # b and d tie, by id; as many as the longer list
    assert routed.documents[0].score == pytest.approx(1 / 63 + 1 / 61)


async def test_rrf_counts_a_document_once_per_list(make_reader, mode: str) -> None:
    index = Index({FOLLOW_UP: ["a", "a", "a", "b"], CLUE: ["b"]})
    routed = await run(mode, router(make_reader({ADA: CLUE}), composition="rrf"), FOLLOW_UP, ADA, index)
    assert ids(routed) == ["b", "a"]


@pytest.mark.parametrize("composition", ["append", "rrf"])
async def test_empty_lists_stay_empty(make_reader, mode: str, composition: str) -> None:
    index = Index({FOLLOW_UP: [], CLUE: [], f"{FOLLOW_UP} {CLUE}": []})
    one = router(make_reader({ADA: CLUE}), composition=composition)
    assert ids(await run(mode, one, FOLLOW_UP, ADA, index, k=5)) == []
    assert ids(await run(mode, one, FOLLOW_UP, ADA, index)) == []


@pytest.mark.parametrize(
    ("composition", "k", "expected"),
    [("append", 2, ["a", "b"]), ("append", 9, ["a", "b", "c"]), ("rrf", 1, ["a"]), ("rrf", 9, list("adbec"))],
)
async def test_k_cuts_and_never_pads(make_reader, mode: str, composition: str, k: int, expected: list) -> None:
    index = Index({CLUE: ["d", "e"]})
    one = router(make_reader({ADA: CLUE}), composition=composition)
    assert ids(await run(mode, one, FOLLOW_UP, ADA, index, k=k)) == expected


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", True])
async def test_k_must_be_a_positive_whole_number(make_reader, mode: str, k: object) -> None:
    reader = make_reader({ADA: CLUE})
    with pytest.raises(InvalidInput, match="k must be a positive int"):
        await run(mode, router(reader), FOLLOW_UP, ADA, Index(), k=k)
    assert reader.calls == []


@pytest.mark.parametrize("options", [{"composition": "both"}, {"query_weight": 0}, {"on_missing_identity": "ignore"}])
def test_options_are_checked_when_it_is_made(make_reader, options: dict) -> None:
    with pytest.raises(InvalidInput):
        router(make_reader({}), **options)


async def test_one_failed_search_of_rrf_does_not_sink_the_other(make_reader, mode: str) -> None:
    one = router(make_reader({ADA: CLUE}), composition="rrf")
    index = Index({CLUE: ["d"]}, failing=("pss",))
    routed = await run(mode, one, FOLLOW_UP, ADA, index)
    assert (routed.route, routed.reason, routed.composition) == ("raw", "clue_failed", None)
    assert routed.documents == (Doc("a"), Doc("b"), Doc("c"))
    index = Index({CLUE: ["d"]}, failing=("raw",))
    routed = await run(mode, one, FOLLOW_UP, ADA, index)
    assert (routed.route, routed.reason, ids(routed)) == ("pss", "raw_failed", ["d"])


async def test_both_failed_searches_raise_the_raw_one_and_log_no_text(make_reader, mode: str, caplog) -> None:
    one = router(make_reader({ADA: CLUE}), composition="rrf")
    with pytest.raises(LookupError, match="raw"):
        await run(mode, one, FOLLOW_UP, ADA, Index(failing=("raw", "pss")))
    await run(mode, one, FOLLOW_UP, ADA, Index(failing=("pss",)))
    assert "LookupError" in caplog.text
    assert CLUE not in caplog.text


async def test_a_failed_raw_search_raises(make_reader, mode: str) -> None:
    with pytest.raises(LookupError):
        await run(mode, router(make_reader({})), ON_ITS_OWN, ADA, Index(failing=("raw",)))


async def test_the_reader_s_errors_are_not_hidden(make_reader, mode: str) -> None:
    reader, index = make_reader({ADA: CLUE}), Index()
    one = router(reader)
    await run(mode, one, FOLLOW_UP, ADA, index)
    reader.error = StateCorrupt("truncated")
    with pytest.raises(StateCorrupt):
        await run(mode, one, FOLLOW_UP, ADA, index)
    assert one.last_decision is None  # not the one before


async def test_live_messages_say_how_old_the_state_is(make_reader, mode: str) -> None:
    reader = make_reader({ADA: CLUE}, compiled=1)
    messages = [Message("user", "one"), Message("assistant", "two"), Message("user", "three")]
    routed = await run(mode, router(reader), FOLLOW_UP, ADA, Index(), messages=messages)
    assert routed.messages_behind == 2
    assert (threading.main_thread() in reader.counting_threads) is (mode == "sync")
    assert (await run(mode, router(reader), FOLLOW_UP, ADA, Index())).messages_behind is None


async def test_a_history_that_was_cut_says_nothing(make_reader, mode: str) -> None:
    reader = make_reader({ADA: CLUE})

    def diverged(*_: object) -> int:
        raise HistoryDiverged("message 0 was removed")

    reader.messages_behind = diverged
    routed = await run(mode, router(reader), FOLLOW_UP, ADA, Index(), messages=[Message("user", "three")])
    assert (routed.route, routed.messages_behind) == ("pss", None)


async def test_the_searches_of_rrf_run_concurrently(make_reader) -> None:
    both_began = asyncio.Barrier(2)

    async def search(text: str, route: str) -> list[Doc]:
        await asyncio.wait_for(both_began.wait(), timeout=60)
        return [Doc(route)]

    routed = await router(make_reader({ADA: CLUE}), composition="rrf").aroute(FOLLOW_UP, ADA, search)
    assert len(routed.documents) == 1


async def test_a_cancelled_read_searches_nothing(make_reader) -> None:
    reader, index, reading = make_reader({ADA: CLUE}), Index(), asyncio.Event()

    async def read_forever(key: SessionKey, query: str) -> Clue:
        reading.set()
        return await asyncio.Future()

    reader.aread = read_forever
    one = router(reader)
    task = asyncio.create_task(one.aroute(FOLLOW_UP, ADA, index.asearch))
    await reading.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert index.searched == []
    assert one.last_decision is None


def test_threads_get_the_clue_and_the_decision_of_their_own_session(make_reader) -> None:
    keys = [SessionKey(f"user{n}", "same") for n in range(8)]
    one = router(make_reader({key: f"clue-{key.user_id}" for key in keys}), composition="replace")
    together = threading.Barrier(len(keys))

    def ask(key: SessionKey) -> tuple[Index, Routed[Any] | None]:
        index = Index()
        together.wait(timeout=60)
        one.route(FOLLOW_UP, key, index.search)
        return index, one.last_decision

    with ThreadPoolExecutor(len(keys)) as pool:
        for key, (index, decision) in zip(keys, pool.map(ask, keys), strict=True):
            assert index.searched == [(f"clue-{key.user_id}", "pss")]
            assert decision.clue.text == f"clue-{key.user_id}"
    assert one.last_decision is None


@given(
    query=st.sampled_from(["", "\t", ON_ITS_OWN, FOLLOW_UP]) | st.text(),
    found=st.lists(st.text(max_size=2), max_size=6),
    k=st.none() | st.integers(1, 8),
    composition=st.sampled_from(["append", "replace", "rrf"]),
    clue=st.sampled_from(["", "# Plan", "\n"]),
)
def test_the_raw_route_is_the_wrapped_list(make_reader, query, found, k, composition, clue) -> None:
    documents = [Doc(one) for one in found]
    asked: list[str] = []

    def search(text: str, route: str) -> list[Doc]:
        asked.append(text)
        return documents

    routed = router(make_reader({ADA: clue}), composition=composition).route(query, ADA, search, k=k)
    assert routed.route == "raw"
    assert asked == [query]
    assert all(one is other for one, other in zip(routed.documents, documents, strict=k is None))
    assert len(routed.documents) == len(documents[:k])


def test_texts_are_told_only_if_asked_for() -> None:
    clue = Clue(CLUE, (-0.5, -0.25), prompt_tokens=7, state_id="x", finished=True)
    decision = Routed((), "pss", "clue", "append", clue, 3)
    said = describe(decision, FOLLOW_UP, explain=False)
    assert said == {
        "route": "pss",
        "reason": "clue",
        "composition": "append",
        "confidence": -0.375,
        "messages_behind": 3,
    }
    assert describe(decision, FOLLOW_UP, explain=True) == said | {"query": FOLLOW_UP, "clue": CLUE}


def test_routing_loads_neither_torch_nor_a_framework() -> None:
    heavy = "{'torch', 'transformers', 'langchain_core', 'llama_index'}"
    code = f"import sys, pss_integrations.routing; sys.exit(bool({heavy} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)
