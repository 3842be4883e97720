from pss_integrations.evaluation.bench_routing import bench_routing


def test_a_raw_decision_asks_for_one_search_and_no_read_and_others_for_three_and_one() -> None:
    told = list[str]()
    found = bench_routing(quick=True, tell=told.append)
    assert found["passages"] == 10_000
    assert 2 < found["searches"] <= 3  # now and then the clue says nothing that the query does not
    assert 0.5 < found["reads"] <= 1
    assert found["raw_ms"]["min"] > 0
    assert told[0] == "indexing 10,000 passages"
