"""When a belief is said to hold: valid time, beside the transaction time of the log."""

from datetime import timedelta

import pytest
from belief_making import ADA, ATLAS, Clock, found, live, new

from pss_integrations.beliefs import BeliefStore
from pss_integrations.errors import InvalidInput


def test_said_again_after_it_expired_it_holds_again(store: BeliefStore, clock: Clock) -> None:
    store.put(ADA, new("db", "We use MySQL.", valid_to=clock.now - timedelta(days=1)))
    assert found(store, "db") == []
    again = store.put(ADA, new("db", "We use MySQL."))
    assert (again.outcome, found(store, "db")) == ("superseded", [again.belief.id])


def test_what_is_superseded_later_holds_until_then(store: BeliefStore, clock: Clock) -> None:
    first = store.put(ADA, new("db", "MySQL.")).belief
    second = store.put(ADA, new("db", "Postgres.", valid_from=clock.now + timedelta(days=30))).belief
    assert found(store, "db") == [first.id]
    clock.step(hours=29 * 24)
    assert found(store, "db") == [first.id]
    clock.step(hours=24)
    assert found(store, "db") == [second.id]


def test_a_fresh_store_knows_that_too(store: BeliefStore, clock: Clock, database) -> None:
    first = store.put(ADA, new("db", "MySQL.")).belief
    store.put(ADA, new("db", "Postgres.", valid_from=clock.now + timedelta(days=30)))
    with BeliefStore(database, clock=clock) as other:
        assert found(other, "db") == [first.id]


def test_the_past_takes_no_place(store: BeliefStore, clock: Clock) -> None:
    now = store.put(ADA, new("db", "Postgres.")).belief
    over = {"valid_from": clock.now - timedelta(days=900), "valid_to": clock.now - timedelta(days=300)}
    with pytest.raises(InvalidInput, match="ended"):
        store.put(ADA, new("db", "We used MySQL.", **over))
    assert live(store) == [now]
    assert store.search(ADA, [ATLAS], "db")[0].belief == now
