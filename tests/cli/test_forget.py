import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from pss_integrations.states.store import StateStore
from pss_integrations.types import SessionKey

Run = Callable[..., Result]
Told = Callable[..., dict[str, Any]]
ANN = ("--principal", "user:ann")
BOB = ("--principal", "user:bob")
KIT = ("--type", "entity", "--name", "kit", "--scope", "user:universal")
CORE = ("--principal", "team:core", "--actor")


@pytest.fixture(autouse=True)
def nobody_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PSS_PRINCIPAL", raising=False)


@pytest.fixture
def forget(pssi: Run) -> Told:
    def run(*args: object) -> dict[str, Any]:
        result = pssi("forget", *args, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return run


@pytest.fixture
def beliefs(pssi: Run) -> Callable[..., list[str]]:
    """What is believed, past ones too."""

    def run(*whose: object) -> list[str]:
        found = json.loads(pssi("beliefs", "list", "--all", *whose, "--json").stdout)["beliefs"]
        return [one["content"] for one in found]

    return run


@pytest.fixture
def two_kits(pssi: Run) -> None:
    """Ann believes one thing after another, Bob one."""
    for whose, content in ((ANN, "kit-9 is unwanted"), (ANN, "kit-11 is unwanted"), (BOB, "kit-9 it is")):
        assert pssi("beliefs", "add", content, *KIT, *whose).exit_code == 0


def error(run: Result, code: int = 1) -> dict[str, str]:
    assert run.exit_code == code, run.output
    return json.loads(run.stdout)["error"]


def sessions(pssi: Run) -> list[tuple[str | None, str]]:
    listed = json.loads(pssi("states", "list", "--json").stdout)["states"]
    return [(state["user_id"], state["session_id"]) for state in listed]


def states_of(home: Path, user_id: str) -> Path:
    return StateStore(home).home(SessionKey(user_id, "s")).parent


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("two_kits")
def test_a_dry_run_counts_what_goes_and_the_rest_stays(
    pssi: Run, compile_tiny: Run, forget: Told, beliefs: Callable[..., list[str]], tmp_path: Path
) -> None:
    for who in (("--user-id", "ann"), ("--user-id", "bob"), ("--no-user",)):
        assert compile_tiny(*who, "--session-id", "s").exit_code == 0
    before = contents(tmp_path / "home")
    planned = forget(*ANN, "--dry-run")
    assert contents(tmp_path / "home") == before
    stored = sum(map(len, contents(states_of(tmp_path / "home", "ann")).values()))
    assert (planned["dry_run"], planned["erasure"]) == (True, None)
    assert (planned["beliefs"], planned["states"]) == (2, {"sessions": 1, "bytes": stored})
    assert {"caches", "indexes"} == planned["in_memory"].keys()

    assert forget(*ANN, "--yes") == planned | {"dry_run": False, "erasure": "complete"}
    assert beliefs(*ANN) == []
    assert sessions(pssi) == [(None, "s"), ("bob", "s")]
    after = contents(tmp_path / "home")
    assert not any(b"unwanted" in content for content in after.values())
    assert {path: after[path] for path in after if "states" in path}.items() < before.items()
    assert beliefs(*BOB) == ["kit-9 it is"]

    again = forget(*ANN, "--yes")
    assert (again["beliefs"], again["states"]["sessions"], again["erasure"]) == (0, 0, "complete")


def test_states_that_no_list_shows_go_too(pssi: Run, compile_tiny: Run, forget: Told, tmp_path: Path) -> None:
    for session in ("damaged", "without a current one"):
        assert compile_tiny("--user-id", "ann", "--session-id", session).exit_code == 0
    store = StateStore(tmp_path / "home")
    (store.directory(SessionKey("ann", "damaged")) / "manifest.json").write_text("{", encoding="utf-8")
    (store.home(SessionKey("ann", "without a current one")) / "current").unlink()
    assert sessions(pssi) == []
    assert forget(*ANN, "--dry-run")["states"]["sessions"] == 2
    assert forget(*ANN, "--yes")["states"]["sessions"] == 2
    assert contents(tmp_path / "home" / "states") == {}


@pytest.mark.usefixtures("two_kits")
def test_a_session_that_is_being_compiled_is_not_half_forgotten(pssi: Run, compile_tiny: Run, tmp_path: Path) -> None:
    assert compile_tiny("--user-id", "ann", "--session-id", "s").exit_code == 0
    with StateStore(tmp_path / "home").lock(SessionKey("ann", "s")):
        assert error(pssi("forget", *ANN, "--yes", "--json"))["type"] == "CompileInProgress"
    assert sessions(pssi) == [("ann", "s")]
    assert pssi("forget", *ANN, "--yes").exit_code == 0
    assert sessions(pssi) == []


@pytest.mark.usefixtures("two_kits")
def test_states_without_beliefs_and_the_other_way_round(
    forget: Told, beliefs: Callable[..., list[str]], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    assert forget(*ANN, "--home", elsewhere, "--dry-run")["beliefs"] == 0
    assert forget(*ANN, "--home", elsewhere, "--yes")["erasure"] == "complete"
    assert not elsewhere.exists()

    (states_of(elsewhere, "ann") / "damaged").mkdir(parents=True)
    url = f"sqlite:///{tmp_path / 'home' / 'beliefs.db'}"
    done = forget(*ANN, "--home", elsewhere, "--url", url, "--yes")
    assert (done["beliefs"], done["states"]["sessions"]) == (2, 1)
    assert beliefs(*ANN) == []
    assert [*elsewhere.rglob("*")] == [elsewhere / "states"]


@pytest.mark.usefixtures("two_kits")
def test_forget_asks_and_says_what_it_did(pssi: Run, beliefs: Callable[..., list[str]]) -> None:
    refused = pssi("forget", *ANN, input="n\n")
    assert refused.exit_code == 1
    assert "2 beliefs and the states of 0 sessions (0 B) of user:ann?" in refused.stderr
    assert "--yes" in error(pssi("forget", *ANN, "--json", input="y\n"), 2)["message"]
    dry = pssi("forget", *ANN, "--dry-run").stdout
    assert dry.endswith("nothing was changed\n")
    assert len(beliefs(*ANN)) == 2

    done = pssi("forget", *ANN, "--yes").stdout
    assert done.endswith("erasure: complete\n")
    for shown in (dry, done):
        rows = [line.split()[:2] for line in shown.splitlines()[1:-1]]
        assert rows == [
            *(["beliefs", "2"], ["states", "0"], ["caches", "in"], ["indexes", "in"]),
            *(["log", "kept"], ["teams", "kept"], ["your", "data"]),
        ]
    assert beliefs(*ANN) == []


@pytest.mark.usefixtures("two_kits")
def test_an_erasure_that_has_to_wait_says_so(pssi: Run, beliefs: Callable[..., list[str]], tmp_path: Path) -> None:
    database = tmp_path / "home" / "beliefs.db"
    with closing(sqlite3.connect(database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
        run = pssi("forget", *ANN, "--yes")
        assert run.exit_code == 0
        assert "erasure: pending; nobody can read them" in run.stdout
        assert beliefs(*ANN) == []
    assert beliefs(*BOB) == ["kit-9 it is"]
    assert b"unwanted" not in database.read_bytes()


@pytest.mark.usefixtures("two_kits")
def test_whose_and_by_whom_has_to_be_right(pssi: Run, beliefs: Callable[..., list[str]], tmp_path: Path) -> None:
    assert "--principal" in error(pssi("forget", "--yes", "--json"), 2)["message"]
    assert error(pssi("forget", "--principal", "ann", "--yes", "--json"))["type"] == "InvalidInput"
    for place in (tmp_path / "home", tmp_path / "elsewhere"):
        run = pssi("forget", *ANN, "--actor", "user:bob", "--yes", "--json", "--home", place)
        assert error(run)["type"] == "AccessDenied"
    assert len(beliefs(*ANN)) == 2


def test_a_team_is_forgotten_by_an_admin_and_users_stay(
    pssi: Run, forget: Told, beliefs: Callable[..., list[str]], tmp_path: Path
) -> None:
    of_user = states_of(tmp_path / "home", "core") / "damaged" / "manifest.json"
    of_user.parent.mkdir(parents=True)
    of_user.touch()
    assert pssi("beliefs", "grant", "user:ann", "admin", *CORE, "user:ann").exit_code == 0
    assert pssi("beliefs", "grant", "user:bob", "write", *CORE, "user:ann").exit_code == 0
    assert pssi("beliefs", "add", "Kit 9", *KIT, *CORE, "user:bob").exit_code == 0
    assert pssi("beliefs", "add", "Kit 9", *KIT, "--principal", "user:core").exit_code == 0
    for actor in (("--actor", "user:bob"), ()):
        assert error(pssi("forget", *CORE[:2], *actor, "--yes", "--json"))["type"] == "AccessDenied"
    assert beliefs(*CORE, "user:bob") == ["Kit 9"]

    done = forget(*CORE, "user:ann", "--yes")
    assert (done["beliefs"], done["states"]) == (1, {"sessions": 0, "bytes": 0})
    assert beliefs(*CORE, "user:ann") == []
    assert beliefs("--principal", "user:core") == ["Kit 9"]
    assert of_user.exists()


def test_it_needs_no_torch(compile_tiny: Run, pssi: Run) -> None:
    assert compile_tiny("--user-id", "ann", "--session-id", "s").exit_code == 0
    blocked = "import sys; sys.modules |= dict.fromkeys(['torch', 'transformers', 'peft', 'safetensors'])"
    code = f"{blocked}; import pss_integrations.cli as cli; cli.main()"
    run = subprocess.run(
        [sys.executable, "-c", code, "forget", *ANN, "--yes", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(run.stdout)["states"]["sessions"] == 1
    assert sessions(pssi) == []


def test_a_dry_run_makes_no_database(forget: Told, tmp_path: Path) -> None:
    database = tmp_path / "never.db"
    assert forget(*ANN, "--dry-run", "--url", f"sqlite:///{database}")["beliefs"] == 0
    assert not database.exists()
