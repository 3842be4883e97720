"""Searches that fail, calls that are cancelled, threads, and any input at all."""

import asyncio
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.routing import Binding, Certificate, Features
from pss_integrations.types import Clue, Message, Routed, SessionKey
from pss_integrations.vocabulary import Vocabulary

ADA = SessionKey("ada", "s")
FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4?"
CLUE = "Kestrel v2.4 retry_limit"
MARLOWE = "Marlowe billing"
APPENDED = f"{FOLLOW_UP} {CLUE}"
TALK = (Message("user", f"Tell me about {MARLOWE}."), Message("assistant", "It sends invoices."))
NAMES = Vocabulary([MARLOWE])


def ids(routed: Routed[Any]) -> list[str]:
    return [doc.id for doc in routed.passages]


# -- searches that fail ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("composition", ["append", "replace", "rrf"])
async def test_a_candidate_s_failed_search_leaves_the_raw_list(
    make_reader, router, run, make_index, make_doc, mode: str, caplog, composition: str
) -> None:
    one = router(make_reader({ADA: CLUE}), composition=composition, vocabulary=NAMES)
    index = make_index(failing=("pss", "card"))
    routed = await run(mode, one, FOLLOW_UP, ADA, index, messages=TALK)
    assert (routed.route, routed.reason, routed.composition) == ("raw", "search_failed", None)
    assert routed.passages == (make_doc("a"), make_doc("b"), make_doc("c"))
    assert "LookupError" in caplog.text
    assert CLUE not in caplog.text
    assert FOLLOW_UP not in caplog.text


async def test_one_failed_candidate_does_not_sink_the_other(make_reader, router, run, make_index, mode: str) -> None:
    one = router(make_reader({ADA: CLUE}), vocabulary=NAMES)
    routed = await run(mode, one, FOLLOW_UP, ADA, make_index(failing=("pss",)), messages=TALK)
    assert (routed.route, routed.clue.text) == ("card", CLUE)


@pytest.mark.parametrize("query", [FOLLOW_UP, ON_ITS_OWN])
async def test_a_failed_raw_search_raises(make_reader, router, run, make_index, mode: str, query: str) -> None:
    reader = make_reader({ADA: CLUE})
    one = router(reader)
    with pytest.raises(LookupError, match="raw"):
        await run(mode, one, query, ADA, make_index(failing=("raw",)))
    assert (reader.calls, one.last_decision) == ([], None)


@pytest.mark.parametrize("found", [None, "a, b", 3])
async def test_a_search_must_return_a_list(make_reader, router, run, make_index, mode: str, found: object) -> None:
    one = router(make_reader({ADA: CLUE}))
    with pytest.raises(InvalidInput, match="a search must return a list"):
        await run(mode, one, FOLLOW_UP, ADA, make_index({FOLLOW_UP: found}))
    routed = await run(mode, one, FOLLOW_UP, ADA, make_index({APPENDED: found}))
    assert (routed.route, routed.reason) == ("raw", "search_failed")


# -- concurrency -----------------------------------------------------------------------------------------------


async def test_a_cancelled_read_searches_no_further(make_reader, router, make_index) -> None:
    reader, index, reading = make_reader({ADA: CLUE}), make_index(), asyncio.Event()

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
    assert index.searched == [(FOLLOW_UP, "raw")]
    assert one.last_decision is None


async def test_a_cancelled_search_of_a_candidate_is_no_failed_search(make_reader, router) -> None:
    searching, asked = asyncio.Event(), list[str]()

    async def search(wording: object, route: str) -> list[Any]:
        asked.append(route)
        if route == "raw":
            return []
        searching.set()
        return await asyncio.Future()

    one = router(make_reader({ADA: CLUE}), vocabulary=NAMES)
    task = asyncio.create_task(one.aroute(FOLLOW_UP, ADA, search, messages=TALK))
    await searching.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asked == ["raw", "card"]


