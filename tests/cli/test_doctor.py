import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from pss_integrations.cli.checks import Directory

Run = Callable[..., Result]


@pytest.fixture
def broken_torch(tmp_path: Path) -> dict[str, str]:
    """An environment in which whoever imports torch fails."""
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "torch.py").write_text("raise ImportError('libfoo.so is missing')", encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(tmp_path / "broken")}


def run_json(environment: dict[str, str], *arguments: str) -> tuple[int, Any]:
    command = [sys.executable, "-m", "pss_integrations", *arguments, "--json"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return run.returncode, json.loads(run.stdout)


def test_what_is_missing_comes_with_what_mends_it(pssi: Run, tmp_path: Path) -> None:
    run = pssi("doctor", "--json")
    assert run.exit_code == 1
    told = json.loads(run.stdout)
    assert not told["ok"]
    assert told["weights"] == "not fetched"
    assert [problem["mend"].split("  ")[0] for problem in told["problems"]] == ["pssi models fetch"]
    assert told["extras"]["states"]["torch"] == version("torch")
    assert told["extras"]["langchain"] == {name: version(name) for name in ("langchain-core", "langsmith")}
    assert told["compute"]["device"] in ("cpu", "cuda", "mps")
    assert told["directories"]["home"]["path"] == str(tmp_path / "home")
    assert told["directories"]["cache"] == {
        "path": str(tmp_path / "cache"),
        "exists": False,
        "writable": True,
        "free_bytes": told["directories"]["cache"]["free_bytes"],
    }
    assert not (tmp_path / "cache").exists()


def test_people_see_the_same(pssi: Run) -> None:
    run = pssi("doctor")
    assert run.exit_code == 1
    assert f"torch {version('torch')}" in run.stdout
    assert "PROBLEM  smollm2-135m-instruct is not in the cache" in run.stdout
    assert "all is well" not in run.stdout


def test_torch_that_cannot_be_imported_is_told(broken_torch: dict[str, str]) -> None:
    code, told = run_json(broken_torch, "doctor")
    assert code == 1
    assert told["compute"] is None
    assert "libfoo.so is missing" in told["problems"][0]["what"]


def test_looking_at_states_and_models_needs_no_torch(broken_torch: dict[str, str]) -> None:
    assert run_json(broken_torch, "states", "list") == (0, {"states": []})
    assert run_json(broken_torch, "models", "list")[0] == 0


def test_home_that_is_a_file(pssi: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PSS_HOME", str(tmp_path / "file"))
    problems = json.loads(pssi("doctor", "--json").stdout)["problems"]
    assert problems[-1]["what"] == f"{tmp_path / 'file'} cannot be written"
    assert "PSS_HOME" in problems[-1]["mend"]


def test_directory_below_one_that_is_missing(tmp_path: Path) -> None:
    found = Directory.at(tmp_path / "a" / "b")
    assert (found.exists, found.writable) == (False, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.weights
def test_all_is_well_with_the_weights(pssi: Run) -> None:
    assert pssi("models", "fetch").exit_code == 0
    run = pssi("doctor")
    assert run.exit_code == 0, run.output
    assert run.stdout.endswith("all is well\n")
