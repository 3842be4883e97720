import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest
import typer
from oracle import Oracle
from tiny import tiny_backbone, tiny_model, tiny_tokenizer
from typer.testing import CliRunner

from pss_integrations.cli.evaluate_answers import run_answers
from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320, suites
from pss_integrations.evaluation.analysis import scores
from pss_integrations.evaluation.answering.analysis import (
    answer_family,
    answer_scores,
    ceiling_scores,
    joint_result,
    state_scores,
)
from pss_integrations.evaluation.answering.finding import find_passages
from pss_integrations.evaluation.answering.reader import BaseReader, Reader
from pss_integrations.evaluation.answering.reads import KeptAnswers
from pss_integrations.evaluation.answering.record import AnswerRecord
from pss_integrations.evaluation.answering.run import ANSWER_ARMS, ANSWER_FAMILIES, answer_subjects, run_pss320_answers
from pss_integrations.evaluation.answering.scores import as_alternatives
from pss_integrations.evaluation.answering.summary import summary
from pss_integrations.evaluation.controls import Cast
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.evaluation.subjects import from_pss320
from pss_integrations.evaluation.suites import Setup
from pss_integrations.retrieval.index import PassageIndex
from pss_integrations.states import config
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.types import Passage

SESSIONS = 32  # of eight source groups, the fewest that can decide three comparisons


@cache
def benchmark() -> pss320.Benchmark:
    return pss320.generate(suites.POOL, seed=0)


@cache
def index() -> PassageIndex:
    return suites.bm25(benchmark().passages)


@cache
def answers() -> dict[str, tuple[str, ...]]:
    return {probe.gold_rewrite: probe.answers for one in benchmark().sessions for probe in one.probes if probe.answers}


def setup(source: Oracle | CachedStates | None = None) -> Setup:
    return Setup(source or Oracle(), {"bm25": lambda passages: index()}, {}, lambda what, done, total: None)


def knowing(question: str, passages: Sequence[Passage], /) -> str:
    """Answers a gold rewrite with what of its answers stands in the passages."""
    said = " ".join(passage.text for passage in passages)
    return ", ".join(answer for answer in answers().get(question, ()) if answer in said)


class StatefulKnowing:
    """Knows as much without a state and with any other, and nothing with the third one that it is given."""

    def __init__(self, traces: Iterator[str], *, ignorant: bool = False) -> None:
        self.traces, self.ignorant, self.given = traces, ignorant, 0

    def __call__(self, question: str, passages: Sequence[Passage], /) -> str:
        return "" if self.ignorant else passages[0].text

    def read_batch(self, requests) -> list[str]:
        return [self(one.question, one.passages) for one in requests]

    def with_state(self, state: "Named") -> "StatefulKnowing":
        return StatefulKnowing(self.traces, ignorant=state.digest == "shuffled")

    def base_digest(self) -> str:
        return next(self.traces)


class Named(tuple):
    """A state of the oracle with a name for its content."""

    digest = "named"


class NamingOracle(Oracle):
    def compile(self, messages, targets) -> Named:
        return Named(super().compile(messages, targets))

    def shuffle(self, state) -> Named:
        shuffled = Named(super().shuffle(state))
        shuffled.digest = "shuffled"
        return shuffled


def kept(reader: Reader, directory: Path) -> KeptAnswers:
    return KeptAnswers(reader, {"model": "a fake"}, directory)


def run(
    directory: Path, reader: Reader = knowing, *, sessions: int = SESSIONS, arms: Sequence[str] = ANSWER_ARMS
) -> AnswerRecord:
    reads = kept(reader, directory)
    return run_pss320_answers(setup(NamingOracle()), reads, sessions=sessions, split="test", seed=0, arms=arms, k=4)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> AnswerRecord:
    return run(tmp_path_factory.mktemp("answers"))


