"""The file: where it lies, what it survives, and what is refused without being touched."""

import random
import sqlite3
from pathlib import Path

import pytest
from belief_making import ADA, ATLAS, found, live, new
from sqlalchemy import Connection

from pss_integrations.beliefs import BeliefStore, tables
from pss_integrations.errors import BeliefStorageError, InvalidInput


def test_a_store_that_is_opened_again_holds_what_it_held(path: Path) -> None:
    """Memory cases 29 and 79."""
    with BeliefStore(path) as store:
        store.put(ADA, new(content="Use 6."))
        head = store.put(ADA, new(content="Use 7.")).belief
        gone = store.retract(ADA, store.put(ADA, new("kafka", "Use Kafka.")).belief.id)
        exported = store.export(ADA)
    with BeliefStore(path) as store:
        assert (live(store), store.count(ADA)) == ([head], 1)
        assert (found(store, "redis cache"), found(store, "kafka")) == ([head.id], [])
        assert store.get(ADA, gone.id) == gone
        assert store.export(ADA) == exported


def test_a_path_may_be_text_or_a_url(path: Path) -> None:
    with BeliefStore(path) as store:
        belief = store.put(ADA, new()).belief
    for url in (str(path), f"sqlite:///{path}"):
        with BeliefStore(url) as store:
            assert live(store) == [belief]


def test_by_default_a_store_lies_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PSS_HOME", str(tmp_path / "home"))
    with BeliefStore() as store:
        store.put(ADA, new())
    assert (tmp_path / "home" / "beliefs.db").is_file()


@pytest.mark.parametrize("url", ["beliefs.db", "sqlite:///beliefs.db"])
def test_a_relative_path_is_made_absolute_once(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Memory case 91."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    with BeliefStore(url) as store:
        belief = store.put(ADA, new()).belief
        monkeypatch.chdir(there)
        assert found(store, "redis cache") == [belief.id]
        store.put(ADA, new("kafka", "Use Kafka."))
        assert store.erase_all(ADA).status == "complete"
    assert (here / "beliefs.db").is_file()
    assert list(there.iterdir()) == []


@pytest.mark.parametrize("name", ["a b.db", "ä%20?.db", "#x.db", "a'b;.db"])
def test_any_file_name_is_taken_as_it_is(tmp_path: Path, name: str) -> None:
    with BeliefStore(tmp_path / name) as store:
        store.put(ADA, new())
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("junk", ["random", "text", "truncated"])
def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path, junk: str) -> None:
    """Memory case 82."""
    if junk == "truncated":
        with BeliefStore(path) as store:
            for n in range(50):
                store.put(ADA, new(f"topic{n}x", f"Statement number {n}."))
    whole = path.read_bytes() if path.exists() else b""
    damaged = {"random": random.Random(0).randbytes(8192), "text": b"{}\n" * 99, "truncated": whole[:9000]}[junk]
    path.write_bytes(damaged)
    with pytest.raises(BeliefStorageError, match="beliefs"), BeliefStore(path) as store:
        live(store)
    assert path.read_bytes() == damaged


def test_a_damaged_page_is_an_error_of_storage(path: Path) -> None:
    with BeliefStore(path) as store:
        for n in range(50):
            store.put(ADA, new(f"topic{n}x", f"Statement number {n}."))
    content = bytearray(path.read_bytes())
    content[4096:] = random.Random(0).randbytes(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(BeliefStorageError), BeliefStore(path) as store:
        store.search(ADA, [ATLAS], "topic1x")


def test_a_directory_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(BeliefStorageError):
        BeliefStore(tmp_path)


def test_a_database_of_a_later_version_is_refused_and_left_alone(path: Path) -> None:
    with BeliefStore(path) as store:
        store.put(ADA, new())
    with sqlite3.connect(path) as connection:
        changed = connection.execute("UPDATE belief_meta SET value = '99' WHERE key = 'schema_version'")
        assert changed.rowcount == 1
    connection.close()
    before = path.read_bytes()
    with pytest.raises(BeliefStorageError, match="99"):
        BeliefStore(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///",
        ":memory:",
        "sqlite:///:memory:",
        "sqlite:///file::memory:?cache=shared&uri=true",
        "sqlite:///file:beliefs?mode=memory&cache=shared&uri=true",
    ],
)
def test_a_database_in_memory_is_refused(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="memory"):
        BeliefStore(url)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["", "nosuch://host/beliefs", "sqlite+nosuch:///beliefs.db", "http://host:x/"])
def test_a_url_that_cannot_be_read_is_an_error(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput):
        BeliefStore(url)
    assert list(tmp_path.iterdir()) == []


def test_a_password_in_a_url_is_in_no_error() -> None:
    with pytest.raises((InvalidInput, BeliefStorageError)) as caught:
        BeliefStore("nosuch://ada:hunter2@localhost/beliefs")
    assert "hunter2" not in str(caught.value)


def test_a_store_can_be_closed_twice_and_leaves_one_file(path: Path) -> None:
    store = BeliefStore(path)
    store.put(ADA, new())
    store.close()
    store.close()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_an_earlier_schema_is_brought_up_to_date_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with BeliefStore(path) as store:
        kept = store.put(ADA, new()).belief
    steps: list[int] = []

    def add_column(connection: Connection) -> None:
        steps.append(1)
        connection.exec_driver_sql("ALTER TABLE beliefs ADD COLUMN colour TEXT")

    monkeypatch.setattr(tables, "SCHEMA_VERSION", 2)
    monkeypatch.setattr(tables, "MIGRATIONS", {1: add_column})
    for _ in range(2):
        with BeliefStore(path) as store:
            assert store.get(ADA, kept.id) == kept
    assert steps == [1]


def test_a_migration_that_fails_leaves_everything_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with BeliefStore(path) as store:
        kept = store.put(ADA, new()).belief

    def fail(connection: Connection) -> None:
        connection.exec_driver_sql("DELETE FROM beliefs")
        raise ZeroDivisionError

    with monkeypatch.context() as later:
        later.setattr(tables, "SCHEMA_VERSION", 2)
        later.setattr(tables, "MIGRATIONS", {1: fail})
        with pytest.raises(ZeroDivisionError):
            BeliefStore(path)
    with BeliefStore(path) as store:
        assert store.get(ADA, kept.id) == kept


def test_what_is_past_stays_past_when_a_store_is_opened_again(path: Path) -> None:
    """Memory case 29: the index that is made anew holds what is current, and nothing else."""
    with BeliefStore(path) as store:
        store.put(ADA, new("cache", "Use Redis."))
        current = store.put(ADA, new("cache", "Use Valkey.")).belief
        gone = store.put(ADA, new("queue", "Use NATS.")).belief
        store.retract(ADA, gone.id)
        before = found(store, "cache queue redis")
    with BeliefStore(path) as store:
        assert found(store, "cache queue redis") == before == [current.id]
        assert (store.count(ADA), len(live(store))) == (1, 1)
