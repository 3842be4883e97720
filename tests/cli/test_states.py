import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Run = Callable[..., Result]
ANN = ("--session-id", "s", "--user-id", "ann")
NOBODY = ("--session-id", "s", "--no-user")


@pytest.fixture
def two_states(compile_tiny: Run) -> None:
    for who in (ANN, NOBODY):
        assert compile_tiny(*who).exit_code == 0


def listed(pssi: Run, *options: str) -> list[str | None]:
    return [state["user_id"] for state in json.loads(pssi("states", "list", *options, "--json").stdout)["states"]]


def test_nothing_is_stored_yet(pssi: Run) -> None:
    assert pssi("states", "list").stdout == "no states\n"
    assert listed(pssi) == []


@pytest.mark.usefixtures("two_states")
def test_list_all_or_of_one_user(pssi: Run) -> None:
    assert listed(pssi) == [None, "ann"]
    assert listed(pssi, "--user-id", "ann") == ["ann"]
    assert listed(pssi, "--no-user") == [None]
    assert listed(pssi, "--user-id", "bob") == []
    rows = [line.split()[:2] for line in pssi("states", "list").stdout.splitlines()]
    assert rows == [["user", "session"], ["-", "s"], ["ann", "s"]]
    assert pssi("states", "list", "--no-user", "--user-id", "ann").exit_code == 2


def test_pages_of_one_user(pssi: Run, compile_tiny: Run) -> None:
    for session in ("s1", "s2", "s3"):
        assert compile_tiny("--user-id", "ann", "--session-id", session).exit_code == 0
    assert compile_tiny(*NOBODY).exit_code == 0
    found, after = list[str](), ()
    while page := json.loads(pssi("states", "list", *ANN[2:], "--limit", 2, *after, "--json").stdout)["states"]:
        assert len(page) <= 2
        found += [state["session_id"] for state in page]
        after = ("--after", found[-1])
    assert sorted(found) == ["s1", "s2", "s3"]
    assert len(listed(pssi, "--limit", 3)) == 3
    assert pssi("states", "list", "--limit", 0).exit_code == 2
    assert "--no-user" in pssi("states", "list", "--after", "s1").output


@pytest.mark.usefixtures("two_states")
def test_info_tells_nothing_the_session_said(pssi: Run) -> None:
    run = pssi("states", "info", *ANN, "--json")
    told = json.loads(run.stdout)
    assert told["targets"]["count"] == 2
    assert told["state"]["rank"] == 4
    for text in (run.stdout, pssi("states", "info", *ANN).stdout):
        assert told["state_id"] in text
        assert "kit-9" not in text


@pytest.mark.usefixtures("two_states")
def test_delete_asks_first(pssi: Run) -> None:
    refused = pssi("states", "delete", *ANN, input="n\n")
    assert refused.exit_code == 1
    assert "session 's' of user 'ann'" in refused.stderr
    unasked = pssi("states", "delete", *ANN, "--json", input="y\n")
    assert unasked.exit_code == 2
    assert "--yes" in json.loads(unasked.stdout)["error"]["message"]
    assert listed(pssi) == [None, "ann"]

    assert pssi("states", "delete", *ANN, input="y\n").exit_code == 0
    assert listed(pssi) == [None]
    assert json.loads(pssi("states", "delete", *NOBODY, "--yes", "--json").stdout)["deleted"]
    assert listed(pssi) == []


@pytest.mark.parametrize("command", [("info",), ("delete", "--yes"), ("export", "target")])
def test_there_is_no_state(pssi: Run, command: tuple[str, ...]) -> None:
    run = pssi("states", *command, *ANN, "--json")
    assert run.exit_code == 1
    assert json.loads(run.stdout)["error"]["type"] == "StateNotFound"


@pytest.mark.usefixtures("two_states")
def test_export_writes_what_peft_loads(pssi: Run, tmp_path: Path) -> None:
    target = tmp_path / "exported"
    assert json.loads(pssi("states", "export", target, *ANN, "--json").stdout)["path"] == str(target)
    assert {path.name for path in target.iterdir()} == {"adapter_config.json", "adapter_model.safetensors"}
    again = pssi("states", "export", target, *ANN)
    assert again.exit_code == 1
    assert "is not an empty directory" in again.stderr


@pytest.mark.usefixtures("two_states")
def test_another_home_holds_other_states(pssi: Run, tmp_path: Path) -> None:
    assert listed(pssi, "--home", str(tmp_path / "elsewhere")) == []


def test_rollback_and_prune(pssi: Run, compile_tiny: Run, session_file: Path) -> None:
    assert compile_tiny(*ANN).exit_code == 0
    first = json.loads(pssi("states", "info", *ANN, "--json").stdout)["state_id"]
    with session_file.open("a", encoding="utf-8") as file:
        file.write('{"role": "user", "text": "and kit-11 is next"}\n')
    assert compile_tiny(*ANN).exit_code == 0
    second = json.loads(pssi("states", "info", *ANN, "--json").stdout)["state_id"]
    assert json.loads(pssi("states", "rollback", *ANN, "--json").stdout)["state_id"] == first != second
    assert second in pssi("states", "rollback", *ANN, "--state", second).stdout
    gone = json.loads(pssi("states", "prune", "--max-days", 0, "--json").stdout)["removed"]
    assert [state["state_id"] for state in gone] == [first, second]
    assert pssi("states", "prune", "--max-bytes", 0).stdout == "removed 0 states, 0 B\n"
    assert pssi("states", "prune").exit_code == 1
