"""Beliefs are read into memory, and let go of, without holding up all other threads."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from belief_making import ADA, BOB, found, new

from pss_integrations.beliefs import BeliefStore, store


@pytest.fixture
def unread(tmp_path: Path) -> Iterator[BeliefStore]:
    """A store that was just opened, of some hundred beliefs."""
    with BeliefStore(tmp_path / "beliefs.db") as store:
        for number in range(300):
            store.put(ADA, new(f"topic{number}x", f"Statement number {number}.", aliases=(f"matter{number}x",)))
    with BeliefStore(tmp_path / "beliefs.db") as store:
        yield store


def collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


def test_what_was_read_counts_as_old(unread: BeliefStore) -> None:
    """So no collection of young objects looks through it, and what nobody froze is not frozen."""
    found(unread, "nothing of it")
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)
    index = unread._indexes[ADA]
    ids = {id(one) for one in index._live.values()}
    assert len(ids) == 300
    assert ids.isdisjoint(id(one) for generation in (0, 1) for one in gc.get_objects(generation))


def test_what_others_froze_stays_so(unread: BeliefStore) -> None:
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        found(unread, "topic7x")
        assert 0 < gc.get_freeze_count() <= before
    finally:
        gc.unfreeze()


def test_where_garbage_is_not_collected_it_stays_so(unread: BeliefStore) -> None:
    gc.disable()
    try:
        before = collections()
        assert len(found(unread, "topic7x")) == 1
        assert (gc.isenabled(), collections()) == (False, before)
    finally:
        gc.enable()


def test_a_closed_store_holds_no_beliefs(unread: BeliefStore) -> None:
    found(unread, "topic7x")
    index = unread._indexes[ADA]
    unread.close()
    assert (len(index), unread._indexes) == (0, {})


def test_what_was_let_go_of_for_another_principal_is_read_again(
    unread: BeliefStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by somebody who still holds the index that was emptied."""
    monkeypatch.setattr(store, "_INDEXED", 300)
    unread.put(BOB, new("topic7x", "Another statement."))
    before = found(unread, "topic7x and matter8x")
    index = unread._indexes[ADA]
    for _ in range(2):
        found(unread, "topic7x", principal=BOB)
    assert ADA not in unread._indexes
    assert len(index) == 0
    unread._indexes[ADA] = index
    assert found(unread, "topic7x and matter8x") == before
