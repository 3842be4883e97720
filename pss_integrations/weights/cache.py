"""What lies in the cache: where, whether it is complete, whether it is intact."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import platformdirs
from filelock import FileLock
from pydantic import BaseModel, ValidationError

from pss_integrations.errors import BackboneError, WeightsCorrupt, WeightsNotFetched
from pss_integrations.weights.registry import MODELS, PackagedModel, model_named

_RECEIPT = "weights.json"


class FileRecord(BaseModel, frozen=True):
    """One file as it was published: bytes, and SHA-256 in hex."""

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> FileRecord:
        """Read and hash a file."""
        with path.open("rb") as file:
            return cls(size=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest())


class Receipt(BaseModel, frozen=True):
    """Written last into a model's directory; one of another format counts as absent.

    :param wheel_sha256: Hash of the wheel that the files were made from.
    :param files: File name to size and hash.
    """

    format: Literal[1] = 1
    wheel_sha256: str
    files: Mapping[str, FileRecord]

    @classmethod
    def write(cls, directory: Path, model: PackagedModel) -> None:
        """Record every file of a directory."""
        files = {path.name: FileRecord.of(path) for path in sorted(directory.iterdir())}
        receipt = cls(wheel_sha256=model.sha256, files=files)
        (directory / _RECEIPT).write_text(receipt.model_dump_json(indent=2), encoding="utf-8")

    @classmethod
    def read(cls, model: PackagedModel) -> Receipt | None:
        """Read what was recorded for a model, if it was made from the wheel that is current."""
        try:
            receipt = cls.model_validate_json((home_of(model) / _RECEIPT).read_bytes())
        except (OSError, ValidationError):
            return None
        return receipt if receipt.wheel_sha256 == model.sha256 else None


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A packaged model, and whether it is here.

    :param path: Its directory; ``None`` if it was not fetched.
    :param size: Bytes on disk; 0 if it was not fetched.
    :param source: Where it comes from.
    :param licence: SPDX identifier of the weights' licence.
    """

    name: str
    path: Path | None
    size: int
    source: str
    licence: str

    @property
    def fetched(self) -> bool:
        """Whether it is ready to load."""
        return self.path is not None


def cache_dir() -> Path:
    """Directory of everything that can be fetched again: ``PSS_CACHE``, else the user's cache directory."""
    given = os.environ.get("PSS_CACHE")
    return Path(given).expanduser() if given else platformdirs.user_cache_path("pss-integrations", appauthor=False)


def home_of(model: PackagedModel) -> Path:
    """Directory of a model, whether or not it is there."""
    return cache_dir() / "models" / model.name


def partial_of(model: PackagedModel) -> Path:
    """Directory of whatever is half written or half deleted."""
    return cache_dir() / "partial" / model.name


def is_complete(model: PackagedModel) -> bool:
    """Whether every recorded file is there with its size; hashes nothing and writes nothing."""
    receipt = Receipt.read(model)
    return receipt is not None and all(
        _size(home_of(model) / name) == record.size for name, record in receipt.files.items()
    )


def path_of(name: str) -> Path:
    """Return the directory of a packaged model, ready for ``from_pretrained``; runs and writes nothing.

    :param name: A key of :data:`MODELS`.
    :raises WeightsNotFetched: If it is not in the cache, or not complete.
    :raises InvalidInput: If there is no such model.
    """
    model = model_named(name)
    if not is_complete(model):
        raise _not_fetched(model)
    return home_of(model)


def _not_fetched(model: PackagedModel) -> WeightsNotFetched:
    return WeightsNotFetched(
        f"{model.name} is not in the cache {cache_dir()}. Run: pssi models fetch {model.name}  "
        f"(from {model.source}, licence {model.licence})"
    )


def verify(name: str) -> None:
    """Hash every file of a fetched model.

    :raises WeightsCorrupt: If a file is missing or is not what was published.
    :raises WeightsNotFetched: If the model was not fetched.
    :raises InvalidInput: If there is no such model.
    """
    model = model_named(name)
    receipt = Receipt.read(model)
    if receipt is None:
        raise _not_fetched(model)
    for file, record in receipt.files.items():
        path = home_of(model) / file
        if _size(path) != record.size or FileRecord.of(path) != record:
            raise WeightsCorrupt(
                f"{path} was altered after it was fetched. Run: pssi models remove {name} && pssi models fetch {name}"
            )


def list_models() -> list[ModelStatus]:
    """Every packaged model by name, fetched or not."""
    return [_status(MODELS[name]) for name in sorted(MODELS)]


def _status(model: PackagedModel) -> ModelStatus:
    home = home_of(model) if is_complete(model) else None
    size = sum(path.stat().st_size for path in home.iterdir()) if home else 0
    return ModelStatus(model.name, home, size, model.source, model.licence)


def remove(name: str) -> bool:
    """Delete a model from the cache; one that is being fetched is waited for.

    :returns: Whether there was anything to delete.
    :raises BackboneError: If it cannot be deleted.
    :raises InvalidInput: If there is no such model.
    """
    model = model_named(name)
    with locked(model):
        found = home_of(model).exists()
        discard(model)
    return found


def discard(model: PackagedModel) -> None:
    """Delete what is there of a model, complete or not; renamed first, so that it is never seen half deleted.

    The caller holds the lock, so whatever is partial belongs to nobody who is alive.
    """
    partial = partial_of(model)
    _delete(partial)
    if home_of(model).exists():
        partial.parent.mkdir(parents=True, exist_ok=True)
        home_of(model).rename(partial)
        _delete(partial)


def _delete(directory: Path) -> None:
    with suppress(FileNotFoundError):
        shutil.rmtree(directory)


@contextmanager
def locked(model: PackagedModel) -> Generator[None]:
    """Hold a model against other processes that would change it.

    :raises BackboneError: If the cache cannot be written, in here or inside the block.
    """
    locks = cache_dir() / "locks"
    try:
        locks.mkdir(parents=True, exist_ok=True)
        with FileLock(locks / f"{model.name}.lock"):
            yield
    except OSError as error:
        raise BackboneError(
            f"the cache {cache_dir()} cannot be written: {error.strerror or error}. "
            "Free some space there, or set PSS_CACHE to another directory"
        ) from error


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Replace a JSON file of the cache atomically; a cache that cannot be written is left as it is."""
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_text(json.dumps(values, indent=2, sort_keys=True), encoding="utf-8")
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
