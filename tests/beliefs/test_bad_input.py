"""Whatever a caller passes, what comes back is one of our errors, and nothing is changed."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from belief_making import ADA, ATLAS, new
from pydantic import ValidationError

from pss_integrations.beliefs import BeliefStore, Correction, NewBelief, Principal
from pss_integrations.beliefs.mem0 import read_mem0
from pss_integrations.errors import BeliefStorageError, InvalidInput, PSSError

CORE = Principal.team("core")
LATER = datetime(2027, 1, 1, tzinfo=UTC)
CALLS: list[Callable[[BeliefStore, str], Any]] = [
    lambda store, _: store.put(ADA, None),
    lambda store, _: store.put({"kind": "user", "id": "ada"}, new()),
    lambda store, _: store.put(CORE, new(), actor="ada"),
    lambda store, _: store.get(ADA, {"$ne": ""}),
    lambda store, _: store.get(ADA, "\0"),
    lambda store, _: store.list(ADA, limit=10**30),
    lambda store, _: store.list(ADA, limit=True),
    lambda store, _: store.list(ADA, live=[]),
    lambda store, _: store.list(ADA, scopes=[]),
    lambda store, _: store.search(ADA, ATLAS, "x"),
    lambda store, _: store.search(ADA, [ATLAS], None),
    lambda store, _: store.search(ADA, [ATLAS], "\ud83d"),
    lambda store, _: store.search(ADA, [ATLAS], "x", k=-1),
    lambda store, _: store.recall(ADA, [ATLAS], "x", max_beliefs=None),
    lambda store, _: store.as_of(ADA, "yesterday"),
    lambda store, _: store.as_of(ADA, datetime(2026, 1, 1)),
    lambda store, _: store.as_of(ADA, datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))),
    lambda store, known: store.reinforce(ADA, known, aliases="store"),
    lambda store, known: store.reinforce(ADA, known, aliases=None),
    lambda store, known: store.reinforce(ADA, known, aliases=[None]),
    lambda store, known: store.reinforce(ADA, known, aliases=["a\0b"]),
    lambda store, known: store.reinforce(ADA, known, source="oracle"),
    lambda store, known: store.correct(ADA, known, None),
    lambda store, known: store.correct(ADA, known, Correction()),
    lambda store, known: store.correct(ADA, known, Correction(valid_from=LATER, valid_to=LATER - timedelta(days=1))),
    lambda store, known: store.pin(ADA, known, pinned=None),
    lambda store, known: store.resolve(ADA, known, accept="yes"),
    lambda store, known: store.resolve(ADA, known, answer="Use NATS."),
    lambda store, _: store.grant("core", "ada", "admin", actor="ada"),
    lambda store, _: store.grant(CORE, ADA, "own", actor=ADA),
    lambda store, _: store.import_lines(ADA, None),
    lambda store, _: store.import_lines(ADA, [None]),
    lambda store, _: store.import_lines(ADA, "text"),
    lambda store, _: store.import_lines(ADA, ["[" * 100_000]),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_refused_and_changes_nothing(store: BeliefStore, call: Callable[[BeliefStore, str], Any]) -> None:
    known = store.put(ADA, new()).belief
    before = store.export(ADA)
    with pytest.raises(PSSError):
        call(store, known.id)
    assert store.export(ADA) == before


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "half \ud83d"},
        {"content": "\u200b"},
        {"canonical_name": "\u200b\u200b"},
        {"canonical_name": "x" * 201},
        {"aliases": ("a\0b",)},
        {"valid_from": "9999-12-31T23:59:59-05:00"},
        {"scopes": ("project:" + "x" * 300,)},
        {"unknown": 1},
    ],
)
def test_a_belief_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        NewBelief.model_validate({**new().model_dump(), **fields})


@pytest.mark.parametrize("name", ["", " ada", "a\0b", "\ud83d", "x" * 201])
def test_a_principal_is_refused(name: str) -> None:
    with pytest.raises(PSSError):
        Principal.user(name)


@pytest.mark.parametrize("text", ["ada", "robot:ada", None, 5])
def test_what_names_no_principal_is_refused(text: Any) -> None:
    with pytest.raises(InvalidInput):
        Principal.parse(text)


@pytest.mark.parametrize("url", [5, "a\0b", "sqlite://", "mysql://host/db", "nosuch://x", "http://host:x/"])
def test_a_database_is_refused(url: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSS_HOME", str(tmp_path))
    with pytest.raises(InvalidInput):
        BeliefStore(url)
    assert list(tmp_path.iterdir()) == []


def test_a_clock_without_a_zone_is_refused(path: Path) -> None:
    with BeliefStore(path, clock=lambda: datetime(2026, 1, 1)) as store, pytest.raises(InvalidInput, match="zone"):
        store.put(ADA, new())


@pytest.mark.parametrize("version", ["0", "abc", "2"])
def test_an_unknown_schema_version_is_refused(path: Path, version: str) -> None:
    with BeliefStore(path) as store, store._database.writing("schema") as connection:
        connection.exec_driver_sql("UPDATE belief_meta SET value = ? WHERE key = 'schema_version'", (version,))
    with pytest.raises(BeliefStorageError, match="version"):
        BeliefStore(path)


@pytest.mark.parametrize("data", ["", {}, [{"text": "x"}], [{"memory": "\u200b"}], 3])
def test_what_is_no_export_of_mem0_is_refused(data: Any) -> None:
    with pytest.raises(InvalidInput):
        read_mem0(data, [ATLAS])


def test_memories_of_two_users_are_refused() -> None:
    with pytest.raises(InvalidInput, match="2 users"):
        read_mem0([{"memory": "a b", "user_id": ["a"]}, {"memory": "c d", "user_id": "b"}], [ATLAS])
