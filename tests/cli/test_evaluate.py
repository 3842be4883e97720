import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import tiny_model, tiny_tokenizer
from typer.testing import Result

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def deep_backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As deep as the default shape of states asks for."""
    path = tmp_path_factory.mktemp("backbone")
    tiny_model(num_hidden_layers=9).save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


def test_the_audit_of_the_benchmark_finds_no_issue(pssi: Run) -> None:
    run = pssi("evaluate", "pss320", "--audit", "--json")
    assert run.exit_code == 0
    found = json.loads(run.stdout)
    assert (found["issues"], found["problems"]) == (0, [])
    assert set(found["shared_wording"]) == {"fields", "history"}


def test_a_run_leaves_a_record_and_a_report_and_a_second_one_does_not_touch_them(
    pssi: Run, deep_backbone: Path, tmp_path: Path
) -> None:
    command = ("evaluate", "pss320", "--quick", "--sessions", 2, "--split", "test", "--searcher", "bm25", "--json")
    places = ("--backbone", deep_backbone, "--out", tmp_path / "runs", "--cache", tmp_path / "states")
    run = pssi(*command, *places)
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert found["sessions"] == 2
    assert found["arms"]["bm25"]["gold"]["mean"] == 1
    folder = Path(found["folder"])
    assert {"run.json", "report.md", "report.html", "arms-bm25.svg"} <= {file.name for file in folder.iterdir()}
    written = len(list((tmp_path / "states").rglob("*.safetensors")))
    assert written == 2
    again = pssi("evaluate", "report", folder, "--json")
    assert json.loads(again.stdout) == found


def test_a_run_of_records_has_a_curve(pssi: Run, deep_backbone: Path, tmp_path: Path) -> None:
    command = ("evaluate", "krecords", "--records", 1, "--records", 2, "--searcher", "bm25", "--json")
    run = pssi(*command, "--backbone", deep_backbone, "--out", tmp_path / "runs", "--cache", tmp_path / "states")
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert list(found["categories"]["bm25"]) == ["K = 1", "K = 2"]
    assert (Path(found["folder"]) / "curve-bm25.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("pss320", "--sessions", 65, "--searcher", "bm25"), "64 sessions"),
        (("report", "nowhere"), "no record of a run"),
        (("sessions", "--data", "nowhere"), "cannot be read"),
    ],
)
def test_what_cannot_be_run_is_said_before_any_work(
    pssi: Run, deep_backbone: Path, tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    more = () if arguments[0] == "report" else ("--backbone", deep_backbone, "--out", tmp_path)
    run = pssi("evaluate", *arguments, *more, "--json")
    assert run.exit_code == 1
    assert message in json.loads(run.stdout)["error"]["message"]
    assert not list(tmp_path.glob("pss320-*"))
