"""The README and the pages of the documentation, as tests read them."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from pss_integrations import cli

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = (README, *sorted(DOCS.rglob("*.md")))

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ID = re.compile(r"\b[0-9a-f]{8}\b")


def name_of(page: Path) -> str:
    """What a page is called in a report."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a language, in order."""
    return [code for found, code in _FENCE.findall(page.read_text(encoding="utf-8")) if found == language]


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """Targets of links and pictures that lead to no other host."""
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)) if "://" not in link]


def anchors(page: Path) -> set[str]:
    """What a heading is linked by, on GitHub and in MkDocs alike."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


# --- commands


def typed(page: Path) -> list[str]:
    """The ``pssi`` commands of bash and console blocks, each on one line."""
    shown = "\n".join(blocks(page, "bash") + blocks(page, "console"))
    return re.findall(r"^(?:\$ )?(pssi .*)$", shown, re.MULTILINE)


def mentioned(page: Path) -> list[str]:
    """The ``pssi`` commands in the text, which may be cut short."""
    return re.findall(r"`(pssi [^`]+)`", prose(page))


def find_command(line: str) -> tuple[Any, list[str]]:
    """What a line calls, and the words that are left for it.

    :raises AssertionError: If there is no such command.
    """
    words = shlex.split(line, comments=True)[1:]
    command: Any = typer.main.get_command(cli.app)
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        name = words.pop(0)
        assert name in command.commands, f"{line!r}: there is no command {name!r}"
        command = command.commands[name]
    return command, words


def options_of(command: Any) -> set[str]:
    """The options of a command, in every spelling."""
    return {"--help"}.union(*(option.opts + option.secondary_opts for option in command.params))


def check_session(shown: str) -> None:
    """Run the commands of a console block, and hold what they print against what it shows; ids are any."""
    printed = [
        CliRunner().invoke(cli.app, shlex.split(line)[2:]).stdout
        for line in shown.splitlines()
        if line.startswith("$ pssi")
    ]
    said = "\n".join(line for line in shown.splitlines() if not line.startswith("$"))
    assert [line.rstrip() for line in _ID.sub("ID", "".join(printed)).splitlines()] == _ID.sub("ID", said).splitlines()


# --- Python


def run_examples(page: Path, scope: dict[str, Any], read: Callable[[], str]) -> None:
    """Run the Python blocks of a page in one scope, and hold what they print against their ``# prints`` comments.

    :param read: Returns what was printed since it was asked last.
    """
    for number, code in enumerate(blocks(page, "python"), start=1):
        where = f"{name_of(page)}, block {number}"
        exec(compile(code, where, "exec"), scope)
        printed = read().splitlines()
        promised = re.findall(r"  # prints (.+)$", code, re.MULTILINE)
        assert [line for line in promised if line not in printed] == [], f"{where} printed {printed}"
