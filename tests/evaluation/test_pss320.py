from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320, wording
from pss_integrations.evaluation.pss320 import CATEGORIES, UNSUPPORTED, Benchmark, BenchmarkSession, Probe
from pss_integrations.retrieval import BM25Index
from pss_integrations.types import SessionFields


def scope(session: BenchmarkSession) -> list[str]:
    return [session.fields.project, *session.fields.active.values(), *session.fields.archived.values()]


def test_the_same_seed_gives_the_same_benchmark() -> None:
    assert pss320.generate(12, seed=7) == pss320.generate(12, seed=7)
    assert pss320.generate(12, seed=7) != pss320.generate(12, seed=8)


@given(smaller=st.integers(1, 12), seed=st.integers())
@settings(max_examples=20, deadline=None)
def test_a_smaller_benchmark_is_the_beginning_of_a_larger_one(smaller: int, seed: int) -> None:
    small, large = pss320.generate(smaller, seed=seed), pss320.generate(12, seed=seed)
    assert small.sessions == large.sessions[:smaller]
    assert small.passages == large.passages[: len(small.passages)]


@pytest.mark.parametrize(("seed", "other"), [(0, 1), (2, -1)])
def test_an_even_and_an_odd_seed_share_no_name(seed: int, other: int) -> None:
    def surfaces(benchmark: Benchmark) -> set[str]:
        fields = [session.fields for session in benchmark.sessions]
        names = {name for one in fields for name in (one.project, *one.active.values(), *one.archived.values())}
        return names | {word for one in fields for word in one.project.split()} | {one.other["owner"] for one in fields}

    assert surfaces(pss320.generate(seed=seed)).isdisjoint(surfaces(pss320.generate(seed=other)))


def test_different_seeds_share_no_id(benchmark_320: Benchmark) -> None:
    other = pss320.generate(seed=2)
    assert {one.key for one in benchmark_320.sessions}.isdisjoint(one.key for one in other.sessions)
    assert {one.doc_id for one in benchmark_320.passages}.isdisjoint(one.doc_id for one in other.passages)


def test_the_splits_have_64_and_256_sessions_and_share_no_source_group(benchmark_320: Benchmark) -> None:
    calibration, test = benchmark_320.split("calibration"), benchmark_320.split("test")
    assert (len(calibration), len(test)) == (64, 256)
    assert {one.source_group for one in calibration}.isdisjoint(one.source_group for one in test)


def test_the_first_64_test_sessions_have_every_test_group_equally_often(benchmark_320: Benchmark) -> None:
    counts = Counter(session.source_group for session in benchmark_320.split("test")[:64])
    assert set(counts.values()) == {4}
    assert len(counts) == 16


def test_sizes_are_those_of_the_paper(benchmark_320: Benchmark) -> None:
    assert len(benchmark_320.sessions) == 320
    assert sum(len(session.probes) for session in benchmark_320.sessions) == 1920
    assert all(20 <= len(session.messages) <= 30 for session in benchmark_320.sessions)
    assert len({len(session.messages) for session in benchmark_320.sessions}) > 1
    assert len(benchmark_320.passages) == 6 * 320


def test_categories_are_equally_frequent_overall_and_in_every_source_group(benchmark_320: Benchmark) -> None:
    groups = {session.source_group for session in benchmark_320.sessions}
    assert len(groups) == 20
    for group in groups:
        counts = Counter(
            probe.category
            for session in benchmark_320.sessions
            if session.source_group == group
            for probe in session.probes
        )
        assert counts == dict.fromkeys(CATEGORIES, 12)


def test_only_null_and_conflict_have_no_answer(benchmark_320: Benchmark) -> None:
    for session in benchmark_320.sessions:
        for probe in session.probes:
            assert (probe.category in ("null", "conflict")) == (probe.gold_rewrite == UNSUPPORTED)
            assert (probe.category == "multi_hop") == (len(probe.evidence) == 2)
            assert bool(probe.answers) == bool(probe.evidence)


