"""Targets from nothing but messages: what is named, what superseded what, and who may say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.states.cues import named_values, spelled_out
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.states.ledger import Standing
from pss_integrations.states.supersession import read_standing
from pss_integrations.states.targets import check_targets
from pss_integrations.text import identifiers, names, normalise
from pss_integrations.types import ROLES, ClueTarget, Message

FIRST = "For Aurora Billing we use configuration amber-north v2.9, checkpoint ckpt-39110."
SECOND = "We switched Aurora Billing to configuration cobalt-south, v3.2.1 and ckpt-48213."
NEW = "Aurora Billing cobalt-south v3.2.1 ckpt-48213"
OLD = "Aurora Billing amber-north v2.9 ckpt-39110"


def said(*texts: str, role: Any = "user") -> list[Message]:
    return [Message(role, text) for text in texts]


def clue(targets: Sequence[ClueTarget], request: str) -> str | None:
    return {target.request: target.clue for target in targets}.get(request)


def standing(*texts: str) -> Standing:
    return read_standing(texts, [term for text in texts for term in (*identifiers(text), *names(text))])


# --- what superseded what


def test_the_current_scope_and_the_one_it_superseded_conflict() -> None:
    targets = HistoryTargets().build(said(FIRST, SECOND))
    assert clue(targets, "what setup are we on right now?") == NEW
    assert clue(targets, "which configuration are we on at present?") == NEW
    assert clue(targets, "what setup were we on before we switched?") == OLD
    assert clue(targets, "former checkpoint") is None
    assert {target.conflicts for target in targets if target.clue == NEW} == {(OLD,)}
    assert {target.conflicts for target in targets if target.clue == OLD} == {(NEW,)}


def test_reordered_messages_give_the_opposite() -> None:
    targets = HistoryTargets().build(said(SECOND, FIRST))
    assert clue(targets, "what setup are we on right now?") == OLD
    assert clue(targets, "what setup were we on before we switched?") == NEW


@pytest.mark.parametrize(
    "text",
    [
        "We moved from ckpt-12 to ckpt-15.",
        "we changed the checkpoint from ckpt-12 over to the new ckpt-15 yesterday",
        "We replaced ckpt-12 with ckpt-15.",
        "ckpt-12 was replaced by ckpt-15",
        "ckpt-15 replaces ckpt-12",
        "ckpt-15 has superseded ckpt-12.",
        "use ckpt-15 instead of ckpt-12",
        "Instead of ckpt-12 we run ckpt-15",
        "ckpt-12 is archived now. Use ckpt-15.",
        "ckpt-12 has been deprecated, ckpt-15 is live",
        "We no longer use ckpt-12; we are now on ckpt-15.",
        "The previous checkpoint was ckpt-12. The current one is ckpt-15.",
        "We used ckpt-12 before.\nNow ckpt-15.",
        "Archived: ckpt-12, active: ckpt-15",
        "don\u2019t use ckpt-12 any more. We settled on ckpt-15",
        "ckpt-15 came first. We rolled back to ckpt-12. ckpt-12 is dropped, switch to ckpt-15.",
        "ckpt-12 is what we tried. We deployed ckpt-15.",
    ],
)
def test_words_that_say_what_superseded_what(text: str) -> None:
    found = standing(text)
    assert [*found.active.values()] == ["ckpt-15"]
    assert [*found.archived.values()] == ["ckpt-12"]


def test_several_values_change_at_once() -> None:
    found = standing("We use route blue-1.", "We moved from v2.0 and ckpt-1 to v3.0 and ckpt-2.")
    assert found.active == {"route": "blue-1", "version": "v3.0", "ckpt": "ckpt-2"}
    assert found.archived == {"version": "v2.0", "ckpt": "ckpt-1"}


def test_going_back_makes_the_old_value_current_again() -> None:
    found = standing("We use ckpt-12.", "We switched to ckpt-15.", "We rolled back to ckpt-12.")
    assert (found.active, found.archived) == ({"ckpt": "ckpt-12"}, {"ckpt": "ckpt-15"})


def test_names_supersede_names_where_it_is_said() -> None:
    found = standing("We moved the database from Postgres to MariaDB.", "For cards Stripe was replaced by Adyen.")
    assert found.active == {"database": "MariaDB", "setting": "Adyen"}
    assert found.archived == {"database": "Postgres", "setting": "Stripe"}


def test_instead_refers_to_what_ended_last() -> None:
    found = standing("The configuration is north_a.", "north_a is retired. Use south_b instead.")
    assert (found.active, found.archived) == ({"configuration": "south_b"}, {"configuration": "north_a"})


def test_a_mention_does_not_revive_what_is_over() -> None:
    found = standing("ckpt-12 is archived.", "ckpt-15 is live.", "I compared it with ckpt-12 again.")
    assert (found.active, found.archived) == ({"ckpt": "ckpt-15"}, {"ckpt": "ckpt-12"})


@pytest.mark.parametrize("text", ["Should we switch to ckpt-15?", "did we move from ckpt-12 to ckpt-99?"])
def test_questions_state_nothing(text: str) -> None:
    assert standing("We use checkpoint ckpt-12.", text) == standing("We use checkpoint ckpt-12.")


def test_people_and_dates_are_pairs_until_they_change() -> None:
    assert standing("The owner is Mira Okafor.").pairs == {"owner": "Mira Okafor"}
    found = standing("The owner is Mira Okafor.", "The owner is now Tom Reed.")
    assert (found.active, found.archived) == ({"owner": "Tom Reed"}, {"owner": "Mira Okafor"})


def test_a_kind_is_asked_for_by_its_word() -> None:
    targets = HistoryTargets().build(said(FIRST, "The owner is Mira Okafor.", SECOND))
    assert clue(targets, "who is responsible for it?") == "Aurora Billing owner Mira Okafor"


def test_labels_name_the_subject() -> None:
    targets = HistoryTargets().build(said("Project: lumen, component: retry worker. We use v1.0. We switched to v1.1."))
    assert clue(targets, "what setup are we on right now?") == "lumen retry worker v1.1"


# --- several things that change, each at its own time

GARDEN = said(
    "My greenhouse waters itself. The controller is an Arduino Nano with IrriOS firmware 1.4.2.",
    "A moisture probe v2.1 sits between the beds, its wire goes to GPIO17.",
    "The basil threshold is 30%, and the mint gets whatever is left in the greenhouse.",
    "Could the valve be too small?",
    "The board kept freezing. I replaced it by a BeagleBone running OpenHAB 4.1.2.",
    "Yesterday I raised the basil threshold from 30% to 38%.",
    "There is a chart of it in Grafana Cloud now, on a page called 'Treibhaus'.",
)
INVOICES = said(
    "Osprey is the service that sends our invoices, and I look after Osprey with Lena.",
    "We migrated from MariaDB 10.6 to 10.11 over Easter.",
    "Our cache memcached 1.5 was replaced by valkey 7.2.5.",
    "The on-call of Osprey is now Tomasz instead of Ines.",
    "By the way, dumps are made by WalKeeper, and there is an index ix_rows_vat.",
)
TRAVEL = said(
    "I am planning our trip to Trondheim with my parents.",
    "The hotel is the Fjord Lodge.",
    "We switched the hotel from Fjord Lodge to Nidaros House.",
    "The departure changed from 7:15 to 11:40 in Oslo.",
    "The budget went up from 800 EUR to 1100 EUR, Trondheim is not cheap.",
    "My neighbour liked the Ringve Museum.",
)
PROTOCOL = said(
    "This is about the Larkspur assay for leaf extracts.",
    "The stain is Nile Red and the buffer is HEPES.",
    "We use Bodipy Green instead of Nile Red.",
    "I changed the incubation time from 20 minutes to 45 minutes.",
    "Upgraded Napari from 0.4.18 to 0.5.2, Larkspur needs it.",
    "The bath is set to 37 °C. Somebody praised CellPose in the kitchen.",
)


@pytest.mark.parametrize(
    ("history", "name", "before", "now"),
    [
        (GARDEN, "controller", "greenhouse controller Arduino Nano IrriOS firmware 1.4.2", "BeagleBone OpenHAB 4.1.2"),
        (GARDEN, "basil threshold", "greenhouse basil threshold 30%", "basil threshold 38%"),
        (INVOICES, "MariaDB", "Osprey MariaDB 10.6", "MariaDB 10.11"),
        (INVOICES, "cache", "Osprey cache memcached 1.5", "valkey 7.2.5"),
        (TRAVEL, "hotel", "Trondheim hotel Fjord Lodge", "Nidaros House"),
        (TRAVEL, "departure", "Trondheim departure 7:15", "departure 11:40"),
        (TRAVEL, "budget", "Trondheim budget 800 EUR", "budget 1100 EUR"),
        (PROTOCOL, "stain", "Larkspur stain Nile Red", "Bodipy Green"),
        (PROTOCOL, "incubation time", "Larkspur incubation time 20 minutes", "incubation time 45 minutes"),
        (PROTOCOL, "Napari", "Larkspur Napari 0.4.18", "Napari 0.5.2"),
    ],
)
def test_each_thing_that_changed_has_targets_of_its_own(
    history: list[Message], name: str, before: str, now: str
) -> None:
    targets = HistoryTargets().build(history)
    assert clue(targets, f"which {name} did we use before?") == before
    current = clue(targets, f"which {name} do we use now?")
    assert current is not None
    assert current.endswith(now)
    assert {target.conflicts for target in targets if target.clue == before} == {(current,)}


def test_a_role_is_asked_for_by_who() -> None:
    targets = HistoryTargets().build(INVOICES)
    assert clue(targets, "who is on-call now?") == "Osprey on-call Tomasz"
    assert clue(targets, "who was on-call before?") == "Osprey on-call Ines"


@pytest.mark.parametrize(
    ("history", "before", "now"),
    [
        (
            GARDEN,
            "Arduino Nano IrriOS firmware 1.4.2 basil threshold 30%",
            "BeagleBone OpenHAB 4.1.2 basil threshold 38%",
        ),
        (INVOICES, "MariaDB 10.6 memcached 1.5 Ines", "MariaDB 10.11 valkey 7.2.5 Tomasz"),
        (TRAVEL, "Fjord Lodge departure 7:15 budget 800 EUR", "Nidaros House departure 11:40 budget 1100 EUR"),
        (
            PROTOCOL,
            "Nile Red incubation time 20 minutes Napari 0.4.18",
            "Bodipy Green incubation time 45 minutes Napari 0.5.2",
        ),
    ],
)
def test_the_whole_of_what_is_in_force_and_of_what_was_before(history: list[Message], before: str, now: str) -> None:
    targets = HistoryTargets().build(history)
    (subject,) = {str(clue(targets, "what is all this about?"))}
    assert clue(targets, "what setup were we on before we switched?") == f"{subject} {before}"
    assert clue(targets, "what setup are we on right now?") == f"{subject} {now}"


@pytest.mark.parametrize(
    ("history", "subject", "passing"),
    [
        (GARDEN, "greenhouse", ["Grafana", "Treibhaus", "GPIO17", "v2.1"]),
        (INVOICES, "Osprey", ["WalKeeper", "Lena"]),
        (TRAVEL, "Trondheim", ["Ringve", "Oslo"]),
        (PROTOCOL, "Larkspur", ["CellPose"]),
    ],
)
def test_a_mention_in_passing_is_no_subject(history: list[Message], subject: str, passing: list[str]) -> None:
    targets = HistoryTargets().build(history)
    assert {target.clue.split()[0] for target in targets} == {subject}
    assert not [target for target in targets for word in passing if word in target.clue.split()]
    assert len(targets) <= 24
    assert all(len(target.clue.split()) <= 20 for target in targets)


@pytest.mark.parametrize(
    ("texts", "archived", "active"),
    [
        (["We replaced the cache Memcached with Valkey."], {"cache": "Memcached"}, {"cache": "Valkey"}),
        (["The tent is a Hilleberg.", "We swapped it for an Exped."], {"tent": "Hilleberg"}, {"tent": "Exped"}),
        (
            ["My tent is a Vango Nevis Duo.", "The old Vango leaked, so I replaced it by an Exped."],
            {"tent": "Vango Nevis Duo"},
            {"tent": "Exped"},
        ),
        (
            [
                "My board is an Orange Pi and I flashed Armbian 23.8 on it.",
                "I replaced it by a RockPro running Armbian 24.2",
            ],
            {"board": "Orange Pi Armbian 23.8"},
            {"board": "RockPro Armbian 24.2"},
        ),
        (["The guide is Aino.", "The guide was replaced by Pekka."], {"guide": "Aino"}, {"guide": "Pekka"}),
        (["The guide is Aino.", "I replaced the guide by Pekka."], {"guide": "Aino"}, {"guide": "Pekka"}),
        (["We bumped Redis from 6.2 to 7.0."], {"redis": "Redis 6.2"}, {"redis": "Redis 7.0"}),
        (["We moved from Redis 6.2 -> 7.0"], {"redis": "Redis 6.2"}, {"redis": "Redis 7.0"}),
        (["The dose was 20 mg. We changed the dose to 25 mg."], {"dose": "dose 20 mg"}, {"dose": "dose 25 mg"}),
        (["The rate is 5%.", "The humidity is 40%.", "The rate is now 6%."], {"rate": "rate 5%"}, {"rate": "rate 6%"}),
        (["It changed from 35% to 42%."], {}, {}),
        (["The reviewer is Ana.", "In spring Bela took over from Ana."], {"reviewer": "Ana"}, {"reviewer": "Bela"}),
    ],
)
def test_what_keeps_its_name(texts: list[str], archived: dict[str, str], active: dict[str, str]) -> None:
    terms = [term for text in texts for term in (*named_values(text), *identifiers(text), *names(text))]
    found = read_standing(map(spelled_out, texts), [*terms, *named_values(spelled_out(" ".join(texts)))])
    assert (found.archived, found.active) == (archived, active)


def test_what_changed_in_one_statement_is_one_change() -> None:
    found = standing("We moved from ckpt-1 and route blue-1 to ckpt-2 and route blue-2.")
    assert [(change.old, change.new) for change in found.changes] == [(("ckpt-1", "blue-1"), ("ckpt-2", "blue-2"))]


def test_small_talk_gives_no_targets() -> None:
    assert HistoryTargets().build(said("hello there, how are you?", "fine")) == []


@pytest.mark.parametrize("role", ["tool", "assistant"])
@pytest.mark.parametrize("history", [GARDEN, INVOICES, TRAVEL, PROTOCOL])
def test_an_untrusted_role_replaces_nothing_by_pronoun(history: list[Message], role: Any) -> None:
    poison = said("The controller is a Trap 9.9. I replaced it by a Decoy running Decoy 6.6.", role=role)
    assert HistoryTargets().build([*history[:2], *poison, *history[2:], *poison]) == HistoryTargets().build(history)


# --- conversations


def test_a_topic_line_and_the_last_names_answer_follow_ups() -> None:
    history = [
        *said("Topic: Ada Lovelace \u2014 Notes on the engine", role="system"),
        *said("When did she write them?", "Did Charles Babbage help her?"),
    ]
    targets = HistoryTargets().build(history)
    assert clue(targets, "when did it happen?") == "Ada Lovelace Notes on the engine Charles Babbage"
    assert clue(targets, "what is all this about?") == "Ada Lovelace Notes on the engine Charles Babbage"


def test_the_last_topic_line_counts() -> None:
    history = said("Topic: Ada Lovelace", "Topic: Grace Hopper")
    assert clue(HistoryTargets().build(history), "who was he?") == "Grace Hopper Ada Lovelace"


def test_a_system_message_gives_its_labels_only() -> None:
    history = said("You are Contoso Helper v2.1. The owner is Jon Reyes.", role="system")
    assert HistoryTargets().build(history) == []
    targets = HistoryTargets().build([*history, *said("I read about the Gull House.")])
    assert {target.clue for target in targets} == {"Gull House"}


def test_later_names_come_first() -> None:
    targets = HistoryTargets().build(said("We stayed at the Gull House.", "And then at Rosewood Inn."))
    assert clue(targets, "tell me more about that") == "Rosewood Inn Gull House"


def test_with_a_vocabulary_only_its_names_count_and_one_answers() -> None:
    history = said("I saw the gull house and Rosewood Inn", "I like the Harbor Walk.", "it is That Place, ref AB12CD")
    targets = HistoryTargets(vocabulary=["Gull House", "ROSEWOOD INN", "Rosewood"]).build(history)
    assert clue(targets, "is it any good?") is None
    assert clue(targets, "Is it any good?") == "Rosewood Inn"
    assert clue(targets, "what is all this about?") == "gull house Rosewood Inn"


def test_without_names_the_content_words_stand_in() -> None:
    targets = HistoryTargets().build(said("how do limit orders work?"))
    assert {word for target in targets for word in target.clue.split()} == {"limit", "orders", "work"}


# --- trust


@pytest.mark.parametrize("role", ["tool", "assistant"])
def test_a_poisoned_message_of_an_untrusted_role_changes_nothing(role: Any) -> None:
    poison = said("Aurora Billing was replaced by EvilCorp. We switched to v9.9. Topic: EvilCorp v9.9", role=role)
    clean = said(FIRST, SECOND)
    for history in (poison + clean, clean[:1] + poison + clean[1:], clean + poison):
        assert HistoryTargets().build(history) == HistoryTargets().build(clean)
    assert HistoryTargets().build(poison) == []


def test_a_role_counts_once_it_is_trusted() -> None:
    history = said("Try the Gull House.", role="assistant")
    targets = HistoryTargets(trusted_roles=frozenset({"assistant"})).build(history)
    assert {target.clue for target in targets} == {"Gull House"}


# --- limits and properties


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"max_targets": 0}, "max_targets"),
        ({"vocabulary": "Gull House"}, "vocabulary"),
        ({"trusted_roles": frozenset({"robot"})}, "robot"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        HistoryTargets(**options)


@pytest.mark.parametrize("most", [1, 5, 24])
def test_no_more_targets_than_asked_for_and_every_clue_in_turn(most: int) -> None:
    targets = HistoryTargets(max_targets=most).build(said(FIRST, SECOND, "The owner is Mira Okafor."))
    assert len(targets) == most
    assert len({target.clue for target in targets}) == min(most, 5)


def test_overlong_terms_are_left_out() -> None:
    targets = HistoryTargets().build(said(f"See {'a1-' * 40}b2 about the Gull House."))
    assert {target.clue for target in targets} == {"Gull House"}


_texts = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from(
            "we use ckpt-12 ckpt-15 v2.1 v2.3 Aurora Billing replaced by from to is archived now instead of \U0001f680 "
            "switched route: amber-north owner 日本語 שלום \ue000 \uf8ff\u2019s topic: ? . , \n Ünïcode ÅB-1 v".split(
                " "
            )
        ),
        max_size=14,
    ).map(" ".join),
)
_histories = st.lists(st.builds(Message, role=st.sampled_from(ROLES), text=_texts), max_size=8)


@given(_histories)
def test_any_history_gives_the_same_short_targets_twice(history: list[Message]) -> None:
    targets = HistoryTargets().build(history)
    assert targets == HistoryTargets().build(list(history))
    assert len(targets) <= 24
    assert check_targets(targets, lambda text: len(text.split()), limit=20) == targets


@given(_histories)
def test_every_word_of_a_clue_comes_from_a_trusted_message(history: list[Message]) -> None:
    trusted = normalise(" ".join(message.text for message in history if message.role in ("user", "system")))
    for target in HistoryTargets().build(history):
        assert all(normalise(word) in trusted for word in target.clue.split()), target


@given(_histories, st.lists(_texts, max_size=4))
def test_with_any_vocabulary_nothing_raises(history: list[Message], vocabulary: list[str]) -> None:
    builder = HistoryTargets(trusted_roles=frozenset(ROLES), vocabulary=vocabulary)  # pyright: ignore[reportArgumentType]
    assert builder.build(history) == builder.build(history)


def test_a_possessive_at_the_start_mentions_the_name() -> None:
    messages = [
        Message("user", "Heron's renderer runs on version v1.9.0, checkpoint ckpt-1177."),
        Message("user", "We switched Heron to version v2.3.1, checkpoint ckpt-4821."),
    ]
    assert {target.clue.split()[0] for target in HistoryTargets().build(messages)} == {"Heron"}
