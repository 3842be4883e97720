"""``pssi doctor``: what is installed, what is missing, and how to mend it."""

from __future__ import annotations

from typing import Any

import typer

from pss_integrations.cli import checks
from pss_integrations.cli.options import Json
from pss_integrations.cli.output import print_json, print_pairs, size


def doctor(as_json: Json = False) -> None:
    """Check that sessions can be compiled and read with the defaults; exit code 1 if not."""
    report = checks.run()
    if as_json:
        print_json(report.to_dict())
    else:
        print_pairs(_lines(report))
        for problem in report.problems:
            typer.echo(f"PROBLEM  {problem.what}\n         {problem.mend}")
        if not report.problems:
            typer.echo("all is well")
    if report.problems:
        raise typer.Exit(1)


def _lines(report: checks.Report) -> dict[str, str]:
    lines = {"python": report.python, "pss-integrations": report.version or "not installed"}
    for extra, packages in report.extras.items():
        lines[f"extra {extra}"] = ", ".join(f"{name} {found or 'MISSING'}" for name, found in packages.items())
    lines["weights"] = f"{report.model}: {report.weights}"
    lines["computes on"] = _compute(report.compute)
    for name, directory in report.directories.items():
        state = "writable" if directory.writable else "NOT WRITABLE"
        lines[name] = f"{directory.path} ({state}, {size(directory.free_bytes)} free)"
    return lines


def _compute(compute: dict[str, Any] | None) -> str:
    return "unknown" if compute is None else f"{compute['device']} in {compute['dtype']}: {compute['why']}"
