import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.evaluation.public.activity import (
    FOLLOW_UPS,
    WRITE_REQUESTS,
    ActiveRequestTargets,
    clue_for,
    content_stems,
    follow_ups_for,
    parse_activity,
    write_history,
)
from pss_integrations.states.targets import CLUE_TOKENS, check_targets
from pss_integrations.types import Message

QUESTIONS = ("Who tended the lighthouse of Ostrell?", "Which bell was painted in Quenby?", "What did Marlock trade?")


@given(
    st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=6).flatmap(
        lambda texts: st.tuples(st.just(texts), st.integers(0, len(texts) - 1))
    )
)
def test_what_is_written_is_parsed_back(written: tuple[list[str], int]) -> None:
    questions, active = written
    activity = parse_activity(write_history(questions, active))
    assert [*activity.texts.values()] == questions
    assert activity.texts[activity.active or ""] == questions[active]


def test_the_history_says_each_request_once_and_archives_all_but_one() -> None:
    said = [message.text for message in write_history(QUESTIONS, 0)]
    assert [sum(question in text for text in said) for question in QUESTIONS] == [1, 1, 1]
    assert [text for text in said if text.startswith(("Switch", "Archive"))] == [
        "Switch to request 1.",
        "Archive request 2.",
        "Archive request 3.",
    ]


def test_a_request_that_is_begun_last_needs_no_switch() -> None:
    assert not any(message.text.startswith("Switch") for message in write_history(QUESTIONS, 2))


@pytest.mark.parametrize(
    ("markers", "active"),
    [
        (["Archive request 2."], None),
        (["Switch to request 1."], "1"),
        (["Switch to request 1.", "Archive request 2."], "1"),
        (["Switch to request 1.", "Archive request 1."], None),
        (["Archive request 2.", "Switch to request 2."], "2"),
        (["Switch to request 9."], "2"),
        (["please Switch to request 1."], "2"),
    ],
)
def test_the_markers_say_what_is_active(markers: list[str], active: str | None) -> None:
    begun = [Message("user", f"Begin request {number}: {text}") for number, text in enumerate(QUESTIONS[:2], 1)]
    assert parse_activity([*begun, *(Message("user", text) for text in markers)]).active == active


def test_markers_of_an_assistant_say_nothing() -> None:
    history = write_history(QUESTIONS, 0)
    assert parse_activity([*history, Message("assistant", "Switch to request 2.")]).active == "1"


def test_targets_teach_the_active_request_and_not_the_others() -> None:
    targets = ActiveRequestTargets().build(write_history(QUESTIONS, 0))
    assert [target.request for target in targets] == [*WRITE_REQUESTS]
    assert {target.clue for target in targets} == {"tended lighthouse Ostrell"}
    assert {target.conflicts for target in targets} == {("bell painted Quenby", "Marlock trade")}


def test_the_order_of_the_history_decides_what_is_taught() -> None:
    history = write_history(QUESTIONS, 0)
    switched = [*history, Message("user", "Switch to request 3.")]
    assert {target.clue for target in ActiveRequestTargets().build(switched)} == {"Marlock trade"}


def test_without_an_active_request_nothing_is_taught() -> None:
    history = write_history(QUESTIONS[:1], 0)
    assert ActiveRequestTargets().build(history[:0]) == []
    assert ActiveRequestTargets().build([*history, Message("user", "Archive request 1.")]) == []


def test_requests_with_the_same_content_words_are_no_conflict() -> None:
    targets = ActiveRequestTargets().build(write_history(["Who sailed?", "When was it that they sailed?"], 1))
    assert {(target.clue, target.conflicts) for target in targets} == {("sailed", ())}


@given(st.text(max_size=600))
def test_a_clue_fits_a_reader_that_counts_bytes_of_other_scripts(question: str) -> None:
    targets = ActiveRequestTargets().build(write_history([question or "x", "Who sailed?"], 0))

    def count(text: str) -> int:
        return sum(
            -(-len(piece) // 3) if piece.isascii() else len(piece.encode()) for piece in re.findall(r"\w+", text)
        )

    assert check_targets(targets, count, CLUE_TOKENS) == targets


def test_numbers_and_identifiers_are_part_of_a_clue_and_runs_are_cut_short() -> None:
    assert clue_for("What did v2.1 cost in 1998, and how many of the 3 ships?") == "v2.1 cost 1998 3 ships"
    assert clue_for("是谁在奥斯特雷尔照看灯台") == "是谁在奥斯特雷尔 照看灯台"
    assert clue_for("Why is it so?") == ""


def test_follow_ups_share_no_content_word_with_what_they_ask_for() -> None:
    question = "Which pages did he find open while looking for the passage?"
    hiding = follow_ups_for(question)
    assert hiding
    assert len(hiding) < len(FOLLOW_UPS)
    assert all(content_stems(question).isdisjoint(content_stems(follow_up)) for follow_up in hiding)


def test_follow_ups_are_worded_apart_from_each_other_and_from_what_is_taught() -> None:
    def trigrams(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.casefold())
        return {*zip(words, words[1:], words[2:], strict=False)}

    for one, two in combinations((*FOLLOW_UPS, *WRITE_REQUESTS), 2):
        assert trigrams(one).isdisjoint(trigrams(two)), (one, two)
    assert all(content_stems(one).isdisjoint(content_stems(two)) for one, two in combinations(FOLLOW_UPS, 2))
