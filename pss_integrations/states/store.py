"""States on disk: PEFT files and a manifest, addressed by content; the store is the truth.

::

    states/<key digest>/<state id>/adapter_config.json
                                   adapter_model.safetensors
                                   manifest.json
    states/<key digest>/current            names the state in use, replaced atomically
    locks/<key digest>.lock                held while a session is compiled or deleted

A state is written under a temporary name, synced and renamed, so a name that can be read is always complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import ValidationError

from pss_integrations.errors import (
    CompileInProgress,
    InvalidInput,
    StateCorrupt,
    StateNotFound,
    StorageError,
)
from pss_integrations.states.manifest import StateInfo
from pss_integrations.types import SessionKey

ADAPTER = "adapter_model.safetensors"
ADAPTER_CONFIG = "adapter_config.json"
MANIFEST = "manifest.json"
_CURRENT = "current"
_PARTIAL = ".partial-"


class StateStore:
    """Files of all sessions under one directory; safe for several processes.

    :param root: The directory; made when first written to.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def check_writable(self) -> None:
        """Fail early if nothing can be written.

        :raises StorageError: If the directory is read-only, no directory, or the disk is full.
        """
        with _storage_errors(self.root):
            self._states.mkdir(parents=True, exist_ok=True)
            probe = self._states / f"{_PARTIAL}{uuid.uuid4().hex}"
            probe.write_bytes(b"\0")
            probe.unlink()

    @contextmanager
    def lock(self, key: SessionKey) -> Generator[None]:
        """Hold a session against other writers, in all processes.

        :raises CompileInProgress: If another one holds it.
        """
        with _storage_errors(self.root):
            (self.root / "locks").mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.root / "locks" / f"{key.digest}.lock", thread_local=False)
            try:
                lock.acquire(blocking=False)
            except Timeout as error:
                raise CompileInProgress(f"session {key.session_id!r} is being compiled elsewhere") from error
        try:
            yield
        finally:
            lock.release()

    def save(self, info: StateInfo, adapter: bytes, adapter_config: dict[str, Any]) -> StateInfo:
        """Write a state and make it the current one of its session; nothing is left if that fails.

        :raises StorageError: If it cannot be written.
        """
        info = info.model_copy(update={"state_id": info.content_id()})
        home = self._states / info.key.digest
        partial = home / f"{_PARTIAL}{uuid.uuid4().hex}"
        with _storage_errors(self.root):
            try:
                partial.mkdir(parents=True)
                _write(partial / ADAPTER, adapter)
                _write(partial / ADAPTER_CONFIG, json.dumps(adapter_config, indent=2, sort_keys=True).encode())
                _write(partial / MANIFEST, info.model_dump_json(indent=2).encode())
                if not (home / info.state_id).exists():  # the same content may be there already
                    partial.rename(home / info.state_id)
                self._point(home, info.state_id)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        return self._read(home / info.state_id)

    def info(self, key: SessionKey) -> StateInfo:
        """Manifest of the current state.

        :raises StateNotFound: If there is none.
        :raises StateCorrupt: If its files are damaged.
        """
        return self._read(self.directory(key))

    def directory(self, key: SessionKey) -> Path:
        """Directory of the current state, in PEFT's format.

        :raises StateNotFound: If there is none.
        """
        home = self._states / key.digest
        try:
            state_id = (home / _CURRENT).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise StateNotFound(
                f"no state was compiled for session {key.session_id!r} of {_user(key)} in {self.root}"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise StateCorrupt(f"{home / _CURRENT} cannot be read: {error}") from error
        if not (home / state_id).is_dir() or Path(state_id).name != state_id:
            raise StateCorrupt(f"{home / _CURRENT} names a state that is not there")
        return home / state_id

    def adapter(self, info: StateInfo) -> bytes:
        """The adapter file of a state, checked against the manifest.

        :raises StateCorrupt: If it is missing, truncated or altered.
        """
        path = self._states / info.key.digest / info.state_id / ADAPTER
        try:
            data = path.read_bytes()
        except OSError as error:
            raise StateCorrupt(f"{path} cannot be read: {error}") from error
        if len(data) != info.adapter_bytes or hashlib.sha256(data).hexdigest() != info.adapter_sha256:
            raise StateCorrupt(f"{path} is not what was written: delete the state and compile it again")
        return data

    def all(self) -> Iterator[StateInfo]:
        """Manifests of all current states, in no particular order; damaged ones are left out."""
        for current in sorted(self._states.glob(f"*/{_CURRENT}")):
            with suppress(StateCorrupt, OSError, UnicodeDecodeError):
                yield self._read(current.parent / current.read_text(encoding="ascii").strip())

    def versions(self, key: SessionKey) -> list[StateInfo]:
        """Manifests of all states of a session, the newest first; damaged ones are left out."""
        found = list[StateInfo]()
        for manifest in (self._states / key.digest).glob(f"[!.]*/{MANIFEST}"):
            with suppress(StateCorrupt):
                found.append(self._read(manifest.parent))
        return sorted(found, key=lambda info: (info.created_at, info.state_id), reverse=True)

    def sessions(self) -> list[SessionKey]:
        """Every session that has a state, current or not, in no particular order."""
        keys = dict[SessionKey, None]()
        for manifest in self._states.glob(f"*/[!.]*/{MANIFEST}"):
            with suppress(StateCorrupt):
                keys[self._read(manifest.parent).key] = None
        return list(keys)

    def use(self, info: StateInfo) -> None:
        """Make a state that is there the current one of its session.

        :raises StorageError: If that cannot be written.
        """
        with _storage_errors(self.root):
            self._point(self._states / info.key.digest, info.state_id)

    def remove(self, info: StateInfo) -> None:
        """Remove one state; a session whose current state it was has none then.

        :raises StorageError: If the files cannot be removed.
        """
        home = self._states / info.key.digest
        with _storage_errors(self.root):
            current = home / _CURRENT
            if current.exists() and current.read_text(encoding="ascii").strip() == info.state_id:
                current.unlink()  # from here on nobody finds it
            shutil.rmtree(home / info.state_id)
            if not any(home.iterdir()):
                home.rmdir()

    def delete(self, key: SessionKey) -> bool:
        """Remove all states of a session; returns whether there was one.

        :raises StorageError: If the files cannot be removed.
        """
        home = self._states / key.digest
        with _storage_errors(self.root):
            if not home.exists():
                return False
            (home / _CURRENT).unlink(missing_ok=True)  # from here on nobody finds it
            shutil.rmtree(home)
        return True

    def export(self, key: SessionKey, target: Path) -> Path:
        """Copy the current state's PEFT files into a new directory ``target``, without the manifest's text.

        :raises InvalidInput: If ``target`` exists and is not empty.
        """
        source = self.directory(key)
        self.adapter(self._read(source))
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InvalidInput(f"{target} exists and is not an empty directory")
        with _storage_errors(target):
            target.mkdir(parents=True, exist_ok=True)
            for name in (ADAPTER, ADAPTER_CONFIG):
                shutil.copyfile(source / name, target / name)
        return target

    @property
    def _states(self) -> Path:
        return self.root / "states"

    def _point(self, home: Path, state_id: str) -> None:
        temporary = home / f"{_PARTIAL}{uuid.uuid4().hex}"
        try:
            _write(temporary, state_id.encode())
            temporary.replace(home / _CURRENT)
            _sync_directory(home)
        finally:
            temporary.unlink(missing_ok=True)

    def _read(self, directory: Path) -> StateInfo:
        try:
            info = StateInfo.model_validate_json((directory / MANIFEST).read_bytes())
        except (OSError, ValidationError, ValueError) as error:
            reason = "has an unknown form" if isinstance(error, ValidationError) else str(error)
            raise StateCorrupt(f"{directory / MANIFEST} {reason}") from error
        if not info.state_id == info.content_id() == directory.name or info.key.digest != directory.parent.name:
            raise StateCorrupt(f"{directory / MANIFEST} was altered or moved")
        return info


def _user(key: SessionKey) -> str:
    return "no user" if key.user_id is None else f"user {key.user_id!r}"


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _storage_errors(path: Path) -> Generator[None]:
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
