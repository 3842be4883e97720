"""What becomes of a belief that is put: created, reinforced, superseded or contradicted; and what is the same thing."""

import pytest
from belief_making import ADA, ATLAS, BOB, BOREAL, Clock, chain, found, live, new

from pss_integrations.beliefs import BeliefStore, NewBelief, Provenance
from pss_integrations.errors import BeliefConflict, InvalidInput

TEXT = "Use Redis for the cache."


def test_a_new_belief_is_created_as_it_was_said(store: BeliefStore, clock: Clock) -> None:
    said = new(aliases=("session store",), why_it_matters="Do not suggest Memcached.", confidence=0.9)
    result = store.put(ADA, said)
    assert (result.outcome, result.similar, result.asks_why) == ("created", (), False)
    belief = result.belief
    assert said.model_dump() == belief.model_dump(include=set(NewBelief.model_fields))
    assert (belief.version, belief.reinforcement_count, belief.epistemic_status) == (1, 1, "active")
    assert belief.confirmed
    assert belief.live
    assert belief.created_at == belief.updated_at == belief.last_reinforced_at == clock.now
    assert store.get(ADA, belief.id) == belief


@pytest.mark.parametrize(
    "said_again",
    [
        TEXT,
        TEXT.upper(),
        f"  {TEXT} ",
        "Use  Redis\n for the\tcache.",
        "Use Ｒｅｄｉｓ for the cache.",
        "use redis for the cache.",
    ],
)
def test_the_same_text_reinforces_whatever_its_case_blanks_and_width(store: BeliefStore, said_again: str) -> None:
    """Memory cases 26 and 43."""
    first = store.put(ADA, new(content=TEXT)).belief
    result = store.put(ADA, new(content=said_again))
    assert result.outcome == "reinforced"
    assert result.belief.id == first.id
    assert (result.belief.reinforcement_count, result.belief.content) == (2, TEXT)
    assert live(store) == [result.belief]


@pytest.mark.parametrize("name", ["redis_cache", "redis cache", "Redis_Cache", "REDIS  CACHE", "ｒｅｄｉｓ cache"])
def test_a_name_is_the_same_whatever_its_case_blanks_and_width(store: BeliefStore, name: str) -> None:
    """An underscore and a space are the same in a name."""
    first = store.put(ADA, new("redis_cache")).belief
    assert store.put(ADA, new(name)).belief.id == first.id


def test_composed_and_decomposed_accents_are_the_same(store: BeliefStore) -> None:
    first = store.put(ADA, new("caf\u00e9", "Meet at the caf\u00e9.")).belief
    result = store.put(ADA, new("cafe\u0301", "Meet at the cafe\u0301."))
    assert (result.outcome, result.belief.id) == ("reinforced", first.id)


def test_an_acronym_put_four_times_is_one_belief(store: BeliefStore) -> None:
    """Memory case 44."""
    for _ in range(4):
        last = store.put(ADA, new("DGIA", "DGIA is the agency that pays.", type="entity")).belief
    assert live(store) == [last]
    assert last.reinforcement_count == 4
    assert found(store, "What does DGIA pay?") == [last.id]


def test_what_a_user_says_otherwise_supersedes(store: BeliefStore) -> None:
    """Memory case 25: the new one is kept, the old one is past, neither is lost."""
    love = store.put(ADA, new("chinese_food", "I love Chinese food.", type="preference")).belief
    result = store.put(ADA, new("chinese_food", "I hate Chinese food.", type="preference"))
    hate = result.belief
    assert result.outcome == "superseded"
    assert [belief.content for belief in live(store)] == ["I hate Chinese food."]
    old = store.get(ADA, love.id)
    assert (old.superseded_by, old.epistemic_status, old.live) == (hate.id, "superseded", False)
    assert (hate.supersedes, hate.version, hate.epistemic_status) == (love.id, 2, "active")


@pytest.mark.parametrize("field", ["city", "current_assignment"])
def test_every_kind_of_move_supersedes_alike(store: BeliefStore, field: str) -> None:
    """Memory case 32."""
    store.put(ADA, new(field, "It was A."))
    assert store.put(ADA, new(field, "It is now B.")).outcome == "superseded"
    assert [belief.content for belief in live(store)] == ["It is now B."]


