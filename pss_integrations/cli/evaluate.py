"""``pssi evaluate``: does the right state help, and a wrong one not? One record per run, with a report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pss_integrations.cli.evaluate_answers import run_answers
from pss_integrations.cli.evaluate_inspect import inspect_run, screen
from pss_integrations.cli.evaluate_public import run_public
from pss_integrations.cli.evaluate_risks import accounting, risks
from pss_integrations.cli.evaluate_setup import (
    BOTH,
    RUNS,
    Cache,
    Out,
    QueryWeight,
    Rewriting,
    Searcher,
    Searchers,
    Split,
    evaluation_setup,
    finish,
    load_encoder,
    show,
)
from pss_integrations.cli.options import DEFAULT_MODEL, Backbone, Device, Dtype, Json
from pss_integrations.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from pss_integrations.evaluation.record import RunRecord

_QUICK_SESSIONS = 3

app = typer.Typer(no_args_is_help=True, help="Measure retrieval with states and beliefs, controls and baselines.")
app.command("public")(run_public)
app.command("answers")(run_answers)
app.command("inspect")(inspect_run)
app.command("screen")(screen)
app.command("risks")(risks)
app.command("accounting")(accounting)


@app.command("pss320")
def run_pss320(
    quick: Annotated[bool, typer.Option("--quick", help="16 sessions, and only what one state each can show.")] = False,
    audit: Annotated[bool, typer.Option("--audit", help="Only check the construction of the benchmark.")] = False,
    sessions: Annotated[
        int | None, typer.Option("--sessions", min=2, help="The first so many. [default: 16 if quick, else 64]")
    ] = None,
    split: Annotated[Split, typer.Option("--split", help="Which sessions.")] = Split.calibration,
    seed: Annotated[int, typer.Option("--seed", help="Which cohort: an even and an odd one share no name.")] = 0,
    rewriting: Rewriting = False,
    searcher: Searchers = BOTH,
    query_weight: QueryWeight = 1.0,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    out: Out = RUNS,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Run PSS-320: underspecified questions in a pool of 320 synthetic sessions, with causal controls.

    The whole of it compiles five states a session; a run that was stopped goes on where it was.
    """
    from pss_integrations.evaluation import suites

    if audit:
        _audit(seed, as_json)
        return
    with evaluation_setup(searcher, query_weight, backbone, device, dtype, cache, rewriting=rewriting) as setup:
        count = sessions or (16 if quick else 64)
        record = suites.run_pss320(setup, sessions=count, split=split.value, seed=seed, quick=quick)
    finish(record, out, as_json)


