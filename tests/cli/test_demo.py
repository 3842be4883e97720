import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

Run = Callable[..., Result]
CANARD = Path(__file__).parents[3] / "shared" / "data" / "canard"


def demo_json(*arguments: str) -> Any:
    command = [sys.executable, "-m", "pss_integrations", "demo", "--json", *arguments]
    run = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--data", "nowhere"), 1, "corpus.jsonl cannot be read"),
        (("--backbone", "no/such-model"), 1, "no/such-model cannot be loaded"),
        (("--sessions", "1"), 2, "--sessions"),
        (("-k", "0"), 2, "--k"),
    ],
)
def test_bad_input(pssi: Run, options: tuple[str, ...], code: int, said: str) -> None:
    run = pssi("demo", *options, "--json")
    assert run.exit_code == code
    assert said in json.loads(run.stdout)["error"]["message"]


@pytest.mark.weights
def test_own_state_finds_what_neither_the_query_nor_another_state_finds() -> None:
    told = demo_json()
    assert told["routed_recall"] >= 0.7
    assert told["raw_recall"] <= 0.2
    assert told["wrong_state_recall"] <= 0.2
    assert told["faces_agree"]
    assert told["metric"] == "All-Recall@4"
    assert set(told["seconds"]) == {"load", "compile", "read"}
    assert all(state["reproduced"] == state["targets"] for state in told["states"])
    assert len(told["questions"]) == told["questions_asked"] >= 6


@pytest.mark.weights
@pytest.mark.data
@pytest.mark.skipif(not CANARD.is_dir(), reason="the evaluation data is not beside the project")
def test_recorded_conversations(tmp_path: Path) -> None:
    told = demo_json("--data", str(CANARD), "--sessions", "2", "--home", str(tmp_path / "kept"))
    assert len(told["states"]) == 2
    assert told["states"][0]["trusted_roles"] == ["assistant", "system", "user"]
    assert told["questions_asked"] >= 6
    assert told["routed_recall"] > max(told["raw_recall"], told["wrong_state_recall"])
    assert told["faces_agree"]
    assert (tmp_path / "kept" / "states").is_dir()
