"""What a user decides by hand: corrections, pins, answers, choices between contradictions, and what is taken back."""

from collections.abc import Callable
from typing import Any

import pytest
from belief_making import ADA, ATLAS, BOREAL, Clock, chain, found, live, new

from pss_integrations.beliefs import Belief, BeliefStore, Correction
from pss_integrations.errors import BeliefConflict, InvalidInput, PSSError


def question(store: BeliefStore) -> Belief:
    return store.put(ADA, new("broker", "Which broker?", type="open_question")).belief


def contradiction(store: BeliefStore) -> tuple[Belief, Belief]:
    settled = store.put(ADA, new("broker", "Use RabbitMQ.", pinned=True)).belief
    return settled, store.put(ADA, new("broker", "Use Kafka.", source="assistant", aliases=("queue",))).belief


def verbs(store: BeliefStore, belief: Belief) -> list[str]:
    return [change.verb for change in store.history(ADA, belief.id) if change.verb != "link"]


def test_a_correction_changes_what_it_gives_and_keeps_the_rest(store: BeliefStore, clock: Clock) -> None:
    first = store.put(ADA, new(aliases=("store",), why_it_matters="Do not propose others.", confidence=0.8)).belief
    clock.step()
    fixed = store.correct(ADA, first.id, Correction(content="Use Valkey."))
    assert (fixed.content, fixed.version, fixed.user_edited, fixed.updated_at) == ("Use Valkey.", 2, True, clock.now)
    kept = ("canonical_name", "aliases", "scopes", "why_it_matters", "confidence", "pinned", "type", "provenance")
    assert [getattr(fixed, name) for name in kept] == [getattr(first, name) for name in kept]
    assert live(store) == [fixed]
    assert found(store, "redis cache") == [fixed.id]
    assert verbs(store, fixed) == ["put", "correct"]


def test_a_correction_by_a_user_is_his_word(store: BeliefStore) -> None:
    first = store.put(ADA, new(source="assistant")).belief
    fixed = store.correct(ADA, first.id, Correction(content="Use Valkey."))
    assert (fixed.confirmed, fixed.epistemic_status) == (True, "active")


def test_corrected_names_and_scopes_are_where_it_is_found(store: BeliefStore) -> None:
    first = store.put(ADA, new("redis", aliases=("memcached",))).belief
    fixed = store.correct(ADA, first.id, Correction(canonical_name="valkey", aliases=("kv store",), scopes=(BOREAL,)))
    assert found(store, "valkey", scopes=[BOREAL]) == found(store, "kv store", scopes=[BOREAL]) == [fixed.id]
    assert found(store, "memcached", scopes=[BOREAL]) == []
    assert found(store, "valkey redis memcached kv store") == []


@pytest.mark.parametrize("taken", [{"canonical_name": "kafka"}, {"canonical_name": "KAFKA "}, {"scopes": (BOREAL,)}])
def test_a_correction_to_what_is_taken_changes_nothing(store: BeliefStore, taken: dict[str, Any]) -> None:
    """Memory case 80."""
    first = store.put(ADA, new("redis", "Use Redis.")).belief
    store.put(ADA, new("kafka", "Use Kafka."))
    store.put(ADA, new("redis", "Use Redis there.", scopes=(BOREAL,)))
    before = store.export(ADA)
    with pytest.raises(BeliefConflict):
        store.correct(ADA, first.id, Correction(content="Use Valkey.", **taken))
    assert store.export(ADA) == before
    assert found(store, "redis") == [first.id]


def test_a_correction_that_makes_no_sense_changes_nothing(store: BeliefStore, clock: Clock) -> None:
    first = store.put(ADA, new(valid_from=clock.now)).belief
    with pytest.raises(ValueError, match="valid_to"):
        store.correct(ADA, first.id, Correction(content="Use Valkey.", valid_to=clock.now))
    assert store.get(ADA, first.id) == first


def test_a_correction_of_another_version_than_was_seen_is_a_conflict(store: BeliefStore) -> None:
    first = store.put(ADA, new()).belief
    fixed = store.correct(ADA, first.id, Correction(content="Use Valkey."), version=1)
    with pytest.raises(BeliefConflict):
        store.correct(ADA, fixed.id, Correction(content="Use Memcached."), version=1)
    assert live(store) == [fixed]


def test_what_is_past_cannot_be_corrected(store: BeliefStore) -> None:
    first = store.put(ADA, new(content="Use 6.")).belief
    store.put(ADA, new(content="Use 7."))
    with pytest.raises(BeliefConflict):
        store.correct(ADA, first.id, Correction(content="Use 8."))
    gone = store.put(ADA, new("kafka", "Use Kafka.")).belief
    store.retract(ADA, gone.id)
    with pytest.raises(BeliefConflict):
        store.correct(ADA, gone.id, Correction(content="Use Kafka 4."))


