"""Draws what a calibration had to choose from: activation on nulls against retained recall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.bench_plots import check_place
from pss_integrations.routing.calibration import Calibration

try:
    from matplotlib.figure import Figure
except ImportError as error:
    from pss_integrations.errors import MissingExtra

    raise MissingExtra("eval", error.name or "matplotlib") from error

__all__ = ["check_place", "draw_calibration", "save_calibration"]


def draw_calibration(calibration: Calibration) -> Figure:
    """Draw a line for each kind of null over all thresholds, and the threshold that was chosen.

    :param calibration: One with a certificate.
    :raises InvalidInput: If it has none.
    """
    certificate = calibration.certificate
    if certificate is None:
        raise InvalidInput("there is nothing to draw: it is not calibrated")
    limits = sorted({probe.score for probe in calibration.probes})
    retained = [calibration.retained_from(limit) for limit in limits]
    activated = [calibration.activated_from(limit) for limit in limits]
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes: Any = figure.subplots()
    for kind in activated[0]:
        axes.plot([one[kind] for one in activated], retained, label=kind.replace("_", " "), linewidth=1)
    axes.axvline(certificate.max_activation, color="0.5", linestyle=":", label="allowed")
    if certificate.threshold is not None:
        worst = max(calibration.activated_from(certificate.threshold).values())
        axes.plot(worst, calibration.retained, "k*", markersize=10, label="chosen")
    axes.set_xlabel("activation on nulls")
    axes.set_ylabel("retained share of the gain")
    axes.set_xlim(-0.01, 0.5)
    axes.set_ylim(-0.02, 1.02)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7)
    return figure


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Draw it into a file.

    :raises InvalidInput: If the file cannot be written.
    """
    try:
        draw_calibration(calibration).savefig(path)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror or error}") from error
