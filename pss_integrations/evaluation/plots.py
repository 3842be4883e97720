"""Plots of a record, as SVG text."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pss_integrations.evaluation.analysis import categories, scores
from pss_integrations.evaluation.record import RunRecord

try:
    from matplotlib import rc_context
    from matplotlib.figure import Figure
except ImportError as error:
    from pss_integrations.errors import MissingExtra

    raise MissingExtra("eval", error.name or "matplotlib") from error

_SHOWN: Final = (
    "raw",
    "card",
    "target_card",
    "concatenation",
    "record_rrf",
    "correct",
    "matched_wrong",
    "shuffled",
    "gold",
)
_COUNT = re.compile(r"K = (\d+)")
# No date and no random ids, so that the same record gives the same file.
_SVG: Final[Any] = {"svg.hashsalt": "pss", "svg.fonttype": "none", "font.size": 9}


def shown_arms(record: RunRecord) -> list[str]:
    """The arms that people look at first: the baselines and controls, in the composition of the first family."""
    composition = record.families[0].treatment.partition("/")[2] if record.families else "append"
    names = [name if name in record.arms else f"{name}/{composition}" for name in _SHOWN]
    return [name for name in names if name in record.arms]


def draw(record: RunRecord) -> dict[str, str]:
    """Draw everything there is to see; returns plot name to SVG."""
    by_count = _counts(record)
    if len(by_count) > 1:
        return {f"curve-{searcher}": _curve(record, searcher, by_count) for searcher in record.searchers}
    drawn = {f"arms-{searcher}": _forest(record, searcher) for searcher in record.searchers}
    if len(categories(record)) > 1:
        drawn |= {f"categories-{searcher}": _bars(record, searcher) for searcher in record.searchers}
    return drawn


def _counts(record: RunRecord) -> dict[int, str]:
    found = {name: _COUNT.fullmatch(name) for name in categories(record)}
    return {int(match[1]): name for name, match in found.items() if match}


def _forest(record: RunRecord, searcher: str) -> str:
    """Every arm's mean with its interval, best on top."""
    found = {arm: scores(record, searcher, arm, category=record.focus) for arm in record.arms}
    order = sorted(found, key=lambda arm: found[arm].mean)
    figure = Figure(figsize=(7, 0.6 + 0.2 * len(order)), layout="constrained")
    axes: Any = figure.subplots()
    for row, arm in enumerate(order):
        interval = found[arm].interval()
        axes.plot(found[arm].mean, row, "o", markersize=4, color="C0")
        if interval:
            axes.hlines(row, interval.low, interval.high, color="C0")
    axes.set_yticks(range(len(order)), order)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel(f"{record.metric}@{record.k}, {searcher}")
    axes.grid(axis="x", alpha=0.3)
    return svg_of(figure)


def _bars(record: RunRecord, searcher: str) -> str:
    """Arms side by side within each category."""
    names, arms = categories(record), shown_arms(record)
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    axes: Any = figure.subplots()
    width = 0.8 / len(arms)
    for number, arm in enumerate(arms):
        heights = [scores(record, searcher, arm, category=name).mean for name in names]
        axes.bar([at + number * width for at in range(len(names))], heights, width, label=arm)
    axes.set_xticks([at + 0.4 - width / 2 for at in range(len(names))], [name.replace("_", " ") for name in names])
    axes.set_ylabel(f"{record.metric}@{record.k}, {searcher}")
    axes.set_ylim(0, 1.02)
    axes.legend(ncols=4, fontsize=7)
    return svg_of(figure)


def _curve(record: RunRecord, searcher: str, by_count: Mapping[int, str]) -> str:
    """Arms over the number of records in one state."""
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    axes: Any = figure.subplots()
    counts: Sequence[int] = sorted(by_count)
    for arm in shown_arms(record):
        means = [scores(record, searcher, arm, category=by_count[count]).mean for count in counts]
        axes.plot(counts, means, marker="o", markersize=3, label=arm)
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.set_xlabel("records in one state")
    axes.set_ylabel(f"{record.metric}@{record.k}, {searcher}")
    axes.set_ylim(-0.02, 1.02)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    return svg_of(figure)


def svg_of(figure: Figure) -> str:
    """Return a figure as SVG; the same content gives the same text."""
    with rc_context(_SVG):
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
