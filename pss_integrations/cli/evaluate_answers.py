"""``pssi evaluate answers``: what a reader without a state answers from what each arm finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

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
    state_cache,
)
from pss_integrations.cli.options import Backbone, Device, Dtype, Json
from pss_integrations.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from pss_integrations.evaluation.source import CachedStates


def run_answers(
    sessions: Annotated[int, typer.Option("--sessions", min=2, help="The first so many.")] = 16,
    split: Annotated[Split, typer.Option("--split", help="Which sessions.")] = Split.calibration,
    seed: Annotated[int, typer.Option("--seed", help="Which cohort: an even and an odd one share no name.")] = 0,
    arm: Annotated[
        list[str] | None,
        typer.Option(
            "--arm",
            help="What searches; may be given several times. [default: raw, gold, card/append, and append with the "
            "correct, the matched wrong and the shuffled state]",
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Passages for the reader, and cut-off of All-Recall.")] = 4,
    searcher: Searchers = BOTH,
    query_weight: QueryWeight = 1.0,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    out: Out = RUNS,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Answer the questions of PSS-320 from what each arm finds, with the backbone as reader and every state unloaded.

    Beside it: answers from the gold passages, to what the arm searched for in place of the gold rewrite, and with a
    state in force over the same question and passages. A run that was stopped goes on where it was.
    """
    from pss_integrations.evaluation.answering.reader import BaseReader
    from pss_integrations.evaluation.answering.reads import KeptAnswers
    from pss_integrations.evaluation.answering.run import ANSWER_ARMS, run_pss320_answers
    from pss_integrations.evaluation.answering.summary import summary

    arms = list(dict.fromkeys(arm or ANSWER_ARMS))
    with evaluation_setup(searcher, query_weight, backbone, device, dtype, cache) as setup:
        engine = cast("CachedStates", setup.source).engine
        reader = BaseReader(engine.backbone, engine.bank)
        reads = KeptAnswers(reader, reader.describe(), state_cache(cache))
        record = run_pss320_answers(setup, reads, sessions=sessions, split=split.value, seed=seed, arms=arms, k=k)
    folder, found = record.save(out), summary(record)
    if as_json:
        print_json({**found, "folder": str(folder)})
        return
    _print(found, record.retrieval.metric)
    say(f"Record: {folder}")


def _print(found: Mapping[str, Any], metric: str) -> None:
    columns = [f"{metric}@{found['k']}", "F1", "EM", "right", "joint", "F1, own string"]
    for searcher, arms in found["arms"].items():
        print_table([searcher, *columns], [[name, *_figures(one, metric)] for name, one in arms.items()])
    ceiling = found["ceiling"]
    print_table(["reader", "F1", "EM", "right"], [["gold passages", *_means(ceiling)], *_states(found["states"])])
    for one in found["joint"]:
        verdict = (
            ("passed" if one["passed"] else "not passed") if one["decidable"] else "undecided, too few source groups"
        )
        say(f"{one['searcher']}: {one['question']} Joint criterion {verdict}.")


def _figures(arm: Mapping[str, Any], metric: str) -> list[str]:
    return [f"{arm[metric]['mean']:.3f}", *_means(arm["fixed"]), f"{arm['own']['F1']['mean']:.3f}"]


def _states(states: Mapping[str, Any] | None) -> list[list[str]]:
    scores = states["scores"] if states else {}
    return [[f"gold passages, own words, {name}", *_means(one)] for name, one in scores.items()]


def _means(measures: Mapping[str, Any]) -> list[str]:
    return [f"{one['mean']:.3f}" for one in measures.values()]
