"""Beliefs are read into memory without holding up all threads for a garbage collection."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from belief_making import ADA, found, new

from pss_integrations.beliefs import BeliefStore


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
