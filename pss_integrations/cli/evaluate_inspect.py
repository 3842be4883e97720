"""``pssi evaluate inspect`` and ``screen``: why a run came out as it did, and whether other states do better."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pss_integrations import weights
from pss_integrations.cli.evaluate_setup import ENCODER, RUNS, Cache, Out, load, state_cache, telling
from pss_integrations.cli.options import Backbone, Device, Dtype, Json
from pss_integrations.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from pss_integrations.evaluation.inspection.inspecting import Inspection
    from pss_integrations.evaluation.inspection.screening import Screener
    from pss_integrations.evaluation.record import RunRecord
    from pss_integrations.protocols import Embedder


def inspect_run(
    run: Annotated[Path, typer.Argument(help="A run's folder, or its run.json.")],
    searcher: Annotated[
        str | None, typer.Option("--searcher", help="Whose ranks are looked at. [default: the run's first]")
    ] = None,
    arm: Annotated[
        str | None, typer.Option("--arm", help="Whose misses are classed. [default: that of the run's first family]")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="The folder that a run of recorded conversations was run on.")
    ] = None,
    states: Annotated[
        bool, typer.Option("--states/--no-states", help="Also the states themselves, which must be those of the run.")
    ] = False,
    backbone: Backbone = None,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Say why probes were missed, what the router did by category, and whether clues mean what the gold rewrites mean.

    The alignment needs the encoder's weights (`pssi models fetch all-minilm-l6-v2`), and is left out without them. JSON
    and pictures are written beside the record.
    """
    from pss_integrations.evaluation.datasets import load_sessions
    from pss_integrations.evaluation.inspection.inspecting import inspect_record
    from pss_integrations.evaluation.inspection.knowledge import knowledge_of
    from pss_integrations.evaluation.record import RunRecord

    record = RunRecord.load(run)
    treatment = record.families[0].treatment if record.families else "correct/append"
    found = inspect_record(
        record,
        searcher=searcher or record.searchers[0],
        arm=arm or treatment,
        knowledge=knowledge_of(record, load_sessions(data) if data else None),
        embedder=_encoder(),
    )
    if states:
        found |= _inspect_states(record, backbone, cache)
    _print_inspection(found, found.save(run if run.is_dir() else run.parent), as_json)


