from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320, wording
from pss_integrations.evaluation.pss320 import CATEGORIES, UNSUPPORTED, Benchmark, BenchmarkSession, Probe
from pss_integrations.retrieval import BM25Index
from pss_integrations.types import SessionFields


def with_probe(benchmark: Benchmark, **changes: object) -> Benchmark:
    """The benchmark with the first answerable probe of its first session changed."""
    session = benchmark.sessions[0]
    position, probe = next((n, probe) for n, probe in enumerate(session.probes) if probe.evidence)
    probes = [*session.probes]
    probes[position] = replace(probe, **changes)
    return replace(benchmark, sessions=(replace(session, probes=tuple(probes)), *benchmark.sessions[1:]))


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


@pytest.mark.parametrize("seed", [0, 1, 2, -5])
def test_the_audit_finds_nothing(seed: int) -> None:
    assert pss320.audit(pss320.generate(seed=seed)) == []


@given(seed=st.integers(), sessions=st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_the_audit_finds_nothing_whatever_the_seed(seed: int, sessions: int) -> None:
    assert pss320.audit(pss320.generate(sessions, seed=seed)) == []


def test_different_seeds_share_no_project_and_no_id(benchmark_320: Benchmark) -> None:
    other = pss320.generate(seed=2)
    for values in (
        lambda one: {session.fields.project for session in one.sessions},
        lambda one: {session.key for session in one.sessions},
        lambda one: {passage.doc_id for passage in one.passages},
    ):
        assert values(benchmark_320).isdisjoint(values(other))


def test_sizes_are_those_of_the_paper(benchmark_320: Benchmark) -> None:
    assert len(benchmark_320.sessions) == 320
    assert sum(len(session.probes) for session in benchmark_320.sessions) == 1920
    assert all(20 <= len(session.messages) <= 30 for session in benchmark_320.sessions)
    assert len({len(session.messages) for session in benchmark_320.sessions}) > 1
    assert len(benchmark_320.passages) == 6 * 320


def test_categories_are_equally_frequent_overall_and_in_every_source_group(benchmark_320: Benchmark) -> None:
    groups = {session.source_group for session in benchmark_320.sessions}
    assert len(groups) == 16
    for group in groups:
        counts = Counter(
            probe.category
            for session in benchmark_320.sessions
            if session.source_group == group
            for probe in session.probes
        )
        assert counts == dict.fromkeys(CATEGORIES, 15)


def test_only_null_and_conflict_have_no_answer(benchmark_320: Benchmark) -> None:
    for session in benchmark_320.sessions:
        for probe in session.probes:
            assert (probe.category in ("null", "conflict")) == (probe.gold_rewrite == UNSUPPORTED)
            assert (probe.category == "multi_hop") == (len(probe.evidence) == 2)


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


class TestAuditFinds:
    """Each fault alone is found."""

    @pytest.fixture
    def small(self) -> Benchmark:
        return pss320.generate(4, seed=3)

    def test_a_repeated_passage(self, small: Benchmark) -> None:
        broken = replace(small, passages=(*small.passages, small.passages[0]))
        assert any("passage id" in problem for problem in pss320.audit(broken))

    def test_a_shared_name(self, small: Benchmark) -> None:
        first, second = small.sessions[:2]
        same = replace(second.fields, active={**second.fields.active, "version": first.fields.active["version"]})
        broken = replace(small, sessions=(first, replace(second, fields=same)))
        assert any(first.fields.active["version"] in problem for problem in pss320.audit(broken))

    def test_a_shared_word_of_projects(self, small: Benchmark) -> None:
        first, second = small.sessions[:2]
        same = replace(second.fields, project=f"{first.fields.project.split()[0]} Zz")
        broken = replace(small, sessions=(first, replace(second, fields=same)))
        assert any("project word" in problem for problem in pss320.audit(broken))

    def test_a_probe_that_names_its_scope(self, small: Benchmark) -> None:
        for name in [*scope(small.sessions[0]), small.sessions[0].fields.component]:
            broken = with_probe(small, query=f"what about {name.upper()}?")
            assert any(f"names {name!r}" in problem for problem in pss320.audit(broken))

    def test_evidence_that_does_not_exist(self, small: Benchmark) -> None:
        broken = with_probe(small, evidence=(frozenset({"nowhere"}),))
        assert any("'nowhere' is not in the pool" in problem for problem in pss320.audit(broken))

    def test_evidence_that_lacks_what_the_rewrite_names(self, small: Benchmark) -> None:
        broken = with_probe(small, evidence=(frozenset({small.passages[-1].doc_id}),))
        problems = pss320.audit(broken)
        assert any("holds too few" in problem for problem in problems)
        assert any("no evidence holds" in problem for problem in problems)

    def test_a_rewrite_that_does_not_fit_the_evidence(self, small: Benchmark) -> None:
        assert pss320.audit(with_probe(small, gold_rewrite=UNSUPPORTED))
        assert pss320.audit(with_probe(small, evidence=()))


def test_probes_are_values(benchmark_320: Benchmark) -> None:
    probe = benchmark_320.sessions[0].probes[0]
    assert probe == Probe(probe.query, probe.evidence, probe.gold_rewrite, probe.category)
    assert len({*benchmark_320.sessions[0].probes, probe}) == 6
