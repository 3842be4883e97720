"""Nobody reads or changes what is somebody else's: each verb, each odd id, each neighbouring scope."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from belief_making import ADA, ATLAS, BOB, found, live, new
from sqlalchemy import event
from sqlalchemy.engine import Engine

from pss_integrations.beliefs import UNIVERSAL, BeliefStore, Correction, Principal
from pss_integrations.errors import AccessDenied, BeliefNotFound, IdentityError, InvalidInput

SECRET = "zanzibar"
MINE = new("other", "Mine now.")

Verb = Callable[..., Any]
LATER = datetime(2100, 1, 1, tzinfo=UTC)

READS: dict[str, Verb] = {
    "get": lambda store, who, belief_id, **by: store.get(who, belief_id, **by),
    "list": lambda store, who, _, **by: store.list(who, **by),
    "list of all": lambda store, who, _, **by: store.list(who, live=None, limit=None, **by),
    "list in scope": lambda store, who, _, **by: store.list(who, scopes=[ATLAS], **by),
    "list after": lambda store, who, belief_id, **by: store.list(who, live=None, after=belief_id, **by),
    "count": lambda store, who, _, **by: store.count(who, **by),
    "history": lambda store, who, belief_id, **by: store.history(who, belief_id, **by),
    "as_of": lambda store, who, _, **by: store.as_of(who, LATER, **by),
    "search": lambda store, who, _, **by: store.search(who, [ATLAS], SECRET, **by),
    "search by alias": lambda store, who, _, **by: store.search(who, [ATLAS, UNIVERSAL], "spice island", **by),
    "search nearly": lambda store, who, _, **by: store.search(who, [ATLAS], "zanzibra", **by),
    "explain": lambda store, who, _, **by: store.explain(who, [ATLAS], SECRET, **by),
    "explain one": lambda store, who, belief_id, **by: store.explain(who, [ATLAS], "x", belief_id=belief_id, **by),
    "export": lambda store, who, _, **by: [line for line in store.export(who, **by) if SECRET in line.casefold()],
}

BY_ID = {"get", "list after", "history", "explain one"}

WRITES: dict[str, Verb] = {
    "reinforce": lambda store, who, belief_id, **by: store.reinforce(who, belief_id, aliases=["mine"], **by),
    "supersede": lambda store, who, belief_id, **by: store.supersede(who, belief_id, MINE, **by),
    "correct": lambda store, who, belief_id, **by: store.correct(who, belief_id, Correction(content="Mine."), **by),
    "pin": lambda store, who, belief_id, **by: store.pin(who, belief_id, **by),
    "resolve": lambda store, who, belief_id, **by: store.resolve(who, belief_id, **by),
    "retract": lambda store, who, belief_id, **by: store.retract(who, belief_id, **by),
    "erase": lambda store, who, belief_id, **by: store.erase(who, belief_id, **by),
}

VERBS: dict[str, Verb] = {
    **READS,
    **WRITES,
    "put": lambda store, who, _, **by: store.put(who, MINE, **by),
    "erase_all": lambda store, who, _, **by: store.erase_all(who, **by),
    "import_lines": lambda store, who, _, **by: store.import_lines(who, [], **by),
}


@pytest.fixture
def secret(store: BeliefStore) -> str:
    """Id of a pinned belief of Ada with a past, a challenger and a retracted neighbour."""
    store.put(ADA, new(SECRET, "Zanzibar was the plan."))
    settled = store.put(ADA, new(SECRET, "Zanzibar is the plan.", aliases=("spice island",), pinned=True)).belief
    store.put(ADA, new(SECRET, "Zanzibar is no plan.", source="tool"))
    store.retract(ADA, store.put(ADA, new("zanzibar_old", "Zanzibar is gone.")).belief.id)
    return settled.id


@pytest.mark.parametrize("read", READS)
def test_no_read_shows_anything_of_another_user(store: BeliefStore, secret: str, read: str) -> None:
    """Memory case 11."""
    assert READS[read](store, ADA, secret)
    if read in BY_ID:
        with pytest.raises(BeliefNotFound):
            READS[read](store, BOB, secret)
    else:
        assert not READS[read](store, BOB, secret)


@pytest.mark.parametrize("write", WRITES)
def test_no_write_changes_anything_of_another_user(store: BeliefStore, secret: str, write: str) -> None:
    before = store.export(ADA)
    with pytest.raises(BeliefNotFound):
        WRITES[write](store, BOB, secret)
    assert store.export(ADA) == before
    assert store.list(BOB, live=None) == []


@pytest.mark.parametrize("verb", sorted(VERBS.keys() - {"import_lines"}))
def test_acting_for_another_user_is_denied(store: BeliefStore, secret: str, verb: str) -> None:
    before = store.export(ADA)
    with pytest.raises(AccessDenied):
        VERBS[verb](store, ADA, secret, actor=BOB)
    assert store.export(ADA) == before


def test_importing_for_another_user_is_denied(store: BeliefStore, secret: str) -> None:
    before = store.export(ADA)
    with pytest.raises(AccessDenied):
        store.import_lines(ADA, before, actor=BOB)
    assert store.export(ADA) == before


def test_a_user_may_name_himself_as_actor(store: BeliefStore) -> None:
    belief = store.put(ADA, new(), actor=ADA).belief
    assert store.get(ADA, belief.id, actor=ADA) == belief


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """What any database is asked from now on."""
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield asked
    event.remove(Engine, "before_cursor_execute", note)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("wrong", [{"$ne": ""}, ["alice", "bob"], None, "", "user:ada", ("user", "ada"), 5], ids=repr)
def test_what_is_no_principal_is_an_error_before_any_query(
    store: BeliefStore, verb: str, wrong: Any, statements: list[str]
) -> None:
    """Memory case 5."""
    with pytest.raises((InvalidInput, IdentityError)):
        VERBS[verb](store, wrong, "id")
    assert statements == []


@pytest.mark.parametrize("wrong", [{"$ne": ""}, "", "user:ada", 5])
def test_what_is_no_actor_is_an_error(store: BeliefStore, wrong: Any) -> None:
    with pytest.raises((InvalidInput, IdentityError, AccessDenied)):
        store.list(ADA, actor=wrong)
    with pytest.raises((InvalidInput, IdentityError, AccessDenied)):
        store.put(ADA, new(), actor=wrong)


NEIGHBOURS = [
    ("acme", "acme-corp"),
    ("john-doe", "john_doe"),
    ("a_b", "a-b"),
    ("a_b", "axb"),
    ("%", "anyone"),
    ("_", "a"),
    ("*", "anyone"),
    ("Alice", "alice"),
    ("alice/qa", "alice qa"),
    ("/notes.txt", "/notes_txt"),
    ("user:universal", "user"),
    ("domain:code", "code"),
    ("straße", "strasse"),
    ("caf\u00e9", "cafe\u0301"),
    ("ａｌｉｃｅ", "alice"),
    ("None", "null"),
    ("1", "1.0"),
    ("a\u200bb", "ab"),
]


@pytest.mark.parametrize("pair", [*NEIGHBOURS, *[(b, a) for a, b in NEIGHBOURS]], ids=repr)
def test_ids_are_compared_character_by_character(store: BeliefStore, pair: tuple[str, str]) -> None:
    """Memory cases 1, 2, 19, 20 and 22."""
    first, second = map(Principal.user, pair)
    belief = store.put(first, new("redis", "Use Redis.")).belief
    assert (live(store, second), found(store, "redis", second), store.count(second)) == ([], [], 0)
    assert store.put(second, new("redis", "Use Valkey.")).outcome == "created"
    store.erase_all(second)
    assert live(store, first) == [belief]


def test_a_user_and_a_team_of_one_id_are_two(store: BeliefStore) -> None:
    team = Principal.team("ada")
    store.grant(team, ADA, "admin", actor=ADA)
    store.put(team, new("redis", "The team uses Redis."), actor=ADA)
    assert live(store, ADA) == []
    assert found(store, "redis", ADA) == []


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("project:foo", "project:foobar"),
        ("project:foo", "project:foo/bar"),
        ("project:a_b", "project:a-b"),
        ("project:%", "project:x"),
        ("project:*", "project:x"),
        ("project:Foo", "project:foo"),
        ("project:a,b", "project:a"),
        ('project:a"]', "project:a"),
        ("domain:code", "domain:code/python"),
        ("project:x", UNIVERSAL),
    ],
)
def test_scopes_are_compared_character_by_character(store: BeliefStore, here: str, there: str) -> None:
    """Memory cases 1, 2 and 13: on every path, exact, alias, nearly, listed, earlier."""
    mine = store.put(ADA, new("mother", "It is Mary.", aliases=("old lady",), scopes=(here,), pinned=True)).belief
    other = store.put(ADA, new("mother", "It is Jane.", aliases=("old lady",), scopes=(there,), pinned=True)).belief
    for scope, belief in ((here, mine), (there, other)):
        for query in ("mother", "old lady", "mohter"):
            assert found(store, query, scopes=[scope]) == [belief.id]
        assert store.list(ADA, scopes=[scope]) == [belief]
        assert store.as_of(ADA, belief.created_at.replace(year=2100), scopes=[scope]) == [belief]
    assert sorted(found(store, "mother", scopes=[here, there])) == sorted([mine.id, other.id])


def test_asking_for_more_brings_nothing_from_elsewhere(store: BeliefStore) -> None:
    """Memory case 16."""
    mine = store.put(ADA, new("apple", "Apples are red.")).belief
    for n in range(9):
        store.put(ADA, new("apple", f"Apple number {n}.", scopes=(f"project:other{n}",)))
    assert [hit.belief for hit in store.search(ADA, [ATLAS], "apple", k=5)] == [mine]


def test_other_users_change_no_score(store: BeliefStore) -> None:
    """Document counts are those of the principal."""
    store.put(ADA, new("redis", "Use Redis."))
    store.put(ADA, new("kafka", "Use Kafka.", aliases=("redis",)))
    before = store.search(ADA, [ATLAS], "redis kafka")
    for n in range(30):
        store.put(BOB, new(f"redis {n}", f"Redis number {n}.", aliases=("redis", "kafka")))
    assert store.search(ADA, [ATLAS], "redis kafka") == before


def test_what_a_belief_is_made_of_is_no_belief(store: BeliefStore) -> None:
    """Memory case 23: participants, aliases and the log are never returned as beliefs."""
    relation = {"type": "relation", "relation_type": "depends_on", "participants": ("api", "database")}
    made = [
        store.put(ADA, new("api", "The API.", type="entity", aliases=("gateway",))).belief.id,
        store.put(ADA, new("database", "The database.", type="entity")).belief.id,
        store.put(ADA, new("api_storage", "The API depends on the database.", **relation)).belief.id,
    ]
    assert [belief.id for belief in store.list(ADA, live=None)] == made
    assert store.count(ADA) == 3
    for query in ("api", "gateway", "database", "api storage", "depends on"):
        assert set(found(store, query)) <= set(made)
