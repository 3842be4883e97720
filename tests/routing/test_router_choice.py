"""Which candidate the router takes, by which certificate, and what comes of rrf and of k."""

from typing import Any

import pytest

from pss_integrations.errors import InvalidInput
from pss_integrations.routing import BUILT_IN, Binding, Certificate
from pss_integrations.types import Message, Routed, SessionKey
from pss_integrations.vocabulary import Vocabulary

ADA = SessionKey("ada", "s")
FOLLOW_UP = "use the previous configuration"
CLUE = "Kestrel v2.4 retry_limit"
MARLOWE = "Marlowe billing"
APPENDED = f"{FOLLOW_UP} {CLUE}"
CARD_APPENDED = f"{FOLLOW_UP} {FOLLOW_UP} {MARLOWE}"
TALK = (Message("user", f"Tell me about {MARLOWE}."), Message("assistant", "It sends invoices."))
NAMES = Vocabulary([MARLOWE])
ALWAYS = Certificate(weights={}, threshold=0.0)
NEVER = Certificate(weights={}, threshold=None)
OUT_OF_REACH = Certificate(weights={"support": 1.0}, threshold=9.0)


def ids(routed: Routed[Any]) -> list[str]:
    return [doc.id for doc in routed.passages]


# -- the choice ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by_card", "by_clue", "route"),
    [("Marlowe billing", "unrelated", "card"), ("unrelated", CLUE, "pss"), ("Marlowe", "Kestrel v2.4", "pss")],
)
async def test_the_best_candidate_is_chosen(
    make_reader, router, run, make_index, make_doc, mode: str, by_card: str, by_clue: str, route: str
) -> None:
    index = make_index({CARD_APPENDED: [make_doc("x", by_card)], APPENDED: [make_doc("y", by_clue)]})
    certificate = Certificate(weights={"grounding": 1.0}, threshold=0.1)
    one = router(make_reader({ADA: CLUE}), vocabulary=NAMES, certificate=certificate)
    routed = await run(mode, one, FOLLOW_UP, ADA, index, messages=TALK)
    assert routed.route == route
    assert (routed.clue.text, routed.card) == (CLUE, MARLOWE)  # whichever was used
    assert routed.features["grounding"] > 0


async def test_of_equals_the_clue_is_chosen(make_reader, router, run, make_index, mode: str) -> None:
    one = router(make_reader({ADA: CLUE}), vocabulary=NAMES, certificate=ALWAYS)
    assert (await run(mode, one, FOLLOW_UP, ADA, make_index(), messages=TALK)).route == "pss"


async def test_a_guard_that_lets_nothing_through_gives_the_raw_list(
    make_reader, router, run, make_index, mode: str
) -> None:
    index = make_index()
    one = router(make_reader({ADA: CLUE}), vocabulary=NAMES, certificate=OUT_OF_REACH)
    routed = await run(mode, one, FOLLOW_UP, ADA, index, messages=TALK)
    assert (routed.route, routed.reason, routed.composition, ids(routed)) == ("raw", "guarded", None, ["a", "b", "c"])
    assert (routed.clue.text, routed.card, len(index.searched)) == (CLUE, MARLOWE, 3)


@pytest.mark.parametrize(("query", "certificate"), [(FOLLOW_UP, NEVER), ("thermal budget", BUILT_IN)])
async def test_a_guard_that_sees_the_query_alone_pays_for_no_candidate(
    make_reader, router, run, make_index, mode: str, query: str, certificate: Certificate
) -> None:
    reader, index = make_reader({ADA: CLUE}), make_index()
    one = router(reader, vocabulary=NAMES, certificate=certificate)
    routed = await run(mode, one, query, ADA, index, messages=TALK)
    assert (routed.route, routed.reason, ids(routed)) == ("raw", "guarded", ["a", "b", "c"])
    assert (routed.clue, routed.supported, len(index.searched), reader.calls) == (None, None, 1, [])


@pytest.mark.parametrize(
    ("text", "supported"), [(f"{FOLLOW_UP} {CLUE}", True), (CLUE, False), (FOLLOW_UP, False), ("", False)]
)
async def test_supported_is_apart_from_the_route(
    make_reader, router, run, make_index, make_doc, mode: str, text: str, supported: bool
) -> None:
    for threshold, route in ((0.0, "pss"), (9.0, "raw")):
        certificate = Certificate(weights={"support": 1.0}, threshold=threshold, unsupported_below=0.5)
        index = make_index({APPENDED: [make_doc("x", text)]})
        routed = await run(mode, router(make_reader({ADA: CLUE}), certificate=certificate), FOLLOW_UP, ADA, index)
        assert (routed.route, routed.supported) == (route, supported)


