"""A team's beliefs: who founds it, who may read, write and administer, and that it always has an admin."""

from collections.abc import Callable
from typing import Any

import pytest
from belief_making import ADA, ATLAS, BOB, Clock, new

from pss_integrations.beliefs import BeliefStore, Correction, Principal
from pss_integrations.errors import AccessDenied, IdentityError, InvalidInput, PSSError

CORE = Principal.team("core")
CY = Principal.user("cy")
ASKED = new("redis", "Redis or Valkey?", type="open_question")

Verb = Callable[[BeliefStore, str, Principal | None], Any]
READS: dict[str, Verb] = {
    "get": lambda store, belief_id, actor: store.get(CORE, belief_id, actor=actor),
    "list": lambda store, _, actor: store.list(CORE, actor=actor),
    "count": lambda store, _, actor: store.count(CORE, actor=actor),
    "history": lambda store, belief_id, actor: store.history(CORE, belief_id, actor=actor),
    "as_of": lambda store, _, actor: store.as_of(CORE, Clock().now, actor=actor),
    "search": lambda store, _, actor: store.search(CORE, [ATLAS], "redis", actor=actor),
    "explain": lambda store, _, actor: store.explain(CORE, [ATLAS], "redis", actor=actor),
    "export": lambda store, _, actor: store.export(CORE, actor=actor),
}
WRITES: dict[str, Verb] = {
    "put": lambda store, _, actor: store.put(CORE, new("kafka", "Use Kafka."), actor=actor),
    "reinforce": lambda store, belief_id, actor: store.reinforce(CORE, belief_id, actor=actor),
    "supersede": lambda store, belief_id, actor: store.supersede(CORE, belief_id, ASKED, actor=actor),
    "correct": lambda store, belief_id, actor: store.correct(CORE, belief_id, Correction(content="C."), actor=actor),
    "pin": lambda store, belief_id, actor: store.pin(CORE, belief_id, actor=actor),
    "retract": lambda store, belief_id, actor: store.retract(CORE, belief_id, actor=actor),
    "resolve": lambda store, belief_id, actor: store.resolve(CORE, belief_id, actor=actor),
    "erase": lambda store, belief_id, actor: store.erase(CORE, belief_id, actor=actor),
    "import_lines": lambda store, _, actor: store.import_lines(CORE, store.export(ADA), actor=actor),
}
ADMIN: dict[str, Verb] = {
    "erase_all": lambda store, _, actor: store.erase_all(CORE, actor=actor),
    "grant": lambda store, _, actor: store.grant(CORE, CY, "read", actor=actor),  # pyright: ignore[reportArgumentType]
}


@pytest.fixture
def question(store: BeliefStore) -> str:
    """Id of an open question of a team that Ada founded."""
    store.grant(CORE, ADA, "admin", actor=ADA)
    return store.put(CORE, new("redis", "Use Redis or not?", type="open_question"), actor=ADA).belief.id


def everything(store: BeliefStore) -> list[str]:
    return store.export(CORE, actor=ADA)


@pytest.mark.parametrize("verb", {**READS, **WRITES, **ADMIN})
def test_who_has_no_right_can_do_nothing(store: BeliefStore, question: str, verb: str) -> None:
    before = everything(store)
    with pytest.raises(AccessDenied) as caught:
        {**READS, **WRITES, **ADMIN}[verb](store, question, BOB)
    assert "Redis" not in str(caught.value)
    assert everything(store) == before


@pytest.mark.parametrize("verb", {**READS, **WRITES, **ADMIN})
def test_a_teams_beliefs_need_an_actor(store: BeliefStore, question: str, verb: str) -> None:
    """Where identity is missing, nothing is assumed."""
    before = everything(store)
    with pytest.raises((AccessDenied, IdentityError, InvalidInput)):
        {**READS, **WRITES, **ADMIN}[verb](store, question, None)
    assert everything(store) == before


@pytest.mark.parametrize("actor", [CORE, Principal.team("ada"), Principal.user("core")], ids=str)
def test_only_a_user_with_a_right_is_an_actor(store: BeliefStore, question: str, actor: Principal) -> None:
    with pytest.raises((AccessDenied, InvalidInput)):
        store.get(CORE, question, actor=actor)


def test_who_may_read_may_not_write(store: BeliefStore, question: str) -> None:
    store.grant(CORE, BOB, "read", actor=ADA)
    for verb in READS.values():
        verb(store, question, BOB)
    assert store.get(CORE, question, actor=BOB).id == question
    before = everything(store)
    for verb in (*WRITES.values(), *ADMIN.values()):
        with pytest.raises(AccessDenied):
            verb(store, question, BOB)
    assert everything(store) == before


