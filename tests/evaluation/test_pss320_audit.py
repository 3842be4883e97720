from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.pss320 import UNSUPPORTED, Benchmark, BenchmarkSession
from pss_integrations.evaluation.pss320_audit import audit, overlap
from pss_integrations.types import ClueTarget


@pytest.fixture(scope="module")
def small() -> Benchmark:
    return pss320.generate(4, seed=3)


def with_probe(benchmark: Benchmark, **changes: object) -> Benchmark:
    """The benchmark with the first answerable probe of its first session changed."""
    session = benchmark.sessions[0]
    position, probe = next((n, probe) for n, probe in enumerate(session.probes) if probe.evidence)
    probes = [*session.probes]
    probes[position] = replace(probe, **changes)
    return replace(benchmark, sessions=(replace(session, probes=tuple(probes)), *benchmark.sessions[1:]))


@pytest.mark.parametrize("seed", [0, 1])
def test_it_finds_nothing_in_either_cohort(seed: int) -> None:
    assert audit(pss320.generate(seed=seed)) == []


@given(seed=st.integers(), sessions=st.integers(1, 20))
@settings(max_examples=15, deadline=None)
def test_it_finds_nothing_whatever_the_seed(seed: int, sessions: int) -> None:
    assert audit(pss320.generate(sessions, seed=seed)) == []


def test_probes_share_little_wording_with_the_requests_that_states_are_written_with(benchmark_320: Benchmark) -> None:
    for shares in overlap(benchmark_320).values():
        assert shares["2-grams"] < 0.06
        assert shares["3-grams"] < 0.02
        assert shares["4-grams"] < 0.002


class TestFinds:
    """Each fault alone is found."""

    def test_a_repeated_passage(self, small: Benchmark) -> None:
        broken = replace(small, passages=(*small.passages, small.passages[0]))
        assert any("passage id" in problem for problem in audit(broken))

    def test_a_shared_name(self, small: Benchmark) -> None:
        first, second = small.sessions[:2]
        same = replace(second.fields, active={**second.fields.active, "version": first.fields.active["version"]})
        broken = replace(small, sessions=(first, replace(second, fields=same)))
        assert any(first.fields.active["version"] in problem for problem in audit(broken))

    def test_a_shared_word_of_projects(self, small: Benchmark) -> None:
        first, second = small.sessions[:2]
        same = replace(second.fields, project=f"{first.fields.project.split()[0]} Zz")
        broken = replace(small, sessions=(first, replace(second, fields=same)))
        assert any("project word" in problem for problem in audit(broken))

    @pytest.mark.parametrize("surface", ["group", "component", "owner"])
    def test_a_surface_in_both_splits(self, surface: str) -> None:
        benchmark = pss320.generate(8, seed=3)
        first, last = benchmark.sessions[0], benchmark.sessions[-1]
        assert (first.split, last.split) == ("calibration", "test")
        changed = {
            "group": replace(last, source_group=first.source_group),
            "component": replace(last, fields=replace(last.fields, component=first.fields.component)),
            "owner": replace(last, fields=replace(last.fields, other=first.fields.other)),
        }[surface]
        broken = replace(benchmark, sessions=(*benchmark.sessions[:-1], changed))
        assert any("in both splits" in problem for problem in audit(broken))

    def test_a_probe_that_names_its_scope(self, small: Benchmark) -> None:
        fields = small.sessions[0].fields
        for name in [fields.project, *fields.active.values(), *fields.archived.values(), fields.component]:
            broken = with_probe(small, query=f"what about {str(name).upper()}?")
            assert any(f"names {name!r}" in problem for problem in audit(broken))

    def test_evidence_that_does_not_exist(self, small: Benchmark) -> None:
        broken = with_probe(small, evidence=(frozenset({"nowhere"}),))
        assert any("'nowhere' is not in the pool" in problem for problem in audit(broken))

    def test_evidence_that_lacks_what_the_probe_needs(self, small: Benchmark) -> None:
        broken = with_probe(small, evidence=(frozenset({small.passages[-1].doc_id}),))
        problems = audit(broken)
        for fault in ("holds too few", "no evidence holds", "holds no answer", "no evidence holds the answer"):
            assert any(fault in problem for problem in problems), fault

    def test_a_rewrite_or_an_answer_that_does_not_fit_the_evidence(self, small: Benchmark) -> None:
        assert audit(with_probe(small, gold_rewrite=UNSUPPORTED))
        assert audit(with_probe(small, evidence=()))
        assert audit(with_probe(small, answers=()))

    def test_an_answer_in_a_target(self, small: Benchmark) -> None:
        def leaking(session: BenchmarkSession) -> list[ClueTarget]:
            return [
                ClueTarget("something else entirely", f"See {a.upper()}") for p in session.probes for a in p.answers
            ]

        assert all("holds" in problem for problem in audit(small, {"leaking": leaking}))
        assert len(audit(small, {"leaking": leaking})) >= sum(len(p.answers) for s in small.sessions for p in s.probes)

    def test_a_document_id_in_a_target(self, small: Benchmark) -> None:
        def leaking(session: BenchmarkSession) -> list[ClueTarget]:
            return [ClueTarget("which document?", "a clue", (small.passages[5].doc_id,))]

        assert any(small.passages[5].doc_id in problem for problem in audit(small, {"leaking": leaking}))

    def test_a_probe_among_the_requests_and_how_much_wording_they_share(self, small: Benchmark) -> None:
        def leaking(session: BenchmarkSession) -> list[ClueTarget]:
            return [ClueTarget(f"Please: {probe.query}  ", "a clue") for probe in session.probes]

        problems = audit(small, {"leaking": leaking})
        assert sum("holds the probe" in problem for problem in problems) == 24
        assert "targets from leaking: 100.0% of the probes' 4-grams are in their requests" in problems
        assert overlap(small, {"leaking": leaking}) == {"leaking": {"2-grams": 1.0, "3-grams": 1.0, "4-grams": 1.0}}