def test_threads_get_the_clue_and_the_decision_of_their_own_session(make_reader, router, make_index) -> None:
    keys = [SessionKey(f"user{n}", "same") for n in range(8)]
    one = router(make_reader({key: f"clue-{key.user_id}" for key in keys}), composition="replace")
    together = threading.Barrier(len(keys))

    def ask(key: SessionKey) -> tuple[Any, Routed[Any] | None]:
        index = make_index()
        together.wait(timeout=60)
        one.route(FOLLOW_UP, key, index.search)
        return index, one.last_decision

    with ThreadPoolExecutor(len(keys)) as pool:
        for key, (index, decision) in zip(keys, pool.map(ask, keys), strict=True):
            assert index.searched == [(FOLLOW_UP, "raw"), (f"clue-{key.user_id}", "pss")]
            assert decision.clue.text == f"clue-{key.user_id}"
    assert one.last_decision is None


# -- for any inputs --------------------------------------------------------------------------------------------

QUERIES = st.sampled_from(["", "\t", ON_ITS_OWN, FOLLOW_UP, "And what about its 設定?", "أين هو؟"]) | st.text()
CERTIFICATES = st.builds(
    Certificate,
    weights=st.dictionaries(st.sampled_from(sorted(Features.__slots__)), st.floats(-9, 9), max_size=4),
    bias=st.floats(-9, 9),
    threshold=st.none() | st.floats(-9, 9),
    unsupported_below=st.floats(0, 1),
    binding=st.none() | st.just(Binding(index_id="mine", engine="fake engine")),
)
TEXTS = st.text() | st.sampled_from([CLUE, MARLOWE, "# Plan", "🎉", "設定 v2.4"])
SCORES = st.floats() | st.just(0.0)


@st.composite
def calls(draw: st.DrawFn) -> dict[str, Any]:
    """All that a call may come with."""
    return {
        "found": draw(st.lists(st.tuples(st.text(max_size=2), TEXTS, SCORES), max_size=7)),
        "added": draw(st.lists(st.tuples(st.text(max_size=2), TEXTS, SCORES), max_size=7)),
        "clue": draw(st.none() | TEXTS),
        "messages": [Message("user", text) for text in draw(st.lists(TEXTS, max_size=3))],
        "k": draw(st.none() | st.integers(1, 8)),
        "options": {
            "composition": draw(st.sampled_from(["append", "replace", "rrf"])),
            "certificate": draw(CERTIFICATES),
            "index_id": draw(st.sampled_from([None, "mine", "other"])),
            "vocabulary": draw(st.none() | st.just(NAMES)),
        },
    }


@given(query=QUERIES, call=calls())
def test_the_raw_route_is_the_wrapped_list(make_reader, router, make_doc, query: str, call: dict) -> None:
    raw, added = ([make_doc(*fields) for fields in call[name]] for name in ("found", "added"))
    asked: list[tuple[str, str]] = []

    def search(wording: Any, route: str) -> list[Any]:
        asked.append((route, wording.text))
        return raw if route == "raw" else added

    reader = make_reader({} if call["clue"] is None else {ADA: call["clue"]})
    one = router(reader, **call["options"])

    async def asearch(wording: Any, route: str) -> list[Any]:
        return search(wording, route)

    k = call["k"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of certificates that do not fit
        routed = one.route(query, ADA, search, k=k, messages=call["messages"])
        again = asyncio.run(one.aroute(query, ADA, asearch, k=k, messages=call["messages"]))
    assert asked[0] == ("raw", query)
    assert asked[len(asked) // 2 :] == asked[: len(asked) // 2]
    assert repr(again) == repr(routed)  # as text, where a score that is no number equals itself
    if routed.route == "raw":
        assert len(routed.passages) == len(raw[:k])
        assert all(one is other for one, other in zip(routed.passages, raw, strict=False))
    elif call["options"]["composition"] != "rrf":
        assert list(map(id, routed.passages)) == list(map(id, added[:k]))


@pytest.mark.parametrize("query", ["use that " * 120_000, "設定を教えて" * 60_000, "🎉" * 250_000, "مرحبا " * 100_000])
async def test_a_query_of_a_megabyte_is_routed(make_reader, router, run, make_index, mode: str, query: str) -> None:
    index = make_index()
    routed = await run(mode, router(make_reader({ADA: CLUE})), query, ADA, index)
    assert index.searched[0] == (query, "raw")
    assert ids(routed) == ["a", "b", "c"]
