"""An index in a directory: complete whenever it is there, and noticed when a file of it is not the one saved.

::

    <index>/manifest.json     the format, and the SHA-256 of every other file
            passages.json     [doc_id, text, title, metadata] of each passage
            ...               what the kind of index adds
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast

from pss_integrations.errors import InvalidInput
from pss_integrations.types import Passage

_MANIFEST = "manifest.json"
_PASSAGES = "passages.json"


@dataclass(frozen=True, slots=True)
class IndexFormat:
    """A kind of index.

    :param kind: What messages call it, e.g. ``"BM25 index"``.
    :param version: What its manifest says; an index with another one is refused.
    """

    kind: str
    version: str

    def save(
        self,
        path: str | PathLike[str],
        passages: Sequence[Passage],
        add_files: Callable[[Path], None],
        about: Mapping[str, Any],
    ) -> None:
        """Write an index in one step.

        :param path: A directory that does not exist yet, is empty, or holds an index of this kind, which is replaced.
        :param add_files: Writes everything but the passages into the directory that it is given.
        :param about: What else the manifest says.
        :raises InvalidInput: If something else is there, or a passage's metadata cannot be kept as JSON.
        """
        target = Path(path)
        self._check_replaceable(target)
        records = [_to_record(passage) for passage in passages]
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
            built = Path(scratch, "new")
            built.mkdir()
            _write_json(built / _PASSAGES, records)
            add_files(built)
            _write_json(built / _MANIFEST, {"format": self.version, "files": _digests(built), **about})
            _replace(target, built, aside=Path(scratch, "old"))

    def load(self, path: str | PathLike[str]) -> tuple[list[Passage], dict[str, Any]]:
        """Read the passages and the manifest of an index, all of whose files were found to be those saved.

        :raises InvalidInput: If the directory is missing, holds something else, or a file in it was
            truncated, altered or mixed in from another index.
        """
        source = Path(path)
        manifest = self._read_manifest(source)
        if not manifest["files"].items() <= _digests(source).items():
            raise InvalidInput(f"the index at {source} is incomplete or was altered: build and save it again")
        return [_from_record(record) for record in _read_json(source / _PASSAGES)], manifest

    def _check_replaceable(self, target: Path) -> None:
        is_free = not target.exists() or (target.is_dir() and not any(target.iterdir()))
        if not is_free:
            self._read_manifest(target)

    def _read_manifest(self, directory: Path) -> dict[str, Any]:
        try:
            manifest = _read_json(directory / _MANIFEST)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{directory} holds no {self.kind}: {type(error).__name__}") from error
        manifest = cast("dict[str, Any]", manifest) if isinstance(manifest, dict) else {}
        if manifest.get("format") != self.version or _PASSAGES not in manifest.get("files", {}):
            raise InvalidInput(f"{directory} holds no {self.kind} of format {self.version}: build and save it again")
        return manifest


def _to_record(passage: Passage) -> list[Any]:
    metadata = dict(passage.metadata)
    try:
        is_kept = json.loads(json.dumps(metadata)) == metadata
    except (TypeError, ValueError):
        is_kept = False
    if not is_kept:
        raise InvalidInput(f"metadata of passage {passage.doc_id!r} must be plain JSON to be saved")
    return [passage.doc_id, passage.text, passage.title, metadata]


def _from_record(record: list[Any]) -> Passage:
    doc_id, text, title, metadata = record
    return Passage(doc_id, text, title, metadata)


def _digests(directory: Path) -> dict[str, str]:
    files = sorted(file for file in directory.iterdir() if file.name != _MANIFEST)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _replace(target: Path, built: Path, aside: Path) -> None:
    if target.exists():
        target.rename(aside)
    try:
        built.rename(target)
    except OSError:
        if aside.exists():
            aside.rename(target)
        raise
