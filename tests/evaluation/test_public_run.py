import json
from pathlib import Path
from typing import Any

import pytest
from oracle import LeakingReads, Oracle, SwappedStates, ZeroStates
from public_files import PLACES, book, books, longbench, write

from pss_integrations import weights
from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import suites
from pss_integrations.evaluation.analysis import family_result, scores, summary
from pss_integrations.evaluation.controls import StateSource
from pss_integrations.evaluation.public import run
from pss_integrations.evaluation.public.activity import FOLLOW_UPS
from pss_integrations.evaluation.public.run import PUBLIC_FAMILIES, prepare_public, run_public
from pss_integrations.evaluation.record import RunRecord
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.evaluation.suites import Setup
from pss_integrations.states.backbone import load_backbone
from pss_integrations.states.config import CompileConfig


class Told:
    """Notes that work was begun."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def __call__(self, what: str, done: int, total: int) -> None:
        self.events.append(what)


def setup(source: StateSource, tell: Told | None = None) -> Setup:
    return Setup(source, {"bm25": suites.bm25}, {}, tell or Told())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "narrativeqa.jsonl", books())


def record(path: Path, source: Oracle | None = None, **options: Any) -> RunRecord:
    chosen = {"kind": None, "sessions": None, "states": True, "k": 3, **options}
    return run_public(setup(source or Oracle()), path, **chosen)


def test_states_that_work_pass_the_papers_joint_rule(file: Path) -> None:
    found = record(file)
    assert (found.kind, found.metric, found.k, found.families) == ("longbench", "All-Recall", 3, [*PUBLIC_FAMILIES])
    assert scores(found, "bm25", "raw").mean < 0.3
    assert scores(found, "bm25", "correct/replace").mean == scores(found, "bm25", "gold").mean == 1
    assert family_result(found, "bm25", PUBLIC_FAMILIES[0]).passed


@pytest.mark.parametrize(
    ("broken", "control"),
    [(ZeroStates, "raw"), (SwappedStates, "matched_wrong/replace"), (LeakingReads, "matched_wrong/replace")],
)
def test_a_broken_engine_does_not_pass_it(file: Path, broken: type[Oracle], control: str) -> None:
    found = family_result(record(file, broken()), "bm25", PUBLIC_FAMILIES[0])
    assert found.comparisons[control].difference.value <= 0
    assert not found.passed


def test_the_record_says_what_was_run_and_what_was_left_out(file: Path) -> None:
    found = record(file, sessions=4, evidence="document")
    config = found.config
    assert (config["rows"], config["left_out"], config["sessions"]) == (30, {}, 4)
    assert (config["split"], config["evidence"], config["states"]) == ("test", "document", True)
    assert len(found.sessions) == 4
    assert summary(found)["categories"]["bm25"].keys() == {"narrativeqa"}
    assert record(file, sessions=4, evidence="document").sessions == found.sessions
    assert record(file, sessions=4, evidence="passage").config["data"] == config["data"]


def test_any_passage_of_the_right_document_is_easier_to_find_than_the_one_with_the_answer(file: Path) -> None:
    passage, document = (record(file, evidence=evidence) for evidence in ("passage", "document"))
    for arm in passage.arms:
        assert scores(passage, "bm25", arm, k=1).mean <= scores(document, "bm25", arm, k=1).mean


def test_without_states_text_arms_alone_are_run(file: Path) -> None:
    found = record(file, states=False)
    assert "raw" in found.arms
    assert not any(name.startswith(("correct", "clue", "guarded/", "oracle")) for name in found.arms)
    assert found.families == []


def test_splits_share_nothing_and_one_with_a_single_group_is_refused(file: Path) -> None:
    assert len({subject.group for subject in prepare_public(file, split="test").subjects}) == len(PLACES) - 1
    with pytest.raises(InvalidInput, match="calibration split gives 1 sessions of 1 groups"):
        prepare_public(file, split="calibration")


def test_a_run_in_chinese_finds_what_is_asked(tmp_path: Path) -> None:
    towns = "春城 夏港 秋山 冬湖 东岭 西川 南湾 北原 中洲 上林 下河 前滩".split()
    texts = [f"{town}的灯台由守望者{number}号照看。" + "海上有风。" * 60 for number, town in enumerate(towns)]
    records = [
        longbench(question, answers, text, "multifieldqa_zh", language="zh")
        for number, (town, text) in enumerate(zip(towns, texts, strict=True))
        for question, answers in (
            (f"{town}的灯台由谁照看？", [f"守望者{number}号"]),
            (f"{town}之外海上有什么？", ["海上有风"]),
        )
    ]
    found = record(write(tmp_path / "zh.jsonl", records))
    assert scores(found, "bm25", "correct/replace").mean > 0.9
    assert scores(found, "bm25", "raw").mean == 0


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("{", "no JSON"),
        (json.dumps({**books(1)[0], "context": ""}), "context is blank"),
        ("".join(json.dumps(one) + "\n" for one in books(1)), "groups, 2 are needed"),
        (json.dumps(longbench("Sum up.", [], book(0), "gov_report")), "no session can be made"),
    ],
)
def test_what_cannot_be_run_is_said_before_any_work(tmp_path: Path, content: str, what: str) -> None:
    (file := tmp_path / "x.jsonl").write_text(content, encoding="utf-8")
    tell = Told()
    with pytest.raises(InvalidInput, match=what):
        run_public(setup(Oracle(), tell), file, kind=None, sessions=None, states=True, k=3)
    assert tell.events == []


def test_what_the_audit_finds_is_not_run(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "audit", lambda *_: ["a problem"])
    with pytest.raises(InvalidInput, match="found 1 problems, such as: a problem"):
        record(file)


@pytest.mark.weights
def test_on_real_weights_follow_ups_unseen_in_writing_recover_the_request(file: Path, tmp_path: Path) -> None:
    # Clues and not ranks: over so few sessions, what a follow-up finds by itself is a matter of ties.
    weights.fetch("smollm2-135m-instruct")
    source = CachedStates(load_backbone(device="cpu"), CompileConfig(max_clue_tokens=16), tmp_path / "states")
    subject, *_ = prepare_public(file).subjects
    state = source.compile(subject.messages, subject.targets)
    right, none = source.read([(one, FOLLOW_UPS) for one in (state, source.zero())])
    (clue,) = subject.records
    assert [one.text for one in right] == [clue] * len(FOLLOW_UPS)
    assert clue not in {one.text for one in none}
