"""Measurements of risks in one record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.pss320 import BenchmarkSession
from pss_integrations.evaluation.pss320_facts import Split
from pss_integrations.evaluation.risks.deletion import measure_deletion
from pss_integrations.evaluation.risks.extraction import measure_extraction
from pss_integrations.evaluation.risks.growth import measure_growth
from pss_integrations.evaluation.risks.membership import measure_membership
from pss_integrations.evaluation.risks.poisoning import measure_poisoning
from pss_integrations.evaluation.risks.shares import across_groups
from pss_integrations.evaluation.runner import Tell
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.evaluation.suites import POOL
from pss_integrations.states.manager import StateManager

Measurement = Callable[[Sequence[BenchmarkSession]], dict[str, Any]]

FULL: Final[Mapping[str, int]] = MappingProxyType(
    {"membership": 16, "extraction": 16, "deletion": 5, "growth": 8, "poisoning": 8}
)
"""What is measured, and on how many sessions; about a hundred states are compiled."""
QUICK: Final[Mapping[str, int]] = MappingProxyType(
    {"membership": 4, "extraction": 4, "deletion": 3, "growth": 2, "poisoning": 2}
)
"""The same on few sessions: some thirty states, six of them of few targets."""


def run_risks(
    source: CachedStates,
    home: Path,
    *,
    sizes: Mapping[str, int] = FULL,
    split: Split = "calibration",
    seed: int = 0,
    tell: Tell,
) -> dict[str, Any]:
    """Measure risks on PSS-320, each on the first sessions of a split, spread over its source groups.

    :param source: Writes, reads and keeps the states of all measurements but deletion and growth.
    :param home: A directory for states that come and go; empty or not there.
    :param sizes: What is measured, by name, and on how many sessions: :data:`FULL`, :data:`QUICK`, or a part of it.
    :return: ``config`` and, under its name, what each measurement returns; JSON can hold it.
    :raises InvalidInput: If a name is unknown, or the split has fewer sessions.
    """
    if unknown := sorted({*sizes} - {*FULL}):
        raise InvalidInput(f"there is no measurement {', '.join(unknown)}: use some of {', '.join(FULL)}")
    benchmark, other = pss320.generate(POOL, seed=seed), pss320.generate(POOL, seed=seed + 1)
    pool = benchmark.split(split)
    chosen = {name: across_groups(pool, count) for name, count in sizes.items()}
    engine = source.engine
    manager = partial(StateManager, backbone=engine.backbone, state=engine.state, config=engine.config)
    measure: dict[str, Measurement] = {
        "membership": lambda some: measure_membership(source, some, pool, tell),
        "extraction": lambda some: measure_extraction(source, some, pool, tell),
        "deletion": lambda some: measure_deletion(manager, home / "deletion", some, tell),
        "growth": lambda some: measure_growth(manager, home / "growth", some, tell),
        "poisoning": lambda some: measure_poisoning(source, some, other.split(split), benchmark.passages, tell),
    }
    config = {"seed": seed, "split": split, "sessions": dict(sizes), **source.describe()}
    return {"config": config, **{name: measure[name](some) for name, some in chosen.items()}}
