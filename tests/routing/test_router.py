import threading
from typing import Any

import pytest

from pss_integrations.errors import HistoryDiverged, MissingIdentity, StateCorrupt
from pss_integrations.routing import Card
from pss_integrations.types import Message, Passage, Routed, SessionKey
from pss_integrations.vocabulary import Vocabulary

ADA = SessionKey("ada", "s")
FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4?"
CLUE = "Kestrel v2.4 retry_limit"
MARLOWE = "Marlowe billing"
APPENDED = f"{FOLLOW_UP} {CLUE}"
CARD_APPENDED = f"{FOLLOW_UP} {FOLLOW_UP} {MARLOWE}"
TALK = (Message("user", f"Tell me about {MARLOWE}."), Message("assistant", "It sends invoices."))
NAMES = Vocabulary([MARLOWE])


def ids(routed: Routed[Any]) -> list[str]:
    return [doc.id for doc in routed.passages]


# -- decided from the query alone ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "reason"), [("", "blank_query"), (" \n", "blank_query"), (ON_ITS_OWN, "self_contained")]
)
async def test_a_query_that_needs_no_session_asks_no_reader(
    make_reader, router, run, make_index, mode: str, query: str, reason: str
) -> None:
    reader, index = make_reader({ADA: CLUE}), make_index()
    routed = await run(mode, router(reader, vocabulary=NAMES), query, ADA, index, messages=TALK)
    assert (routed.route, routed.reason, ids(routed)) == ("raw", reason, ["a", "b", "c"])
    assert index.searched == [(query, "raw")]
    assert (reader.calls, routed.card, routed.supported) == ([], "", None)


async def test_no_session_searches_raw_and_warns_once(make_reader, router, run, make_index, mode: str) -> None:
    reader, index = make_reader({ADA: CLUE}), make_index()
    one = router(reader)
    with pytest.warns(UserWarning, match="no complete identity"):
        routed = await run(mode, one, FOLLOW_UP, None, index)
    assert (routed.route, routed.reason) == ("raw", "no_session")
    await run(mode, one, FOLLOW_UP, None, index)  # a second warning would be an error here
    assert reader.calls == []


@pytest.mark.parametrize("query", [FOLLOW_UP, ON_ITS_OWN])
async def test_no_session_can_raise_whatever_the_query(make_reader, router, run, make_index, mode: str, query: str):
    index = make_index()
    with pytest.raises(MissingIdentity):
        await run(mode, router(make_reader({}), on_missing_identity="raise"), query, None, index)
    assert index.searched == []


# -- the clue --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clue", ["", "\n", "# Plan", "...", "go go go go", FOLLOW_UP])
async def test_an_unusable_clue_falls_back_and_is_shown(make_reader, router, run, make_index, mode: str, clue: str):
    index = make_index()
    routed = await run(mode, router(make_reader({ADA: clue})), FOLLOW_UP, ADA, index)
    assert (routed.route, routed.reason, routed.composition) == ("raw", "unusable_clue", None)
    assert routed.clue.text == clue
    assert index.searched == [(FOLLOW_UP, "raw")]


async def test_a_clue_without_an_end_falls_back(make_reader, router, run, make_index, mode: str) -> None:
    reader = make_reader({ADA: CLUE})
    reader.finished = False
    routed = await run(mode, router(reader), FOLLOW_UP, ADA, make_index())
    assert (routed.route, routed.reason) == ("raw", "unusable_clue")


@pytest.mark.parametrize("key", [SessionKey("bob", "s"), SessionKey(None, "s"), SessionKey("ada", "S")])
async def test_only_the_exact_session_has_the_state(
    make_reader, router, run, make_index, mode: str, key: SessionKey
) -> None:
    index = make_index()
    routed = await run(mode, router(make_reader({ADA: CLUE})), FOLLOW_UP, key, index)
    assert (routed.route, routed.reason, routed.clue) == ("raw", "no_state", None)
    assert index.searched == [(FOLLOW_UP, "raw")]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, APPENDED),
        ({"query_weight": 3}, f"{FOLLOW_UP} {FOLLOW_UP} {APPENDED}"),
        ({"query_weight": 0.01}, APPENDED),
        ({"kind": "lexical"}, APPENDED),
        ({"composition": "replace"}, CLUE),
    ],
)
async def test_the_raw_search_comes_first_then_that_of_the_clue(
    make_reader, router, run, make_index, make_doc, mode: str, options: dict, text: str
) -> None:
    reader, index = make_reader({ADA: CLUE}), make_index({text: ["x", "x", "y"]})
    routed = await run(mode, router(reader, **options), FOLLOW_UP, ADA, index)
    assert (routed.route, routed.reason) == ("pss", "clue")
    assert routed.passages == (make_doc("x"), make_doc("x"), make_doc("y"))
    assert index.searched == [(FOLLOW_UP, "raw"), (text, "pss")]
    assert reader.calls == [("read" if mode == "sync" else "aread", ADA, FOLLOW_UP)]


