"""Work in a few threads that is due for a key once, however often it is asked for, and done one piece at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, Literal, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ResultT = TypeVar("ResultT")


class Debounced(Generic[KeyT, ResultT]):
    """Does what is due for each key, one piece at a time for each, in the order in which it became due.

    :param work: Does it for one key.
    :param threads: How many threads there are at most; they start with the first work.
    """

    def __init__(self, work: Callable[[KeyT], ResultT], threads: int) -> None:
        self._work, self._threads = work, threads
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._queued = dict[KeyT, Future[ResultT]]()
        self._running = dict[KeyT, Future[ResultT]]()

    def submit(self, key: KeyT) -> None:
        """Make work due, unless it is queued already; while some is being done, it is done once more."""
        with self._lock:
            if key not in self._queued:
                self._pool = self._pool or ThreadPoolExecutor(self._threads, thread_name_prefix="pss-growth")
                self._pool.submit(self._take_turns)
                self._queued[key] = Future()

    def stage(self, key: KeyT) -> Literal["compiling", "queued"] | None:
        """Whether the work of a key is being done, is queued, or neither."""
        with self._lock:
            if key in self._running:
                return "compiling"
            return "queued" if key in self._queued else None

    def futures(self, key: KeyT | None) -> list[Future[ResultT]]:
        """What is being done and what is queued, in this order, for a key or for all."""
        with self._lock:
            both = (self._running, self._queued)
            return [future for part in both for of, future in part.items() if key is None or of == key]

    def close(self) -> None:
        """Finish what is queued, and end the threads; others start with the next work."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def _take_turns(self) -> None:
        while (key := self._take()) is not None:
            try:
                result = self._work(key)
            except BaseException as error:
                self._finish(key).set_exception(error)
            else:
                self._finish(key).set_result(result)

    def _take(self) -> KeyT | None:
        with self._lock:
            key = next((key for key in self._queued if key not in self._running), None)
            if key is not None:
                self._running[key] = self._queued.pop(key)
            return key

    def _finish(self, key: KeyT) -> Future[ResultT]:
        with self._lock:
            return self._running.pop(key)