@app.command("krecords")
def run_krecords(
    k: Annotated[
        list[int] | None, typer.Option("--records", min=1, max=48, help="K; may be given several times.")
    ] = None,
    groups: Annotated[
        int, typer.Option("--groups", min=2, help="Sessions for each K; from 6 on, p-values can tell.")
    ] = 2,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the generated records.")] = 0,
    rewriting: Rewriting = False,
    searcher: Searchers = BOTH,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    out: Out = RUNS,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Run the K-record benchmark: does a question pick its record out of K in one state? By default 1 to 32."""
    from pss_integrations.evaluation import suites

    with evaluation_setup(searcher, 1.0, backbone, device, dtype, cache, rewriting=rewriting) as setup:
        record = suites.run_krecords(setup, counts=k or suites.RECORD_COUNTS, groups=groups, seed=seed)
    finish(record, out, as_json)


@app.command("sessions")
def run_sessions(
    data: Annotated[Path, typer.Option("--data", help="A folder with sessions.jsonl and corpus.jsonl.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="BM25; text arms everywhere, arms with a state on three sessions.")
    ] = False,
    sessions: Annotated[
        int | None,
        typer.Option("--sessions", min=2, help="A fixed choice of so many, by hash. [default: all; 60 of dstc11]"),
    ] = None,
    states: Annotated[
        bool,
        typer.Option("--states/--no-states", help="Compile states and ask after the cut, or only compare text arms."),
    ] = True,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Cut-off of Recall.")] = 3,
    searcher: Searchers = BOTH,
    query_weight: QueryWeight = 1.0,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    out: Out = RUNS,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Run recorded conversations. The record holds their questions and the clues: it is as private as they are.

    A quick run leaves two records: of text arms over all sessions and probes, and of a few sessions with states.
    """
    from pss_integrations.evaluation import suites
    from pss_integrations.evaluation.datasets import load_sessions

    loaded = load_sessions(data)
    searchers = [Searcher.bm25] if quick else searcher
    with evaluation_setup(searchers, query_weight, backbone, device, dtype, cache) as setup:
        if not quick:
            finish(suites.run_recorded(setup, loaded, sessions=sessions, states=states, k=k), out, as_json)
            return
        texts = suites.run_recorded(setup, loaded, sessions=sessions, states=False, k=k)
        few = suites.run_recorded(setup, loaded, sessions=_QUICK_SESSIONS, states=True, k=k, every_state=False)
    _finish_quick(texts, few, out, as_json)


@app.command("guard")
def run_guard(
    cohort: Annotated[int, typer.Option("--cohort", min=59, help="Sessions of the next seed to calibrate on.")] = 320,
    sessions: Annotated[int, typer.Option("--sessions", min=2, help="Test sessions.")] = 64,
    skip: Annotated[int, typer.Option("--skip", min=0, help="Test sessions before them, looked at before.")] = 64,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the test sessions.")] = 0,
    searcher: Annotated[Searcher, typer.Option("--searcher", help="Full-text or dense search.")] = Searcher.bm25,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    out: Out = RUNS,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Calibrate the guard on one cohort of PSS-320, and count what it lets through on the sessions of another.

    It compiles a state for each session, hours of work on two cores; a run that was stopped goes on where it was.
    """
    from pss_integrations.evaluation.calibration_plot import save_calibration
    from pss_integrations.evaluation.guarding import run_guard as run

    with evaluation_setup([searcher], 1.0, backbone, device, dtype, cache) as setup:
        record, calibration = run(setup, cohort=cohort, sessions=sessions, skip=skip, seed=seed)
    folder = record.save(out).parent
    save_calibration(calibration, folder / "calibration.svg")
    show(record, folder, as_json)


@app.command("precisionmembench")
def run_precisionmembench(
    data: Annotated[Path, typer.Option("--data", help="A folder with beliefs.json, cases.json and session.json.")],
    dense: Annotated[bool, typer.Option("--dense/--no-dense", help="Compare with MiniLM vectors, too.")] = True,
    out: Out = RUNS,
    as_json: Json = False,
) -> None:
    """Run PrecisionMemBench on the belief store, beside searches by similarity whose cut-offs are tuned on it.

    The record holds the ids of the beliefs, and no text of them.
    """
    from pss_integrations.evaluation.precisionmembench import load_benchmark
    from pss_integrations.evaluation.precisionmembench_plots import write_plots
    from pss_integrations.evaluation.precisionmembench_record import run_benchmark

    run = run_benchmark(load_benchmark(data), load_encoder() if dense else None, say)
    folder, found = run.save(out), run.result()
    plots = write_plots(found, folder)
    if as_json:
        print_json({**found, "folder": str(folder), "plots": list(map(str, plots))})
        return
    print_table(
        ["method", "passed", "mean precision", "mean recall", "drift"],
        [[name, *_figures(one)] for name, one in found["methods"].items()],
    )
    for name, differences in found["failed"].items():
        say(f"{name}: {'; '.join(differences)}")
    say(f"Record and plots: {folder}")


@app.command("reorientation")
def run_reorientation(as_json: Json = False) -> None:
    """Count what a session start costs with beliefs and without, and what it then knows, over five packaged dialogues.

    Beliefs are taken from the earlier sessions by rules. Tokens are counted by the default backbone's tokenizer if it
    is in the cache, and estimated if not.
    """
    from pss_integrations.evaluation import reorientation

    counter = reorientation.token_counter(DEFAULT_MODEL)
    result = reorientation.evaluate_reorientation(reorientation.load_dialogues(), counter)
    if as_json:
        print_json(result)
        return
    figures = [*result["totals"]]
    print_table(
        ["dialogue", *(name.replace("_", " ") for name in figures)],
        [[one["id"], *(str(one[name]) for name in figures)] for one in result["dialogues"]],
    )
    typer.echo(reorientation.in_words(result))


@app.command("extraction")
def run_extraction(
    data: Annotated[
        Path | None, typer.Option("--data", help="Dialogues as JSON Lines. [default: those of the package]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Count which beliefs the rules take from dialogues, and which a reader would: precision and recall by kind.

    Of the packaged dialogues one half was looked at when the rules were written (dev), the other was not (heldout).
    """
    from pss_integrations.beliefs.extraction import RuleExtractor
    from pss_integrations.evaluation.extraction import evaluate_extraction

    found = evaluate_extraction(data, RuleExtractor())
    if as_json:
        print_json(found)
        return
    rows = {**found["kinds"], **found.get("halves", {}), "all": found}
    figures = ("dialogues", "beliefs", "extracted", "matched", "precision", "recall")
    print_table(["", *figures], [[name, *(_figure(one[figure]) for figure in figures)] for name, one in rows.items()])


@app.command("report")
def report(
    run: Annotated[Path, typer.Argument(help="A run's folder, or its run.json.")],
    as_json: Json = False,
) -> None:
    """Write a run's report again, as Markdown and HTML, and print its figures."""
    from pss_integrations.evaluation.record import RunRecord

    show(RunRecord.load(run), run if run.is_dir() else run.parent, as_json)


def _figures(method: Mapping[str, Any]) -> list[str]:
    means = (method[name] for name in ("mean_precision", "mean_recall", "drift"))
    passed = f"{method['passed']} of {method['cases']}"
    return [passed, *("not defined" if mean is None else f"{mean:.3f}" for mean in means)]


def _figure(value: float | None) -> str:
    if value is None:
        return "not defined"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _audit(seed: int, as_json: bool) -> None:
    from pss_integrations.evaluation import pss320, pss320_audit, suites

    benchmark = pss320.generate(suites.POOL, seed=seed)
    problems = pss320_audit.audit(benchmark)
    shared = pss320_audit.overlap(benchmark)
    if as_json:
        print_json({"issues": len(problems), "problems": problems, "shared_wording": shared})
    else:
        say("\n".join([f"{len(problems)} issues", *problems]))
        print_table(
            ["targets from", *next(iter(shared.values()))],
            [[name, *(f"{share:.2%}" for share in one.values())] for name, one in shared.items()],
        )
    if problems:
        raise typer.Exit(1)


def _finish_quick(texts: RunRecord, few: RunRecord, out: Path, as_json: bool) -> None:
    """Save both records, and print every arm with the numbers that it was run on: those with a state on few."""
    from pss_integrations.evaluation.analysis import summary

    folders = [str(texts.save(out).parent), str(few.save(out / "states").parent)]
    found, with_state = summary(texts), summary(few)
    arms = {searcher: {**with_state["arms"][searcher], **found["arms"][searcher]} for searcher in texts.searchers}
    if as_json:
        print_json({**found, "arms": arms, "folders": folders})
        return
    for searcher, figures in arms.items():
        print_table(
            [searcher, f"{found['metric']} {found['focus'] or ''}", "sessions", "probes"],
            [[arm, f"{one['mean']:.3f}", one["sessions"], one["probes"]] for arm, one in figures.items()],
        )
    say(f"Records: {', '.join(folders)}")
