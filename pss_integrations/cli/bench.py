"""``pssi bench``: speed as ratios measured side by side in one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pss_integrations.cli.options import DEFAULT_MODEL, Backbone, Device, Dtype, Json, fetch_weights
from pss_integrations.cli.output import print_json, print_pairs, say

if TYPE_CHECKING:
    from pss_integrations.states.backbone import Backbone as LoadedBackbone

app = typer.Typer(no_args_is_help=True, help="Measure the engine on this machine: medians of several runs, and ratios.")

Quick = Annotated[bool, typer.Option("--quick", help="Fewer repeats and smaller sizes.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", help="Draw the curve into this file: .svg, .png or .pdf.", show_default=False)
]


@app.command("compile")
def compile_speed(
    quick: Quick = False,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    as_json: Json = False,
) -> None:
    """Time compile steps and whole compiles beside a plain PEFT loop, until every target is reproduced."""
    from pss_integrations.evaluation.bench_compile import bench_compile

    _print(bench_compile(_loader(backbone, device, dtype), quick=quick, tell=say), as_json)


@app.command()
def curves(
    quick: Quick = False,
    plot: Plot = None,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    as_json: Json = False,
) -> None:
    """Time compiles against the length of the history, the number of targets, and of sessions at once."""
    _check_plot(plot)
    from pss_integrations.evaluation.bench_curves import bench_curves

    result = bench_curves(_loader(backbone, device, dtype), quick=quick, tell=say)
    if plot is not None:
        from pss_integrations.evaluation.bench_plots import draw_curves, save

        save(draw_curves, result, plot)
    _print(result, as_json)


@app.command("read")
def read_speed(
    quick: Quick = False,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    as_json: Json = False,
) -> None:
    """Time reads with drafts and without against PEFT's generate, batches, and bind and unload of a 44 MiB state."""
    from pss_integrations.evaluation.bench_read import bench_read

    _print(bench_read(_loader(backbone, device, dtype), quick=quick, tell=say), as_json)


@app.command()
def rewriting(
    quick: Quick = False,
    plot: Plot = None,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    as_json: Json = False,
) -> None:
    """Time reads against rewriting the query from the whole history with the same backbone, and what that costs."""
    _check_plot(plot)
    from pss_integrations.evaluation.bench_rewriting import bench_rewriting

    result = bench_rewriting(_loader(backbone, device, dtype), quick=quick, tell=say)
    if plot is not None:
        from pss_integrations.evaluation.bench_plots import draw_rewriting, save

        save(draw_rewriting, result, plot)
    _print(result, as_json)


@app.command()
def concurrency(
    quick: Quick = False,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    as_json: Json = False,
) -> None:
    """Time reads of 32 threads through one manager against a lock, and reads while a session is compiled."""
    from pss_integrations.evaluation.bench_concurrency import bench_concurrency

    _print(bench_concurrency(_loader(backbone, device, dtype), quick=quick, tell=say), as_json)


@app.command()
def memory(quick: Quick = False, as_json: Json = False) -> None:
    """Time bind, look-up and listing among thousands of states; unless quick, compile a history of 30,000 tokens too.

    That takes some minutes, and says how much memory a backbone of half a billion parameters needs for it.
    """
    from pss_integrations.evaluation.bench_memory import bench_memory

    result = bench_memory(quick=quick, tell=say)
    if not quick:
        from pss_integrations.evaluation.bench_history import bench_long_history, qwen_half_b

        tokenizer = _loader(None, "cpu", "auto")().tokenizer
        result["long_history"] = bench_long_history(qwen_half_b(), tokenizer, tell=say)
    _print(result, as_json)


@app.command()
def beliefs(quick: Quick = False, as_json: Json = False) -> None:
    """Time searches among 10,000 beliefs, how soon a write is seen, and what beliefs of others change about that.

    Others are a million beliefs unless quick: that takes a few minutes and 3 GB of disk while it runs.
    """
    from pss_integrations.evaluation.bench_beliefs import bench_beliefs

    _print(bench_beliefs(quick=quick, tell=say), as_json)


@app.command()
def routing(quick: Quick = False, as_json: Json = False) -> None:
    """Time what the router adds to its searches and its read, over 10,000 passages; no model is needed."""
    from pss_integrations.evaluation.bench_routing import bench_routing

    _print(bench_routing(quick=quick, tell=say), as_json)


@app.command()
def loop(
    quick: Quick = False,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    as_json: Json = False,
) -> None:
    """Time how late a tick of the event loop comes while the package compiles, reads, recalls, observes and routes."""
    from pss_integrations.cli import bench_faces
    from pss_integrations.evaluation.bench_loop import bench_loop

    faces = {"langchain": bench_faces.langchain, "llama_index": bench_faces.llama_index}
    _print(bench_loop(_loader(backbone, device, dtype), faces, quick=quick, tell=say), as_json)


@app.command()
def imports(quick: Quick = False, as_json: Json = False) -> None:
    """Time imports of the package and its parts in fresh interpreters, and name the heavy packages they bring along."""
    from pss_integrations.evaluation.bench_imports import bench_imports

    _print(bench_imports(quick=quick, tell=say), as_json)


@app.command("paper-shapes")
def paper_shapes(
    quick: Quick = False,
    device: Annotated[str, typer.Option("--device", help="cuda, mps or cpu.")] = "cuda",
    layers: Annotated[int, typer.Option("--layers", min=1, help="Decoder layers; fewer for a smaller device.")] = 28,
    as_json: Json = False,
) -> None:
    """Time compile, bind and read at the size of Qwen2.5-7B, random BF16 weights, beside the paper's seconds.

    Not measured yet: nobody has run this on a CUDA device so far. With all layers it needs about 20 GB of memory there.
    """
    from pss_integrations.evaluation.bench_shapes import bench_shapes, qwen_7b

    tokenizer = _loader(None, "cpu", "auto")().tokenizer
    _print(bench_shapes(qwen_7b(layers=layers), tokenizer, device=device, quick=quick, tell=say), as_json)


def _loader(backbone: str | None, device: str, dtype: str) -> Callable[[], LoadedBackbone]:
    from pss_integrations.states.backbone import load_backbone

    if backbone is None:
        fetch_weights(DEFAULT_MODEL)
    return lambda: load_backbone(backbone or DEFAULT_MODEL, device=device, dtype=dtype)


def _check_plot(path: Path | None) -> None:
    if path is not None:
        from pss_integrations.evaluation.bench_plots import check_place

        check_place(path)


def _print(result: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(result)
    else:
        print_pairs(dict(_flat(result)))


def _flat(result: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested results as lines: ``bind.ratio_vs_peft``; of a list of results, ``history.0.seconds.median``."""
    lines = list[tuple[str, str]]()
    for name, value in result.items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            value = {str(number): one for number, one in enumerate(value)}
        lines += _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else [(f"{prefix}{name}", str(value))]
    return lines
