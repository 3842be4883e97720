"""Explicit, callable and field targets, and the checks every builder's targets pass."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.states.field_targets import FieldTargets
from pss_integrations.states.targets import (
    CallableTargets,
    ExplicitTargets,
    check_targets,
    clue_of,
    latest,
)
from pss_integrations.types import ClueTarget, Message, SessionFields

FIELDS = SessionFields(
    project="Harbor Maps",
    component="tile renderer",
    active={"configuration": "cobalt-south", "version": "v7.0", "checkpoint": "ckpt-881"},
    archived={"configuration": "amber-north", "version": "v6.4", "checkpoint": "ckpt-702"},
    other={"owner": "Mira Okafor", "review_date": "2026-03-14"},
)
ACTIVE = "Harbor Maps tile renderer cobalt-south v7.0 ckpt-881"
PLACED = "Harbor Maps tile renderer cobalt-south v7.0"
ARCHIVED = "Harbor Maps tile renderer amber-north v6.4 ckpt-702"


def count_words(text: str) -> int:
    return len(text.split())


# --- explicit and callable


def test_explicit_targets_are_returned_whatever_was_said() -> None:
    targets = [ClueTarget("the old one", "v1"), ClueTarget("the new one", "v2", ("v1",))]
    builder = ExplicitTargets(targets)
    assert builder.build([Message("user", "v3")]) == targets
    assert builder.name == "explicit"


def test_explicit_targets_do_not_follow_the_callers_list() -> None:
    targets = [ClueTarget("the old one", "v1")]
    builder = ExplicitTargets(targets)
    targets.clear()
    assert len(builder.build([])) == 1


def test_callable_gets_the_trusted_messages_in_order() -> None:
    seen: list[Message] = []

    def fn(messages: Any) -> list[ClueTarget]:
        seen.extend(messages)
        return [ClueTarget("it?", messages[0].text)]

    history = [Message("tool", "poison"), Message("user", "one"), Message("assistant", "x"), Message("system", "two")]
    assert CallableTargets(fn, name="mine").build(history) == [ClueTarget("it?", "one")]
    assert [message.text for message in seen] == ["one", "two"]


def unchecked(request: Any, clue: Any, conflicts: Any = ()) -> ClueTarget:
    target = object.__new__(ClueTarget)
    for name, value in (("request", request), ("clue", clue), ("conflicts", conflicts)):
        object.__setattr__(target, name, value)
    return target


@pytest.mark.parametrize(
    ("returned", "complaint"),
    [
        (None, "must be a list of ClueTarget, got NoneType"),
        ("v1", "must be a list of ClueTarget, got str"),
        ([ClueTarget("a", "b"), ("a", "b")], "item 1 must be a ClueTarget, got tuple"),
        ([unchecked("a", None)], "must be text and not blank: None"),
        ([unchecked("a", " ")], "must be text and not blank: ' '"),
        ([unchecked("a", "b", ("",))], "must be text and not blank: ''"),
        ([unchecked("a", "b", ["c"])], "conflicts must be a tuple, got list"),
    ],
)
def test_what_a_callable_returns_is_checked(returned: Any, complaint: str) -> None:
    builder = CallableTargets(lambda _: returned, name="mine")
    with pytest.raises(InvalidInput, match="'mine'") as caught:
        builder.build([])
    assert complaint in str(caught.value)


def test_what_a_callable_raises_is_the_callers() -> None:
    def fn(_: Any) -> list[ClueTarget]:
        raise TimeoutError("the model is busy")

    with pytest.raises(TimeoutError, match="busy"):
        CallableTargets(fn, name="mine").build([])


@pytest.mark.parametrize("roles", [frozenset({"user", "robot"}), "user"])
def test_roles_no_message_can_have_are_refused(roles: Any) -> None:
    with pytest.raises(InvalidInput, match="trusted"):
        CallableTargets(lambda _: [], name="mine", trusted_roles=roles)


def test_a_callable_needs_a_name() -> None:
    with pytest.raises(InvalidInput, match="name"):
        CallableTargets(lambda _: [], name=" ")


# --- checks


def test_repetitions_are_dropped_in_order() -> None:
    first, second = ClueTarget("a", "x"), ClueTarget("b", "y")
    assert check_targets([first, second, ClueTarget("a", "x", ("y",))], count_words) == [first, second]


def test_a_request_in_other_letters_is_kept_with_the_same_clue_only() -> None:
    assert len(check_targets([ClueTarget("Which one?", "x"), ClueTarget("which one?", "x")], count_words)) == 2
    with pytest.raises(InvalidInput, match=r"'which  ONE\?' has two clues, 'x' and 'y'"):
        check_targets([ClueTarget("Which one?", "x"), ClueTarget("which  ONE?", "y")], count_words)


@pytest.mark.parametrize(
    "target", [ClueTarget("the long one", "a b c d"), ClueTarget("the long one", "a", ("b", "a b c d"))]
)
def test_a_clue_over_the_limit_names_the_request(target: ClueTarget) -> None:
    assert check_targets([target], count_words, limit=4) == [target]
    with pytest.raises(InvalidInput, match="'the long one' has 4 tokens: at most 3"):
        check_targets([target], count_words, limit=3)


def test_latest_keeps_what_was_made_last() -> None:
    assert latest([ClueTarget("a", "x"), ClueTarget("b", "y"), ClueTarget("A", "z")]) == [
        ClueTarget("A", "z"),
        ClueTarget("b", "y"),
    ]


@given(st.lists(st.text(max_size=40), max_size=30))
def test_clues_are_short_and_made_of_their_parts(parts: list[str]) -> None:
    clue = clue_of(parts)
    words = [word for part in parts for word in part.split()]
    assert set(clue.split()) <= set(words)
    assert count_words(clue) <= 20
    assert bool(clue) == bool(words)


def test_a_clue_says_nothing_twice_and_skips_what_does_not_fit() -> None:
    assert clue_of(["Harbor  Maps", "", "maps", "Map", "1234567890" * 6, "v7"]) == "Harbor Maps Map v7"


# --- fields


def test_fields_give_the_scope_in_force_and_the_one_before() -> None:
    targets = FieldTargets(FIELDS).build([])
    by_clue = Counter(target.clue for target in targets)
    assert by_clue[ACTIVE] == by_clue[ARCHIVED] == 9
    assert {target.conflicts for target in targets if target.clue == ACTIVE} == {(ARCHIVED,)}
    assert {target.conflicts for target in targets if target.clue == ARCHIVED} == {(ACTIVE,)}
    assert set(by_clue) - {ACTIVE, ARCHIVED} == {
        PLACED,
        f"{PLACED} owner Mira Okafor",
        f"{PLACED} review date 2026-03-14",
        "Harbor Maps tile renderer amber-north cobalt-south v6.4 v7.0 ckpt-702 ckpt-881",
    }


def test_usual_fields_give_20_to_28_targets_that_pass_the_checks() -> None:
    targets = FieldTargets(FIELDS).build([])
    assert 20 <= len(targets) <= 28
    assert check_targets(targets, count_words, limit=20) == targets


@pytest.mark.parametrize(
    ("request_text", "clue"),
    [
        ("is it still running?", ACTIVE),
        ("was it more stable back then?", ARCHIVED),
        ("current version", ACTIVE),
        ("former version", ARCHIVED),
        ("who is responsible for it?", f"{PLACED} owner Mira Okafor"),
        ("when was that?", f"{PLACED} review date 2026-03-14"),
        ("what is all this about?", PLACED),
    ],
)
def test_a_request_gets_its_clue(request_text: str, clue: str) -> None:
    assert {target.request: target.clue for target in FieldTargets(FIELDS).build([])}[request_text] == clue


def test_every_field_is_asked_for_now_and_before() -> None:
    names = [f"part {letter}" for letter in "abcdefghijk"]
    fields = SessionFields("P", active={n: n[-1] * 3 for n in names}, archived={n: n[-1] * 4 for n in names})
    targets = FieldTargets(fields, requests_per_clue=4).build([])
    for name in names:
        assert len({target.clue for target in targets if f" {name} " in f" {target.request.strip('.?')} "}) == 2


def test_a_value_the_scope_has_no_room_for_gets_its_own_clue() -> None:
    long = {f"field {number}": f"value-{number}-{'abcdef' * 2}" for number in range(12)}
    fields = SessionFields("Harbor", active=long, archived={"field 11": "old-value"})
    targets = FieldTargets(fields).build([])
    (target,) = [target for target in targets if "field 11" in target.request and target.clue.endswith("abcdef")]
    assert target.clue == "Harbor field 11 value-11-abcdefabcdef"
    assert target.conflicts == ("Harbor old-value",)


def test_without_archived_values_nothing_is_said_of_before() -> None:
    targets = FieldTargets(SessionFields("Harbor", active={"version": "v2"})).build([])
    assert {target.clue for target in targets} == {"Harbor v2"}
    assert not any(target.conflicts for target in targets)


def test_equal_scopes_count_as_one() -> None:
    same = {"version": "v2"}
    targets = FieldTargets(SessionFields("Harbor", active=same, archived=same)).build([])
    assert {target.clue for target in targets} == {"Harbor v2"}


def test_more_requests_can_be_asked_for() -> None:
    few, many = (len(FieldTargets(FIELDS, requests_per_clue=count).build([])) for count in (1, 12))
    assert few < 20 < 30 < many
    with pytest.raises(InvalidInput, match="requests_per_clue"):
        FieldTargets(FIELDS, requests_per_clue=0)


_words = st.text(min_size=1, max_size=30).filter(str.strip)
_pairs = st.dictionaries(_words, _words, max_size=5)


@given(_words, _pairs, _pairs, _pairs, st.integers(1, 15))
def test_any_fields_give_targets_made_of_their_words(
    project: str, active: dict[str, str], archived: dict[str, str], other: dict[str, str], count: int
) -> None:
    fields = SessionFields(project, active, archived, "part", other)
    targets = FieldTargets(fields, count).build([])
    given_words = " ".join([project, "part", *(f"{a} {b}" for p in (active, archived, other) for a, b in p.items())])
    folded = set(given_words.casefold().replace("_", " ").split()) | set(given_words.casefold().split())
    assert targets == FieldTargets(fields, count).build([Message("user", "something else")])
    assert {word.casefold() for target in targets for word in target.clue.split()} <= folded
    assert len({target.request for target in targets}) == len(targets)
