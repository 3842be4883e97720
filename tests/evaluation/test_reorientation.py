import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pss_integrations.beliefs import NewBelief
from pss_integrations.beliefs.extraction import Observation
from pss_integrations.beliefs.injection import estimate_tokens
from pss_integrations.cli import app
from pss_integrations.evaluation.reorientation import (
    Dialogue,
    Fact,
    Session,
    TokenCounter,
    begin,
    evaluate_reorientation,
    load_dialogues,
    token_counter,
)
from pss_integrations.types import Message

BY_WORD = TokenCounter("words", lambda text: len(text.split()))
CACHE = Fact("cache", known=("Valkey",), stale=("Redis",), needed=True)
REGION = Fact("region", known=("Ireland",))
QUOTA = Fact("quota", known=("quota",), open=True)
DIALOGUE = Dialogue(
    id="ada",
    project="atlas",
    sessions=(
        Session(date(2026, 1, 5), (Message("user", "decision cache: We use Redis."),)),
        Session(
            date(2026, 1, 9),
            (
                Message("user", "decision cache: We use Valkey."),
                Message("user", "open_question quota: Which quota?"),
                Message("user", "entity region: It runs in Ireland."),
            ),
        ),
    ),
    question="What do I install for the cache, and what about the quota?",
    facts=(CACHE, REGION, QUOTA),
    restated="We use Valkey in Ireland, and the quota is open.",
)


class Dictated:
    """Takes a belief from each message, which says its type, its name and its content."""

    def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
        said = [message.text.partition(": ") for message in messages]
        heads = [head.split() for head, _, _ in said]
        return Observation(
            tuple(
                NewBelief.model_validate(
                    {"type": kind, "canonical_name": name, "content": text, "scopes": tuple(scopes)}
                )
                for (kind, name), (_, _, text) in zip(heads, said, strict=True)
            )
        )


def test_a_fresh_session_knows_what_its_question_names_and_the_store_holds_the_rest() -> None:
    start = begin(DIALOGUE, BY_WORD, Dictated())
    assert set(start.stored) == {CACHE, REGION, QUOTA}
    assert set(start.known) == {CACHE, QUOTA}
    assert (start.stored_stale, start.shown_stale) == ((), ())


def test_tokens_are_counted_for_the_block_the_restatement_and_the_sessions_with_their_roles() -> None:
    start = begin(DIALOGUE, BY_WORD, Dictated())
    spoken = [message.text for session in DIALOGUE.sessions for message in session.messages]
    assert start.replayed_tokens == sum(len(text.split()) + 1 for text in spoken)
    assert start.restated_tokens == len(DIALOGUE.restated.split())
    unasked = replace(DIALOGUE, question="Good morning!")
    assert begin(unasked, BY_WORD, Dictated()).block_tokens == 0 < start.block_tokens


def test_an_earlier_version_that_nothing_replaced_is_stale_in_store_and_block() -> None:
    forgetful = replace(DIALOGUE, sessions=DIALOGUE.sessions[:1])
    start = begin(forgetful, BY_WORD, Dictated())
    assert (start.stored, start.stored_stale, start.known, start.shown_stale) == ((), (CACHE,), (), (CACHE,))


@pytest.mark.parametrize(
    ("fact", "beliefs", "known", "stale"),
    [
        (CACHE, ["- decision cache — Uses valkey."], True, False),
        (CACHE, ["- decision cache — Uses Valkey instead of Redis."], True, False),
        (CACHE, ["- decision redis_cluster — Uses three nodes."], False, True),
        (CACHE, ["- decision redis — No longer uses Redis."], False, False),
        (CACHE, ["- decision redis — Doesn't use Redis."], False, False),
        (CACHE, ["- open_question valkey — Valkey or Redis?"], False, True),
        (CACHE, ["- decision cache — Uses Preredis."], False, False),
        (QUOTA, ["- open_question quota — Which quota?"], True, False),
        (QUOTA, ["- decision quota — The quota is 5 GB."], False, False),
        (Fact("both", ("one", "two")), ["- entity a — one", "- entity b — two"], False, False),
        (Fact("answered", ("5 GB",), ("open_question", "quota")), ["- open_question quota — Which?"], False, True),
    ],
)
def test_what_shows_a_fact(fact: Fact, beliefs: list[str], known: bool, stale: bool) -> None:
    assert (fact.known_from(beliefs), fact.stale_in(beliefs)) == (known, stale)


def test_totals_add_up_and_what_is_unknown_is_named() -> None:
    other = replace(DIALOGUE, id="bob", facts=(replace(REGION, needed=True),))
    result = evaluate_reorientation([DIALOGUE, other], BY_WORD, Dictated())
    assert result["tokens_by"] == "words"
    assert [one["unknown_ids"] for one in result["dialogues"]] == [["region"], ["region"]]
    totals = result["totals"]
    assert (totals["facts"], totals["known"], totals["needed"], totals["needed_known"]) == (4, 2, 2, 1)
    assert totals["block_tokens"] == sum(one["block_tokens"] for one in result["dialogues"])


def test_without_weights_tokens_are_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSS_CACHE", str(tmp_path))
    assert token_counter("smollm2-135m-instruct").count is estimate_tokens


@pytest.mark.weights
def test_with_weights_tokens_are_those_of_the_backbone() -> None:
    counter = token_counter("smollm2-135m-instruct")
    assert "smollm2-135m-instruct" in counter.name
    assert counter.count("The cat sat.") == 4


@pytest.mark.parametrize("dialogue", load_dialogues(), ids=lambda dialogue: dialogue.id)
def test_the_packaged_dialogues_are_what_they_should_be(dialogue: Dialogue) -> None:
    said = [message.text for session in dialogue.sessions for message in session.messages]
    assert 3 <= len(dialogue.sessions) <= 4
    assert all(4 <= len(session.messages) <= 8 for session in dialogue.sessions)
    assert [session.day for session in dialogue.sessions] == sorted({session.day for session in dialogue.sessions})
    for session in dialogue.sessions:
        assert [message.role for message in session.messages] == ["user", "assistant"] * (len(session.messages) // 2)
    assert 5 <= len({fact.id for fact in dialogue.facts}) == len(dialogue.facts) <= 8
    assert {fact.needed for fact in dialogue.facts} == {True, False}
    assert any(fact.open for fact in dialogue.facts)
    assert any(fact.stale for fact in dialogue.facts)
    for fact in dialogue.facts:
        restated = ("- open_question " if fact.open else "- entity ") + dialogue.restated
        assert fact.known_from([restated]), fact
        assert not fact.known_from([dialogue.question]), fact
        assert all(word == "open_question" or word in " ".join(said) for word in (*fact.known, *fact.stale)), fact


def test_the_command_prints_one_document_or_a_table_and_the_totals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSS_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    run = CliRunner().invoke(app, ["evaluate", "reorientation", "--json"])
    assert run.exit_code == 0, run.output
    result = json.loads(run.stdout)
    assert result["tokens_by"] == "injection.estimate_tokens"
    assert result["totals"]["facts"] == sum(len(dialogue.facts) for dialogue in load_dialogues())
    for one in result["dialogues"]:
        assert one["known"] <= one["stored"] <= one["facts"] == one["known"] + len(one["unknown_ids"])
        assert one["block_tokens"] <= 800
    table = CliRunner().invoke(app, ["evaluate", "reorientation"])
    assert all(dialogue.id in table.stdout for dialogue in load_dialogues())
    assert f"{result['totals']['known']} of {result['totals']['facts']} facts" in table.stdout.splitlines()[-1]
