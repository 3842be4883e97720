"""``pssi bench``: speed as ratios measured side by side in one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pss_integrations.cli.options import DEFAULT_MODEL, Backbone, Device, Dtype, Json, fetch_weights
from pss_integrations.cli.output import print_json, print_pairs, say

if TYPE_CHECKING:
    from pss_integrations.states.backbone import Backbone as LoadedBackbone

app = typer.Typer(no_args_is_help=True, help="Measure the engine on this machine: medians of several runs, and ratios.")

Quick = Annotated[bool, typer.Option("--quick", help="Fewer repeats, no 16-record state; under 50 s on two cores.")]


@app.command("compile")
def compile_speed(
    quick: Quick = False,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    as_json: Json = False,
) -> None:
    """Time compile steps against a plain PEFT loop over the same batches, and whole compiles."""
    from pss_integrations.evaluation.bench import bench_compile

    _print(bench_compile(_loader(backbone, device, dtype), quick=quick, tell=say), as_json)


@app.command("read")
def read_speed(
    quick: Quick = False,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    as_json: Json = False,
) -> None:
    """Time reads with drafts and without against PEFT's generate, batches, and bind and unload of a 44 MiB state."""
    from pss_integrations.evaluation.bench import bench_read
    from pss_integrations.evaluation.bench_drafts import bench_drafts

    load = _loader(backbone, device, dtype)
    found = bench_drafts(load, quick=quick, tell=say)
    _print(found | bench_read(load, quick=quick, tell=say), as_json)


def _loader(backbone: str | None, device: str, dtype: str) -> Callable[[], LoadedBackbone]:
    from pss_integrations.states.backbone import load_backbone

    if backbone is None:
        fetch_weights(DEFAULT_MODEL)
    return lambda: load_backbone(backbone or DEFAULT_MODEL, device=device, dtype=dtype)


def _print(result: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(result)
    else:
        print_pairs(dict(_flat(result)))


def _flat(result: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested results as lines: ``bind.ratio_vs_peft``."""
    lines = list[tuple[str, str]]()
    for name, value in result.items():
        lines += _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else [(f"{prefix}{name}", str(value))]
    return lines
