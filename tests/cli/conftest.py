"""The command line over a tiny random backbone that lies in a directory."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import MESSAGES, TARGETS, tiny_model, tiny_tokenizer
from typer.testing import CliRunner, Result

from pss_integrations.cli import app
from pss_integrations.types import Message

Run = Callable[..., Result]


def write_messages(path: Path, messages: tuple[Message, ...] = MESSAGES) -> Path:
    path.write_text("".join(json.dumps({"role": m.role, "text": m.text}) + "\n" for m in messages), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def backbone_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("backbone")
    tiny_model().save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


@pytest.fixture(autouse=True)
def places(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """States, and all but the real weights, lie under the test's own directory."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("PSS_HOME", str(tmp_path / "home"))
    if request.node.get_closest_marker("weights") is None:
        monkeypatch.setenv("PSS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def pssi() -> Run:
    def run(*args: object, **options: Any) -> Result:
        return CliRunner().invoke(app, [str(arg) for arg in args], **options)

    return run


@pytest.fixture
def session_file(tmp_path: Path) -> Path:
    return write_messages(tmp_path / "session.jsonl")


@pytest.fixture
def targets_file(tmp_path: Path) -> Path:
    path = tmp_path / "targets.jsonl"
    lines = [{"request": t.request, "clue": t.clue, "conflicts": t.conflicts} for t in TARGETS]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def compile_tiny(pssi: Run, backbone_path: Path, session_file: Path, targets_file: Path) -> Callable[..., Result]:
    """Compile the tiny session; its two targets are reproduced."""

    def run(*args: object) -> Result:
        shape = ("--backbone", backbone_path, "--rank", 4, "--layers", 2, "--max-epochs", 400)
        return pssi("compile", session_file, "--targets", targets_file, *shape, *args)

    return run
