"""Plots of PrecisionMemBench, drawn of its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pss_integrations.evaluation.bench_plots import save

try:
    from matplotlib.figure import Figure
except ImportError as error:
    from pss_integrations.errors import MissingExtra

    raise MissingExtra("eval", error.name or "matplotlib") from error


def write_plots(result: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write ``methods.svg``, and ``session.svg`` if a session was run; returns what was written."""
    draws = {"methods": draw_methods} | ({"session": draw_sessions} if result["sessions"] else {})
    files = {folder / f"{name}.svg": draw for name, draw in draws.items()}
    for file, draw in files.items():
        save(draw, result, file)
    return list(files)


def draw_methods(result: Mapping[str, Any]) -> Figure:
    """Mean precision, and the share of cases passed, by method."""
    methods = result["methods"]
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes: Any = figure.subplots()
    bars = {
        "mean precision": [one["mean_precision"] or 0.0 for one in methods.values()],
        "cases passed": [one["passed"] / one["cases"] for one in methods.values()],
    }
    for number, (label, heights) in enumerate(bars.items()):
        drawn = axes.bar([at + 0.4 * number for at in range(len(methods))], heights, 0.38, label=label)
        axes.bar_label(drawn, fmt="%.2f", fontsize=7)
    axes.set_xticks([at + 0.2 for at in range(len(methods))], list(methods))
    axes.set_ylim(0, 1.1)
    axes.set_title("cut-offs of the baselines are tuned on these cases", fontsize=8)
    axes.legend(fontsize=7, ncols=2, loc="lower right")
    return figure


def draw_sessions(result: Mapping[str, Any]) -> Figure:
    """Precision and drift at each turn of each session, by method; nothing where they are not defined."""
    sessions = result["sessions"]
    figure = Figure(figsize=(7, 4 * len(sessions)), layout="constrained")
    panels: Any = figure.subplots(2 * len(sessions), 1, squeeze=False)
    for number, (name, methods) in enumerate(sessions.items()):
        for panel, measure in zip(panels[2 * number : 2 * number + 2, 0], ("precision", "drift"), strict=True):
            _by_turn(panel, {method: values[measure] for method, values in methods.items()})
            panel.set_ylabel(measure)
        panels[2 * number, 0].set_title(name, fontsize=8)
        panels[2 * number + 1, 0].set_xlabel("turn")
    panels[0, 0].legend(fontsize=7)
    return figure


def _by_turn(axes: Any, methods: Mapping[str, Sequence[float | None]]) -> None:
    """A row of marks for each method, beside each other so that none hides another."""
    turns = max(map(len, methods.values()))
    for number, (method, values) in enumerate(methods.items()):
        shift = 0.12 * (number - (len(methods) - 1) / 2)
        points = [(turn + shift, value) for turn, value in enumerate(values) if value is not None]
        axes.plot(*zip(*points, strict=True), "os^D"[number % 4], color=f"C{number}", label=method) if points else None
    axes.set_xticks(range(turns))
    axes.set_xlim(-0.5, turns - 0.5)
    axes.set_ylim(-0.05, 1.05)
    axes.grid(alpha=0.3)
