"""Pictures of what was inspected, as SVG text: the same content gives the same text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from pss_integrations.evaluation.inspection.capacity import Capacity
from pss_integrations.evaluation.inspection.geometry import principal_components
from pss_integrations.evaluation.inspection.screening import Screening
from pss_integrations.evaluation.inspection.taxonomy import Taxonomy
from pss_integrations.evaluation.plots import svg_of

try:
    from matplotlib.figure import Figure
except ImportError as error:
    from pss_integrations.errors import MissingExtra

    raise MissingExtra("eval", error.name or "matplotlib") from error

_MARKERS: Final = "os^Dvp*Xh<>8"


def draw_states(fingerprints: ArrayLike, labels: Sequence[str]) -> str:
    """States along their two principal components, a colour and mark for each label."""
    points, shares = principal_components(fingerprints)
    figure, axes = _panel(6, 4.5)
    for number, label in enumerate(dict.fromkeys(labels)):
        chosen = points[[one == label for one in labels]]
        axes.plot(
            *chosen.T, _MARKERS[number % len(_MARKERS)], color=f"C{number}", markersize=4, label=label.replace("_", " ")
        )
    for axis, name, share in ((axes.xaxis, "first", shares[0]), (axes.yaxis, "second", shares[1])):
        axis.set_label_text(f"{name} component, {share:.0%} of the variance")
    figure.legend(loc="outside right upper", fontsize=7)
    return svg_of(figure)


def draw_energies(energies: Sequence[Mapping[str, float]]) -> str:
    """The median norm of the updates of each module, layer by layer.

    :param energies: Of each state, by module path, ``model.layers.<layer>. ... .<projection>``.
    """
    places = {path: (path.split(".")[2], path.rpartition(".")[2]) for path in energies[0]}
    layers, projections = (list(dict.fromkeys(names)) for names in zip(*places.values(), strict=True))
    grid = np.full((len(layers), len(projections)), np.nan)
    for path, (layer, projection) in places.items():
        grid[layers.index(layer), projections.index(projection)] = np.median([one[path] for one in energies])
    figure, axes = _panel(6, 3.5)
    image = axes.imshow(grid, aspect="auto")
    axes.set_xticks(range(len(projections)), projections, rotation=30)
    axes.set_yticks(range(len(layers)), layers)
    axes.set_ylabel("layer")
    figure.colorbar(image, label="median norm of the update")
    return svg_of(figure)


def draw_capacity(curves: Mapping[str, Capacity]) -> str:
    """Recall over the number of records, with the breakpoints that are identifiable and their intervals."""
    figure, axes = _panel(8, 3.8)
    for number, (arm, curve) in enumerate(curves.items()):
        colour = f"C{number}"
        axes.plot(curve.counts, curve.means, marker="o", markersize=3, color=colour, label=f"{arm}: {curve.verdict}")
        if curve.identifiable and (where := curve.breakpoint):
            axes.axvline(where.value, color=colour, linestyle=":")
            axes.axvspan(where.low, where.high, color=colour, alpha=0.1)
    counts = next(iter(curves.values())).counts
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, list(map(str, counts)))
    axes.set_xlabel("records in one state")
    axes.set_ylabel("recall")
    axes.set_ylim(-0.02, 1.02)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=7)
    return svg_of(figure)


def draw_taxonomy(found: Taxonomy) -> str:
    """The misses of each category, stacked by class; the first category on top."""
    figure, axes = _panel(8, 0.9 + 0.3 * len(found.probes))
    names, start = list(found.probes), np.zeros(len(found.probes))
    for number, error in enumerate(name for name, misses in found.misses.items() if misses):
        shares = np.array([found.counts(name)[error] / found.probes[name] for name in names])
        axes.barh(range(len(names)), shares, left=start, color=f"C{number}", label=error.replace("_", " "))
        start += shares
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    axes.set_xlabel(f"share of the probes that {found.arm} missed, {found.searcher}")
    if start.any():
        figure.legend(loc="outside right upper", fontsize=7)
    return svg_of(figure)


def draw_screening(found: Screening) -> str:
    """Each variant's mean with its interval, by searcher."""
    figure, axes = _panel(6, 1.0 + 0.3 * len(found.scores))
    searchers = list(next(iter(found.scores.values())))
    for number, searcher in enumerate(searchers):
        for row, by_searcher in enumerate(found.scores.values()):
            one, at = by_searcher[searcher], row + 0.2 * number
            axes.plot(one.mean, at, "o", markersize=4, color=f"C{number}", label=None if row else searcher)
            if interval := one.interval():
                axes.hlines(at, interval.low, interval.high, color=f"C{number}")
    axes.set_yticks(range(len(found.scores)), list(found.scores))
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("All-Recall@4")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(fontsize=7)
    return svg_of(figure)


def _panel(width: float, height: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes: Any = figure.subplots()
    return figure, axes
