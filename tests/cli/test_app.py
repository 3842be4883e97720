import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
import typer.main
from typer.testing import Result

from pss_integrations.cli import app

Run = Callable[..., Result]


def commands() -> Iterator[tuple[str, ...]]:
    for name, command in typer.main.get_command(app).commands.items():
        below = getattr(command, "commands", None)
        yield from [(name, one) for one in below] if below else [(name,)]


@pytest.mark.parametrize("command", list(commands()), ids=" ".join)
def test_every_command_explains_itself_and_speaks_json(pssi: Run, command: tuple[str, ...]) -> None:
    run = pssi(*command, "--help")
    assert run.exit_code == 0
    assert "--json" in run.stdout
    parts = typer.main.get_command(app)
    for name in command:
        parts = parts.commands[name]
    for parameter in parts.params:
        assert getattr(parameter, "help", None), f"{command}: {parameter.name} says nothing"
    assert len(parts.help or "") > 20


def test_without_a_command_help_is_shown(pssi: Run) -> None:
    run = pssi()
    assert run.exit_code == 2
    assert "compile" in run.output


@pytest.mark.parametrize("arguments", [("nonsense",), ("states", "nonsense"), ("--nonsense",)])
def test_unknown_words_are_usage_errors(pssi: Run, arguments: tuple[str, ...]) -> None:
    run = pssi(*arguments, "--json")
    assert run.exit_code == 2
    assert "nonsense" in json.loads(run.stdout)["error"]["message"]


def test_module_is_the_same_program() -> None:
    command = [sys.executable, "-m", "pss_integrations", "--help"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Usage: pssi " in run.stdout
