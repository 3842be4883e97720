"""Reading back: by id, in pages, by name, by time; one belief is the same on every surface."""

from typing import Any

import pytest
from belief_making import ADA, ATLAS, BOREAL, Clock, found, live, new

from pss_integrations.beliefs import BeliefStore
from pss_integrations.errors import BeliefNotFound, InvalidInput


def fill(store: BeliefStore, count: int) -> list[str]:
    return [store.put(ADA, new(f"topic {n} thing", f"Statement number {n}.")).belief.id for n in range(count)]


def test_a_fresh_store_finds_nothing(store: BeliefStore) -> None:
    """Memory case 49."""
    assert found(store, "42") == []
    assert live(store) == []
    assert store.count(ADA) == 0
    assert store.explain(ADA, [ATLAS], "42") == []


@pytest.mark.parametrize("missing", ["nope", "", "%", "_", "*", "' OR 1=1 --", "\0"])
def test_an_id_that_is_not_there_is_not_found_by_any_verb(store: BeliefStore, missing: str) -> None:
    """Memory case 77: a typed error, and nothing is a pattern."""
    fill(store, 2)
    before = store.export(ADA)
    for verb in (store.get, store.history, store.reinforce, store.pin, store.resolve, store.retract, store.erase):
        with pytest.raises(BeliefNotFound):
            verb(ADA, missing)
    with pytest.raises(BeliefNotFound):
        store.supersede(ADA, missing, new())
    with pytest.raises(BeliefNotFound):
        store.list(ADA, after=missing)
    assert store.export(ADA) == before


def test_a_list_is_in_the_order_of_making_even_at_one_moment(store: BeliefStore) -> None:
    ids = fill(store, 12)
    assert [belief.id for belief in live(store)] == ids


def test_pages_join_without_gap_or_repeat(store: BeliefStore, clock: Clock) -> None:
    ids: list[str] = []
    for n in range(7):
        ids.append(store.put(ADA, new(f"topic {n} thing", f"Statement number {n}.")).belief.id)
        clock.step()
    pages: list[str] = []
    while page := store.list(ADA, limit=3, after=pages[-1] if pages else None):
        assert len(page) <= 3
        pages += [belief.id for belief in page]
    assert pages == ids


def test_a_page_goes_on_after_a_belief_that_was_retracted_meanwhile(store: BeliefStore) -> None:
    ids = fill(store, 4)
    store.retract(ADA, ids[1])
    assert [belief.id for belief in store.list(ADA, after=ids[1])] == ids[2:]


def test_a_list_returns_a_hundred_unless_told(store: BeliefStore) -> None:
    ids = fill(store, 101)
    assert [belief.id for belief in store.list(ADA)] == ids[:100]
    assert [belief.id for belief in store.list(ADA, limit=None)] == ids
    assert store.list(ADA, limit=0) == []
    assert store.count(ADA) == 101


@pytest.mark.parametrize("limit", [True, False, "5", -1, 1.5])
def test_a_limit_is_a_count(store: BeliefStore, limit: Any) -> None:
    """Memory case 94."""
    fill(store, 1)
    with pytest.raises(InvalidInput):
        store.list(ADA, limit=limit)
    with pytest.raises(InvalidInput):
        store.search(ADA, [ATLAS], "topic 0 thing", k=limit)


def test_k_gives_the_start_of_the_whole_result(store: BeliefStore) -> None:
    """Memory case 94, and 86: nothing is cut unless asked for."""
    for n in range(30):
        store.put(ADA, new(f"topic {n} thing", f"Statement number {n}.", aliases=("common word",)))
    everything = found(store, "common word")
    assert len(everything) == 30
    for k in (0, 1, 7, 100):
        hits = store.search(ADA, [ATLAS], "common word", k=k)
        assert [hit.belief.id for hit in hits] == everything[:k]


def test_an_unknown_parameter_is_an_error(store: BeliefStore) -> None:
    """Memory case 10."""
    with pytest.raises(TypeError, match="limit"):
        store.search(ADA, [ATLAS], "redis", limit=3)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    "query", ["", "  ", "???", "the of and", "🙂", "QQQQ_NOPE", "'; DROP TABLE x; --", "`foo` | a/b"]
)
def test_a_query_that_names_nothing_finds_nothing(store: BeliefStore, query: str) -> None:
    """Memory cases 55, 58 and 59."""
    fill(store, 3)
    store.pin(ADA, live(store)[0].id)
    assert found(store, query) == []