@pytest.mark.parametrize("verb", WRITES)
def test_who_may_write_may_read_and_write(store: BeliefStore, question: str, verb: str) -> None:
    store.grant(CORE, BOB, "write", actor=ADA)
    for read in READS.values():
        read(store, question, BOB)
    WRITES[verb](store, question, BOB)


def test_who_may_write_may_not_administer(store: BeliefStore, question: str) -> None:
    store.grant(CORE, BOB, "write", actor=ADA)
    before = everything(store)
    for verb in ADMIN.values():
        with pytest.raises(AccessDenied):
            verb(store, question, BOB)
    assert everything(store) == before


def test_an_admin_grants_and_may_all(store: BeliefStore, question: str) -> None:
    store.grant(CORE, BOB, "admin", actor=ADA)
    store.grant(CORE, CY, "read", actor=BOB)
    assert store.get(CORE, question, actor=CY).id == question
    store.pin(CORE, question, actor=BOB)
    store.erase_all(CORE, actor=BOB)
    assert store.list(CORE, live=None, actor=CY) == []


def test_a_right_can_be_lowered_and_taken(store: BeliefStore, question: str) -> None:
    store.grant(CORE, BOB, "write", actor=ADA)
    store.grant(CORE, BOB, "read", actor=ADA)
    with pytest.raises(AccessDenied):
        store.pin(CORE, question, actor=BOB)
    store.grant(CORE, BOB, None, actor=ADA)
    with pytest.raises(AccessDenied):
        store.get(CORE, question, actor=BOB)
    store.grant(CORE, BOB, None, actor=ADA)


def test_a_team_that_has_an_admin_cannot_be_founded_again(store: BeliefStore, question: str) -> None:
    with pytest.raises(AccessDenied):
        store.grant(CORE, BOB, "admin", actor=BOB)
    with pytest.raises(AccessDenied):
        store.get(CORE, question, actor=BOB)


@pytest.mark.parametrize(("user", "right"), [(BOB, "admin"), (BOB, "read"), (ADA, "read"), (ADA, "write"), (ADA, None)])
def test_a_team_is_founded_only_by_making_oneself_admin(store: BeliefStore, user: Principal, right: Any) -> None:
    with pytest.raises(PSSError):
        store.grant(CORE, user, right, actor=ADA)
    with pytest.raises(AccessDenied):
        store.list(CORE, actor=ADA)
    with pytest.raises(AccessDenied):
        store.list(CORE, actor=user)


@pytest.mark.parametrize("right", ["read", "write", None])
def test_the_last_admin_stays(store: BeliefStore, question: str, right: Any) -> None:
    with pytest.raises(InvalidInput, match="admin"):
        store.grant(CORE, ADA, right, actor=ADA)
    assert store.pin(CORE, question, actor=ADA).pinned
    store.grant(CORE, BOB, "admin", actor=ADA)
    store.grant(CORE, ADA, right, actor=BOB)
    with pytest.raises(AccessDenied):
        store.erase_all(CORE, actor=ADA)


def test_erasing_all_leaves_the_team_to_its_admins(store: BeliefStore, question: str) -> None:
    store.erase_all(CORE, actor=ADA)
    with pytest.raises(AccessDenied):
        store.grant(CORE, BOB, "admin", actor=BOB)
    with pytest.raises(AccessDenied):
        store.get(CORE, question, actor=BOB)


@pytest.mark.parametrize(
    ("team", "user", "right"),
    [
        (ADA, BOB, "read"),
        (CORE, CORE, "read"),
        (CORE, BOB, "owner"),
        (CORE, BOB, ""),
        ("core", BOB, "read"),
        (CORE, "bob", "read"),
    ],
    ids=str,
)
def test_rights_are_granted_to_users_on_teams(store: BeliefStore, question: str, team, user, right) -> None:
    with pytest.raises((InvalidInput, AccessDenied)):
        store.grant(team, user, right, actor=ADA)


def test_a_right_on_one_team_is_none_on_another(store: BeliefStore, question: str) -> None:
    other = Principal.team("core2")
    store.grant(other, BOB, "admin", actor=BOB)
    with pytest.raises(AccessDenied):
        store.get(CORE, question, actor=BOB)
    assert store.list(other, live=None, actor=BOB) == []


def test_the_log_of_a_team_says_who_did_it(store: BeliefStore, question: str) -> None:
    store.grant(CORE, BOB, "write", actor=ADA)
    store.pin(CORE, question, actor=BOB)
    assert [change.actor for change in store.history(CORE, question, actor=ADA)] == [str(ADA), str(BOB)]
