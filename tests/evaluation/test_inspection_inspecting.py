import json
from dataclasses import replace
from pathlib import Path

import pytest
from embedders import WordEmbedder
from inspected import ARM, probe, record
from oracle import Oracle
from tiny import tiny_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import suites
from pss_integrations.evaluation.inspection.actions import actions
from pss_integrations.evaluation.inspection.inspecting import inspect_record, inspect_states
from pss_integrations.evaluation.inspection.knowledge import knowledge_of
from pss_integrations.evaluation.record import RunRecord
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.evaluation.suites import Setup
from pss_integrations.states.config import CompileConfig


def quiet(what: str, done: int, total: int) -> None:
    pass


@pytest.fixture(scope="module")
def run() -> RunRecord:
    setup = Setup(Oracle(), {"bm25": suites.bm25}, {}, quiet)
    return suites.run_pss320(setup, sessions=12, split="test", seed=0, quick=True)


def test_a_run_is_inspected_and_the_same_run_gives_the_same_files(run: RunRecord, tmp_path: Path) -> None:
    files = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        found = inspect_record(
            run, searcher="bm25", arm=ARM, knowledge=knowledge_of(run), embedder=WordEmbedder(dimension=16)
        )
        assert found.save(tmp_path / name).name == "inspection.json"
        files.append({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()})
    assert files[0] == files[1]
    assert {*files[0]} == {"inspection.json", "inspection-errors.svg"}
    result = json.loads(files[0]["inspection.json"])
    assert {*result} == {"errors", "actions", "alignment"}
    assert result["errors"]["probes"] == sum(bool(one.groups) for session in run.sessions for one in session.probes)
    assert result["alignment"]["progress"]["correct"]["low"] > 0
    wrong = inspect_record(run, searcher="bm25", arm="matched_wrong/append", knowledge=knowledge_of(run)).result
    assert wrong["errors"]["classes"]["other_session"]["share"] == 1
    assert "alignment" not in wrong


def test_a_run_of_records_has_capacity_curves() -> None:
    setup = Setup(Oracle(), {"bm25": suites.bm25}, {}, quiet)
    run = suites.run_krecords(setup, counts=[1, 2], groups=2, seed=0)
    found = inspect_record(run, searcher="bm25", arm="correct/replace", knowledge=knowledge_of(run))
    assert found.result["capacity"]["gold"]["counts"] == (1, 2)
    assert found.result["capacity"]["gold"]["verdict"] == "too few points"
    assert {*found.pictures} == {"errors", "capacity"}


def test_actions_are_counted_by_category_with_evidence_and_without() -> None:
    alone = ["raw", ARM]
    asked = [
        probe("one", ranks=[1], category="x"),
        probe("two", ranks=[9], category="x", left_alone=alone),
        probe("three", ranks=[], category="x"),
        probe("four", ranks=[], category="null", left_alone=alone),
    ]
    found = actions(record({"a": asked, "b": asked}), "bm25", ["raw", ARM])
    assert list(found) == ["x", "null"]
    assert (found["x"]["with_evidence"], found["x"]["without_evidence"]) == (4, 2)
    one = found["x"]["arms"][ARM]
    assert one["recall"]["mean"] == 0.5
    assert (one["activated"], one["activated_without_evidence"]) == (2, 2)
    assert found["x"]["arms"]["raw"]["activated"] == 0
    assert found["null"]["arms"][ARM] == {"recall": None, "activated": 0, "activated_without_evidence": 0}


BACKBONE = tiny_backbone(num_hidden_layers=9)
QUICK = CompileConfig(max_epochs=1, max_clue_tokens=12)


def test_the_states_of_a_run_are_inspected_and_written_once(tmp_path: Path) -> None:
    source = CachedStates(BACKBONE, QUICK, tmp_path)
    run = record({f"pss320-0-000{number}": [] for number in (2, 3, 4)})
    run = run.model_copy(update={"config": source.describe()})
    told = list[tuple[str, int, int]]()
    found = inspect_states(run, source, lambda *event: told.append(event))
    assert told == [("fingerprints", number, 3) for number in range(3)]
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert len(written) == 3
    assert inspect_states(run, source, quiet) == found
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")} == written
    states = json.loads(json.dumps(found.result))["states"]
    assert states["labels"]["domain"] == {**states["labels"]["domain"], "states": 3, "labels": 2, "chance": 1 / 3}
    assert states["labels"]["category"]["labels"] == 3
    assert len(states["energy"]) == 1 + 8 * 7
    assert states["energy"]["whole"] > max(value for name, value in states["energy"].items() if name != "whole") > 0
    assert {*found.pictures} == {"states-domain", "states-category", "energy"}
    other = CachedStates(BACKBONE, replace(QUICK, seed=1), tmp_path)
    with pytest.raises(InvalidInput, match="another compile"):
        inspect_states(run, other, quiet)


def test_states_without_categories_are_refused(tmp_path: Path) -> None:
    source = CachedStates(BACKBONE, QUICK, tmp_path)
    run = record({"a": [probe("q")]}).model_copy(update={"config": source.describe()})
    with pytest.raises(InvalidInput, match="inspect those of PSS-320"):
        inspect_states(run, source, quiet)