def screen(
    variant: Annotated[
        list[str] | None, typer.Option("--variant", help="May be given several times. [default: every one]")
    ] = None,
    sessions: Annotated[int, typer.Option("--sessions", min=2, max=64, help="Calibration sessions to choose on.")] = 16,
    confirm: Annotated[int, typer.Option("--confirm", min=2, help="Sessions of the next seed to confirm on.")] = 64,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sessions to choose on.")] = 0,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    out: Out = RUNS,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Choose rank, alpha, depth, segments and negatives on some sessions, and confirm the choice on others.

    It searches with BM25, and compiles a state for each session and variant: hours of work; one that was stopped goes
    on where it was. The confirmation is on the next seed's test split, which shares no name and no domain.
    """
    from pss_integrations.evaluation.inspection import plots
    from pss_integrations.evaluation.inspection.screening import pss320_cohorts
    from pss_integrations.evaluation.inspection.variants import BASELINE, VARIANTS
    from pss_integrations.evaluation.plain_record import plain_record, save_plain

    if unknown := set(variant or ()) - VARIANTS.keys():
        raise typer.BadParameter(f"unknown {sorted(unknown)}: use {', '.join(VARIANTS)}", param_hint="--variant")
    chosen = [VARIANTS[name] for name in dict.fromkeys([BASELINE.name, *(variant or VARIANTS)])]
    with _screener(backbone, device, dtype, cache) as screener:
        first, second = pss320_cohorts(screener.setup, sessions=sessions, confirm=confirm, seed=seed)
        screening = screener.screen(chosen, first)
        winner = VARIANTS[screening.winner]
        confirmation = None if winner is BASELINE else screener.confirm(winner, BASELINE, second, screened=first)
        described = screener.setup.source.describe()
    result = {
        "config": {"seed": seed, "sessions": sessions, "confirm": confirm, "searcher": "bm25", "baseline": described},
        "variants": [one.to_dict() for one in chosen],
        "screening": screening.to_dict(),
        "confirmation": confirmation and confirmation.to_dict(),
    }
    record = plain_record("screen", result)
    folder = save_plain(record, out)
    (folder / "screening.svg").write_text(plots.draw_screening(screening), encoding="utf-8")
    _print_screening(record, folder, as_json)


def _inspect_states(record: RunRecord, backbone: str | None, cache: Path | None) -> Inspection:
    """Open the states of a run, shaped and written as it says, with its own device and dtype."""
    from pss_integrations.evaluation.inspection.inspecting import inspect_states
    from pss_integrations.evaluation.inspection.variants import Variant, states_of
    from pss_integrations.states.backbone import load_backbone
    from pss_integrations.states.config import CompileConfig, StateConfig

    config = record.config
    loaded = load_backbone(backbone or config["backbone"], device=config["device"], dtype=config["dtype"])
    variant = Variant(record.kind, StateConfig(**config["state"]), CompileConfig(**config["compile"]))
    with telling() as tell:
        return inspect_states(record, states_of(loaded, variant, state_cache(cache)), tell)


@contextmanager
def _screener(backbone: str | None, device: str, dtype: str, cache: Path | None) -> Generator[Screener]:
    from pss_integrations.evaluation import suites
    from pss_integrations.evaluation.inspection.screening import Screener
    from pss_integrations.evaluation.inspection.variants import BASELINE, cached_sources

    loaded = load(backbone, device, dtype)
    sources = cached_sources(loaded, state_cache(cache))
    with sources(BASELINE) as source, telling() as tell:
        yield Screener(suites.Setup(source, {"bm25": suites.bm25}, {}, tell), sources)


def _encoder() -> Embedder | None:
    """The packaged encoder, if it is there."""
    if not any(status.name == ENCODER and status.fetched for status in weights.list_models()):
        say(f"No alignment: {ENCODER} is not fetched. Run: pssi models fetch {ENCODER}")
        return None
    from pss_integrations.retrieval import TransformerEmbedder

    return TransformerEmbedder(ENCODER)


def _print_inspection(found: Inspection, file: Path, as_json: bool) -> None:
    result = found.result
    if as_json:
        print_json({**result, "file": str(file), "pictures": sorted(found.pictures)})
        return
    errors = result["errors"]
    print_table(
        [f"{errors['missed']} of {errors['probes']} missed by {errors['arm']}, {errors['searcher']}", "", ""],
        [[name, str(one["count"]), one["about"]] for name, one in errors["classes"].items() if one["count"]],
    )
    for arm, curve in result.get("capacity", {}).items():
        say(f"{arm}: {curve['verdict']}")
    for name, one in result.get("alignment", {}).get("progress", {}).items():
        say(f"{name}: {one['value']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}] nearer to the gold rewrite than raw")
    for name, one in result.get("states", {}).get("labels", {}).items():
        say(
            f"{name}: silhouette {one['silhouette']:+.3f}, nearest neighbour alike {one['same']:.3f} "
            f"(by chance {one['chance']:.3f})"
        )
    say(f"All of it: {file}")


def _print_screening(result: Mapping[str, Any], folder: Path, as_json: bool) -> None:
    if as_json:
        print_json({**result, "folder": str(folder)})
        return
    found, confirmation = result["screening"], result["confirmation"]
    print_table(
        ["variant", "All-Recall@4"], [[name, f"{one['bm25']['mean']:.3f}"] for name, one in found["scores"].items()]
    )
    if confirmation:
        one = confirmation["comparisons"]["bm25"]
        difference = one["difference"]
        say(
            f"{found['winner']} confirms at {difference['value']:+.3f} "
            f"[{difference['low']:+.3f}, {difference['high']:+.3f}], p = {one['p_holm']:.2g}"
        )
    else:
        say("The baseline won: there is nothing to confirm.")
    say(f"All of it: {folder}")