# -- certificates ----------------------------------------------------------------------------------------------

CALIBRATED = Certificate(weights={}, threshold=None, binding=Binding(index_id="mine", engine="fake engine"))


async def test_a_certificate_that_fits_decides(make_reader, router, run, make_index, mode: str) -> None:
    one = router(make_reader({ADA: CLUE}), certificate=CALIBRATED, index_id="mine")
    routed = await run(mode, one, FOLLOW_UP, ADA, make_index())
    assert (routed.reason, routed.calibrated) == ("guarded", True)


@pytest.mark.parametrize(
    ("changed", "options", "said"),
    [
        ({}, {"index_id": "other"}, "was calibrated for"),
        ({}, {}, "has no index_id"),
        ({"binding": Binding(index_id="mine", engine="older engine")}, {"index_id": "mine"}, "was calibrated for"),
        ({"features_version": 0}, {"index_id": "mine"}, "version 0 of the features"),
    ],
)
async def test_one_that_does_not_gives_way_to_the_built_in_one_with_one_warning(
    make_reader, router, run, make_index, mode: str, changed: dict, options: dict, said: str
) -> None:
    one = router(make_reader({ADA: CLUE}), certificate=CALIBRATED.model_copy(update=changed), **options)
    with pytest.warns(UserWarning, match=said):
        routed = await run(mode, one, FOLLOW_UP, ADA, make_index())
    assert (routed.route, routed.calibrated) == ("pss", False)
    await run(mode, one, FOLLOW_UP, ADA, make_index())


async def test_a_session_without_a_state_is_held_to_the_same_promise(
    make_reader, router, run, make_index, mode: str
) -> None:
    one = router(make_reader({}), certificate=CALIBRATED, index_id="mine", vocabulary=NAMES)
    routed = await run(mode, one, FOLLOW_UP, ADA, make_index(), messages=TALK)
    assert (routed.route, routed.reason, routed.calibrated) == ("raw", "guarded", True)


@pytest.mark.parametrize(
    "changed",
    [
        {"composition": "replace"},
        {"routes": ("raw", "pss")},
        {"query_weight": 9},
        {"kind": "dense"},
        {"vocabulary": []},
    ],
)
async def test_a_certificate_holds_for_the_settings_that_it_was_made_with(
    make_reader, router, run, make_index, mode: str, changed: dict
) -> None:
    made_with = router(make_reader({ADA: CLUE}), vocabulary=NAMES).settings
    binding = Binding(index_id="mine", engine="fake engine", settings=made_with)
    given = {"certificate": CALIBRATED.model_copy(update={"binding": binding}), "index_id": "mine", "vocabulary": NAMES}
    routed = await run(mode, router(make_reader({ADA: CLUE}), **given), FOLLOW_UP, ADA, make_index())
    assert routed.calibrated
    with pytest.warns(UserWarning, match="was calibrated for"):
        routed = await run(mode, router(make_reader({ADA: CLUE}), **given | changed), FOLLOW_UP, ADA, make_index())
    assert not routed.calibrated


@pytest.mark.parametrize(
    "options",
    [
        {"vocabulary": "one"},
        {"vocabulary": 5},
        {"cards": object()},
        {"index_id": 5},
        {"certificate": 12},
        {"routes": 5},
    ],
)
def test_options_of_the_wrong_kind_are_refused_when_the_router_is_made(make_reader, router, options: dict) -> None:
    with pytest.raises(InvalidInput):
        router(make_reader({}), **options)


async def test_no_card_is_made_where_none_is_tried(make_reader, router, run, make_index, mode: str) -> None:
    class Failing:
        def build(self, messages, words):
            raise RuntimeError("not to be asked")

    one = router(make_reader({ADA: CLUE}), routes=("raw", "pss"), cards=Failing())
    routed = await run(mode, one, FOLLOW_UP, ADA, make_index(), messages=TALK)
    assert (routed.route, routed.card) == ("pss", "")


async def test_a_candidate_that_is_no_document_is_a_failed_search(
    make_reader, router, run, make_index, mode: str
) -> None:
    index = make_index({APPENDED: [None]})
    routed = await run(mode, router(make_reader({ADA: CLUE})), FOLLOW_UP, ADA, index)
    assert (routed.route, routed.reason) == ("raw", "search_failed")


