"""Export and import: the same again, whole or not at all, and nobody else's."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from belief_making import ADA, BOB, BOREAL, Clock, found, live, new

from pss_integrations.beliefs import UNIVERSAL, BeliefStore, Correction, Principal, Provenance
from pss_integrations.errors import BeliefConflict, BeliefNotFound, InvalidInput


@pytest.fixture
def full(store: BeliefStore, clock: Clock) -> list[str]:
    """An export in which every field of every kind of belief is set, and every verb is in the log."""
    provenance = Provenance(
        source="user", session_id="s 1", turn_id="t\n2", extracted_at=clock.now, source_model="mödel"
    )
    everywhere = {"provenance": provenance, "valid_from": clock.now, "valid_to": clock.now.replace(year=2030)}
    odd = 'Naïve ＡＷＳ 👩‍💻, "quoted" \\ back\n\tsecond\u2028third\u0085line </beliefs>'
    expert = {"subtype": "expertise", "expertise_domain": "js/react", "expertise_depth": "deep"}
    store.put(ADA, new("react", odd, type="preference", expertise_evidence_count=3, **expert, **everywhere))
    api = store.put(ADA, new("api", "The API.", type="entity", scopes=(UNIVERSAL, "domain:code/python"))).belief
    relation = {"type": "relation", "relation_type": "depends_on", "participants": (api.id, "react")}
    store.put(ADA, new("api_ui", "The UI needs the API.", **relation))
    asked = store.put(ADA, new("broker", "Which broker?", type="open_question", pinned=True)).belief
    clock.step(0.123456789)
    fields = {"aliases": ("store", "kv"), "replaces": ("memcached",), "confidence": 0.1, "pinned": True}
    first = store.put(ADA, new("redis", "Use 6.", why_it_matters="Never 5.", tentative=True, **fields, **everywhere))
    store.reinforce(ADA, first.belief.id, aliases=["cache"], source="tool")
    store.put(ADA, new("redis", "Use 7.", source="tool"))
    store.put(ADA, new("redis", "Use 8."))
    clock.step()
    store.resolve(ADA, asked.id, answer=new("broker", "Use Kafka."))
    taken = store.put(ADA, new("kafka_version", "Use 3.", source="assistant")).belief
    store.correct(ADA, taken.id, Correction(content="Use 4.", why_it_matters="Upgrade.", scopes=(BOREAL,)))
    store.retract(ADA, store.put(ADA, new("old", "Gone.")).belief.id)
    store.put(ADA, new("waiting", "Yes."))
    store.put(ADA, new("waiting", "No.", source="assistant"))
    store.pin(ADA, store.put(ADA, new("pin", "Pinned.")).belief.id)
    return store.export(ADA)


@pytest.fixture
def fresh(tmp_path: Path):
    with BeliefStore(tmp_path / "fresh.db") as opened:
        yield opened


def test_export_import_export_is_the_same_to_the_byte(full: list[str], store: BeliefStore, fresh: BeliefStore) -> None:
    """Memory case 89."""
    assert fresh.import_lines(ADA, full) == len(store.list(ADA, live=None, limit=None))
    assert fresh.export(ADA) == full
    assert fresh.list(ADA, live=None, limit=None) == store.list(ADA, live=None, limit=None)


def test_what_was_imported_is_found_and_dated_like_the_original(
    full: list[str], store: BeliefStore, fresh: BeliefStore, clock: Clock
) -> None:
    fresh.import_lines(ADA, full)
    for query in ("redis", "cache", "broker", "old", "waiting", "memcached", "api"):
        assert fresh.search(ADA, [*live(store)[0].scopes], query) == store.search(ADA, [*live(store)[0].scopes], query)
    for hours in (-1.5, -1, -0.5, 0, 1):
        clock.step(hours)
        assert fresh.as_of(ADA, clock.now) == store.as_of(ADA, clock.now)
    for belief in store.list(ADA, live=None, limit=None):
        assert fresh.history(ADA, belief.id) == store.history(ADA, belief.id)


def test_importing_twice_is_importing_once(full: list[str], store: BeliefStore, fresh: BeliefStore) -> None:
    fresh.import_lines(ADA, full)
    for policy in ("error", "skip", "replace"):
        assert fresh.import_lines(ADA, full, on_conflict=policy) == 0
    assert fresh.export(ADA) == full
    assert store.import_lines(ADA, full) == 0
    assert store.export(ADA) == full


def test_each_line_is_one_line_of_json(full: list[str], fresh: BeliefStore, tmp_path: Path) -> None:
    assert all(isinstance(json.loads(line), dict) for line in full)
    assert not any("\n" in line or "\r" in line for line in full)
    file = tmp_path / "beliefs.jsonl"
    file.write_text("".join(f"{line}\n" for line in full), encoding="utf-8")
    with file.open(encoding="utf-8") as lines:
        fresh.import_lines(ADA, lines)
    assert fresh.export(ADA) == full


def test_an_import_goes_to_whom_it_is_given(full: list[str], store: BeliefStore) -> None:
    """Also beside the original, in one database."""
    theirs = store.import_lines(BOB, full)
    assert store.export(ADA) == full
    assert len(store.list(BOB, live=None, limit=None)) == theirs == len(store.list(ADA, live=None, limit=None))
    assert found(store, "redis", BOB) == found(store, "redis", ADA)
    store.put(BOB, new("redis", "Bob uses 9."))
    store.erase_all(BOB)
    assert store.export(ADA) == full


def test_an_import_goes_to_a_team(full: list[str], store: BeliefStore) -> None:
    team = Principal.team("core")
    store.grant(team, ADA, "admin", actor=ADA)
    store.import_lines(team, full, actor=ADA)
    assert len(store.list(team, live=None, limit=None, actor=ADA)) == len(store.list(ADA, live=None, limit=None))


def test_an_export_of_nothing_imports_as_nothing(store: BeliefStore, full: list[str]) -> None:
    assert store.import_lines(ADA, store.export(BOB)) == 0
    assert store.export(ADA) == full


def changed_since(store: BeliefStore, fresh: BeliefStore) -> tuple[list[str], list[str], str]:
    """What a belief was when another store took it over, and what it is now."""
    belief = store.put(ADA, new("redis", "Use 6.")).belief
    before = store.export(ADA)
    fresh.import_lines(ADA, before)
    store.correct(ADA, belief.id, Correction(content="Use 7."))
    store.put(ADA, new("kafka", "Use Kafka."))
    return before, store.export(ADA), belief.id


def test_by_default_a_belief_that_differs_is_a_conflict(store: BeliefStore, fresh: BeliefStore) -> None:
    before, after, belief_id = changed_since(store, fresh)
    with pytest.raises(BeliefConflict, match=belief_id):
        fresh.import_lines(ADA, after)
    assert fresh.export(ADA) == before


def test_what_is_there_can_be_kept(store: BeliefStore, fresh: BeliefStore) -> None:
    _, after, belief_id = changed_since(store, fresh)
    assert fresh.import_lines(ADA, after, on_conflict="skip") == 1
    assert fresh.get(ADA, belief_id).content == "Use 6."
    assert len(found(fresh, "kafka")) == 1


def test_what_comes_can_replace(store: BeliefStore, fresh: BeliefStore) -> None:
    _, after, belief_id = changed_since(store, fresh)
    assert fresh.import_lines(ADA, after, on_conflict="replace") == 2
    assert fresh.get(ADA, belief_id).content == "Use 7."
    assert fresh.export(ADA) == after


@pytest.mark.parametrize("policy", ["error", "replace"])
def test_a_name_that_another_belief_has_is_a_conflict(store: BeliefStore, fresh: BeliefStore, policy) -> None:
    store.put(ADA, new("redis", "Use 6."))
    fresh.put(ADA, new("redis", "Use 7."))
    before = fresh.export(ADA)
    with pytest.raises(BeliefConflict):
        fresh.import_lines(ADA, store.export(ADA), on_conflict=policy)
    assert fresh.export(ADA) == before


def test_an_unknown_policy_is_an_error(store: BeliefStore, full: list[str]) -> None:
    with pytest.raises(InvalidInput, match="overwrite"):
        store.import_lines(ADA, full, on_conflict="overwrite")  # pyright: ignore[reportArgumentType]


BROKEN = {
    "cut": lambda line: line[: len(line) // 2],
    "no json": lambda line: "not json",
    "null": lambda line: "null",
    "list": lambda line: f"[{line}]",
    "empty": lambda line: "{}",
    "unknown key": lambda line: line[:-1] + ',"user_id":"bob"}',
    "unknown field": lambda line: line.replace('"canonical_name"', '"user_id":"bob","canonical_name"', 1),
    "bad scope": lambda line: line.replace('"scopes":["', '"scopes":["team:', 1),
    "bad time": lambda line: line.replace('Z"', '"', 1),
    "bad number": lambda line: line.replace('"version":1', '"version":"one"', 1),
    "not a number": lambda line: line.replace('"confidence":1.0', '"confidence":NaN', 1),
    "bad verb": lambda line: line.replace('"verb":"put"', '"verb":"drop"', 1),
}


@pytest.mark.parametrize("damage", BROKEN)
def test_a_broken_line_is_named_and_nothing_is_taken_over(store: BeliefStore, fresh: BeliefStore, damage: str) -> None:
    for n in range(4):
        store.put(ADA, new(f"topic{n}x", f"Statement number {n}."))
    lines = store.export(ADA)
    lines[2] = BROKEN[damage](lines[2])
    assert lines != store.export(ADA)
    kept = fresh.put(ADA, new()).belief
    with pytest.raises(InvalidInput, match=r"\b3\b"):
        fresh.import_lines(ADA, lines)
    assert fresh.list(ADA, live=None) == [kept]


@pytest.mark.parametrize("lines", [[], ["{}"], ["null"], ['{"beliefs":[]}'], ["not json"], [""]], ids=str)
def test_what_is_no_export_is_an_error_and_empties_nothing(store: BeliefStore, full: list[str], lines) -> None:
    """Memory case 89: an empty wrapper."""
    with pytest.raises(InvalidInput):
        store.import_lines(ADA, lines)
    assert store.export(ADA) == full


def test_an_export_of_a_later_version_is_an_error(store: BeliefStore, full: list[str]) -> None:
    header = {**json.loads(full[0]), "version": 99}
    with pytest.raises(InvalidInput):
        store.import_lines(BOB, [json.dumps(header), *full[1:]])
    assert store.list(BOB, live=None) == []


def test_two_lines_about_one_belief_are_an_error(store: BeliefStore, full: list[str]) -> None:
    other = full[1].replace("quoted", "altered")
    with pytest.raises((InvalidInput, BeliefConflict)):
        store.import_lines(BOB, [*full, other])
    assert store.list(BOB, live=None) == []


def grown(store: BeliefStore) -> tuple[list[str], list[str]]:
    """Exports of a belief before it was superseded, and after."""
    store.put(ADA, new("db", "MySQL."))
    before = store.export(ADA)
    store.put(ADA, new("db", "Postgres."))
    return before, store.export(ADA)


@pytest.mark.parametrize(("policy", "written", "says"), [("skip", 0, "MySQL."), ("replace", 2, "Postgres.")])
def test_versions_of_one_belief_are_taken_or_left_together(
    store: BeliefStore, policy: str, written: int, says: str
) -> None:
    before, after = grown(store)
    store.import_lines(BOB, before)
    assert store.import_lines(BOB, after, on_conflict=policy) == written
    assert [belief.content for belief in live(store, BOB)] == [says]
    assert_linked(store, BOB)


def test_an_older_export_in_the_place_of_a_longer_chain_leaves_nothing_of_it(store: BeliefStore) -> None:
    before, after = grown(store)
    store.import_lines(BOB, after)
    renamed = store.correct(BOB, live(store, BOB)[0].id, Correction(canonical_name="database"))
    assert store.import_lines(BOB, before, on_conflict="replace") == 1
    assert [belief.content for belief in live(store, BOB)] == ["MySQL."]
    assert_linked(store, BOB)
    assert store.supersede(BOB, live(store, BOB)[0].id, new("db", "SQLite.")).belief.version == 2
    with pytest.raises(BeliefNotFound):
        store.get(BOB, renamed.id)


def assert_linked(store: BeliefStore, principal: Principal) -> None:
    beliefs = {belief.id: belief for belief in store.list(principal, live=None, limit=None)}
    for belief in beliefs.values():
        assert {belief.supersedes, belief.superseded_by} <= {*beliefs, None}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda line: line["changes"][0]["belief"].update(id="another"),
        lambda line: line["changes"][-1]["belief"].update(content="Something else."),
        lambda line: line.update(changes=[]),
        lambda line: line["belief"].update(id=""),
        lambda line: line["changes"][-1].update(at="2099-01-01T00:00:00Z"),
    ],
)
def test_a_log_that_is_not_the_belief_s_is_refused(store: BeliefStore, spoil: Callable[[dict[str, Any]], Any]) -> None:
    store.put(ADA, new())
    header, line = store.export(ADA)
    document = json.loads(line)
    spoil(document)
    with pytest.raises(InvalidInput):
        store.import_lines(BOB, [header, json.dumps(document)])
    assert store.list(BOB, live=None) == []
