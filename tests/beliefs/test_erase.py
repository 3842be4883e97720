"""Erasing: no byte of what was erased is in any file, also after it was superseded, contradicted or retracted."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from belief_making import ADA, ATLAS, BOB, BOREAL, Clock, found, live, new

from pss_integrations.beliefs import Belief, BeliefStore, Correction, Principal, tables
from pss_integrations.errors import BeliefNotFound

MARK = "zqxmarker"
"""In each text that is to go; no other text holds it."""


def files_with(path: Path, mark: str = MARK) -> list[str]:
    """Names of the files beside a database, itself included, that hold a text."""
    return [file.name for file in path.parent.rglob("*") if mark.encode() in file.read_bytes().lower()]


def marked(store: BeliefStore) -> Belief:
    """The head of a chain in which every text holds the mark, with challengers and a retracted double."""
    names = [f"{MARK}alias{n}" for n in range(9)]
    reasons = {"why_it_matters": f"Because of {MARK}why.", "replaces": (f"{MARK}old",)}
    double = store.put(
        ADA, new(f"{MARK}name", f"Use {MARK}0. " + f"{MARK}long " * 3000, aliases=tuple(names), **reasons)
    )
    store.retract(ADA, double.belief.id)
    store.put(ADA, new(f"{MARK}name", f"Use {MARK}0. " + f"{MARK}long " * 3000, aliases=tuple(names), **reasons))
    store.put(ADA, new(f"{MARK}name", f"Use {MARK}1.", why_it_matters=f"Because of {MARK}again."))
    store.put(ADA, new(f"{MARK}name", f"Use {MARK}2.", source="tool", aliases=(f"{MARK}tool",)))
    rejected = store.put(ADA, new(f"{MARK}name", f"Use {MARK}3.", source="assistant")).belief
    store.resolve(ADA, rejected.id, accept=False)
    head = store.put(ADA, new(f"{MARK}name", f"Use {MARK}4.")).belief
    store.reinforce(ADA, head.id, aliases=[f"{MARK}learned"])
    store.correct(ADA, head.id, Correction(canonical_name=f"{MARK}named", content=f"Use {MARK}5."))
    waiting = store.put(ADA, new(f"{MARK}named", f"Use {MARK}6.", source="tool")).belief
    assert waiting.contradicts == head.id
    return store.get(ADA, head.id)


def neighbours(store: BeliefStore) -> dict[Principal, list[str]]:
    """Fill the store with what stays: exports by principal."""
    for n in range(20):
        store.put(ADA, new(f"topic{n}x", f"Statement number {n}. " * 40))
        store.put(BOB, new(f"topic{n}x", f"Bob's number {n}. " * 40))
    return {principal: store.export(principal) for principal in (ADA, BOB)}


def assert_whole(store: BeliefStore) -> None:
    """Every belief that is left has a history, and no neighbour of it is missing."""
    left = {belief.id: belief for belief in store.list(ADA, live=None)}
    for belief in left.values():
        assert {belief.supersedes, belief.superseded_by, belief.contradicts} <= {None, *left}
        assert store.history(ADA, belief.id)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Somebody else holds a read transaction open."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        yield
    finally:
        connection.close()


WAYS: dict[str, Callable[[BeliefStore, Belief], str]] = {
    "head": lambda store, head: head.id,
    "first version": lambda store, head: store.history(ADA, head.id)[0].belief.id,
    "retracted head": lambda store, head: store.retract(ADA, head.id).id,
}


@pytest.mark.parametrize("way", WAYS)
def test_what_was_erased_is_in_no_file(store: BeliefStore, path: Path, way: str) -> None:
    """Memory case 73: versions, challengers, retracted doubles, names, reasons, the log."""
    kept = neighbours(store)
    head = marked(store)
    assert files_with(path)
    erasure = store.erase(ADA, WAYS[way](store, head))
    assert erasure.status == "complete"
    assert erasure.beliefs >= 1
    assert files_with(path) == []
    assert {principal: store.export(principal) for principal in kept} == kept


def test_what_was_erased_is_on_no_surface(store: BeliefStore, clock: Clock) -> None:
    """Memory cases 73 and 76: gone in the same call."""
    head = marked(store)
    first = store.history(ADA, head.id)[0].belief
    clock.step()
    assert found(store, head.canonical_name) == [head.id]
    store.erase(ADA, head.id)
    for belief_id in (head.id, first.id):
        for verb in (store.get, store.history, store.retract, store.erase):
            with pytest.raises(BeliefNotFound):
                verb(ADA, belief_id)
    for name in (*head.names, f"{MARK}old", f"{MARK}tool"):
        assert found(store, name) == []
    assert store.list(ADA, live=None) == []
    assert store.as_of(ADA, clock.now) == []
    assert store.explain(ADA, [ATLAS], head.canonical_name) == []
    assert not any(MARK in line for line in store.export(ADA))


def test_what_says_the_same_goes_too(store: BeliefStore, path: Path) -> None:
    text = f"Use {MARK} for all."
    first = store.put(ADA, new("redis", text)).belief
    store.put(ADA, new("redis", text, scopes=(BOREAL,)))
    store.put(ADA, new("cache", f"USE {MARK}  for all."))
    other = store.put(ADA, new("kafka", "Use Kafka.")).belief
    assert store.erase(ADA, first.id).status == "complete"
    assert store.list(ADA, live=None) == [other]
    assert files_with(path) == []


@pytest.mark.parametrize("contents", [("Same.", "Other."), ("Other.", "Same."), ("One.", "Same.", "Two.")], ids=str)
@pytest.mark.parametrize("retracted", [False, True])
def test_what_says_the_same_goes_with_its_versions(
    store: BeliefStore, contents: tuple[str, ...], retracted: bool
) -> None:
    """No version is left whose neighbour is gone: what is left can be read, changed and moved."""
    for content in contents:
        head = store.put(ADA, new("redis", content)).belief
    if retracted:
        store.retract(ADA, head.id)
    store.erase(ADA, store.put(ADA, new("cache", "Same.")).belief.id)
    assert_whole(store)


def test_what_contradicts_what_says_the_same_is_not_stuck(store: BeliefStore) -> None:
    store.put(ADA, new("redis", "Same."))
    store.put(ADA, new("redis", "Other.", source="tool"))
    store.erase(ADA, store.put(ADA, new("cache", "Same.")).belief.id)
    assert_whole(store)


def test_what_contradicted_a_belief_goes_with_it(store: BeliefStore) -> None:
    """Also when the belief had been taken back before, and what waited was current."""
    settled = store.put(ADA, new("broker", "Use RabbitMQ.")).belief
    store.put(ADA, new("broker", "Use Kafka.", source="tool"))
    store.retract(ADA, settled.id)
    store.erase(ADA, settled.id)
    assert store.list(ADA, live=None) == []


def test_erasing_takes_nothing_from_another_who_says_the_same(store: BeliefStore) -> None:
    mine = store.put(ADA, new()).belief
    theirs = store.put(BOB, new()).belief
    store.erase(ADA, mine.id)
    assert live(store, BOB) == [theirs]
    assert found(store, "redis cache", BOB) == [theirs.id]


def test_erasing_all_of_one_leaves_all_of_another(store: BeliefStore, path: Path) -> None:
    """Memory cases 7 and 74."""
    kept = neighbours(store)
    marked(store)
    erasure = store.erase_all(ADA)
    assert erasure.status == "complete"
    assert erasure.beliefs > 20
    assert store.list(ADA, live=None) == []
    assert store.export(ADA) == store.export(Principal.user("nobody"))
    assert store.export(BOB) == kept[BOB]
    assert files_with(path) == files_with(path, "statement number") == []
    assert files_with(path, "bob's number") != []


def test_erasing_all_of_nobody_erases_nothing(store: BeliefStore) -> None:
    kept = neighbours(store)
    erasure = store.erase_all(Principal.user("nobody"))
    assert (erasure.beliefs, erasure.status) == (0, "complete")
    assert store.export(ADA) == kept[ADA]


def test_what_was_erased_can_be_said_again(store: BeliefStore) -> None:
    belief = store.put(ADA, new()).belief
    store.erase(ADA, belief.id)
    again = store.put(ADA, new())
    assert (again.outcome, again.belief.version) == ("created", 1)
    assert store.history(ADA, again.belief.id)[0].belief == again.belief


def test_an_idle_store_does_not_keep_what_was_erased(store: BeliefStore, path: Path) -> None:
    with BeliefStore(path) as other:
        head = marked(store)
        assert found(other, head.canonical_name) == [head.id]
        assert store.erase(ADA, head.id).status == "complete"
        assert files_with(path) == []
        assert found(other, head.canonical_name) == []


def test_while_somebody_reads_an_erasure_is_pending_and_nothing_is_shown(store: BeliefStore, path: Path) -> None:
    kept = neighbours(store)
    head = marked(store)
    with reading(path):
        assert store.erase(ADA, head.id).status == "pending"
        assert found(store, head.canonical_name) == []
        with pytest.raises(BeliefNotFound):
            store.get(ADA, head.id)
        assert store.export(ADA) == kept[ADA]
    store.close()
    with BeliefStore(path) as opened:
        assert files_with(path) == []
        assert opened.export(ADA) == kept[ADA]
    assert files_with(path) == []


def test_the_next_erasure_completes_a_pending_one(store: BeliefStore, path: Path) -> None:
    neighbours(store)
    head = marked(store)
    with reading(path):
        assert store.erase(ADA, head.id).status == "pending"
    assert store.erase_all(Principal.user("nobody")).status == "complete"
    assert files_with(path) == []


def test_a_pending_erasure_outlives_a_store_that_is_opened_while_somebody_reads(store: BeliefStore, path: Path) -> None:
    head = marked(store)
    with reading(path):
        assert store.erase(ADA, head.id).status == "pending"
        with BeliefStore(path) as other:
            assert found(other, head.canonical_name) == []
    store.close()
    with BeliefStore(path):
        assert files_with(path) == []


def test_the_opposite_in_the_same_words_stays(store: BeliefStore) -> None:
    said = store.put(ADA, new("orders", "We use Postgres, not MySQL.")).belief
    opposite = store.put(ADA, new("billing", "We use MySQL, not Postgres.")).belief
    assert store.erase(ADA, said.id).beliefs == 1
    assert live(store) == [opposite]


def test_a_wrong_guess_goes_alone(store: BeliefStore) -> None:
    settled = store.put(ADA, new("db", "MySQL.")).belief
    guess = store.put(ADA, new("db", "Postgres.", source="assistant")).belief
    store.resolve(ADA, guess.id, accept=False)
    assert store.erase(ADA, guess.id).beliefs == 1
    assert live(store) == [settled]


def test_what_another_belief_said_once_goes_from_its_log(store: BeliefStore, path: Path) -> None:
    said = store.put(ADA, new("a", f"{MARK} zebra")).belief
    other = store.put(ADA, new("b", f"{MARK} zebra")).belief
    kept = store.correct(ADA, other.id, Correction(content="Nothing."))
    assert store.erase(ADA, said.id).status == "complete"
    assert live(store) == [kept]
    assert files_with(path) == []


def test_an_erasure_during_another_one_is_not_forgotten(path: Path) -> None:
    """The note of one process must not be taken back by another that came before it."""
    with BeliefStore(path) as store, store._database.writing("schema") as connection:
        tables.expect_scrub(connection)
        tables.scrub_done(connection, "an earlier note")
        assert tables.read_meta(connection, tables.PENDING_SCRUB) != tables.NOTHING_PENDING
