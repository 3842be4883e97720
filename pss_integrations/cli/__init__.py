"""The command line: ``pssi``, or ``python -m pss_integrations``."""

from __future__ import annotations

import os
import sys

import typer

from pss_integrations.cli import beliefs, bench, evaluate, models, states
from pss_integrations.cli.calibrate import calibrate
from pss_integrations.cli.compile import compile_session, read
from pss_integrations.cli.demo import demo
from pss_integrations.cli.doctor import doctor
from pss_integrations.cli.forget import forget
from pss_integrations.cli.output import Commands
from pss_integrations.cli.search import search
from pss_integrations.cli.shadow import shadow
from pss_integrations.cli.sync import sync

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_show_locals=False,
    help="Session memory for retrieval: compile a session once, then search with what it settled.",
)
app.command()(demo)
app.command("compile")(compile_session)
app.command()(sync)
app.command()(read)
app.command()(search)
app.command()(shadow)
app.command()(calibrate)
app.add_typer(beliefs.app, name="beliefs")
app.add_typer(states.app, name="states")
app.command()(forget)
app.add_typer(models.app, name="models")
app.add_typer(bench.app, name="bench")
app.add_typer(evaluate.app, name="evaluate")
app.command()(doctor)


def main() -> None:
    """Run the command line."""
    if not sys.stderr.isatty():  # what transformers would draw there is no use in a log
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    app(prog_name="pssi")