@pytest.mark.parametrize("name", ["raw", "correct/rrf", "record_rrf", "card", "guarded"])
def test_what_is_found_for_the_reader_is_what_the_runner_ranks(name: str) -> None:
    subjects = from_pss320(benchmark().split("test")[:3])
    cast = Cast(subjects, Oracle(), HistoryTargets())
    ranked, finds = find_passages(setup(), cast, {"bm25": index()}, [name], k=10)
    for session, subject in zip(ranked, subjects, strict=True):
        for probe, asked in zip(session.probes, subject.asked, strict=True):
            found = [one.doc_id for one in finds[subject.session_id, asked]["bm25"][name].passages]
            assert len(found) <= 10
            for rank, group in zip(probe.ranks.get("bm25", {}).get(name, ()), asked.probe.evidence, strict=False):
                place = min((found.index(one) + 1 for one in group if one in found), default=None)
                assert place == (rank if rank and rank <= 10 else None)


def test_a_reader_that_knows_answers_whatever_was_found(record: AnswerRecord) -> None:
    assert ceiling_scores(record, measure="EM").mean == 1
    for arm in ANSWER_ARMS:
        found, joint, right = (
            scores(record.retrieval, "bm25", arm).values,
            answer_scores(record, "bm25", arm, measure="joint").values,
            answer_scores(record, "bm25", arm, measure="right").values,
        )
        assert joint == pytest.approx(found), arm
        assert all(one >= other - 1e-9 for one, other in zip(right, joint, strict=True))


def test_only_an_arm_that_asks_with_the_gold_rewrite_is_answered_with_its_own_string(record: AnswerRecord) -> None:
    own = {arm: answer_scores(record, "bm25", arm, wording="own").mean for arm in ANSWER_ARMS}
    assert own.pop("gold") == answer_scores(record, "bm25", "gold").mean == 1
    assert set(own.values()) == {0}
    probe = next(one for one in record.sessions[0].probes if one)
    assert probe.arms["bm25"]["correct/append"].own_question.startswith(probe.arms["bm25"]["raw"].own_question)


def test_states_that_work_pass_the_joint_criterion_and_no_better_answers_fail_it(record: AnswerRecord) -> None:
    causal = ANSWER_FAMILIES[0]
    assert joint_result(record, "bm25", causal).passed
    assert answer_family(record, "bm25", causal, wording="own").passed is False


def test_better_passages_do_not_pass_the_joint_criterion_without_better_answers(tmp_path: Path) -> None:
    arms = [ANSWER_FAMILIES[0].treatment, *ANSWER_FAMILIES[0].controls]
    found = joint_result(run(tmp_path, lambda question, passages: "no idea", arms=arms), "bm25", ANSWER_FAMILIES[0])
    assert found.retrieval.passed
    assert not found.answers.passed
    assert not found.passed


def test_a_probe_that_nothing_answers_is_not_read(record: AnswerRecord) -> None:
    read = [[one is not None for one in session.probes] for session in record.sessions]
    assert read == [
        [bool(probe.answers) for probe in session.probes] for session in benchmark().split("test")[:SESSIONS]
    ]
    assert answer_scores(record, "bm25", "raw").probes == sum(map(sum, read))


def test_a_plain_callable_has_no_ablation(record: AnswerRecord) -> None:
    assert (record.ablation, record.base_logits, record.isolated) == (None, [], None)
    with pytest.raises(InvalidInput, match="unknown state"):
        state_scores(record, "correct")


def test_the_ablation_compares_states_over_the_same_question_and_passages(tmp_path: Path) -> None:
    record = run(tmp_path, StatefulKnowing(iter("aa")), sessions=8, arms=["raw"])
    assert record.isolated
    means = {name: state_scores(record, name).mean for name in ("unloaded", "correct", "matched_wrong", "shuffled")}
    assert means["unloaded"] == means["correct"] == means["matched_wrong"] > means["shuffled"] == 0
    found = summary(record)["states"]
    assert not found["family"]["passed"]
    assert not any(one["memory"] for one in found["categories"].values())


