"""What a belief, a scope and a principal may be; what is wrong is refused before it meets a store."""

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from belief_making import ADA, ATLAS, Clock, new
from pydantic import BaseModel, ValidationError

from pss_integrations.beliefs import (
    UNIVERSAL,
    BeliefStore,
    Correction,
    NewBelief,
    Principal,
    Provenance,
    fill_scope,
)
from pss_integrations.errors import IdentityError, InvalidInput, MissingIdentity

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAIVE = datetime(2026, 1, 1, 12)
RELATION = {"type": "relation", "relation_type": "depends_on", "participants": ("api", "database")}


@pytest.mark.parametrize("field", ["user_id", "scope", "id", "principal", "epistemic_status", "metadata", "confirmed"])
def test_identity_and_status_cannot_be_smuggled_in_as_fields(field: str) -> None:
    """Memory case 4: reserved and unknown keys are errors."""
    with pytest.raises(ValidationError, match=field):
        new(**{field: "alice"})


@pytest.mark.parametrize("model", [Correction, Provenance])
def test_a_correction_and_a_provenance_take_no_unknown_field(model: type[BaseModel]) -> None:
    """Memory case 4, on update."""
    with pytest.raises(ValidationError, match="user_id"):
        model.model_validate({"user_id": "alice"})


@pytest.mark.parametrize("field", ["valid_from", "valid_to"])
def test_a_time_without_a_zone_is_an_error(field: str) -> None:
    for model in (new, Correction):
        with pytest.raises(ValidationError, match="timezone"):
            model(**{field: NAIVE})
    with pytest.raises(ValidationError, match="timezone"):
        Provenance(extracted_at=NAIVE)


def test_times_come_back_in_utc(store: BeliefStore, clock: Clock) -> None:
    tokyo = timezone(timedelta(hours=9))
    clock.now = NOON.astimezone(tokyo)
    provenance = Provenance(extracted_at=NOON.astimezone(tokyo))
    belief = store.put(ADA, new(valid_from=NOON.astimezone(tokyo), provenance=provenance)).belief
    read = store.get(ADA, belief.id)
    times = (read.valid_from, read.provenance.extracted_at, read.created_at, read.updated_at, read.last_reinforced_at)
    assert times == (NOON,) * 5
    assert {time and time.utcoffset() for time in times} == {timedelta(0)}


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "relation"},
        {**RELATION, "relation_type": None},
        {**RELATION, "participants": ("api",)},
        {**RELATION, "participants": ("api", "api")},
        {**RELATION, "type": "decision"},
        {"type": "entity", "relation_type": "depends_on"},
        {"type": "open_question", "participants": ("api", "database")},
        {"type": "decision", "subtype": "style"},
        {"type": "preference", "subtype": "style", "expertise_domain": "python"},
        {"type": "preference", "expertise_depth": "deep"},
        {"type": "preference", "subtype": "expertise", "expertise_evidence_count": -1},
        {"type": "rumour"},
        {"valid_from": NOON, "valid_to": NOON},
        {"valid_from": NOON, "valid_to": NOON - timedelta(hours=1)},
        {"confidence": 1.01},
        {"confidence": -0.01},
        {"confidence": math.nan},
        {"name": "  "},
        {"name": "a\0b"},
        {"content": "\n\t"},
        {"content": "a\0b"},
        {"aliases": ("cache", " ")},
        {"aliases": tuple(f"alias {number}" for number in range(26))},
        {"why_it_matters": ""},
        {"source": "oracle"},
    ],
)
def test_what_does_not_fit_its_type_is_an_error(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        new(**fields)


def test_a_relation_and_an_expertise_say_all_that_belongs_to_them() -> None:
    assert new(**RELATION).participants == ("api", "database")
    expert = new(type="preference", subtype="expertise", expertise_domain="javascript/react", expertise_depth="deep")
    assert expert.expertise_depth == "deep"


def test_names_are_one_line_and_each_alias_comes_once() -> None:
    belief = new("  redis \n cache ", aliases=("the  cache", "the cache", "store"))
    assert belief.canonical_name == "redis cache"
    assert belief.aliases == ("the cache", "store")


def test_a_belief_cannot_be_changed_in_place() -> None:
    belief = new()
    with pytest.raises(ValidationError):
        belief.content = "Use Memcached."  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    "scope",
    [
        "",
        "*",
        "%",
        "project",
        "project:",
        ":atlas",
        "team:core",
        "user:ada",
        "Project:atlas",
        " project:atlas",
        "project: atlas",
        "project:atlas ",
        "project:at\nlas",
        "project:at\0las",
        "project:{project}",
        5,
        None,
    ],
)
def test_a_scope_of_another_form_is_an_error(scope: Any) -> None:
    with pytest.raises(ValidationError):
        new(scopes=(scope,))