def test_the_archived_configuration_is_asked_for_by_its_own_name(benchmark_320: Benchmark) -> None:
    for session in benchmark_320.sessions:
        for probe in session.probes:
            if probe.category == "temporal_revision":
                assert session.fields.archived["version"] in probe.gold_rewrite
                assert not any(name in probe.gold_rewrite for name in session.fields.active.values())


def test_the_history_tells_every_name_and_the_archived_ones_first(benchmark_320: Benchmark) -> None:
    for session in benchmark_320.sessions:
        history = "\n".join(message.text for message in session.messages)
        assert all(name in history for name in [*scope(session), *session.fields.other.values()])
        for name in ("configuration", "version", "checkpoint", "route"):
            first = history.index(session.fields.archived[name])
            assert first < history.index(session.fields.active[name]), (session.key, name)


def test_the_higher_version_is_not_always_the_one_in_force(benchmark_320: Benchmark) -> None:
    def numbers(version: str) -> list[int]:
        return [int(part) for part in version.removeprefix("v").split(".")]

    upgrades = sum(
        numbers(session.fields.active["version"]) > numbers(session.fields.archived["version"])
        for session in benchmark_320.sessions
    )
    assert 200 < upgrades < 300


def test_histories_are_told_in_many_ways(benchmark_320: Benchmark) -> None:
    shapes: set[str] = set()
    for session in benchmark_320.sessions:
        text = session.messages[2].text
        for name in scope(session):
            text = text.replace(name, "·")
        shapes.add(text)
    assert len(shapes) >= 6


def test_each_category_has_a_dozen_phrasings_and_none_occurs_twice() -> None:
    intents = wording.load("probes")["intent"]
    counts = Counter(intent["category"] for intent in intents for _ in intent["phrasings"])
    assert set(counts) == set(CATEGORIES)
    assert min(counts.values()) >= 12
    phrasings = [phrasing.lower() for intent in intents for phrasing in intent["phrasings"]]
    assert len(set(phrasings)) == len(phrasings)


def test_bm25_finds_nothing_without_scope_and_everything_with_it(benchmark_320: Benchmark, all_recall) -> None:
    index = BM25Index(benchmark_320.passages)
    asked = [(session, probe) for session in benchmark_320.sessions for probe in session.probes]
    assert all_recall(index, [(probe.query, probe.evidence) for _, probe in asked]) < 0.05
    assert all_recall(index, [(probe.gold_rewrite, probe.evidence) for _, probe in asked]) > 0.95


def test_bm25_needs_the_right_configuration_and_not_the_project_alone(benchmark_320: Benchmark, all_recall) -> None:
    index = BM25Index(benchmark_320.passages)
    revisions = [
        (session.fields, probe.evidence)
        for session in benchmark_320.sessions
        for probe in session.probes
        if probe.category == "temporal_revision"
    ]

    def query(fields: SessionFields, values: object) -> str:
        return " ".join([fields.project, *values])  # type: ignore[misc]

    assert all_recall(index, [(fields.project, evidence) for fields, evidence in revisions]) < 0.1
    assert all_recall(index, [(query(one, one.active.values()), evidence) for one, evidence in revisions]) < 0.1
    assert all_recall(index, [(query(one, one.archived.values()), evidence) for one, evidence in revisions]) > 0.95


@pytest.mark.parametrize("sessions", [0, -1])
def test_a_benchmark_needs_a_session(sessions: int) -> None:
    with pytest.raises(InvalidInput, match="at least 1"):
        pss320.generate(sessions, seed=1)


def test_too_many_sessions_run_out_of_names() -> None:
    with pytest.raises(InvalidInput, match="fewer sessions"):
        pss320.generate(3000, seed=1)


def test_probes_are_values(benchmark_320: Benchmark) -> None:
    probe = benchmark_320.sessions[0].probes[0]
    assert probe == Probe(probe.query, probe.evidence, probe.gold_rewrite, probe.category, probe.answers)
    assert len({*benchmark_320.sessions[0].probes, probe}) == 6
