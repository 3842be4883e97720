"""``pssi evaluate risks`` and ``accounting`` over a tiny backbone that lies in a directory."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_words import words_model, words_tokenizer
from typer.testing import Result

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def backbone_with_words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("backbone")
    words_model().save_pretrained(path)
    words_tokenizer().save_pretrained(path)
    return path


def test_one_risk_leaves_a_record(pssi: Run, backbone_with_words: Path, tmp_path: Path) -> None:
    places = ("--backbone", backbone_with_words, "--dtype", "float32", "--out", tmp_path, "--cache", tmp_path / "cache")
    done = pssi("evaluate", "risks", "--quick", "--only", "deletion", "--sessions", 2, "--json", *places)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["deletion"]["after"]["state_in_tensors"] == 0
    assert "growth" not in found
    assert {**json.loads((Path(found["folder"]) / "run.json").read_text()), "folder": found["folder"]} == found
    again = pssi("evaluate", "risks", "--quick", "--only", "membership", "--sessions", 2, *places)
    assert again.exit_code == 0, again.output
    assert "membership clues auc " in again.stdout
    assert "risks-" in again.stderr


def test_accounting_leaves_a_record_and_two_tables(pssi: Run, backbone_with_words: Path, tmp_path: Path) -> None:
    places = ("--backbone", backbone_with_words, "--dtype", "float32", "--out", tmp_path)
    done = pssi("evaluate", "accounting", "--quick", *places)
    assert done.exit_code == 0, done.output
    assert "guarded_against_card" in done.stdout
    assert "never" in done.stdout
    (folder,) = tmp_path.glob("accounting-*")
    assert json.loads((folder / "run.json").read_text())["format"] == "pss-accounting-1"


@pytest.mark.parametrize("arguments", [("risks", "--only", "theft"), ("risks", "--sessions", 1)])
def test_what_there_is_not_is_a_usage_error(pssi: Run, arguments: tuple[object, ...]) -> None:
    assert pssi("evaluate", *arguments).exit_code == 2


@pytest.mark.parametrize("command", ["risks", "accounting"])
def test_a_missing_backbone_is_said(pssi: Run, tmp_path: Path, command: str) -> None:
    done = pssi("evaluate", command, "--backbone", tmp_path / "none", "--out", tmp_path, "--json")
    assert done.exit_code == 1
    assert str(tmp_path / "none") in json.loads(done.stdout)["error"]["message"]


def test_too_many_sessions_are_said_before_any_work(pssi: Run, backbone_with_words: Path, tmp_path: Path) -> None:
    places = ("--backbone", backbone_with_words, "--out", tmp_path, "--cache", tmp_path)
    done = pssi("evaluate", "risks", "--sessions", 65, "--json", *places)
    assert done.exit_code == 1
    assert "there are 64 sessions" in json.loads(done.stdout)["error"]["message"]
