"""The one thread that owns the model: compile steps and reads are items of its queue.

Nobody else touches the bank, so there is no lock to forget and no state that another session could meet. Work is a
generator that yields between steps; a read goes before the next compile step, and a cancelled item ends at its next
step, its ``finally`` blocks run by this thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from pss_integrations.errors import ManagerClosed, StateError

ResultT = TypeVar("ResultT")
Work = Generator[None, None, ResultT]


@dataclass(slots=True, eq=False)
class _Item:
    work: Work[Any]
    future: Future[Any]


class Scheduler:
    """Runs work in one thread, urgent items first, each queue in order of arrival."""

    def __init__(self) -> None:
        self._urgent: deque[_Item] = deque()
        self._background: deque[_Item] = deque()
        self._wake = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def submit(self, work: Work[ResultT], *, urgent: bool) -> Future[ResultT]:
        """Queue work; the future can be cancelled until the work is done.

        :param work: A generator; its return value becomes the future's result.
        :param urgent: Whether it goes before background work, between two steps of it.
        :raises ManagerClosed: If the scheduler was closed.
        """
        future: Future[ResultT] = Future()
        with self._wake:
            if self._closed:
                raise ManagerClosed("the state manager was closed; make a new one")
            (self._urgent if urgent else self._background).append(_Item(work, future))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="pss-scheduler", daemon=True)
                self._thread.start()
            self._wake.notify()
        future.add_done_callback(self._notify)
        return future

    def wait(self, future: Future[ResultT]) -> ResultT:
        """Block until a future is done; if the wait is interrupted, the work is cancelled.

        :raises StateError: If called from the scheduler's own thread, where it could never end.
        """
        if threading.current_thread() is self._thread:
            future.cancel()
            raise StateError("a progress callback cannot wait for other work of the same manager")
        try:
            return future.result()
        except CancelledError as error:
            raise ManagerClosed("the state manager was closed before the work was done") from error
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel what is queued, let the running step end, and stop the thread."""
        with self._wake:
            self._closed = True
            items = [*self._urgent, *self._background]
            self._wake.notify()
        for item in items:
            item.future.cancel()
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join()

    def _notify(self, _: Future[Any]) -> None:
        with self._wake:
            self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not (self._urgent or self._background or self._closed):
                    self._wake.wait()
                waiting = [*self._urgent, *self._background]
            if not waiting:
                return
            cancelled = [item for item in waiting if item.future.cancelled()]
            for item in cancelled:
                with suppress(Exception):  # nobody waits for it
                    item.work.close()
                self._drop(item)
            if not cancelled and _advance(waiting[0]):
                self._drop(waiting[0])

    def _drop(self, item: _Item) -> None:
        with self._wake:
            (self._urgent if item in self._urgent else self._background).remove(item)


def _advance(item: _Item) -> bool:
    """Run one step; return whether the item is done."""
    try:
        next(item.work)
    except StopIteration as stop:
        with suppress(InvalidStateError):  # cancelled in the meantime
            item.future.set_result(stop.value)
        return True
    except BaseException as error:
        with suppress(InvalidStateError):
            item.future.set_exception(error)
        return True
    return False