async def test_what_the_user_said_last_is_in_the_card_and_not_added_to_the_clue(
    make_reader, router, run, make_index, mode: str
) -> None:
    passages = [Passage(str(n), "plain words") for n in range(30)] + [Passage("x", "the thermostat hums")]
    one = router(make_reader({ADA: CLUE}), vocabulary=Vocabulary.from_passages(passages), routes=("raw", "card", "pss"))
    index = make_index()
    talk = [Message("user", "My thermostat hums.")]
    routed = await run(mode, one, FOLLOW_UP, ADA, index, messages=talk)
    assert index.searched[-1] == (APPENDED, "pss")
    assert routed.card == "thermostat hums"


async def test_the_reader_s_errors_are_not_hidden(make_reader, router, run, make_index, mode: str) -> None:
    reader, index = make_reader({ADA: CLUE}), make_index()
    one = router(reader)
    await run(mode, one, FOLLOW_UP, ADA, index)
    reader.error = StateCorrupt("truncated")
    with pytest.raises(StateCorrupt):
        await run(mode, one, FOLLOW_UP, ADA, index)
    assert one.last_decision is None  # not the one before


async def test_live_messages_say_how_old_the_state_is(make_reader, router, run, make_index, mode: str) -> None:
    reader = make_reader({ADA: CLUE}, compiled=1)
    messages = [Message("user", "one"), Message("assistant", "two"), Message("user", "three")]
    routed = await run(mode, router(reader), FOLLOW_UP, ADA, make_index(), messages=messages)
    assert (routed.messages_behind, routed.features["behind"]) == (2, 2.0)
    assert (threading.main_thread() in reader.counting_threads) is (mode == "sync")
    assert (await run(mode, router(reader), FOLLOW_UP, ADA, make_index())).messages_behind is None


async def test_a_history_that_was_cut_says_nothing(make_reader, router, run, make_index, mode: str) -> None:
    reader = make_reader({ADA: CLUE})

    def diverged(*_: object) -> int:
        raise HistoryDiverged("message 0 was removed")

    reader.messages_behind = diverged
    routed = await run(mode, router(reader), FOLLOW_UP, ADA, make_index(), messages=[Message("user", "three")])
    assert (routed.route, routed.messages_behind) == ("pss", None)


# -- the card --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, ADA])
async def test_without_a_reader_the_card_is_left_and_needs_no_identity(
    router, run, make_index, mode: str, key: SessionKey | None
) -> None:
    index = make_index({CARD_APPENDED: ["x"]})
    one = router(None, vocabulary=NAMES, on_missing_identity="raise")
    routed = await run(mode, one, FOLLOW_UP, key, index, messages=TALK)
    assert (routed.route, routed.reason, routed.composition) == ("card", "card", "append")
    assert (ids(routed), routed.card, routed.clue) == (["x"], MARLOWE, None)
    assert index.searched == [(FOLLOW_UP, "raw"), (CARD_APPENDED, "card")]


async def test_a_session_that_was_never_compiled_has_a_card(make_reader, router, run, make_index, mode: str) -> None:
    one = router(make_reader({}), vocabulary=NAMES, composition="replace")
    routed = await run(mode, one, FOLLOW_UP, ADA, make_index({MARLOWE: ["x"]}), messages=TALK)
    assert (routed.route, ids(routed)) == ("card", ["x"])


@pytest.mark.parametrize("messages", [(), (Message("user", "hello there"),), (Message("user", "use configuration"),)])
async def test_a_card_that_adds_nothing_is_not_searched_for(router, run, make_index, mode: str, messages) -> None:
    index = make_index()
    routed = await run(mode, router(None), FOLLOW_UP, None, index, messages=messages)
    assert (routed.route, routed.reason, routed.card) == ("raw", "nothing_to_add", "")
    assert index.searched == [(FOLLOW_UP, "raw")]


async def test_the_card_builder_can_be_replaced(router, run, make_index, mode: str) -> None:
    class Fixed:
        def build(self, messages: object, words: int) -> Card:
            return Card(("Vega",), ("dust",) * words)

    index = make_index()
    one = router(None, cards=Fixed(), kind="dense", composition="replace")
    routed = await run(mode, one, FOLLOW_UP, None, index, messages=TALK)
    assert (routed.route, routed.card, index.searched[-1]) == ("card", "Vega", ("Vega", "card"))


@pytest.mark.parametrize(
    ("routes", "searched"),
    [
        (("raw",), []),
        (("card",), [CARD_APPENDED]),
        (("raw", "pss"), [APPENDED]),
        (("raw", "card", "pss"), [CARD_APPENDED, APPENDED]),
    ],
)
async def test_routes_limit_what_is_tried_and_paid_for(
    make_reader, router, run, make_index, mode: str, routes: tuple, searched: list
) -> None:
    reader, index = make_reader({ADA: CLUE}), make_index()
    one = router(reader, vocabulary=NAMES, routes=routes)
    routed = await run(mode, one, FOLLOW_UP, ADA, index, messages=TALK)
    assert [text for text, _ in index.searched] == [FOLLOW_UP, *searched]
    assert len(reader.calls) == ("pss" in routes)
    assert routed.route in routes
    if routes == ("raw",):
        assert routed.reason == "nothing_to_add"
