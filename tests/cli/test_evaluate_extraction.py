import json
from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

Run = Callable[..., Result]


def test_extraction_is_scored_by_kind(pssi: Run, tmp_path: Path) -> None:
    line = {
        "id": "a",
        "kind": "uses",
        "messages": [{"role": "user", "text": "We use Marlin."}],
        "gold": [{"types": ["decision"], "names": ["marlin"], "content": ["marlin"]}],
    }
    data = tmp_path / "dialogues.jsonl"
    data.write_text(json.dumps(line) + "\n", encoding="utf-8")
    run = pssi("evaluate", "extraction", "--data", data, "--json")
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert (found["precision"], found["recall"], found["dialogues"], found["beliefs"]) == (1, 1, 1, 1)
    assert "1.000" in pssi("evaluate", "extraction", "--data", data).output


def test_a_file_without_dialogues_is_told(pssi: Run, tmp_path: Path) -> None:
    run = pssi("evaluate", "extraction", "--data", tmp_path / "none.jsonl", "--json")
    assert run.exit_code == 1
    assert "cannot be read" in json.loads(run.stdout)["error"]["message"]
