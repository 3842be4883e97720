import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from pss_integrations.cli.output import Commands
from pss_integrations.cli.sync import sync
from pss_integrations.states import CompileConfig, StateConfig, StateManager
from pss_integrations.types import SessionKey

Run = Callable[..., Result]
ANN = ("--user-id", "ann")
_APP = typer.Typer(cls=Commands)
_APP.command("sync")(sync)


@_APP.callback()
def _root() -> None:
    """Make it a group, as ``pssi`` is."""


@pytest.fixture
def pssi(monkeypatch: pytest.MonkeyPatch, backbone_path: Path) -> Run:
    """The command alone, with states that are small and quickly written."""
    real = StateManager.__init__

    def small(self: StateManager, *args: Any, **options: Any) -> None:
        shape = {"state": StateConfig(rank=2, alpha=4, layers=1), "config": CompileConfig(max_epochs=1)}
        real(self, *args, **{**shape, **options})

    monkeypatch.setattr(StateManager, "__init__", small)
    return lambda *args: CliRunner().invoke(_APP, ["sync", *map(str, args), "--backbone", str(backbone_path)])


def chat(name: str | None, *said: str, role: str = "user") -> dict[str, Any]:
    messages = [{"role": role, "text": text} for text in said]
    return {"messages": messages} if name is None else {"session_id": name, "messages": messages}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(*chats: dict[str, Any]) -> Path:
        path = tmp_path / "chats.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in chats), encoding="utf-8")
        return path

    return write


HERON = "Heron runs on kit-7 since Monday."
CRANE = "Crane runs on kit-4 since Friday."


def test_stored_chats_are_compiled_and_later_only_what_has_grown(pssi: Run, write: Callable[..., Path]) -> None:
    first = pssi(write(chat("a", HERON), chat("b", CRANE), chat("c", "ok")), *ANN, "--json")
    assert first.exit_code == 0, first.output
    told = json.loads(first.stdout)
    assert (told["sessions"], told["failures"]) == (3, [])
    assert {name: count for name, count in told["counts"].items() if count} == {"compiled": 2, "no_targets": 1}
    assert StateManager().has_state(SessionKey("ann", "a"))

    grown = write(chat("a", HERON, "We moved Heron to kit-9."), chat("b", CRANE))
    second = pssi(grown, *ANN)
    assert second.exit_code == 0, second.output
    assert second.stdout.split() == ["outcome", "sessions", "recompiled", "1", "current", "1"]
    assert StateManager().info(SessionKey("ann", "a")).messages == 2


def test_a_state_of_a_chat_that_changed_is_kept_if_that_is_asked_for(pssi: Run, write: Callable[..., Path]) -> None:
    pssi(write(chat("a", HERON)), *ANN)
    changed = write(chat("a", CRANE))
    kept = json.loads(pssi(changed, *ANN, "--keep-diverged", "--json").stdout)
    assert kept["counts"]["diverged"] == 1
    fresh = json.loads(pssi(changed, *ANN, "--json").stdout)
    assert fresh["counts"]["compiled"] == 1


def test_trusted_roles_make_targets(pssi: Run, write: Callable[..., Path]) -> None:
    chats = write(chat("a", HERON, role="assistant"))
    assert json.loads(pssi(chats, *ANN, "--json").stdout)["counts"]["no_targets"] == 1
    assert json.loads(pssi(chats, *ANN, "--trust", "assistant", "--json").stdout)["counts"]["compiled"] == 1


def test_what_failed_is_listed(pssi: Run, write: Callable[..., Path]) -> None:
    chats = write(chat("a", HERON), chat("b", CRANE))
    pssi(chats, *ANN)
    store = StateManager()._store
    (store.directory(SessionKey("ann", "a")) / "manifest.json").write_text("{}", encoding="utf-8")
    run = pssi(chats, *ANN)
    assert run.exit_code == 1
    assert "session 'a' of user 'ann'" in run.stdout
    assert "has an unknown form" in run.stdout
    told = json.loads(pssi(chats, *ANN, "--json").stdout)
    assert (told["counts"]["current"], told["failures"][0]["error"]["type"]) == (1, "StateCorrupt")
    assert (told["failures"][0]["user_id"], told["failures"][0]["session_id"]) == ("ann", "a")


def test_whose_chats_they_are_has_to_be_said(pssi: Run, write: Callable[..., Path], tmp_path: Path) -> None:
    for args in ((write(chat("a", HERON)),), (write(chat(None, HERON)), *ANN)):
        run = pssi(*args)
        assert run.exit_code == 1
        assert "1 of 1 chats do not say whose they are" in run.stderr
    assert not (tmp_path / "home").exists()
    assert pssi(write(chat(None, HERON)), "--no-user", "--session-id", "a").exit_code == 0
    assert StateManager().has_state(SessionKey(None, "a"))
