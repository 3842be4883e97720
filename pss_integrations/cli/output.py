"""How commands speak: results on stdout, everything else on stderr, errors as one line or one JSON object."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from pss_integrations.errors import PSSError

if TYPE_CHECKING:
    from pss_integrations.states.compiler import CompileProgress

_AS_JSON = "pss_integrations.json"
_JOINERS = "\u200c\u200d"  # invisible, but scripts and emoji are spelled with them
# click's UsageError, which typer has under another name in each version
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


class Commands(TyperGroup):
    """The root group: turns what a command raises into a line, an exit code and, with ``--json``, an object."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note whether ``--json`` was given, so that a command line that cannot be parsed is told so as well."""
        ctx.meta[_AS_JSON] = "--json" in args
        with _told(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _told(ctx):
            return super().invoke(ctx)


@contextmanager
def _told(ctx: Any) -> Generator[None]:
    try:
        yield
    except PSSError as error:
        _tell_json(ctx, type(error).__name__, str(error))
        say(f"Error: {safe(str(error))}")
        raise typer.Exit(1) from error
    except UsageError as error:
        _tell_json(ctx, "UsageError", getattr(error, "format_message", error.__str__)())
        raise


def _tell_json(ctx: Any, kind: str, message: str) -> None:
    if ctx.meta[_AS_JSON]:
        print_json({"error": {"type": kind, "message": message}})


def print_json(document: Mapping[str, Any]) -> None:
    """Print the one JSON document of a command; ASCII, so that no terminal setting can spoil it."""
    typer.echo(json.dumps(document, indent=2))


def say(text: str) -> None:
    """Print a line for people, on stderr."""
    typer.echo(text, err=True)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on stdout."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def safe(text: str) -> str:
    """A text on one line, with codes in the place of control characters, and of others that are not printed."""
    return "".join(
        char if char.isprintable() or char in _JOINERS else char.encode("unicode_escape").decode()
        for char in " ".join(text.split())
    )


def print_pairs(pairs: Mapping[str, str]) -> None:
    """Print names and values below each other, on stdout."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        typer.echo(f"{name:<{width}}  {value}")


def size(count: float) -> str:
    """A number of bytes for people: ``"5.2 MB"``."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


@contextmanager
def progress_bars() -> Generator[Progress]:
    """Bars on stderr, if that is a terminal, gone when the work is done."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bars:
        yield bars


def compile_bar(bars: Progress, name: str) -> Callable[[CompileProgress], None]:
    """Add a bar for a compile; returns what to call as it goes on."""
    task = bars.add_task(f"{name}: loading", total=None)

    def show(event: CompileProgress) -> None:
        told = f", {event.reproduced} of {event.targets} reproduced" if event.stage == "targets" else ""
        bars.update(task, description=f"{name}: {event.stage}{told}", completed=event.step, total=event.steps)

    return show
