"""Work in a few threads for many: in order for each key, side by side for different ones."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import NamedTuple

_THREADS = 4


class _Item(NamedTuple):
    work: Callable[[], None]
    done: Future[None]


class Background:
    """Does the work of each key in order, one piece at a time, so that what is slow for one key makes no other wait.

    The keys take turns at a few threads, which start with the first work. What was submitted is done, also when the
    interpreter ends meanwhile.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._queues = dict[Hashable, deque[_Item]]()  # of each key, with what is being done in front
        self._ready = deque[Hashable]()  # keys with work, of which nothing is being done

    def submit(self, key: Hashable, work: Callable[[], None]) -> None:
        """Do something after all that was submitted for its key before.

        :param work: Raises nothing.
        """
        with self._lock:
            if key not in self._queues:
                self._queues[key] = deque()
                self._ready.append(key)
            self._queues[key].append(_Item(work, Future()))
            self._pool = self._pool or ThreadPoolExecutor(_THREADS, thread_name_prefix="pss-beliefs")
            self._pool.submit(self._work)

    def wait(self, key: Hashable | None, timeout: float | None) -> bool:
        """Wait for all that was submitted for a key so far, or for any; return whether it is done.

        :param timeout: Seconds to wait.
        """
        with self._lock:
            queues = list(self._queues.values()) if key is None else [self._queues.get(key, ())]
            left = [item.done for queue in queues for item in queue]
        return not wait(left, timeout).not_done

    def close(self) -> None:
        """Finish what was submitted, and end the threads; others start with the next work."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def _work(self) -> None:
        while (key := self._take()) is not None:
            item = self._queues[key][0]
            try:
                item.work()
            finally:
                self._finish(key)
                item.done.set_result(None)

    def _take(self) -> Hashable | None:
        with self._lock:
            return self._ready.popleft() if self._ready else None

    def _finish(self, key: Hashable) -> None:
        with self._lock:
            queue = self._queues[key]
            queue.popleft()
            if queue:
                self._ready.append(key)
            else:
                del self._queues[key]