def test_a_belief_is_pinned_and_unpinned(store: BeliefStore) -> None:
    first = store.put(ADA, new()).belief
    pinned = store.pin(ADA, first.id)
    assert pinned.pinned
    assert live(store) == [pinned]
    assert store.pin(ADA, first.id).pinned
    assert not store.pin(ADA, first.id, pinned=False).pinned
    assert not store.get(ADA, first.id).pinned
    assert "pin" in verbs(store, first)


def test_an_answered_question_is_closed(store: BeliefStore, clock: Clock) -> None:
    asked = question(store)
    assert found(store, "which broker") == [asked.id]
    clock.step()
    closed = store.resolve(ADA, asked.id)
    assert (closed.id, closed.resolved_at, closed.live) == (asked.id, clock.now, False)
    assert found(store, "which broker") == []
    assert live(store) == []
    assert verbs(store, asked) == ["put", "resolve"]


def test_an_answer_is_put_with_the_question(store: BeliefStore) -> None:
    asked = question(store)
    store.resolve(ADA, asked.id, answer=new("broker", "Use Kafka."))
    assert [belief.content for belief in live(store)] == ["Use Kafka."]
    assert [store.get(ADA, each).content for each in found(store, "which broker")] == ["Use Kafka."]


def test_an_answer_that_is_refused_leaves_the_question_open(store: BeliefStore) -> None:
    """Memory case 80: both or neither."""
    asked = question(store)
    store.put(ADA, new("broker", "Use A."))
    store.put(ADA, new("broker", "Use B.", scopes=(BOREAL,)))
    before = store.export(ADA)
    with pytest.raises(InvalidInput):
        store.resolve(ADA, asked.id, answer=new("broker", "Use Kafka.", source="tool", confidence=0.1))
    with pytest.raises(BeliefConflict):
        store.resolve(ADA, asked.id, answer=new("broker", "Use Kafka.", scopes=(ATLAS, BOREAL)))
    assert store.export(ADA) == before
    assert store.get(ADA, asked.id) == asked


def test_a_question_can_be_asked_again_after_its_answer(store: BeliefStore) -> None:
    store.resolve(ADA, question(store).id)
    again = store.put(ADA, new("broker", "Which broker?", type="open_question"))
    assert again.outcome == "created"
    assert found(store, "which broker") == [again.belief.id]


def test_what_is_neither_a_question_nor_contradicts_cannot_be_resolved(store: BeliefStore) -> None:
    belief = store.put(ADA, new()).belief
    with pytest.raises(PSSError):
        store.resolve(ADA, belief.id)
    assert store.get(ADA, belief.id) == belief


def test_an_accepted_contradiction_takes_the_place(store: BeliefStore) -> None:
    settled, challenger = contradiction(store)
    holds = store.resolve(ADA, challenger.id)
    assert (holds.content, holds.contradicts, holds.live) == ("Use Kafka.", None, True)
    assert (holds.confirmed, holds.epistemic_status, holds.pinned) == (True, "active", True)
    assert live(store) == [holds]
    assert chain(store, ADA, holds) == [holds, store.get(ADA, settled.id)]
    (hit,) = store.search(ADA, [ATLAS], "broker")
    assert (hit.belief, hit.contested_by) == (holds, ())
    assert found(store, "queue") == [holds.id]


def test_a_rejected_contradiction_is_dropped(store: BeliefStore) -> None:
    settled, challenger = contradiction(store)
    holds = store.resolve(ADA, challenger.id, accept=False)
    assert (holds.id, holds.content, holds.version) == (settled.id, "Use RabbitMQ.", 1)
    assert [belief.id for belief in live(store)] == [settled.id]
    (hit,) = store.search(ADA, [ATLAS], "broker")
    assert (hit.belief.id, hit.contested_by) == (settled.id, ())
    assert found(store, "queue") == []
    assert not store.get(ADA, challenger.id).live


def test_an_answer_to_what_is_no_question_is_not_dropped(store: BeliefStore) -> None:
    """An argument is used or refused."""
    _, challenger = contradiction(store)
    before = store.export(ADA)
    with pytest.raises(InvalidInput):
        store.resolve(ADA, challenger.id, answer=new("broker", "Use NATS."))
    assert store.export(ADA) == before


@pytest.mark.parametrize("accept", [True, False])
def test_a_decision_is_in_the_history_of_both(store: BeliefStore, accept: bool) -> None:
    settled, challenger = contradiction(store)
    store.resolve(ADA, challenger.id, accept=accept)
    assert verbs(store, settled)[:2] == ["put", "contradict"]
    assert "resolve" in verbs(store, settled)
    assert "resolve" in verbs(store, challenger)


def test_a_user_who_says_what_was_contradicting_accepts_it(store: BeliefStore) -> None:
    settled, _ = contradiction(store)
    store.put(ADA, new("broker", "Use Kafka."))
    (holds,) = live(store)
    assert (holds.content, holds.confirmed, holds.version) == ("Use Kafka.", True, 2)
    assert store.get(ADA, settled.id).superseded_by == holds.id


