"""States on disk: PEFT files and a manifest, addressed by content; the store is the truth.

::

    states/<user digest>/<session digest>/<state id>/adapter_config.json
                                                     adapter_model.safetensors
                                                     manifest.json
    states/<user digest>/<session digest>/current    names the state in use, replaced atomically
    locks/<session digest>.lock                      held while a session is compiled or deleted

A state is written under a temporary name, synced and renamed, so a name that can be read is always complete. What was
checked once is not read again until its file changes.
"""

from __future__ import annotations

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

from pss_integrations.errors import CompileInProgress, InvalidInput, StateCorrupt, StateNotFound
from pss_integrations.identity import UNSET, Unset
from pss_integrations.states import files
from pss_integrations.states.filecache import FileCache
from pss_integrations.states.manifest import StateInfo, digest_of
from pss_integrations.types import SessionKey

ADAPTER = "adapter_model.safetensors"
ADAPTER_CONFIG = "adapter_config.json"
MANIFEST = "manifest.json"
CURRENT = "current"
_PARTIAL = ".partial-"
_MANIFEST_BYTES = 128 << 20
_DIGESTS = 1 << 17


class StateStore:
    """Files of all sessions under one directory; safe for several processes.

    :param root: The directory; made when first written to.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.manifests = FileCache[StateInfo](_MANIFEST_BYTES, weigh=lambda size: size)
        """Manifests that were checked, up to 128 MiB of their text, so some ten thousand."""
        self.digests = FileCache[str](_DIGESTS)
        """SHA-256 of the adapter files that were read."""
        self._currents = FileCache[str](_DIGESTS)

    def check_writable(self) -> None:
        """Fail early if nothing can be written.

        :raises StorageError: If the directory is read-only, no directory, or the disk is full.
        """
        with files.storage_errors(self.root):
            self._states.mkdir(parents=True, exist_ok=True)
            probe = self._states / f"{_PARTIAL}{uuid.uuid4().hex}"
            probe.write_bytes(b"\0")
            probe.unlink()

    @contextmanager
    def lock(self, key: SessionKey) -> Generator[None]:
        """Hold a session against other writers, in all processes.

        :raises CompileInProgress: If another one holds it.
        """
        with files.storage_errors(self.root):
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
        home = self.home(info.key)
        partial = home / f"{_PARTIAL}{uuid.uuid4().hex}"
        with files.storage_errors(self.root):
            try:
                try:
                    partial.mkdir(parents=True)
                except FileNotFoundError:  # another session's deletion took the user's empty directory away
                    partial.mkdir(parents=True)
                files.write(partial / ADAPTER, adapter)
                files.write(partial / ADAPTER_CONFIG, json.dumps(adapter_config, indent=2, sort_keys=True).encode())
                files.write(partial / MANIFEST, info.model_dump_json(indent=2).encode())
                if (home / info.state_id).exists():  # the same content; only when it was written is news
                    (partial / MANIFEST).replace(home / info.state_id / MANIFEST)
                else:
                    partial.rename(home / info.state_id)
                self._point(home, info.state_id)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        return self._read(str(home), info.state_id)

    def info(self, key: SessionKey) -> StateInfo:
        """Manifest of the current state.

        :raises StateNotFound: If there is none.
        :raises StateCorrupt: If its files are damaged.
        """
        current = self.directory(key)
        try:
            return self._read(str(current.parent), current.name)
        except StateCorrupt:
            current = self.directory(key)  # another process may have deleted or pruned it between the two looks
            return self._read(str(current.parent), current.name)

    def home(self, key: SessionKey) -> Path:
        """Directory of all states of a session, whether there are any or not."""
        return self._states / _user_digest(key.user_id) / key.digest

    def directory(self, key: SessionKey) -> Path:
        """Directory of the current state, in PEFT's format.

        :raises StateNotFound: If there is none.
        :raises StateCorrupt: If what names it is damaged.
        """
        home = self.home(key)
        for _ in range(2):  # it may be replaced or deleted between the two looks
            state_id = self._current(str(home))
            if state_id is None:
                raise StateNotFound(
                    f"no state was compiled for session {key.session_id!r} of {_user(key)} in {self.root}"
                )
            if (home / state_id).is_dir():
                return home / state_id
        raise StateCorrupt(f"{home / CURRENT} names a state that is not there")

    def adapter(self, info: StateInfo) -> Path:
        """The adapter file of a state, checked against the manifest; hashed again only if it changed since.

        :raises StateCorrupt: If it is missing, truncated or altered.
        """
        path = self.home(info.key) / info.state_id / ADAPTER
        try:
            digest = self.digests.get(str(path), files.sha256_of)
        except OSError as error:
            raise StateCorrupt(f"{path} cannot be read: {error}") from error
        if digest != info.adapter_sha256:
            raise StateCorrupt(f"{path} is not what was written: delete the state and compile it again")
        return path

    def all(self, *, user_id: str | Unset | None = UNSET, after: SessionKey | None = None) -> Iterator[StateInfo]:
        """Manifests of the current states, read one by one as they are asked for; damaged ones are left out.

        They come in the order of their directories, so by two digests: it means nothing, and it does not change when
        other states come or go.

        :param user_id: Only this user's; no directory of another one is looked into then.
        :param after: Only what comes after this session, which may be gone meanwhile.
        :raises StorageError: If a directory cannot be read.
        """
        for home in self._homes(user_id, after):
            with suppress(StateCorrupt):
                if (state_id := self._current(home)) is not None:
                    yield self._read(home, state_id)

    def versions(self, key: SessionKey) -> list[StateInfo]:
        """Manifests of all states of a session, the newest first; damaged ones are left out."""
        return self._versions(str(self.home(key)))

    def sessions(self) -> list[SessionKey]:
        """Every session that has a state, current or not, in the order of :meth:`all`."""
        return [versions[0].key for home in self._homes() if (versions := self._versions(home))]

    def use(self, info: StateInfo) -> None:
        """Make a state that is there the current one of its session.

        :raises StorageError: If that cannot be written.
        """
        with files.storage_errors(self.root):
            self._point(self.home(info.key), info.state_id)

    def remove(self, info: StateInfo) -> None:
        """Remove one state; a session whose current state it was has none then.

        :raises StorageError: If the files cannot be removed.
        """
        home = self.home(info.key)
        with files.storage_errors(self.root):
            current = home / CURRENT
            if current.exists() and current.read_text(encoding="ascii").strip() == info.state_id:
                current.unlink()  # from here on nobody finds it
            with suppress(FileNotFoundError):  # another process was faster
                shutil.rmtree(home / info.state_id)
            files.remove_empty(home)
            files.remove_empty(home.parent)
        self._forget(home / info.state_id)

    def delete(self, key: SessionKey) -> bool:
        """Remove all states of a session; returns whether there was one.

        :raises StorageError: If the files cannot be removed.
        """
        home = self.home(key)
        with files.storage_errors(self.root):
            if not home.exists():
                return False
            (home / CURRENT).unlink(missing_ok=True)  # from here on nobody finds it
            shutil.rmtree(home)
            files.remove_empty(home.parent)
        self._forget(home)
        return True

    def export(self, key: SessionKey, target: Path) -> Path:
        """Copy the current state's PEFT files into a new directory ``target``, without the manifest's text.

        :raises InvalidInput: If ``target`` exists and is not empty.
        """
        source = self.adapter(self.info(key)).parent
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InvalidInput(f"{target} exists and is not an empty directory")
        with files.storage_errors(target):
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
            files.write(temporary, state_id.encode())
            temporary.replace(home / CURRENT)
            for directory in (home, home.parent, self._states):
                files.sync_directory(directory)
        finally:
            temporary.unlink(missing_ok=True)

    # Below, paths are strings put together by hand: making a Path costs as much as reading what it names, joining half
    # of that, and there may be many thousands.

    def _homes(self, user_id: str | Unset | None = UNSET, after: SessionKey | None = None) -> Iterator[str]:
        """Directories of sessions, in the order of their names."""
        last = (_user_digest(after.user_id), after.digest) if after else ("", "")
        for user in files.names_in(self._states) if isinstance(user_id, Unset) else [_user_digest(user_id)]:
            if user >= last[0]:
                home = str(self._states / user)
                yield from (f"{home}{os.sep}{name}" for name in files.names_in(home) if (user, name) > last)

    def _current(self, home: str) -> str | None:
        """Which state of a session is in use; ``None`` if none is."""
        path = f"{home}{os.sep}{CURRENT}"
        try:
            state_id = self._currents.get(path, _text_of)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StateCorrupt(f"{path} cannot be read: {error}") from error
        if not state_id.isalnum():
            raise StateCorrupt(f"{path} holds no name of a state")
        return state_id

    def _versions(self, home: str) -> list[StateInfo]:
        found = list[StateInfo]()
        for name in files.names_in(home):
            if name != CURRENT:
                with suppress(StateCorrupt):
                    found.append(self._read(home, name))
        return sorted(found, key=lambda info: (info.created_at, info.state_id), reverse=True)

    def _read(self, home: str, state_id: str) -> StateInfo:
        path = f"{home}{os.sep}{state_id}{os.sep}{MANIFEST}"
        try:
            return self.manifests.get(path, self._check)
        except OSError as error:
            raise StateCorrupt(f"{path} cannot be read: {error}") from error

    def _check(self, path: str) -> StateInfo:
        try:
            info = StateInfo.model_validate_json(Path(path).read_bytes())
        except ValidationError as error:
            raise StateCorrupt(f"{path} has an unknown form") from error
        if info.state_id != info.content_id() or Path(path).parent != self.home(info.key) / info.state_id:
            raise StateCorrupt(f"{path} was altered or moved")
        return info

    def _forget(self, directory: Path) -> None:
        self.manifests.forget(str(directory))
        self.digests.forget(str(directory))
        self._currents.forget(str(directory))


def _text_of(path: str) -> str:
    return files.read_small(path).decode("ascii").strip()


def _user_digest(user_id: str | None) -> str:
    """Name of a user's directory; no user is ``null`` in JSON, and no string is. Short, for paths have a limit."""
    return digest_of(user_id)[:40]


def _user(key: SessionKey) -> str:
    return "no user" if key.user_id is None else f"user {key.user_id!r}"
