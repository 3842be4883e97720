"""Plots of measurements, as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pss_integrations.errors import InvalidInput

try:
    from matplotlib.figure import Figure
except ImportError as error:
    from pss_integrations.errors import MissingExtra

    raise MissingExtra("eval", error.name or "matplotlib") from error

Draw = Callable[[Mapping[str, Any]], Figure]
_FORMATS: Final = (".svg", ".png", ".pdf")


def check_place(path: Path) -> None:
    """Refuse a path that no plot can be written to, before anything is measured.

    :raises InvalidInput: If the ending is unknown or the directory is missing.
    """
    if path.suffix.lower() not in _FORMATS:
        raise InvalidInput(f"cannot draw {path.name!r}: the name must end in {', '.join(_FORMATS)}")
    if not path.parent.is_dir():
        raise InvalidInput(f"cannot draw {path}: there is no directory {path.parent}")


def save(draw: Draw, result: Mapping[str, Any], path: Path) -> None:
    """Draw a result into a file.

    :raises InvalidInput: If the file cannot be written.
    """
    try:
        draw(result).savefig(path)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror or error}") from error


def draw_curves(result: Mapping[str, Any]) -> Figure:
    """Time of a compile over the tokens of the history, over the targets, and over sessions at once."""
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    by_history, by_targets, by_sessions = axes = figure.subplots(1, 3)
    for panel, name, label in (
        (by_history, "history", "tokens of history"),
        (by_targets, "targets", "clue targets"),
    ):
        size = "history_tokens" if name == "history" else "targets"
        _line(panel, [p[size] for p in result[name]], [p["seconds"] for p in result[name]])
        panel.set_xlabel(label)
    small = [point for point in result["sessions"] if point["targets"] == result["sessions"][0]["targets"]]
    counts = [point["sessions"] for point in small]
    for name in ("one_after_another_ms", "together_ms"):
        label = name.removesuffix("_ms").replace("_", " ")
        _line(by_sessions, counts, [point[name] for point in small], scale=1 / 1000, label=label)
    by_sessions.set_xlabel(f"sessions of {small[0]['targets']} targets")
    by_sessions.legend(fontsize=7)
    for panel in axes:
        panel.set_ylabel("seconds")
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
    return figure


def draw_rewriting(result: Mapping[str, Any]) -> Figure:
    """Time of a read and of a rewriting over the tokens of the history."""
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    axes: Any = figure.subplots()
    points = result["by_length"]
    tokens = [point["history_tokens"] for point in points]
    for name, label in (
        ("rewrite_ms", "rewriting from the history"),
        ("read_ms", "read of a state"),
        ("read_drafted_ms", "read of a state, with drafts"),
    ):
        _line(axes, tokens, [point[name] for point in points], label=label)
    axes.set_xlabel("tokens of history")
    axes.set_ylabel("milliseconds")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    return figure


def _line(
    axes: Any, sizes: Sequence[int], times: Sequence[Mapping[str, float]], *, scale: float = 1.0, label: str = ""
) -> None:
    """Medians, with bars from the least to the most."""
    middle = [scale * time["median"] for time in times]
    spread = [[scale * (t["median"] - t["min"]) for t in times], [scale * (t["max"] - t["median"]) for t in times]]
    axes.errorbar(sizes, middle, yerr=spread, marker="o", markersize=3, capsize=2, label=label or None)