@pytest.mark.parametrize("query", [None, 5, ["redis"], {"$ne": ""}, b"redis"])
def test_a_query_is_a_string(store: BeliefStore, query: Any) -> None:
    with pytest.raises(InvalidInput):
        store.search(ADA, [ATLAS], query)
    with pytest.raises(InvalidInput):
        store.explain(ADA, [ATLAS], query)


@pytest.mark.parametrize("scopes", [[], (), ATLAS, None, [None], ["atlas"], [""], ["project:"], {"$in": [ATLAS]}])
def test_a_search_says_where(store: BeliefStore, scopes: Any) -> None:
    """No scope is not every scope."""
    fill(store, 1)
    for read in (store.search, store.explain):
        with pytest.raises(InvalidInput):
            read(ADA, scopes, "topic 0 thing")
    if scopes is not None:
        with pytest.raises(InvalidInput):
            store.list(ADA, scopes=scopes)


def test_a_list_of_scopes_shows_those_and_each_belief_once(store: BeliefStore) -> None:
    here = store.put(ADA, new("a", "First.")).belief.id
    there = store.put(ADA, new("b", "Second.", scopes=(BOREAL,))).belief.id
    both = store.put(ADA, new("c", "Third.", scopes=(ATLAS, BOREAL))).belief.id
    assert [belief.id for belief in store.list(ADA, scopes=[ATLAS])] == [here, both]
    assert [belief.id for belief in store.list(ADA, scopes=[BOREAL])] == [there, both]
    assert [belief.id for belief in store.list(ADA, scopes=[BOREAL, ATLAS])] == [here, there, both]


def test_a_list_shows_current_or_past_or_both(store: BeliefStore) -> None:
    old = store.put(ADA, new(content="Use Redis 6.")).belief.id
    head = store.put(ADA, new(content="Use Redis 7.")).belief.id
    waiting = store.put(ADA, new(content="Use Redis 8.", source="tool")).belief.id
    assert [belief.id for belief in store.list(ADA)] == [head]
    assert [belief.id for belief in store.list(ADA, live=False)] == [old, waiting]
    assert [belief.id for belief in store.list(ADA, live=None)] == [old, head, waiting]
    assert store.count(ADA) == 1


def test_a_belief_is_the_same_on_every_surface(store: BeliefStore, clock: Clock) -> None:
    """Memory cases 40 and 92."""
    put = store.put(ADA, new(aliases=("store",), valid_from=clock.now)).belief
    clock.step()
    (hit,) = store.search(ADA, [ATLAS], "redis cache")
    (explained,) = store.explain(ADA, [ATLAS], "redis cache")
    shown = [hit.belief, explained.belief, store.get(ADA, put.id), *live(store), *store.as_of(ADA, clock.now)]
    assert shown == [put] * 5
    assert store.history(ADA, put.id)[-1].belief == put
    assert explained.returned


def test_the_first_and_the_last_of_five_thousand_are_found(store: BeliefStore) -> None:
    """Memory case 86."""
    first = store.put(ADA, new("topic0x", "Statement.")).belief.id
    header, line = store.export(ADA)
    store.import_lines(
        ADA, [header, *(line.replace(first, f"{n:032x}").replace("topic0x", f"topic{n}x") for n in range(1, 5000))]
    )
    assert store.count(ADA) == 5000
    assert found(store, "what of topic0x and topic4999x?") in ([first, f"{4999:032x}"], [f"{4999:032x}", first])


def test_explain_says_of_each_whether_it_came_and_why(store: BeliefStore) -> None:
    redis = store.put(ADA, new("redis", "Use Redis.")).belief.id
    kafka = store.put(ADA, new("kafka", "Use Kafka.")).belief.id
    away = store.put(ADA, new("redis", "Use Redis there.", scopes=(BOREAL,))).belief.id
    gone = store.put(ADA, new("old_redis", "Redis was dropped.", aliases=("redis",))).belief.id
    store.retract(ADA, gone)
    said = store.explain(ADA, [ATLAS], "is redis up?")
    assert {each.belief.id: each.returned for each in said} == {redis: True, kafka: False, away: False, gone: False}
    assert [each.returned for each in said] == [True, False, False, False]
    assert all(each.reason.strip() for each in said)
    assert [each.belief.id for each in store.explain(ADA, [ATLAS], "is redis up?", belief_id=kafka)] == [kafka]


def test_reading_changes_nothing(store: BeliefStore) -> None:
    (belief_id,) = fill(store, 1)
    before = store.export(ADA)
    found(store, "topic 0 thing")
    store.get(ADA, belief_id)
    store.explain(ADA, [ATLAS], "topic 0 thing")
    assert store.export(ADA) == before
