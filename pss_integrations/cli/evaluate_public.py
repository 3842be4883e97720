"""``pssi evaluate public``: published question-answering sets, as sessions whose last query hides what it asks for."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pss_integrations.cli.evaluate_setup import (
    BOTH,
    RUNS,
    Cache,
    Out,
    QueryWeight,
    Searchers,
    Split,
    evaluation_setup,
    finish,
)
from pss_integrations.cli.options import Backbone, Device, Dtype, Json
from pss_integrations.cli.output import say


class Kind(StrEnum):
    """Which published set."""

    longbench = "longbench"
    infinitebench = "infinitebench"
    ultradomain = "ultradomain"


class Evidence(StrEnum):
    """What has to be found."""

    passage = "passage"
    document = "document"


def run_public(
    data: Annotated[Path, typer.Option("--data", help="A file as published, or a folder of *.jsonl.")],
    kind: Annotated[
        Kind | None, typer.Option("--kind", help="Which set. [default: told by the fields of the first record]")
    ] = None,
    sessions: Annotated[
        int | None, typer.Option("--sessions", min=2, help="A fixed choice of so many of the split, by hash.")
    ] = None,
    split: Annotated[Split, typer.Option("--split", help="Which sessions; no text is in both.")] = Split.test,
    evidence: Annotated[
        Evidence,
        typer.Option(
            "--evidence", help="A passage that holds the answer, or any of its document, as the paper has it."
        ),
    ] = Evidence.passage,
    states: Annotated[
        bool, typer.Option("--states/--no-states", help="Compile states, or only compare text arms.")
    ] = True,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Cut-off of All-Recall.")] = 3,
    searcher: Searchers = BOTH,
    query_weight: QueryWeight = 1.0,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    out: Out = RUNS,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Run LongBench, InfiniteBench or UltraDomain: follow-ups that say nothing of the request that is still open.

    Each session compiles one state; a run that was stopped goes on where it was.
    """
    from pss_integrations.evaluation.public.run import prepare_public

    name = kind.value if kind else None
    prepared = prepare_public(data, kind=name, sessions=sessions, split=split.value, evidence=evidence.value)
    read = prepared.data
    reasons = ", ".join(f"{count} {reason}" for reason, count in read.left_out.items()) or "none"
    say(f"{read.rows} records, {len(read.sessions)} sessions, {len(prepared.subjects)} to run; left out: {reasons}")
    with evaluation_setup(searcher, query_weight, backbone, device, dtype, cache) as setup:
        record = prepared.run(setup, states=states, k=k)
    finish(record, out, as_json)
