"""``pssi evaluate risks`` and ``pssi evaluate accounting``: what a state gives away, and what it costs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pss_integrations.cli.evaluate_setup import RUNS, Cache, Out, Split, load, state_cache, telling
from pss_integrations.cli.options import Backbone, Device, Dtype, Json
from pss_integrations.cli.output import print_json, print_table, say


class Risk(StrEnum):
    """What can be measured."""

    membership = "membership"
    extraction = "extraction"
    deletion = "deletion"
    growth = "growth"
    poisoning = "poisoning"


def risks(
    quick: Annotated[bool, typer.Option("--quick", help="Two to four sessions each: some minutes.")] = False,
    only: Annotated[
        list[Risk] | None, typer.Option("--only", help="What to measure; may be given several times. [default: all]")
    ] = None,
    sessions: Annotated[
        int | None, typer.Option("--sessions", min=2, help="Sessions of each measurement, in place of its own number.")
    ] = None,
    split: Annotated[Split, typer.Option("--split", help="Which sessions.")] = Split.calibration,
    seed: Annotated[int, typer.Option("--seed", help="Which cohort of PSS-320.")] = 0,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    out: Out = RUNS,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Measure what a state gives away, what a deletion leaves, how it grows, and whether a planted message steers it.

    The whole compiles about a hundred states; what was compiled for membership, extraction and poisoning is kept.
    """
    from pss_integrations.evaluation.plain_record import plain_record, save_plain
    from pss_integrations.evaluation.risks.run import FULL, QUICK, run_risks
    from pss_integrations.evaluation.source import CachedStates
    from pss_integrations.states.config import CompileConfig

    usual = QUICK if quick else FULL
    sizes = {risk.value: sessions or usual[risk.value] for risk in only or Risk}
    loaded = load(backbone, device, dtype)
    with telling() as tell, tempfile.TemporaryDirectory() as home:
        source = CachedStates(loaded, CompileConfig(), state_cache(cache))
        found = run_risks(source, Path(home), sizes=sizes, split=split.value, seed=seed, tell=tell)
    record = plain_record("risks", found)
    folder = save_plain(record, out)
    if as_json:
        print_json({**record, "folder": str(folder)})
        return
    rows = [row for name in sizes for row in _rows(found[name], name)]
    print_table(["", "mean or count", "interval", "sessions", "observations"], rows)
    say(f"Record: {folder}")


def accounting(
    quick: Annotated[bool, typer.Option("--quick", help="Two lengths of history, and fewer queries.")] = False,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    out: Out = RUNS,
    as_json: Json = False,
) -> None:
    """Count seconds, tokens and bytes of a state, the whole guarded path of a query, and when a compile is paid back.

    Reads are held against rewriting the query from the whole history, at several lengths, and against the card.
    """
    from pss_integrations.evaluation.accounting import account
    from pss_integrations.evaluation.plain_record import plain_record, save_plain

    record = plain_record("accounting", account(lambda: load(backbone, device, dtype), quick=quick, tell=say))
    folder = save_plain(record, out)
    if as_json:
        print_json({**record, "folder": str(folder)})
        return
    names = ["compile_seconds", "read_ms", "read_drafted_ms", "rewrite_ms"]
    print_table(
        ["history tokens", *(name.replace("_", " ") for name in names), *record["by_length"][0]["break_even"]],
        [
            [str(cell) for cell in (one["history_tokens"], *(one[name] for name in names), *one["break_even"].values())]
            for one in record["by_length"]
        ],
    )
    print_table(
        ["path", *record["paths"]["guarded"]["ms"], "searches", "reads"],
        [
            [name, *(str(ms["median"]) for ms in path["ms"].values()), str(path["searches"]), str(path["reads"])]
            for name, path in record["paths"].items()
        ],
    )
    say(f"Record: {folder}")


def _rows(found: Any, name: str) -> Iterator[list[str]]:
    """A line for each mean with its interval, and for each other number or word, named by the way to it."""
    if isinstance(found, Mapping) and "mean" in found:
        interval = f"{found['low']:.3f} to {found['high']:.3f}" if "low" in found else ""
        yield [name, f"{found['mean']:.3f}", interval, str(found["sessions"]), str(found["items"])]
    elif isinstance(found, Mapping):
        for part, value in found.items():
            yield from _rows(value, f"{name} {part.replace('_', ' ')}")
    elif isinstance(found, list) and found and isinstance(found[0], Mapping):
        for number, value in enumerate(found, start=1):
            yield from _rows(value, f"{name} {number}")
    elif found is not None:
        yield [name, str(found), "", "", ""]
