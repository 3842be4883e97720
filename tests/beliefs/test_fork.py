"""A forked process shares no connection, no lock and no index with the one it comes from."""

import os
import threading
from pathlib import Path

import pytest
from belief_making import ADA, found, new

from pss_integrations.beliefs import BeliefMemory, BeliefStore
from pss_integrations.types import Message

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def in_child(work) -> int:
    """Run something in a forked process; returns its exit status."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_parent_and_child_go_on(store: BeliefStore) -> None:
    store.put(ADA, new("before", "Before."))
    assert found(store, "before")

    def work() -> None:
        for number in range(20):
            store.put(ADA, new(f"child {number}", f"Child {number}."))
        assert len(found(store, "before child")) == 1

    assert in_child(work) == 0
    store.put(ADA, new("after", "After."))
    assert store.count(ADA) == 22
    assert len(found(store, "child 7")) == 1


def test_a_child_that_was_forked_during_a_write_does_not_hang(path: Path) -> None:
    with BeliefStore(path) as store:
        held, go_on = threading.Event(), threading.Event()

        def write() -> None:
            with store._writing(ADA, None) as life:
                life.put(new("slow", "Slow."))
                held.set()
                go_on.wait(30)

        thread = threading.Thread(target=write)
        thread.start()
        assert held.wait(30)
        assert in_child(lambda: found(store, "slow")) == 0
        go_on.set()
        thread.join()
        assert len(found(store, "slow")) == 1


def test_a_memory_keeps_in_a_child_what_is_observed_there(path: Path) -> None:
    where = {"project": "atlas"}
    with BeliefStore(path) as store:
        memory = BeliefMemory(store, scopes=["project:{project}"])
        memory.observe(ADA, [Message("user", "We decided to use Valkey for the cache.")], where)
        memory.flush()

        def work() -> None:
            memory.observe(ADA, [Message("user", "We decided to use Kafka for events.")], where)
            memory.flush(30)

        assert in_child(work) == 0
        memory.close()
        assert store.count(ADA) == 2
