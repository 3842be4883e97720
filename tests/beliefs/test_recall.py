"""What a model is shown for a query, tier by tier."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from belief_making import ADA, ATLAS, BOB, BOREAL, Clock, new
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.beliefs import UNIVERSAL, Belief, BeliefStore
from pss_integrations.beliefs.recall import Recall, recall
from pss_integrations.beliefs.search import BeliefHit
from pss_integrations.errors import InvalidInput


def ids(beliefs: tuple[Belief, ...]) -> list[str]:
    return [one.canonical_name for one in beliefs]


def put(store: BeliefStore, name: str, **fields: object) -> Belief:
    return store.put(ADA, new(name, f"About {name}.", **fields)).belief


@pytest.fixture
def filled(store: BeliefStore) -> BeliefStore:
    """Two beliefs of each kind that matters, some of them heard twice."""
    put(store, "valkey")
    kafka = put(store, "kafka", aliases=("queue",))
    put(store, "biome", pinned=True)
    mongo = put(store, "mongo", pinned=True)
    put(store, "tokens", type="open_question", pinned=True)
    sharding = put(store, "sharding", type="open_question")
    put(store, "broker map", type="relation", relation_type="needs", participants=(kafka.id, sharding.id))
    put(store, "elsewhere", scopes=(BOREAL,), pinned=True)
    put(store, "brevity", type="preference", scopes=(UNIVERSAL,))
    put(store, "tabs", type="preference", scopes=(UNIVERSAL,), pinned=True)
    short = put(store, "plain words", type="preference", scopes=(UNIVERSAL,))
    put(store, "office", type="entity", scopes=(UNIVERSAL,))
    for heard in (mongo, short):
        store.reinforce(ADA, heard.id)
    return store


def test_pinned_beliefs_come_whatever_is_asked_the_most_reinforced_first(filled: BeliefStore) -> None:
    for query in ("", "kafka", "biome"):
        assert ids(filled.recall(ADA, [ATLAS], query).pinned) == ["mongo", "biome"]


def test_what_the_query_names_is_relevant_unless_it_is_pinned_or_a_question(filled: BeliefStore) -> None:
    assert ids(filled.recall(ADA, [ATLAS], "valkey, mongo, tokens and sharding").relevant) == ["valkey"]
    assert ids(filled.recall(ADA, [ATLAS], "the queue").relevant) == ["kafka"]


@pytest.mark.parametrize("query", ["", "  \n", "?!", "what else?"])
def test_a_query_that_names_nothing_has_nothing_relevant(filled: BeliefStore, query: str) -> None:
    found = filled.recall(ADA, [ATLAS], query)
    assert (ids(found.relevant), ids(found.open_questions)) == ([], ["tokens"])


def test_relations_lead_to_relevant_beliefs_and_to_questions(filled: BeliefStore) -> None:
    found = filled.recall(ADA, [ATLAS], "the broker map")
    assert ids(found.relevant) == ["broker map", "kafka"]
    assert ids(found.open_questions) == ["tokens", "sharding"]


def test_a_question_that_is_not_pinned_comes_if_it_is_named(filled: BeliefStore) -> None:
    assert ids(filled.recall(ADA, [ATLAS], "is sharding needed?").open_questions) == ["tokens", "sharding"]
    assert ids(filled.recall(ADA, [ATLAS], "is sharding needed?", max_questions=1).open_questions) == ["tokens"]


@pytest.mark.parametrize("scopes", [[ATLAS], [BOREAL], [UNIVERSAL], [ATLAS, UNIVERSAL]])
def test_the_persona_is_read_whatever_the_scopes(filled: BeliefStore, scopes: list[str]) -> None:
    assert ids(filled.recall(ADA, scopes, "").persona) == ["tabs", "plain words", "brevity"]


def test_scopes_and_principals_are_kept_apart(filled: BeliefStore) -> None:
    assert ids(filled.recall(ADA, [BOREAL], "kafka valkey sharding").pinned) == ["elsewhere"]
    assert ids(filled.recall(ADA, [BOREAL], "kafka valkey sharding").relevant) == []
    nobody = filled.recall(BOB, [ATLAS], "kafka valkey sharding")
    assert nobody == Recall((), (), (), ())


def test_what_is_past_is_not_recalled(filled: BeliefStore, clock: Clock) -> None:
    put(filled, "sale", pinned=True, valid_to=clock.now + timedelta(hours=1))
    before = filled.recall(ADA, [ATLAS], "kafka")
    assert "sale" in ids(before.pinned)
    clock.step(2)
    filled.retract(ADA, before.relevant[0].id)
    filled.resolve(ADA, before.open_questions[0].id)
    after = filled.recall(ADA, [ATLAS], "kafka")
    assert (ids(after.pinned), ids(after.relevant), ids(after.open_questions)) == (["mongo", "biome"], [], [])


def test_pinned_beliefs_use_up_the_limit_first(filled: BeliefStore) -> None:
    expected = [([], []), (["mongo"], []), (["mongo", "biome"], []), (["mongo", "biome"], ["kafka"])]
    for limit, tiers in enumerate(expected):
        found = filled.recall(ADA, [ATLAS], "kafka", max_beliefs=limit)
        assert (ids(found.pinned), ids(found.relevant)) == tiers


def test_a_pinned_belief_that_does_not_fit_is_recalled_if_it_is_named(filled: BeliefStore) -> None:
    found = filled.recall(ADA, [ATLAS], "biome", max_pinned=1)
    assert (ids(found.pinned), ids(found.relevant)) == (["mongo"], ["biome"])


@pytest.mark.parametrize("limit", ["max_beliefs", "max_pinned", "max_questions"])
def test_a_limit_below_none_is_refused(store: BeliefStore, limit: str) -> None:
    with pytest.raises(InvalidInput, match=f"{limit} must be a whole number from 0"):
        store.recall(ADA, [ATLAS], "kafka", **{limit: -1})


def test_no_scope_and_no_query_are_refused(store: BeliefStore) -> None:
    with pytest.raises(InvalidInput, match="no scope was given"):
        store.recall(ADA, [], "kafka")
    with pytest.raises(InvalidInput, match="a query must be a string"):
        store.recall(ADA, [ATLAS], None)  # type: ignore[arg-type]


class Held:
    """An index that finds the beliefs it is told to."""

    def __init__(self, beliefs: list[Belief], named: set[str]) -> None:
        self.beliefs, self.named = beliefs, named

    def search(self, scopes: Sequence[str], query: str, now: datetime) -> list[BeliefHit]:
        return [BeliefHit(one, 1.0) for one in self.in_scopes(scopes, now) if one.id in self.named]

    def in_scopes(self, scopes: Sequence[str], now: datetime) -> list[Belief]:
        return [one for one in self.beliefs if not set(scopes).isdisjoint(one.scopes)]


NOW = Clock().now
TIMES = {"created_at": NOW, "updated_at": NOW, "last_reinforced_at": NOW}
BELIEFS = st.lists(
    st.builds(
        Belief,
        id=st.integers(0, 40).map("b{}".format),
        canonical_name=st.just("name"),
        content=st.just("content"),
        type=st.sampled_from(["entity", "preference", "open_question"]),
        pinned=st.booleans(),
        reinforcement_count=st.integers(1, 3),
        scopes=st.sampled_from([(ATLAS,), (UNIVERSAL,)]),
        **{name: st.just(time) for name, time in TIMES.items()},
    ),
    max_size=30,
    unique_by=lambda one: one.id,
)
LIMIT = st.integers(0, 6)


@given(BELIEFS, st.sets(st.integers(0, 40).map("b{}".format)), LIMIT, LIMIT, LIMIT)
def test_tiers_keep_to_their_limits_and_share_nothing(
    many: list[Belief], named: set[str], beliefs: int, pinned: int, questions: int
) -> None:
    index = Held(many, named)
    limits = {"max_beliefs": beliefs, "max_pinned": pinned, "max_questions": questions}
    for scopes in ([ATLAS], [ATLAS, UNIVERSAL]):
        found = recall(index, scopes, "", NOW, **limits)
        tiers = [one.id for tier in (found.pinned, found.relevant, found.open_questions) for one in tier]
        assert len(tiers) == len(set(tiers))
        assert len(found.pinned) <= pinned
        assert len(found.pinned) + len(found.relevant) <= beliefs
        assert len(found.open_questions) <= questions
        assert all(one.pinned for one in found.pinned)
        assert {one.id for one in found.relevant} <= named
        assert {one.type for one in found.open_questions} <= {"open_question"}
        universal = [one for one in many if one.type == "preference" and one.scopes == (UNIVERSAL,)]
        assert sorted(found.persona, key=lambda one: one.id) == sorted(universal, key=lambda one: one.id)
