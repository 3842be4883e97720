"""What the store does with single files and directories."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from pss_integrations.errors import StorageError


@contextmanager
def storage_errors(path: Path) -> Generator[None]:
    """Say that ``path`` cannot be written, where the system only says why."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error


def names_in(directory: str | Path) -> list[str]:
    """Sorted names of what lies in a directory, but for hidden things; none if there is no such directory.

    :raises StorageError: If it cannot be read.
    """
    try:
        return sorted(name for name in os.listdir(directory) if not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StorageError(f"{directory} cannot be read: {error.strerror or error}") from error


def read_small(path: str) -> bytes:
    """The first KiB of a file; half as dear as ``open``, which counts where there are thousands."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 1024)
    finally:
        os.close(descriptor)


def sha256_of(path: str) -> str:
    """SHA-256 of a file, in hex digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(path: Path, data: bytes) -> None:
    """Write a file, and wait until it is on the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk, where a system knows how to."""
    if os.name == "posix":
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_empty(directory: Path) -> None:
    """Remove a directory if it is empty; others may remove it or write into it at the same time."""
    with suppress(OSError):
        directory.rmdir()