@pytest.mark.parametrize("source", ["assistant", "tool", "import"])
def test_what_nobody_confirmed_is_at_most_inferred(store: BeliefStore, source: str) -> None:
    """Memory case 41: the source is kept, and it is not the user's own word."""
    belief = store.put(ADA, new("kafka", "I suggest Kafka.", source=source)).belief
    assert belief.epistemic_status in ("inferred", "exploratory")
    assert (belief.confirmed, belief.provenance.source) == (False, source)
    tentative = store.put(ADA, new("pulsar", "Pulsar might do.", source=source, tentative=True)).belief
    assert tentative.epistemic_status == "exploratory"


def test_what_a_user_only_considers_is_exploratory(store: BeliefStore) -> None:
    assert store.put(ADA, new(tentative=True)).belief.epistemic_status == "exploratory"


@pytest.mark.parametrize("challenge", [{"source": "assistant"}, {"source": "tool"}, {"tentative": True}])
def test_what_no_user_settled_contradicts_and_waits(store: BeliefStore, challenge: dict[str, str]) -> None:
    settled = store.put(ADA, new("broker", "Use RabbitMQ.")).belief
    result = store.put(ADA, new("broker", "Use Kafka.", **challenge))
    assert result.outcome == "contradicted"
    assert (result.belief.contradicts, result.belief.live) == (settled.id, False)
    assert [belief.id for belief in live(store)] == [settled.id]
    assert store.get(ADA, settled.id).superseded_by is None
    (hit,) = store.search(ADA, [ATLAS], "broker")
    assert (hit.belief.id, hit.contested_by) == (settled.id, (result.belief.id,))


@pytest.mark.parametrize("source", ["assistant", "tool", "import"])
def test_what_no_user_said_needs_some_confidence(store: BeliefStore, source: str) -> None:
    with pytest.raises(InvalidInput, match=r"0\.35"):
        store.put(ADA, new(source=source, confidence=0.349))
    assert store.count(ADA) == 0
    assert store.put(ADA, new(source=source, confidence=0.35)).outcome == "created"


def test_what_a_user_said_needs_no_confidence(store: BeliefStore) -> None:
    assert store.put(ADA, new(confidence=0.0)).outcome == "created"
    assert store.put(ADA, new("pulsar", "Pulsar might do.", confidence=0.1, tentative=True)).outcome == "created"


def test_an_alias_leads_to_the_belief_it_is_an_alias_of(store: BeliefStore) -> None:
    """The canonical name of the new one is an alias of the old one: they are the same thing."""
    old = store.put(ADA, new("postgresql", "Use PostgreSQL 15.", aliases=("postgres",))).belief
    assert store.put(ADA, new("Postgres", "Use PostgreSQL 15.")).belief.id == old.id
    result = store.put(ADA, new("postgres", "Use PostgreSQL 17."))
    assert (result.outcome, result.belief.supersedes) == ("superseded", old.id)
    assert found(store, "which postgresql") == found(store, "which postgres") == [result.belief.id]


def test_sharing_only_an_alias_does_not_merge(store: BeliefStore) -> None:
    store.put(ADA, new("redis", "Redis keeps sessions.", aliases=("cache",)))
    result = store.put(ADA, new("varnish", "Varnish keeps pages.", aliases=("cache",)))
    assert result.outcome == "created"
    assert len(found(store, "the cache")) == 2


def test_an_alias_that_names_another_belief_does_not_merge(store: BeliefStore) -> None:
    old = store.put(ADA, new("redis", "Redis keeps sessions.")).belief
    assert store.put(ADA, new("valkey", "Valkey is tried in staging.", aliases=("redis",))).outcome == "created"
    result = store.put(ADA, new("redis", "Redis keeps sessions."))
    assert (result.outcome, result.belief.id) == ("reinforced", old.id)


@pytest.mark.parametrize(
    ("principal", "changes"), [(ADA, {"scopes": (BOREAL,)}), (ADA, {"type": "preference"}), (BOB, {})]
)
def test_the_same_name_elsewhere_is_another_belief(store: BeliefStore, principal, changes) -> None:
    first = store.put(ADA, new(content="Use Redis.")).belief
    result = store.put(principal, new(content="Use Valkey.", **changes))
    assert result.outcome == "created"
    assert store.get(ADA, first.id) == first


def test_similar_facts_of_other_names_do_not_retire_each_other(store: BeliefStore) -> None:
    """Memory case 31."""
    store.put(ADA, new("auth", "Auth uses Redis."))
    assert store.put(ADA, new("cache", "The cache uses Redis eviction LRU.")).outcome == "created"
    assert store.count(ADA) == 2


