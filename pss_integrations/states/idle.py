"""Notices what was not touched for some time."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
Wait = Callable[[threading.Condition, float | None], object]


class IdleTimer(Generic[KeyT]):
    """Calls back once for each key that is not touched for some time; one thread, which the first touch starts.

    :param seconds: How long.
    :param idle: Called in the thread; raises nothing.
    :param clock: Seconds that only grow.
    :param wait: Waits on a condition, at most so many seconds.
    """

    def __init__(
        self,
        seconds: float,
        idle: Callable[[KeyT], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        wait: Wait = threading.Condition.wait,
    ) -> None:
        self._seconds, self._idle, self._clock, self._wait = seconds, idle, clock, wait
        self._changed = threading.Condition()
        self._ends = OrderedDict[KeyT, float]()  # the first to end comes first
        self._thread: threading.Thread | None = None
        self._closed = False

    def touch(self, key: KeyT) -> None:
        """Begin the time of a key anew."""
        with self._changed:
            is_first = not self._ends
            self._ends[key] = self._clock() + self._seconds
            self._ends.move_to_end(key)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="pss-idle", daemon=True)
                self._thread.start()
            elif is_first:
                self._changed.notify()

    def close(self) -> None:
        """End the thread; nothing is called back any more."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while (keys := self._next()) is not None:
            for key in keys:
                self._idle(key)

    def _next(self) -> list[KeyT] | None:
        """Wait for the next keys whose time is over; ``None`` when closed."""
        with self._changed:
            while not self._closed:
                now = self._clock()
                if over := [key for key, end in self._ends.items() if end <= now]:
                    for key in over:
                        del self._ends[key]
                    return over
                self._wait(self._changed, next(iter(self._ends.values())) - now if self._ends else None)
            return None
