"""The record of a run: one JSON file with its whole configuration and what each probe got; it is never overwritten."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pss_integrations.errors import InvalidInput

_PACKAGES = ("pss-integrations", "torch", "transformers", "bm25s", "chromadb", "numpy", "scipy", "statsmodels")
_FILE = "run.json"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProbeRecord(_Model):
    """One probe.

    :param groups: Number of evidence groups; 0 if nothing answers it.
    :param clues: State name to the clue that it wrote, and the name of another source of texts to its text.
    :param left_alone: Arms that searched with nothing but the query.
    :param ranks: Searcher name to arm name to the rank of each group's first document, from 1; empty without evidence.
    :param titles: The same to the rank of the first document that has the title of one that is evidence; empty if no
        title is shared.
    """

    query: str
    category: str
    groups: int
    clues: Mapping[str, str]
    left_alone: list[str]
    ranks: Mapping[str, Mapping[str, list[int | None]]]
    titles: Mapping[str, Mapping[str, int | None]] = Field(default_factory=dict[str, Mapping[str, int | None]])


class SessionRecord(_Model):
    """One session: the unit of inference.

    :param states: State name to how it was written (seconds, steps, targets).
    """

    session_id: str
    group: str
    states: Mapping[str, Mapping[str, Any]]
    probes: list[ProbeRecord]


class Family(_Model):
    """Comparisons that are corrected together (Holm), declared before the run.

    :param question: What it asks, for people.
    :param treatment: The arm that is expected to be better.
    :param controls: The arms it is compared with.
    :param category: Only probes of this category; all if ``None``.
    :param joint: Whether better than every control together is what is claimed (PSS, appendix O).
    :param left_out: Controls that were declared and not run.
    """

    question: str
    treatment: str
    controls: list[str]
    category: str | None = None
    joint: bool = False
    left_out: list[str] = []


class RunRecord(_Model):
    """One run.

    :param kind: The benchmark: ``"pss320"``, ``"krecords"`` or a data set's name.
    :param config: Everything the result depends on.
    :param metric: The primary metric's name, and ``k`` its cut-off.
    :param focus: The category that the first tables are about; all if ``None``.
    :param depth: How many documents each search returned.
    """

    format: Literal["pss-evaluation-1"] = "pss-evaluation-1"
    kind: str
    created_at: datetime
    config: Mapping[str, Any]
    versions: Mapping[str, str] = Field(default_factory=lambda: installed_versions())
    machine: Mapping[str, Any] = Field(default_factory=lambda: this_machine())
    metric: str
    k: int
    focus: str | None = None
    depth: int
    arms: list[str]
    searchers: list[str]
    families: list[Family]
    sessions: list[SessionRecord]

    def save(self, directory: Path) -> Path:
        """Write ``<directory>/<kind>-<time>/run.json`` and return it.

        :raises InvalidInput: If that run is already there: a record is never overwritten.
        """
        folder = run_folder(directory, self.kind, self.created_at)
        content = self.model_dump(mode="json", exclude={"sessions"})
        lines = ",\n".join(json.dumps(one.model_dump(mode="json"), separators=(",", ":")) for one in self.sessions)
        (folder / _FILE).write_text(
            f'{json.dumps(content, indent=1)[:-2]},\n "sessions": [\n{lines}\n ]\n}}\n', encoding="utf-8"
        )
        return folder / _FILE

    @classmethod
    def load(cls, path: Path) -> RunRecord:
        """Read a record: its file, or the folder it lies in.

        :raises InvalidInput: If there is none, or of another format.
        """
        file = path / _FILE if path.is_dir() else path
        try:
            return cls.model_validate_json(file.read_bytes())
        except (OSError, ValidationError) as error:
            raise InvalidInput(f"{file} is no record of a run: {str(error).splitlines()[0]}") from error


def run_folder(directory: Path, kind: str, created_at: datetime) -> Path:
    """Make the folder of a run, ``<directory>/<kind>-<time>``.

    :raises InvalidInput: If it is there already.
    """
    folder = directory / f"{kind}-{created_at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise InvalidInput(f"{folder} is there already, and a record is never overwritten") from error
    return folder


def installed_versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def this_machine() -> dict[str, Any]:
    """Processor, cores and threads, for the timings."""
    import torch

    return {"processor": _processor(), "cores": os.cpu_count(), "threads": torch.get_num_threads()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