@pytest.mark.parametrize("again", ["Redis eviction is LRU", "Eviction: Redis is LRU.", "REDIS EVICTION IS LRU"])
def test_the_same_said_under_another_name_is_flagged_not_merged(store: BeliefStore, again: str) -> None:
    """Memory case 43: a restatement in other order."""
    first = store.put(ADA, new("redis_eviction", "Redis eviction is LRU.")).belief
    result = store.put(ADA, new("cache_policy", again))
    assert (result.outcome, result.similar) == ("created", (first.id,))
    assert store.get(ADA, first.id) == first
    assert store.put(ADA, new("unrelated", "Deploy on Fridays.")).similar == ()


def test_what_is_like_another_users_belief_is_not_flagged(store: BeliefStore) -> None:
    store.put(BOB, new("redis_eviction", "Redis eviction is LRU."))
    assert store.put(ADA, new("cache_policy", "Redis eviction is LRU.")).similar == ()


def test_a_belief_in_several_scopes_is_one_and_found_in_each(store: BeliefStore) -> None:
    belief = store.put(ADA, new("redis", "Use Redis.", scopes=(ATLAS, BOREAL))).belief
    assert found(store, "redis", scopes=[ATLAS]) == found(store, "redis", scopes=[BOREAL]) == [belief.id]
    assert found(store, "redis", scopes=[ATLAS, BOREAL]) == [belief.id]
    assert live(store) == [belief]


def test_scopes_that_hold_different_beliefs_of_the_name_are_a_conflict(store: BeliefStore) -> None:
    store.put(ADA, new("redis", "Use Redis 6."))
    store.put(ADA, new("redis", "Use Redis 7.", scopes=(BOREAL,)))
    before = store.export(ADA)
    with pytest.raises(BeliefConflict):
        store.put(ADA, new("redis", "Use Redis 8.", scopes=(ATLAS, BOREAL)))
    assert store.export(ADA) == before


def test_what_was_given_up_leads_to_what_replaces_it(store: BeliefStore) -> None:
    rabbit = store.put(ADA, new("rabbitmq", "Use RabbitMQ.")).belief
    kafka = store.put(ADA, new("kafka", "Use Kafka.", replaces=("RabbitMQ",))).belief
    assert store.get(ADA, rabbit.id).superseded_by == kafka.id
    assert found(store, "is rabbitmq up?") == found(store, "is kafka up?") == [kafka.id]


def test_only_a_user_replaces(store: BeliefStore) -> None:
    rabbit = store.put(ADA, new("rabbitmq", "Use RabbitMQ.")).belief
    store.put(ADA, new("kafka", "Use Kafka.", replaces=("rabbitmq",), source="assistant"))
    assert store.get(ADA, rabbit.id).live
    assert rabbit.id in found(store, "is rabbitmq up?")


def test_going_back_makes_no_cycle(store: BeliefStore) -> None:
    """Memory case 34: A, then B, then A again is a chain of three."""
    first = store.put(ADA, new("tslint", "Lint with TSLint.")).belief
    store.supersede(ADA, first.id, new("eslint", "Lint with ESLint."))
    back = store.put(ADA, new("tslint", "Lint with TSLint.")).belief
    assert [belief.canonical_name for belief in chain(store, ADA, back)] == ["tslint", "eslint", "tslint"]
    assert live(store) == [back]


def test_a_reused_session_id_joins_nobody(store: BeliefStore) -> None:
    """Memory case 8."""
    provenance = Provenance(session_id="1", turn_id="1")
    store.put(ADA, new(content="Ada's.", provenance=provenance))
    store.put(BOB, new(content="Bob's.", provenance=provenance))
    assert [belief.content for belief in live(store, ADA)] == ["Ada's."]
    assert [belief.content for belief in live(store, BOB)] == ["Bob's."]


@pytest.mark.parametrize(
    "text", ["I no longer use MySQL.", "I do NOT want Express.", "naïve ＡＷＳ 👩‍💻 \u202eabc", "!!!"]
)
def test_text_is_kept_as_it_was_said(store: BeliefStore, text: str) -> None:
    """Memory cases 35 and 62: no stop list, and nothing is folded, touches what is stored."""
    belief = store.put(ADA, new("thing", text, type="preference")).belief
    assert store.get(ADA, belief.id).content == text
    assert found(store, "the thing") == [belief.id]
