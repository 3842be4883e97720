"""Several threads and processes on one store: nothing is lost, nothing is doubled, nothing is locked."""

import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from belief_making import ADA, BOB, chain, found, live, new
from belief_worker import PROCESSES, put_many, put_until_killed, read_until, received, running, supersede_by_put

from pss_integrations.beliefs import BeliefStore
from pss_integrations.errors import BeliefConflict


def assert_one_chain(store: BeliefStore, contents: set[str]) -> None:
    (head,) = live(store)
    versions = chain(store, ADA, head)
    assert [belief.version for belief in versions] == list(range(len(contents), 0, -1))
    assert [belief.superseded_by for belief in versions] == [None, *(belief.id for belief in versions[:-1])]
    assert {belief.content for belief in versions} == contents
    assert len(store.list(ADA, live=None, limit=None)) == len(contents)


def test_fifty_threads_that_supersede_leave_one_head(store: BeliefStore) -> None:
    contents = [f"The port is {n}." for n in range(50)]
    with ThreadPoolExecutor(50) as pool:
        results = list(pool.map(lambda content: store.put(ADA, new("port", content)), contents))
    assert sorted(result.belief.version for result in results) == list(range(1, 51))
    assert [result.outcome for result in results].count("created") == 1
    assert_one_chain(store, set(contents))


def test_threads_that_say_the_same_make_one_belief(store: BeliefStore) -> None:
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda _: store.put(ADA, new()), range(20)))
    (belief,) = store.list(ADA, live=None)
    assert belief.reinforcement_count == 20


def test_one_of_many_who_saw_one_version_supersedes_it(store: BeliefStore) -> None:
    """Compare and set: the others get a conflict and lose nothing silently."""
    first = store.put(ADA, new("port", "The port is 0.")).belief

    def attempt(n: int) -> bool:
        try:
            store.supersede(ADA, first.id, new("port", f"The port is {n}."), version=1)
        except BeliefConflict:
            return False
        return True

    with ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(attempt, range(1, 21))) == 1
    assert store.get(ADA, first.id).superseded_by == live(store)[0].id


def test_threads_search_as_one_does(store: BeliefStore) -> None:
    """Memory case 67, and 70: a store made in one thread serves another."""
    for n in range(20):
        store.put(ADA, new(f"topic{n}x", f"Statement number {n}.", aliases=("common",)))
        store.put(BOB, new(f"topic{n}x", f"Bob's number {n}.", aliases=("common",)))
    queries = [f"topic{n}x common" for n in range(20)]
    alone = [found(store, query) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda query: found(store, query), queries * 20)) == alone * 20
        made = pool.submit(store.put, ADA, new("worker", "Put by a worker.")).result().belief
    assert found(store, "worker") == [made.id]


def test_readers_and_writers_in_threads_see_whole_changes(store: BeliefStore) -> None:
    """A search while another thread supersedes finds the old head or the new one, never both, never none."""
    store.put(ADA, new("port", "The port is 0."))
    with ThreadPoolExecutor(4) as pool:
        reads = [pool.submit(lambda: [len(found(store, "port")) for _ in range(30)]) for _ in range(3)]
        for n in range(1, 30):
            store.put(ADA, new("port", f"The port is {n}."))
        assert {count for read in reads for count in read.result()} == {1}


def test_another_store_sees_a_change_in_its_next_search(path: Path) -> None:
    """Memory cases 71 and 76: no cache outlives a change, whoever made it."""
    with BeliefStore(path) as one, BeliefStore(path) as other:
        assert found(other, "redis cache") == []
        belief = one.put(ADA, new()).belief
        assert found(other, "redis cache") == [belief.id]
        one.reinforce(ADA, belief.id, aliases=["kv store"])
        assert found(other, "kv store") == [belief.id]
        head = other.put(ADA, new(content="Use Valkey.")).belief
        assert found(one, "redis cache") == [head.id]
        one.retract(ADA, head.id)
        assert (found(other, "redis cache"), other.count(ADA)) == ([], 0)
        again = one.put(ADA, new()).belief
        assert found(other, "redis cache") == [again.id]
        other.erase_all(ADA)
        assert found(one, "redis cache") == []


def test_another_process_writes_and_this_one_finds_all(store: BeliefStore, path: Path) -> None:
    """Memory case 71: one is there and searched for, sixty come from elsewhere."""
    mine = store.put(ADA, new("topic60x", "Mine.", aliases=("common",))).belief.id
    assert found(store, "topic60x") == [mine]
    with running((put_many, (path, 0, 60))) as ((_, pipe),):
        theirs = received(pipe)
    assert [found(store, f"topic{n}x") for n in range(60)] == [[belief_id] for belief_id in theirs]
    assert store.count(ADA) == 61


def test_four_processes_that_supersede_leave_one_chain(store: BeliefStore, path: Path) -> None:
    with running(*((supersede_by_put, (path, start, 25)) for start in range(0, 100, 25))) as started:
        ids = [belief_id for _, pipe in started for belief_id in received(pipe)]
    assert len(set(ids)) == 100
    assert_one_chain(store, {f"The port is {n}." for n in range(100)})


def test_four_processes_write_while_two_read(store: BeliefStore, path: Path) -> None:
    """Memory case 68: 400 rows, and no database is locked."""
    stop = PROCESSES.Event()
    writers = [(put_many, (path, start, 100)) for start in range(0, 400, 100)]
    with running(*writers, *[(read_until, (path, stop))] * 2) as started:
        ids = [belief_id for _, pipe in started[:4] for belief_id in received(pipe)]
        stop.set()
        for _, pipe in started[4:]:
            (counts,) = received(pipe)
            assert isinstance(counts, list)
            assert counts == sorted(counts)
    assert len(set(ids)) == 400
    assert {belief.id for belief in live(store)} == set(ids)


@pytest.mark.parametrize("seed", range(2))
def test_what_was_acknowledged_outlives_a_kill(path: Path, seed: int) -> None:
    """Memory case 79: killed 25 times at random points; each time all that was said to be stored is there."""
    chance = random.Random(seed)
    states: dict[str, str] = {}
    for kill in range(25):
        with running((put_until_killed, (path, kill * 1000))) as ((process, pipe),):
            said = [pipe.recv() for _ in range(chance.randint(0, 9))]
            pipe.poll(chance.random() / 200)
            process.kill()
            states.update([*said, *received(pipe)])
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    with BeliefStore(path) as store:
        stored = {belief.id: belief for belief in store.list(ADA, live=None, limit=None)}
        assert states
        assert states.keys() <= stored.keys()
        assert all(stored[each].epistemic_status == "superseded" for each, state in states.items() if state != "live")
        heads = live(store)
        assert len({belief.canonical_name for belief in heads}) == len(heads)
        assert [found(store, belief.canonical_name) for belief in heads[:20]] == [[each.id] for each in heads[:20]]
