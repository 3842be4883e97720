"""Everything that can be inspected of one run, as plain data and pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.inspection import plots
from pss_integrations.evaluation.inspection.actions import actions
from pss_integrations.evaluation.inspection.alignment import CORRECT, align
from pss_integrations.evaluation.inspection.capacity import capacity_curves
from pss_integrations.evaluation.inspection.fingerprints import fingerprint, update_energies
from pss_integrations.evaluation.inspection.geometry import neighbourhood
from pss_integrations.evaluation.inspection.knowledge import Knowledge
from pss_integrations.evaluation.inspection.taxonomy import taxonomy
from pss_integrations.evaluation.plots import shown_arms
from pss_integrations.evaluation.record import RunRecord
from pss_integrations.evaluation.runner import Tell
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.evaluation.subjects import Subject, from_pss320
from pss_integrations.evaluation.suites import POOL
from pss_integrations.protocols import Embedder

_FILE: Final = "inspection.json"
_ROUTED: Final = ("card", "clue", "guarded", "oracle_route")


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found.

    :param result: Section name to plain data.
    :param pictures: Name to SVG.
    """

    result: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pictures: Mapping[str, str] = field(default_factory=dict[str, str])

    def __or__(self, other: Inspection) -> Inspection:
        return Inspection({**self.result, **other.result}, {**self.pictures, **other.pictures})

    def save(self, folder: Path) -> Path:
        """Write ``inspection.json`` and ``inspection-<name>.svg``, in the place of those that are there.

        :param folder: An existing directory.
        :return: The JSON file.
        """
        for name, svg in self.pictures.items():
            (folder / f"inspection-{name}.svg").write_text(svg, encoding="utf-8")
        (folder / _FILE).write_text(json.dumps(self.result, indent=1) + "\n", encoding="utf-8")
        return folder / _FILE


def inspect_record(
    record: RunRecord, *, searcher: str, arm: str, knowledge: Knowledge, embedder: Embedder | None = None
) -> Inspection:
    """Inspect what a record holds: errors, actions, capacity where it has numbers of records, and alignment.

    :param searcher: Whose ranks are looked at.
    :param arm: Whose misses; it reads a state.
    :param knowledge: What the benchmark knows of the probes.
    :param embedder: For the alignment, which is left out without one.
    :raises InvalidInput: As :func:`~pss_integrations.evaluation.inspection.taxonomy.taxonomy`.
    """
    errors = taxonomy(record, searcher, arm, knowledge)
    shown = dict.fromkeys([*shown_arms(record), *(name for name in record.arms if name.startswith(_ROUTED)), arm])
    result: dict[str, Any] = {"errors": errors.to_dict(), "actions": actions(record, searcher, list(shown))}
    pictures = {"errors": plots.draw_taxonomy(errors)}
    if record.kind == "krecords":
        curves = capacity_curves(record, searcher, list(shown))
        result["capacity"] = {name: curve.to_dict() for name, curve in curves.items()}
        pictures["capacity"] = plots.draw_capacity(curves)
    rewrites = knowledge.rewrites
    has_correct = any(CORRECT in session.states for session in record.sessions)
    if embedder is not None and has_correct and any(rewrites.values()):
        result["alignment"] = align(record, rewrites, embedder).to_dict()
    return Inspection(result, pictures)


def inspect_states(record: RunRecord, source: CachedStates, tell: Tell) -> Inspection:
    """Inspect the correct states of a run on PSS-320: do states of one kind lie near each other?

    Labels are the session's domain, and the category of its first probe, of which its state knows nothing.

    :param source: Has written the states of the run; those that its cache has lost are written again.
    :param tell: Told what is done, how many states are done and how many there are.
    :raises InvalidInput: If the run is not on PSS-320, or its states were written in another way.
    """
    check_same_states(record, source)
    subjects = _subjects(record)
    layout, scaling = source.engine.bank.layout, source.engine.bank.scaling
    prints, energies = list[Any](), list[dict[str, float]]()
    for number, subject in enumerate(subjects):
        tell("fingerprints", number, len(subjects))
        vector = source.compile(subject.messages, subject.targets).vector
        prints.append(fingerprint(layout, vector))
        energies.append(update_energies(layout, vector, scaling))
    labels = {
        "domain": [subject.group for subject in subjects],
        "category": [subject.asked[0].probe.category for subject in subjects],
    }
    found = {name: neighbourhood(prints, of_states).to_dict() for name, of_states in labels.items()}
    pictures = {f"states-{name}": plots.draw_states(prints, of_states) for name, of_states in labels.items()}
    return Inspection(
        {"states": {"labels": found, "energy": _medians(energies)}},
        {**pictures, "energy": plots.draw_energies(energies)},
    )


def check_same_states(record: RunRecord, source: CachedStates) -> None:
    """Refuse to take states for those of a run that they are not.

    :raises InvalidInput: If anything that they depend on differs.
    """
    now = source.describe()
    if differing := [name for name, value in now.items() if record.config.get(name) != value]:
        raise InvalidInput(
            f"the states of this run were written with another {', '.join(differing)}: inspect a run of this version"
        )


def _subjects(record: RunRecord) -> list[Subject]:
    first, *_ = ids = [session.session_id for session in record.sessions]
    if not first.startswith("pss320-"):
        raise InvalidInput(f"the states of a run of {record.kind} have no categories: inspect those of PSS-320")
    sessions = {one.key.session_id: one for one in pss320.generate(POOL, seed=int(first.split("-")[1])).sessions}
    return from_pss320([sessions[one] for one in ids])


def _medians(energies: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each module, and of the whole state's norm."""
    by_module = {path: [one[path] for one in energies] for path in energies[0]}
    whole = np.linalg.norm(np.array(list(by_module.values())), axis=0)
    return {"whole": float(np.median(whole)), **{path: float(np.median(some)) for path, some in by_module.items()}}
