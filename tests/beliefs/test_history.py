"""The log: what was changed, in which order and by whom; and what was current at an earlier time."""

from datetime import datetime

import pytest
from belief_making import ADA, ATLAS, BOB, BOREAL, Clock, live, new

from pss_integrations.beliefs import Belief, BeliefStore, Correction
from pss_integrations.errors import InvalidInput


def story(store: BeliefStore, clock: Clock) -> list[tuple[datetime, list[Belief]]]:
    """Make every kind of change, an hour apart; return a time within each hour and what was current then."""
    seen = [(clock.step(), live(store))]

    def note() -> None:
        seen.append((clock.step(), live(store)))

    first = store.put(ADA, new("redis", "Use Redis 6.")).belief
    note()
    asked = store.put(ADA, new("broker", "Which broker?", type="open_question", scopes=(BOREAL,))).belief
    note()
    store.reinforce(ADA, first.id, aliases=("cache",))
    note()
    store.pin(ADA, first.id)
    note()
    second = store.put(ADA, new("redis", "Use Redis 7.")).belief
    note()
    challenger = store.put(ADA, new("redis", "Use Redis 8.", source="tool")).belief
    note()
    fixed = store.correct(ADA, second.id, Correction(content="Use Redis 7.2."))
    note()
    store.resolve(ADA, asked.id, answer=new("broker", "Use Kafka."))
    note()
    holds = store.resolve(ADA, challenger.id)
    note()
    assert fixed.version == 3
    store.retract(ADA, holds.id)
    note()
    return seen


def test_every_earlier_time_shows_what_was_current_then(store: BeliefStore, clock: Clock) -> None:
    for time, current in story(store, clock):
        assert store.as_of(ADA, time) == current, time
        for scope in (ATLAS, BOREAL):
            within = [belief for belief in current if scope in belief.scopes]
            assert store.as_of(ADA, time, scopes=[scope]) == within, (time, scope)


def test_a_time_to_come_shows_what_is_current_now(store: BeliefStore, clock: Clock) -> None:
    story(store, clock)
    assert store.as_of(ADA, clock.now.replace(year=2100)) == live(store)


def test_transaction_time_is_not_valid_time(store: BeliefStore, clock: Clock) -> None:
    before = clock.step()
    store.put(ADA, new(valid_from=before.replace(year=2020)))
    assert store.as_of(ADA, before) == []


def test_another_offset_is_the_same_time(store: BeliefStore, clock: Clock) -> None:
    store.put(ADA, new())
    between = clock.step()
    store.retract(ADA, live(store)[0].id)
    for text in (between.isoformat(), between.isoformat().replace("12:30:00+00:00", "23:30:00+11:00")):
        assert len(store.as_of(ADA, datetime.fromisoformat(text))) == 1


def test_a_time_needs_a_zone(store: BeliefStore) -> None:
    """Memory case 38."""
    with pytest.raises(InvalidInput, match="zone"):
        store.as_of(ADA, datetime(2026, 1, 1))
    for wrong in ("yesterday", None, 0):
        with pytest.raises(InvalidInput):
            store.as_of(ADA, wrong)  # pyright: ignore[reportArgumentType]


def test_the_log_is_in_order_and_says_who(store: BeliefStore, clock: Clock) -> None:
    story(store, clock)
    head = next(belief for belief in store.list(ADA, live=False) if belief.retracted_at)
    changes = store.history(ADA, head.id)
    done = [change.verb for change in changes if change.verb not in ("put", "supersede", "link")]
    assert changes[0].verb == "put"
    assert done == ["reinforce", "pin", "contradict", "correct", "resolve", "retract"]
    assert [change.at for change in changes] == sorted(change.at for change in changes)
    assert {change.actor for change in changes} == {str(ADA)}
    assert {change.belief.canonical_name for change in changes} == {"redis"}


def test_the_log_loses_nothing_when_a_belief_is_taken_back(store: BeliefStore) -> None:
    """What contradicted it is in its history for good."""
    settled = store.put(ADA, new("broker", "Use RabbitMQ.")).belief
    store.put(ADA, new("broker", "Use Kafka.", source="tool"))
    before = store.history(ADA, settled.id)
    store.retract(ADA, settled.id)
    assert store.history(ADA, settled.id)[: len(before)] == before


def test_at_one_moment_the_log_is_still_in_order(store: BeliefStore) -> None:
    belief = store.put(ADA, new()).belief
    for pinned in (True, False, True):
        store.pin(ADA, belief.id, pinned=pinned)
    store.retract(ADA, belief.id)
    pins = [change.belief.pinned for change in store.history(ADA, belief.id)]
    assert pins == [False, True, False, True, True]


def test_the_log_shows_each_version_as_it_was(store: BeliefStore) -> None:
    belief = store.put(ADA, new(content="Use 6.")).belief
    fixed = store.correct(ADA, belief.id, Correction(content="Use 7."))
    contents = [change.belief.content for change in store.history(ADA, fixed.id) if change.verb != "link"]
    assert contents == ["Use 6.", "Use 7."]


def test_a_refused_change_is_not_in_the_log(store: BeliefStore) -> None:
    """Memory case 80."""
    belief = store.put(ADA, new()).belief
    before = store.history(ADA, belief.id)
    with pytest.raises(InvalidInput):
        store.put(ADA, new(content="Use 7.", source="tool", confidence=0))
    assert store.history(ADA, belief.id) == before


def test_the_log_of_one_belief_holds_no_other(store: BeliefStore) -> None:
    mine = store.put(ADA, new("redis", "Use Redis.")).belief
    store.put(ADA, new("kafka", "Use Kafka."))
    store.put(BOB, new("redis", "Use Valkey."))
    assert [change.belief for change in store.history(ADA, mine.id)] == [mine]
