"""What was made of files that are written once, for as long as the files stay as they were."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")
_Stamp = tuple[int, int, int, int, int]

_SETTLED_NS = 2_000_000_000
"""The coarsest clock of a file system in use, FAT's: two writes within one tick may leave the same stamp."""


class FileCache(Generic[ValueT]):
    """Values made of files, made again when a file is another one or was changed; safe for several threads.

    A file is known by device, inode, size and times, so asking for it again costs one ``stat``. What was made of a
    file that was written a moment ago is not kept.

    :param most: How much is kept; what was asked for longest ago leaves.
    :param weigh: How much of ``most`` a file takes, by its size in bytes; by default ``most`` counts files.
    """

    def __init__(self, most: int, weigh: Callable[[int], int] = lambda size: 1) -> None:
        self._most, self._weigh = most, weigh
        self._kept = OrderedDict[str, tuple[_Stamp, ValueT]]()
        self._weight = 0
        self._lock = Lock()
        self.reads = 0
        """How many times a value was made, so a file was read."""

    def __len__(self) -> int:
        """Return how many values are kept."""
        return len(self._kept)

    def get(self, path: str, make: Callable[[str], ValueT]) -> ValueT:
        """Return what ``make`` makes of a file, or made of it before.

        :raises OSError: If the file is not there or cannot be looked at; what was kept of it is dropped.
        """
        stamp = self._look(path)
        with self._lock:
            if (known := self._kept.get(path)) is not None and known[0] == stamp:
                self._kept.move_to_end(path)
                return known[1]
            self._drop(path)
            self.reads += 1
        value = make(path)
        if time.time_ns() - stamp[3] > _SETTLED_NS and self._weigh(stamp[2]) <= self._most:
            with self._lock:
                self._keep(path, stamp, value)
        return value

    def forget(self, directory: str) -> None:
        """Drop what was made of the files below a directory."""
        below = f"{directory}{os.sep}"
        with self._lock:
            for path in [path for path in self._kept if path.startswith(below)]:
                self._drop(path)

    def _look(self, path: str) -> _Stamp:
        """Device, inode, size, and times in ns; the last one tells a change even where the other was set back."""
        try:
            stat = os.stat(path)
        except OSError:
            with self._lock:
                self._drop(path)
            raise
        return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns

    def _keep(self, path: str, stamp: _Stamp, value: ValueT) -> None:
        self._drop(path)
        self._kept[path] = (stamp, value)
        self._weight += self._weigh(stamp[2])
        while self._weight > self._most:
            self._drop(next(iter(self._kept)))

    def _drop(self, path: str) -> None:
        if (known := self._kept.pop(path, None)) is not None:
            self._weight -= self._weigh(known[0][2])