def test_a_trace_in_the_base_model_is_said(tmp_path: Path) -> None:
    assert run(tmp_path, StatefulKnowing(iter("ab")), sessions=2, arms=["raw"]).isolated is False


class Stopping:
    """Notes what it is asked, and is stopped at a certain number of answers."""

    def __init__(self, stop: int) -> None:
        self.stop, self.asked = stop, list[tuple[str, tuple[Passage, ...]]]()

    def __call__(self, question: str, passages: Sequence[Passage], /) -> str:
        if len(self.asked) == self.stop:
            raise KeyboardInterrupt
        self.asked.append((question, tuple(passages)))
        return knowing(question, passages)


def test_a_run_that_was_stopped_asks_nothing_twice_and_comes_to_the_same(tmp_path: Path) -> None:
    stopped, whole, again = Stopping(20), Stopping(-1), Stopping(0)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, stopped, sessions=4)
    first = run(tmp_path, whole, sessions=4)
    asked = stopped.asked + whole.asked
    assert len(set(asked)) == len(asked) > 20
    assert run(tmp_path, again, sessions=4).sessions == first.sessions == run(tmp_path / "new", sessions=4).sessions


def test_a_record_is_kept_whole_beside_what_was_found_and_never_overwritten(tmp_path: Path) -> None:
    record = run(tmp_path / "cache", StatefulKnowing(iter("aa")), sessions=2)
    folder = record.save(tmp_path)
    assert {file.name for file in folder.iterdir()} == {"run.json", "answers.json"}
    assert AnswerRecord.load(folder) == record
    with pytest.raises(InvalidInput, match="never overwritten"):
        record.save(tmp_path)


def test_what_is_no_record_of_answers_is_said(tmp_path: Path) -> None:
    folder = run(tmp_path / "cache", sessions=2).save(tmp_path)
    file = folder / "answers.json"
    content = json.loads(file.read_text())
    for wrong in ({**content, "sessions": content["sessions"][:1]}, {**content, "format": "other"}):
        file.write_text(json.dumps(wrong))
        with pytest.raises(InvalidInput, match="no record of answers"):
            AnswerRecord.load(folder)
    file.unlink()
    with pytest.raises(InvalidInput, match="no record of answers"):
        AnswerRecord.load(folder)


def test_every_figure_is_plain_data_and_two_runs_give_the_same(tmp_path: Path) -> None:
    record, again = (run(tmp_path / name, sessions=8, arms=["raw", "correct/append"]) for name in "ab")
    found = summary(record)
    assert json.loads(json.dumps(found)) == json.loads(json.dumps(summary(again)))
    assert set(found["arms"]["bm25"]) == {"raw", "correct/append"}
    raw = found["arms"]["bm25"]["raw"]
    assert raw["own_minus_fixed"]["value"] == pytest.approx(
        raw["own"]["F1"]["mean"] - raw["fixed"]["F1"]["mean"], abs=1e-3
    )
    assert raw["fixed"]["F1"]["low"] <= raw["fixed"]["F1"]["mean"] <= raw["fixed"]["F1"]["high"]
    assert {one["wording"] for one in found["families"]} == {"fixed", "own"}