def test_a_contradiction_that_is_said_again_waits_once(store: BeliefStore) -> None:
    settled, challenger = contradiction(store)
    again = store.put(ADA, new("broker", "Use Kafka.", source="assistant")).belief
    assert (again.id, again.live) == (challenger.id, False)
    (hit,) = store.search(ADA, [ATLAS], "broker")
    assert (hit.belief.id, hit.contested_by) == (settled.id, (challenger.id,))


ENDS: list[Callable[[BeliefStore, Belief], Any]] = [
    lambda store, settled: store.retract(ADA, settled.id),
    lambda store, settled: store.put(ADA, new("broker", "Use NATS.")),
    lambda store, settled: store.correct(ADA, settled.id, Correction(content="Use NATS.")),
]


@pytest.mark.parametrize("end", ENDS)
def test_a_contradiction_can_be_decided_or_said_again_when_the_other_one_changed(store: BeliefStore, end) -> None:
    """What waits for a decision is never stuck."""
    settled, challenger = contradiction(store)
    end(store, settled)
    waiting = store.get(ADA, challenger.id)
    assert waiting.live is not waiting.waiting
    if waiting.waiting:
        assert store.get(ADA, waiting.contradicts).live
        holds = store.resolve(ADA, challenger.id)
        assert [belief.id for belief in live(store)] == [holds.id]
        assert holds.content == "Use Kafka."


def test_what_is_taken_back_is_not_found_and_stays_in_the_log(store: BeliefStore, clock: Clock) -> None:
    """Memory cases 29, 73 and 76: gone in the same call, and audited."""
    belief = store.put(ADA, new(aliases=("store",), pinned=True)).belief
    assert found(store, "store") == [belief.id]
    clock.step()
    gone = store.retract(ADA, belief.id)
    assert (gone.id, gone.retracted_at, gone.live) == (belief.id, clock.now, False)
    assert found(store, "store") == found(store, "redis cache") == []
    assert live(store) == []
    assert store.count(ADA) == 0
    assert store.get(ADA, belief.id) == gone
    assert verbs(store, belief) == ["put", "retract"]


def test_taking_back_twice_is_taking_back_once(store: BeliefStore, clock: Clock) -> None:
    belief = store.put(ADA, new()).belief
    gone = store.retract(ADA, belief.id)
    before = store.export(ADA)
    clock.step()
    assert store.retract(ADA, belief.id) == gone
    assert store.export(ADA) == before


def test_taking_back_a_version_brings_no_older_one_back(store: BeliefStore) -> None:
    store.put(ADA, new(content="Use 6."))
    head = store.put(ADA, new(content="Use 7.")).belief
    store.retract(ADA, head.id)
    assert live(store) == []
    assert found(store, "redis cache") == []


def test_what_was_taken_back_can_be_said_again(store: BeliefStore) -> None:
    gone = store.retract(ADA, store.put(ADA, new()).belief.id)
    again = store.put(ADA, new())
    assert again.outcome == "created"
    assert again.belief.id != gone.id
    assert (again.belief.reinforcement_count, again.belief.version) == (1, 1)
    assert live(store) == [again.belief]


def test_a_contradiction_that_is_taken_back_waits_no_more(store: BeliefStore) -> None:
    settled, challenger = contradiction(store)
    store.retract(ADA, challenger.id)
    (hit,) = store.search(ADA, [ATLAS], "broker")
    assert (hit.belief.id, hit.contested_by) == (settled.id, ())
    with pytest.raises(BeliefConflict):
        store.resolve(ADA, challenger.id)
    assert [belief.id for belief in live(store)] == [settled.id]


def test_the_next_contradiction_holds_when_the_first_one_and_what_it_contradicts_are_taken_back(
    store: BeliefStore,
) -> None:
    settled, first = contradiction(store)
    second = store.put(ADA, new("broker", "Use NATS.", source="tool")).belief
    store.retract(ADA, first.id)
    store.retract(ADA, settled.id)
    assert [belief.id for belief in live(store)] == [second.id]


def test_a_user_who_says_what_waits_decides(store: BeliefStore) -> None:
    _, challenger = contradiction(store)
    said = store.put(ADA, new("broker", "Use Kafka."))
    assert (said.outcome, said.belief.id, said.belief.confirmed) == ("superseded", challenger.id, True)
    assert [belief.id for belief in live(store)] == [challenger.id]


def test_a_contradiction_waits_only_where_it_contradicts(store: BeliefStore) -> None:
    settled = store.put(ADA, new("broker", "Use RabbitMQ.")).belief
    store.put(ADA, new("broker", "Use Kafka.", source="tool", scopes=(ATLAS, BOREAL)))
    (elsewhere,) = store.search(ADA, [BOREAL], "broker")
    (here,) = store.search(ADA, [ATLAS], "broker")
    assert (elsewhere.belief.content, here.belief.id, len(here.contested_by)) == ("Use Kafka.", settled.id, 1)


def test_a_question_is_no_answer(store: BeliefStore) -> None:
    asked = store.put(ADA, new("auth", "JWT or sessions?", type="open_question")).belief
    with pytest.raises(InvalidInput):
        store.resolve(ADA, asked.id, answer=new("auth", "Sessions or JWT?", type="open_question"))
    assert live(store) == [asked]