async def test_cards_alone_have_certificates_of_their_own(router, run, make_index, mode: str) -> None:
    certificate = Certificate(weights={}, threshold=None, binding=Binding(index_id="mine"))
    one = router(None, certificate=certificate, index_id="mine", vocabulary=NAMES)
    routed = await run(mode, one, FOLLOW_UP, None, make_index(), messages=TALK)
    assert (routed.reason, routed.calibrated) == ("guarded", True)


def test_a_certificate_may_be_given_by_its_file(router, make_index, tmp_path) -> None:
    NEVER.save(tmp_path / "never.json")
    one = router(None, certificate=str(tmp_path / "never.json"), vocabulary=NAMES)
    assert one.route(FOLLOW_UP, None, make_index().search, messages=TALK).reason == "guarded"
    with pytest.raises(InvalidInput, match="holds no certificate"):
        router(None, certificate=tmp_path / "nowhere.json")


# -- rrf and k -------------------------------------------------------------------------------------------------


async def test_rrf_fuses_both_rankings_by_id(make_reader, router, run, make_index, mode: str) -> None:
    index = make_index({FOLLOW_UP: ["a", "b", "c"], CLUE: ["c", "d"]})
    routed = await run(mode, router(make_reader({ADA: CLUE}), composition="rrf"), FOLLOW_UP, ADA, index)
    assert index.searched == [(FOLLOW_UP, "raw"), (CLUE, "pss")]
    assert ids(routed) == ["c", "a", "b"]  # b and d tie, by id; as many as the longer list
    assert routed.passages[0].score == pytest.approx(1 / 63 + 1 / 61)


async def test_rrf_counts_a_document_once_per_list(make_reader, router, run, make_index, mode: str) -> None:
    index = make_index({FOLLOW_UP: ["a", "a", "a", "b"], CLUE: ["b"]})
    routed = await run(mode, router(make_reader({ADA: CLUE}), composition="rrf"), FOLLOW_UP, ADA, index)
    assert ids(routed) == ["b", "a"]


@pytest.mark.parametrize("composition", ["append", "rrf"])
async def test_empty_lists_stay_empty(make_reader, router, run, make_index, mode: str, composition: str) -> None:
    index = make_index({FOLLOW_UP: [], CLUE: [], APPENDED: []})
    one = router(make_reader({ADA: CLUE}), composition=composition)
    assert ids(await run(mode, one, FOLLOW_UP, ADA, index, k=5)) == []
    assert ids(await run(mode, one, FOLLOW_UP, ADA, index)) == []


@pytest.mark.parametrize(
    ("composition", "k", "expected"),
    [
        ("append", 2, ["a", "b"]),
        ("append", 10**30, ["a", "b", "c"]),
        ("rrf", 1, ["a"]),
        ("rrf", 10**30, list("adbec")),
    ],
)
async def test_k_cuts_and_never_pads(
    make_reader, router, run, make_index, mode: str, composition: str, k: int, expected: list
) -> None:
    one = router(make_reader({ADA: CLUE}), composition=composition)
    assert ids(await run(mode, one, FOLLOW_UP, ADA, make_index({CLUE: ["d", "e"]}), k=k)) == expected


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", True])
async def test_k_must_be_a_positive_whole_number(make_reader, router, run, make_index, mode: str, k: object) -> None:
    reader, index = make_reader({ADA: CLUE}), make_index()
    with pytest.raises(InvalidInput, match="k must be a positive int"):
        await run(mode, router(reader), FOLLOW_UP, ADA, index, k=k)
    assert (reader.calls, index.searched) == ([], [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"composition": "both"}, "composition"),
        ({"query_weight": 0}, "query_weight"),
        ({"query_weight": 101}, "query_weight"),
        ({"query_weight": float("nan")}, "query_weight"),
        ({"query_weight": True}, "query_weight"),
        ({"on_missing_identity": "ignore"}, "on_missing_identity"),
        ({"kind": "fuzzy"}, "kind"),
        ({"routes": ("raw", "clue")}, "route"),
        ({"routes": "pass"}, "route 'pass'"),
        ({"compositon": "rrf"}, "option 'compositon'"),
    ],
)
def test_options_are_checked_when_it_is_made(make_reader, router, options: dict, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        router(make_reader({}), **options)


def test_the_clue_s_route_needs_a_reader(router) -> None:
    with pytest.raises(InvalidInput, match="'pss' needs a manager"):
        router(None, routes=("raw", "pss"))