@pytest.mark.parametrize("scopes", [(), [], "project:atlas", None, {"$ne": ""}])
def test_no_scope_and_no_list_of_scopes_are_errors(scopes: Any) -> None:
    with pytest.raises(ValidationError):
        NewBelief(type="decision", canonical_name="a", content="b", scopes=scopes)


@pytest.mark.parametrize("scope", [UNIVERSAL, "domain:code", "domain:code/python", ATLAS, "project:a_b%*", "project:ü"])
def test_what_is_a_scope_is_kept_as_it_is(scope: str) -> None:
    assert new(scopes=(scope, scope)).scopes == (scope,)


def test_a_template_is_filled_from_the_context() -> None:
    assert fill_scope("project:{project}", {"project": "atlas", "user": "ada"}) == ATLAS
    assert fill_scope("domain:{a}/{b}", {"a": "code", "b": "python"}) == "domain:code/python"
    assert fill_scope(UNIVERSAL, {}) == UNIVERSAL


@pytest.mark.parametrize("context", [{}, {"project": ""}, {"project": "  "}, {"project": None}, {"project": 5}])
def test_a_template_without_a_value_is_an_error_that_names_the_place(context: Any) -> None:
    with pytest.raises(InvalidInput, match="project"):
        fill_scope("project:{project}", context)


@pytest.mark.parametrize(("template", "value"), [("team:{x}", "core"), ("project:{x}", " a"), ("user:{x}", "ada")])
def test_what_comes_out_of_a_template_must_be_a_scope(template: str, value: str) -> None:
    with pytest.raises(InvalidInput):
        fill_scope(template, {"x": value})


@pytest.mark.parametrize("missing", [None, ""])
def test_a_principal_without_an_id_is_a_missing_identity(missing: Any) -> None:
    with pytest.raises(MissingIdentity):
        Principal.user(missing)


@pytest.mark.parametrize("wrong", [" alice ", "alice\n", "a\0b", {"$ne": ""}, ["alice", "bob"], 5, True])
def test_an_id_of_the_wrong_form_is_refused_not_trimmed(wrong: Any) -> None:
    """Memory cases 5 and 7: one rule for every verb, since no verb ever sees such a principal."""
    with pytest.raises(InvalidInput):
        Principal.user(wrong)


@pytest.mark.parametrize("text", ["ada", "", ":ada", "group:core", "USER:ada", "user:"])
def test_text_that_names_no_principal_is_an_error(text: str) -> None:
    with pytest.raises((InvalidInput, IdentityError)):
        Principal.parse(text)


@pytest.mark.parametrize("name", ["ada", "user:universal", "a:b:c", "%", "名前"])
def test_a_principal_is_read_back_from_its_text(name: str) -> None:
    for principal in (Principal.user(name), Principal.team(name)):
        assert Principal.parse(str(principal)) == principal
    assert Principal.user(name) != Principal.team(name)


def test_a_belief_holds_from_its_first_moment_up_to_its_last(store: BeliefStore) -> None:
    hour = timedelta(hours=1)
    belief = store.put(ADA, new(valid_from=NOON, valid_to=NOON + hour)).belief
    assert [belief.valid_at(NOON + step * hour) for step in (-0.01, 0, 0.5, 1)] == [False, True, True, False]