@pytest.mark.parametrize("what", ["searcher", "arm", "measure", "category"])
def test_what_is_not_in_a_record_of_answers_is_said(record: AnswerRecord, what: str) -> None:
    asked = {"searcher": "bm25", "arm": "raw"} | {what: "x"}
    with pytest.raises(InvalidInput, match="'x'"):
        answer_scores(record, **asked)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arms": ["raw", "x"]}, "unknown arms x"),
        ({"arms": ["raw", "card", "clue", "oracle_route"]}, "oracle_route picks among"),
        ({"sessions": 257}, "2 to all"),
        ({"sessions": 1}, "2 to all"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_any_answer(tmp_path: Path, options: dict, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        run(tmp_path, Stopping(0), **options)


def test_subjects_without_answers_have_nothing_to_read(tmp_path: Path) -> None:
    subjects = [
        replace(one, asked=tuple(replace(asked, probe=replace(asked.probe, answers=())) for asked in one.asked))
        for one in from_pss320(benchmark().split("test")[:2])
    ]
    with pytest.raises(InvalidInput, match="nothing to read"):
        answer_subjects(
            setup(), kept(knowing, tmp_path), subjects, benchmark().passages, kind="x", arms=["raw"], k=4, config={}
        )


def test_with_alternatives_one_of_the_answers_is_enough(tmp_path: Path) -> None:
    def first_part(question: str, passages: Sequence[Passage], /) -> str:
        return answers().get(question, ("",))[0]

    found = [
        answer_subjects(
            setup(),
            kept(first_part, tmp_path),
            from_pss320(benchmark().split("test")[:4]),
            benchmark().passages,
            kind="x",
            arms=["raw"],
            k=4,
            config={},
            **options,
        )
        for options in ({}, {"references": as_alternatives})
    ]
    parts, alternatives = (ceiling_scores(one, measure="EM", category="multi_hop").mean for one in found)
    assert (parts, alternatives) == (0, 1)


def test_the_tiny_backbone_reads_every_way_and_stays_what_it_was(tmp_path: Path) -> None:
    source = CachedStates(
        tiny_backbone(num_hidden_layers=9), CompileConfig(max_epochs=2, max_clue_tokens=8), tmp_path / "states"
    )
    reader = BaseReader(source.engine.backbone, source.engine.bank, max_tokens=6)
    reads = KeptAnswers(reader, reader.describe(), tmp_path)
    arms = ["raw", "correct/append", "matched_wrong/append"]
    record = run_pss320_answers(setup(source), reads, sessions=2, split="calibration", seed=0, arms=arms, k=2)
    assert record.isolated
    assert record.base_logits[0] == reader.base_digest()
    states = [one.states for session in record.sessions for one in session.probes if one]
    assert all(set(one) == {"unloaded", "correct", "matched_wrong", "shuffled"} for one in states)
    assert any(one["unloaded"].text != one["correct"].text for one in states)


def test_few_source_groups_leave_the_joint_criterion_undecided(tmp_path: Path) -> None:
    found = joint_result(run(tmp_path, sessions=8), "bm25", ANSWER_FAMILIES[0])
    assert not found.decidable
    assert not found.passed


def test_the_command_leaves_a_record_and_prints_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        config, "CompileConfig", partial(CompileConfig, max_epochs=1)
    )  # what is written is not looked at
    model = tmp_path / "backbone"
    tiny_model(num_hidden_layers=9).save_pretrained(model)
    tiny_tokenizer().save_pretrained(model)
    app = typer.Typer()
    app.command()(run_answers)
    options = ["--sessions", 2, "--searcher", "bm25", "--arm", "raw", "--arm", "raw", "-k", 1, "--dtype", "float32"]
    places = ["--backbone", model, "--out", tmp_path / "runs", "--cache", tmp_path / "cache"]
    result = CliRunner().invoke(app, [*map(str, [*options, *places]), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert list(found["arms"]["bm25"]) == ["raw"]
    assert found["isolated"]
    assert summary(AnswerRecord.load(Path(found["folder"])))["ceiling"] == found["ceiling"]
    kept_answers = len(list((tmp_path / "cache").rglob("answers/*/*.json")))
    again = CliRunner().invoke(app, [*map(str, [*options, *places[:2], "--out", tmp_path / "other", *places[4:]])])
    assert again.exit_code == 0, again.output
    assert "gold passages, own words, unloaded" in again.stdout
    assert len(list((tmp_path / "cache").rglob("answers/*/*.json"))) == kept_answers
