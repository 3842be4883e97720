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


def test_a_measurement_is_one_document_and_a_plot(pssi: Run, backbone_with_words: Path, tmp_path: Path) -> None:
    run = pssi(
        *("bench", "rewriting", "--quick", "--json", "--dtype", "float32"),
        *("--backbone", backbone_with_words, "--plot", tmp_path / "plot.svg"),
    )
    assert run.exit_code == 0, run.output
    assert len(json.loads(run.stdout)["by_length"]) == 2
    assert "compiling a history of 2000 tokens" in run.stderr
    assert "<svg" in (tmp_path / "plot.svg").read_text()


@pytest.mark.parametrize("command", ["curves", "rewriting"])
def test_a_plot_without_a_place_is_refused_before_the_backbone_is_loaded(
    pssi: Run, tmp_path: Path, command: str
) -> None:
    run = pssi("bench", command, "--backbone", tmp_path / "none", "--plot", tmp_path / "plot.txt", "--json")
    assert run.exit_code == 1
    assert "must end in .svg" in json.loads(run.stdout)["error"]["message"]


@pytest.mark.parametrize("command", ["compile", "curves", "read", "rewriting", "concurrency", "loop"])
def test_a_missing_backbone_is_said(pssi: Run, tmp_path: Path, command: str) -> None:
    run = pssi("bench", command, "--backbone", tmp_path / "none", "--json")
    assert run.exit_code == 1
    assert str(tmp_path / "none") in json.loads(run.stdout)["error"]["message"]


def test_the_paper_s_shapes_are_said_to_be_unmeasured(pssi: Run) -> None:
    assert "Not measured yet" in pssi("bench", "paper-shapes", "--help").stdout
    assert pssi("bench", "paper-shapes", "--layers", 0).exit_code == 2


def test_imports_are_timed_and_the_package_brings_nothing_along(pssi: Run) -> None:
    run = pssi("bench", "imports", "--quick", "--json")
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["package"]["heavy"] == []


def test_the_loop_is_watched_in_both_faces(pssi: Run, backbone_with_words: Path) -> None:
    run = pssi("bench", "loop", "--quick", "--json", "--dtype", "float32", "--backbone", backbone_with_words)
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert all(found[face]["worst_ms"] >= found[face]["p99_ms"] for face in ("langchain", "llama_index"))
    assert "the loop during: llama index" in run.stderr
