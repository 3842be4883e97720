from collections.abc import Sequence

import pytest
from embedders import GivenEmbedder, WordEmbedder
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle

from pss_integrations.evaluation import krecords, selectors
from pss_integrations.evaluation.controls import Cast
from pss_integrations.evaluation.pss320 import Probe
from pss_integrations.evaluation.selectors import MESSAGES
from pss_integrations.evaluation.subjects import Asked, Subject, from_krecords
from pss_integrations.evaluation.texts import TEXTS
from pss_integrations.evaluation.tools import Tools
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.types import ClueTarget, Message

TARGETS = (
    ClueTarget("Which kit was the harbour drill on?", "Heron kit-7"),
    ClueTarget("the market audit, which kit?", "Crane kit-9"),
    ClueTarget("Find the notes on the harbour drill.", "Heron kit-7"),
)
MESSAGES_SAID = (
    Message("user", "We call it the harbour drill: Heron on kit-7."),
    Message("assistant", "Noted."),
    Message("user", "The market audit was Crane on kit-9."),
)


def cast(
    *queries: str,
    targets: Sequence[ClueTarget] = TARGETS,
    messages: tuple[Message, ...] = MESSAGES_SAID,
    live: tuple[Message, ...] = (),
    tools: Tools | None = None,
) -> Cast:
    asked = tuple(Asked(Probe(query, (), "", "x"), messages + live) for query in queries)
    return Cast([Subject("s", "g", messages, tuple(targets), asked, 0)], Oracle(), HistoryTargets(), tools)


def test_a_record_is_found_by_the_requests_it_was_written_for() -> None:
    made = selectors.select_bm25(cast("what about the harbour?", "and the audit?", "xyzzy"), 0)
    assert made.texts == ("Heron kit-7", "Crane kit-9", "")


def test_a_record_is_found_by_meaning() -> None:
    made = selectors.select_dense(cast("harbour drill notes", "market audit", tools=Tools(embedder=WordEmbedder())), 0)
    assert made.texts == ("Heron kit-7", "Crane kit-9")


def test_vectors_of_any_length_are_compared_by_direction() -> None:
    embedder = GivenEmbedder(lambda text: (9, 9) if "Heron" in text else ((0, 0.1) if "Crane" in text else (0, 1)), 2)
    assert selectors.select_dense(cast("which?", tools=Tools(embedder=embedder)), 0).texts == ("Crane kit-9",)


@pytest.mark.parametrize("name", ["select_bm25", "select_dense"])
def test_without_records_nothing_is_selected(name: str) -> None:
    bare = cast("which kit?", "and now?", targets=(), tools=Tools(embedder=WordEmbedder()))
    assert TEXTS[name].make(bare, 0).texts == ("", "")


@given(st.lists(st.text(max_size=30), min_size=1, max_size=5), st.sampled_from(["select_bm25", "select_dense"]))
def test_what_is_selected_is_a_record_word_for_word(queries: list[str], name: str) -> None:
    asked = cast(*queries, tools=Tools(embedder=WordEmbedder(8)))
    texts = TEXTS[name].make(asked, 0).texts
    assert len(texts) == len(queries)
    assert {*texts} <= {"", *asked.subjects[0].records}


def test_messages_are_selected_from_all_that_was_said_before_the_question() -> None:
    live = tuple(Message("user", f"Note {number} on the quarry trial.") for number in range(5))
    market, quarry = selectors.select_messages(cast("the market audit?", "quarry trial, notes?", live=live), 0).texts
    assert market.splitlines()[0] == "The market audit was Crane on kit-9."
    assert len(quarry.splitlines()) == MESSAGES
    assert all("quarry" in line for line in quarry.splitlines())


def test_the_parsed_reference_tells_what_is_in_force_from_what_was_before() -> None:
    said = (
        Message("user", "Our project is called Heron. The version is v1.2.3."),
        Message("user", "We switched the version from v1.2.3 to v2.0.1."),
    )
    current, former = selectors.parsed(
        cast("the version at present?", "and before we switched?", messages=said), 0
    ).texts
    assert "v2.0.1" in current
    assert "v1.2.3" not in current
    assert "v1.2.3" in former


def test_the_parsed_reference_knows_the_messages_since_the_compile_and_no_targets() -> None:
    live = (Message("user", "Since today the market audit's owner is Ilse Bramwell."),)
    before, after = (selectors.parsed(cast("who is the owner now?", targets=(), live=said), 0) for said in ((), live))
    assert "Bramwell" in after.texts[0]
    assert "Bramwell" not in before.texts[0]


def test_of_sixteen_records_either_selector_finds_the_right_one() -> None:
    (subject,) = from_krecords(krecords.generate(16, seed=3))
    asked = Cast([subject], Oracle(), HistoryTargets(), Tools(embedder=WordEmbedder(256)))
    right = [one.probe.gold_rewrite for one in subject.asked]
    for name in ("select_bm25", "select_dense"):
        found = TEXTS[name].make(asked, 0).texts
        assert sum(one == other for one, other in zip(found, right, strict=True)) >= 0.9 * len(right), name
