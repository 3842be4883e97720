from pathlib import Path

import pytest
from sqlalchemy import Table, select

from pss_integrations.beliefs import BeliefStore, Principal
from pss_integrations.beliefs.database import Database
from pss_integrations.beliefs.tables import beliefs, changes, names
from pss_integrations.errors import BeliefStorageError
from pss_integrations.evaluation.bench_belief_data import MADE_AT, SCOPES, load, make_beliefs, make_queries, stored
from pss_integrations.evaluation.bench_beliefs import QUICK, Sizes, measure

ADA, BOB = Principal.user("ada"), Principal.user("bob")


def rows(file: Path, table: Table) -> list[dict[str, object]]:
    database = Database(file)
    with database.reading() as connection:
        found = [dict(row._mapping) for row in connection.execute(select(table))]
    database.close()
    return sorted(found, key=lambda row: [str(row[name]) for name in sorted(row)])


def load_into(file: Path, principal: Principal, held: list) -> None:
    database = Database(file)
    try:
        load(database, principal, held)
    finally:
        database.close()


@pytest.mark.parametrize("table", [beliefs, changes, names], ids=lambda table: table.name)
def test_what_is_loaded_lies_there_as_if_it_had_been_put(tmp_path: Path, table: Table) -> None:
    with BeliefStore(tmp_path / "put.db", clock=lambda: MADE_AT) as store:
        done = [(principal, store.put(principal, one)) for principal in (ADA, BOB) for one in make_beliefs(9, seed=1)]
    for principal in (ADA, BOB):
        held = [put.belief for owner, put in done if owner == principal]
        assert held == [stored(new, one.id, MADE_AT) for new, one in zip(make_beliefs(9, seed=1), held, strict=True)]
        load_into(tmp_path / "loaded.db", principal, held)
    assert rows(tmp_path / "loaded.db", table) == rows(tmp_path / "put.db", table) != []


def test_a_loaded_store_goes_on_like_any_other(tmp_path: Path) -> None:
    *first, last = make_beliefs(6, seed=1)
    load_into(tmp_path / "b.db", ADA, [stored(one, f"b{at}", MADE_AT) for at, one in enumerate(first)])
    with BeliefStore(tmp_path / "b.db") as store:
        assert store.put(ADA, last).outcome == "created"
        assert store.put(ADA, first[0]).outcome == "reinforced"
        assert [one.id for one in store.list(ADA)][:5] == ["b0", "b1", "b2", "b3", "b4"]
        assert len(store.export(ADA)) == 7


def test_a_name_that_is_taken_is_refused_by_the_database(tmp_path: Path) -> None:
    (one,) = make_beliefs(1, seed=1)
    with pytest.raises(BeliefStorageError, match="UNIQUE"):
        load_into(tmp_path / "b.db", ADA, [stored(one, "a", MADE_AT), stored(one, "b", MADE_AT)])


def test_beliefs_have_names_of_their_own_and_fewer_are_the_first_of_more() -> None:
    many = make_beliefs(300, seed=3)
    assert make_beliefs(20, seed=3) == many[:20]
    assert len({one.canonical_name.lower().replace("_", " ") for one in many}) == 300
    assert {scope for one in many for scope in one.scopes} == set(SCOPES)


def test_queries_name_beliefs_among_other_words() -> None:
    known = make_beliefs(50, seed=3)
    queries = make_queries(200, known, seed=3)
    assert queries == make_queries(200, known, seed=3)
    assert all(5 <= len(query.split()) <= 60 + 9 for query in queries)
    spellings = [name.replace("_", " ") for one in known for name in (one.canonical_name, *one.aliases)]
    spoken = [any(name in query for name in spellings) for query in queries]
    assert 50 < sum(spoken) < 200


def test_a_measurement_has_its_figures() -> None:
    sizes = Sizes(own=60, others=130, each=50, queries=12, repeats=2, puts=4, cold=2)
    told: list[str] = []
    found = measure(sizes, told.append)
    assert told[0] == "writing 60 beliefs of one principal, and 130 of others"
    assert found["searches"] == 24
    for name in ("search_median_ms", "search_p99_ms", "cold_start_ms", "write_visible_ms"):
        assert found[name] > 0, name
    assert found["search_median_ms"] <= found["search_p99_ms"]
    assert found["writes"]["all_visible_at_once"] is True
    assert found["others"]["same_results_and_scores"] is True
    assert found["others"]["median_ratio"] > 0
    assert found["hits_median"] > 0


def test_a_quick_measurement_asks_enough_for_a_percentile() -> None:
    for sizes in (QUICK, Sizes()):
        assert sizes.queries * sizes.repeats >= 500
        assert sizes.own == 10_000
