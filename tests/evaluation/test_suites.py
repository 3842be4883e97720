from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from generating import every_tool
from oracle import LeakingReads, Oracle, SwappedStates, ZeroStates

from pss_integrations import weights
from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import suites
from pss_integrations.evaluation.analysis import family_result, scores
from pss_integrations.evaluation.arms import ARMS, missing_tool
from pss_integrations.evaluation.controls import StateSource
from pss_integrations.evaluation.datasets import load_sessions
from pss_integrations.evaluation.pss320 import BenchmarkSession
from pss_integrations.evaluation.pss320_facts import Split
from pss_integrations.evaluation.record import RunRecord
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.evaluation.subjects import Subject, from_pss320
from pss_integrations.evaluation.suites import PSS320_FAMILIES, RECORD_FAMILIES, Setup
from pss_integrations.evaluation.tools import Tools
from pss_integrations.states.backbone import load_backbone
from pss_integrations.states.config import CompileConfig
from pss_integrations.types import ClueTarget


def setup(source: StateSource, tools: Tools | None = None) -> Setup:
    return Setup(source, {"bm25": suites.bm25}, {}, lambda what, done, total: None, tools=tools or Tools())


def pss320(
    source: StateSource, sessions: int = 64, quick: bool = True, split: Split = "test", tools: Tools | None = None
) -> RunRecord:
    return suites.run_pss320(setup(source, tools), sessions=sessions, split=split, seed=0, quick=quick)


def test_states_that_work_pass_the_joint_rule() -> None:
    assert family_result(pss320(Oracle()), "bm25", PSS320_FAMILIES[0]).passed


@pytest.mark.parametrize(
    ("broken", "control"),
    [(ZeroStates, "raw"), (SwappedStates, "matched_wrong/append"), (LeakingReads, "matched_wrong/append")],
)
def test_a_broken_engine_does_not_pass_the_joint_rule(broken: type[Oracle], control: str) -> None:
    found = family_result(pss320(broken()), "bm25", PSS320_FAMILIES[0])
    assert found.comparisons[control].difference.value <= 0
    assert not found.passed


def test_every_arm_of_a_whole_run_is_scored_and_every_family_declared() -> None:
    record = pss320(Oracle(), sessions=4, quick=False, tools=every_tool())
    assert record.families == list(PSS320_FAMILIES)
    for arm in record.arms:
        assert 0 <= scores(record, "bm25", arm).mean <= 1
    assert scores(record, "bm25", "gold").mean == 1


def test_a_quick_run_declares_only_what_it_ran() -> None:
    record = pss320(Oracle(), sessions=2)
    assert all({one.treatment, *one.controls} <= set(record.arms) for one in record.families)
    assert record.families[0] == PSS320_FAMILIES[0]
    assert record.families[2].left_out == ["target_only/append", "history_only/append"]


def test_arms_whose_tool_is_missing_are_left_out_by_name() -> None:
    record = pss320(Oracle(), sessions=2)
    missing = {f"{name}/append" for name in ("rewrite_history", "rewrite_bank", "select_dense", "external")}
    assert missing <= set(record.config["arms_left_out"])
    assert set(record.config["arms_left_out"]).isdisjoint(record.arms)
    assert ["select_dense/append"] in [family.left_out for family in record.families]
    assert record.config["tools"] == {"generator": False, "embedder": None, "external": None}
    assert {"parsed/append", "select_bm25/append", "fixed_readout/append"} <= set(record.arms)


def test_targets_that_know_the_probes_are_refused_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def leaking(sessions: Sequence[BenchmarkSession]) -> list[Subject]:
        return [
            replace(subject, targets=tuple(ClueTarget(f"{p.query} Please.", p.gold_rewrite) for p in session.probes))
            for session, subject in zip(sessions, from_pss320(sessions), strict=True)
        ]

    monkeypatch.setattr(suites, "from_pss320", leaking)
    monkeypatch.delattr(Oracle, "compile")
    with pytest.raises(InvalidInput, match="holds the probe"):
        pss320(Oracle(), sessions=2)


@pytest.mark.parametrize(("sessions", "split"), [(1, "test"), (65, "calibration"), (257, "test")])
def test_a_split_has_so_many_sessions(sessions: int, split: Split) -> None:
    with pytest.raises(InvalidInput, match="sessions, 2 to all"):
        pss320(Oracle(), sessions=sessions, split=split)


def test_records_are_run_for_each_count() -> None:
    record = suites.run_krecords(setup(Oracle(), every_tool()), counts=[1, 16], groups=2, seed=0)
    assert [probe.category for one in record.sessions for probe in one.probes[:1]] == ["K = 1"] * 2 + ["K = 16"] * 2
    assert record.families == list(RECORD_FAMILIES)
    assert record.focus == "K = 16"
    single = scores(record, "bm25", "concatenation", category="K = 1").mean
    assert single > scores(record, "bm25", "concatenation", category="K = 16").mean


def test_records_need_a_second_group_for_the_wrong_state() -> None:
    with pytest.raises(InvalidInput, match="at least 2 groups"):
        suites.run_krecords(setup(Oracle()), counts=[1], groups=1, seed=0)


@pytest.mark.data
@pytest.mark.parametrize("states", [True, False])
def test_recorded_conversations_are_run(recorded: Path, states: bool) -> None:
    record = suites.run_recorded(setup(Oracle()), load_sessions(recorded / "canard"), sessions=20, states=states, k=3)
    assert (record.kind, record.metric, record.k) == ("canard", "Recall", 3)
    raw, gold = (scores(record, "bm25", arm, category="needs history").mean for arm in ("raw", "gold"))
    assert raw < gold
    assert ("correct/append" in record.arms) == states
    # Without states probes before the cut are asked: what is built from all messages would know too much.
    taught = [name for name, arm in ARMS.items() if arm.taught and missing_tool(arm, Tools()) is None]
    assert {"target_card/append", "concatenation", "record_rrf", "select_bm25/append"} <= set(taught)
    assert all((name in record.arms) == states for name in taught)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> CachedStates:
    weights.fetch("smollm2-135m-instruct")
    return CachedStates(load_backbone(device="cpu"), CompileConfig(), tmp_path_factory.mktemp("states"))


@pytest.mark.weights
def test_on_real_weights_the_right_state_recovers_what_the_controls_miss(source: CachedStates) -> None:
    record = pss320(source, sessions=6, split="calibration")
    assert scores(record, "bm25", "correct/append").mean >= 0.60
    for control in ("raw", "matched_wrong/append", "shuffled/append", "zero/append"):
        assert scores(record, "bm25", control).mean <= 0.15, control


@pytest.mark.weights
def test_on_real_weights_records_in_one_state_are_read_by_requests_unseen_in_writing(source: CachedStates) -> None:
    record = suites.run_krecords(setup(source), counts=[8], groups=2, seed=1)
    assert scores(record, "bm25", "correct/replace").mean >= 0.90
    assert scores(record, "bm25", "matched_wrong/replace").mean <= 0.05
    assert scores(record, "bm25", "concatenation").mean <= 0.60
