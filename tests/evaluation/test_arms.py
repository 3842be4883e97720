from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.evaluation.arms import ARMS, CARD_TOKENS, card, compose
from pss_integrations.evaluation.controls import STATES
from pss_integrations.evaluation.pss320 import UNSUPPORTED, Probe
from pss_integrations.evaluation.subjects import Asked, Subject
from pss_integrations.evaluation.texts import TEXTS
from pss_integrations.evaluation.turns import Turn
from pss_integrations.retrieval import BM25Index
from pss_integrations.routing.wording import Wording
from pss_integrations.types import Clue, ClueTarget, Message, Passage

MESSAGES = (
    Message("user", "Heron runs on kit-7."),
    Message("assistant", "Noted, Heron."),
    Message("user", "Then Crane came, on kit-9."),
)
TARGETS = (ClueTarget("now?", "Crane kit-9"), ClueTarget("at present?", "Crane kit-9"), ClueTarget("before?", "Heron"))


def turn(*, clue: str = "", query: str = "and now?", live: tuple[Message, ...] = (), gold: str = "On kit-9?") -> Turn:
    probe = Probe(query, (frozenset({"d"}),), gold, "coreference")
    subject = Subject("s", "g", MESSAGES, TARGETS, (), 0)
    index = BM25Index([Passage("d", "kit-9 replaced kit-7", "Crane"), Passage("e", "and now for something else")])
    return Turn(
        subject,
        Asked(probe, MESSAGES + live),
        Clue(clue, (0.0,), 1, "state", finished=True) if clue else None,
        lambda text: len(text.split()),
        find=lambda wording: index.search_expanded(wording.query, wording.added, 10, query_weight=wording.weight),
        kind="lexical",
        vocabulary=index.vocabulary,
    )


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("raw", (Wording("and now?"),)),
        ("gold", (Wording("On kit-9?"),)),
        ("card/append", (Wording("and now?", "kit-7 Heron Crane kit-9"),)),
        ("target_card/append", (Wording("and now?", "Crane kit-9 Heron"),)),
        ("user_history", (Wording("and now?", "Then Crane came, on kit-9.\nHeron runs on kit-7."),)),
        ("concatenation", (Wording("Crane kit-9 Heron"),)),
        ("record_rrf", (Wording("Crane kit-9"), Wording("Heron"))),
        ("correct/replace", (Wording("a clue"),)),
        ("correct/append", (Wording("and now?", "a clue"),)),
        ("correct/rrf", (Wording("and now?"), Wording("a clue"))),
        ("guarded/append", (Wording("and now?", "a clue"),)),
        ("card", (Wording("and now?", "Crane", 2.0),)),
    ],
)
def test_what_an_arm_sends(name: str, sent: tuple[Wording, ...]) -> None:
    assert ARMS[name].send(turn(clue="a clue")) == sent


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_made_is_sent_in_every_composition(name: str) -> None:
    asked = replace(turn(), text="Crane kit-9")
    raw, alone, both = Wording("and now?"), Wording("Crane kit-9"), Wording("and now?", "Crane kit-9")
    assert ARMS[f"{name}/replace"].send(asked) == (alone,)
    assert ARMS[f"{name}/append"].send(asked) == (both,)
    assert ARMS[f"{name}/rrf"].send(asked) == (raw, alone)


def test_the_oracle_chooses_among_the_routes_of_the_router() -> None:
    assert set(ARMS["oracle_route"].best_of) == {"raw", "card", "clue"}
    assert {ARMS[f"guarded{end}"].state for end in ("", "_matched_wrong", "_shuffled")} == {
        "correct",
        "matched_wrong",
        "shuffled",
    }


def test_every_state_is_read_in_every_composition() -> None:
    assert {arm.state for arm in ARMS.values() if arm.state} == set(STATES)
    assert all({f"{state}/{how}" for how in ("replace", "append", "rrf")} <= ARMS.keys() for state in STATES)


@pytest.mark.parametrize("composition", ["replace", "append", "rrf"])
def test_a_blank_clue_leaves_the_query_alone(composition: str) -> None:
    assert ARMS[f"correct/{composition}"].send(turn(clue=" \n")) == (Wording("and now?"),)
    assert compose(composition, turn(query="q"), "") == (Wording("q"),)


def test_an_unsupported_rewrite_leaves_the_query_alone() -> None:
    assert ARMS["gold"].send(turn(gold=UNSUPPORTED)) == (Wording("and now?"),)


@pytest.mark.parametrize(
    ("query", "clue"), [("Is kit-9 live?", "a clue"), ("and now?", "now and now"), ("and now?", "# ")]
)
def test_the_guard_leaves_alone_what_needs_no_session_and_what_a_clue_does_not_help(query: str, clue: str) -> None:
    assert ARMS["guarded/append"].send(turn(query=query, clue=clue)) == (Wording(query),)


def test_live_messages_are_part_of_the_history() -> None:
    live = (Message("user", "Bittern now, kit-12."),)
    assert "Bittern" in ARMS["full_history"].send(turn(live=live))[0].added
    assert card(turn(live=live)).endswith("kit-12")


@given(st.lists(st.text(max_size=60), max_size=12))
def test_a_card_has_at_most_32_tokens_and_repeats_no_name(texts: list[str]) -> None:
    messages = tuple(Message("user", text) for text in texts)
    made = card(replace(turn(), asked=Asked(turn().asked.probe, messages)))
    assert len(made.split()) <= CARD_TOKENS
    assert made.strip() == made
