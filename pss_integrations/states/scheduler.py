"""The one thread that owns the model: compile steps and reads are items of its queue.

Nobody else touches the bank, so there is no lock to forget and no state that another session could meet. Work is a
generator that yields between steps; a read goes before the next compile step, and a cancelled item ends at its next
step, its ``finally`` blocks run by this thread. Work may yield a step that is yet to be run: steps of several
background items are run together where they fit.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol, TypeVar

from pss_integrations.errors import ManagerClosed, StateError

_URGENT_TURNS = 64
"""Turns in a row that urgent items may take while background ones wait: reads without end never stop a compile."""


class JointStep(Protocol):
    """A step of work that can be run together with steps of other work."""

    def fits(self, others: Sequence[Any], /) -> bool:
        """Whether it is worth running with the others, in one go."""
        ...

    def run(self, others: Sequence[Any] = (), /) -> None:
        """Run it, and the others with it."""
        ...


ResultT = TypeVar("ResultT")
Work = Generator[JointStep | None, None, ResultT]


@dataclass(slots=True, eq=False)
class _Item:
    work: Work[Any]
    future: Future[Any]
    step: JointStep | None = None


class Scheduler:
    """Runs work in one thread, urgent items first, each queue in order of arrival.

    :param at_once: How many background items may be under way.
    """

    def __init__(self, at_once: int = 1) -> None:
        self._at_once = at_once
        self._urgent: deque[_Item] = deque()
        self._background: deque[_Item] = deque()
        self._urgent_turns = 0
        self._wake = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def submit(self, work: Work[ResultT], *, urgent: bool) -> Future[ResultT]:
        """Queue work; the future can be cancelled until the work is done.

        :param work: A generator; its return value becomes the future's result.
        :param urgent: Whether it goes before background work, between two steps of it.
        :raises ManagerClosed: If the scheduler was closed.
        :raises StateError: If the process is a fork of the one whose thread this is.
        """
        if self._was_forked():
            raise StateError(
                "this state manager was used before the process was forked, and its thread stayed behind: make a "
                "StateManager in each process"
            )
        future: Future[ResultT] = Future()
        with self._wake:
            if self._closed:
                raise ManagerClosed("the state manager was closed; make a new one")
            (self._urgent if urgent else self._background).append(_Item(work, future))
            if self._thread is None:
                self._process = os.getpid()
                self._thread = threading.Thread(target=self._run, name="pss-scheduler", daemon=True)
                self._thread.start()
            self._wake.notify()
        return future

    def wait(self, future: Future[ResultT]) -> ResultT:
        """Block until a future is done; if the wait is interrupted, the work is cancelled.

        :raises StateError: If called from the scheduler's own thread, where it could never end.
        """
        try:
            self.check_waiting()
            return future.result()
        except StateError:
            future.cancel()
            raise
        except CancelledError as error:
            raise ManagerClosed("the state manager was closed before the work was done") from error
        except KeyboardInterrupt:
            future.cancel()
            raise

    def check_waiting(self) -> None:
        """Refuse to wait in the scheduler's own thread, where it could never end.

        :raises StateError: If this is that thread.
        """
        if threading.current_thread() is self._thread:
            raise StateError("a progress callback cannot wait for other work of the same manager")

    def close(self) -> None:
        """Cancel what is queued, let the running step end, and stop the thread."""
        if self._was_forked():  # what is queued is the other process's, and so may be the lock
            return
        with self._wake:
            self._closed = True
            items = [*self._urgent, *self._background]
            self._wake.notify()
        for item in items:
            item.future.cancel()
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join()

    def _was_forked(self) -> bool:
        return self._thread is not None and self._process != os.getpid()

    def _run(self) -> None:
        while self._go_on():  # in a frame of its own: while it waits, the thread holds nothing of what it did last
            pass

    def _go_on(self) -> bool:
        """Wait for work and do some of it; returns whether there may be more."""
        with self._wake:
            while not (self._urgent or self._background or self._closed):
                self._wake.wait()
            urgent, background = [*self._urgent], [*islice(self._background, self._at_once)]
            cancelled = [item for item in (*self._urgent, *self._background) if item.future.cancelled()]
        if cancelled:
            for item in cancelled:
                self._end(item)
        elif urgent and not (background and self._urgent_turns >= _URGENT_TURNS):
            self._urgent_turns += bool(background)
            self._advance(urgent[0])
        elif background:
            self._urgent_turns = 0
            self._take_turn(background)
        return bool(urgent or background)

    def _take_turn(self, items: Sequence[_Item]) -> None:
        """Run the first item's step and those that fit; before that, a turn brings one item to its next step."""
        ready, steps = list[_Item](), list[JointStep]()
        for item in items:
            if item.step is None:
                self._advance(item)
                return
            if not steps or item.step.fits(steps):
                ready.append(item)
                steps.append(item.step)
        for item in ready:
            item.step = None
        try:
            steps[0].run(steps[1:])
        except BaseException as error:
            if len(ready) == 1:
                self._advance(ready[0], error)
                return
            for item, step in zip(ready, steps, strict=True):  # one of them may be at fault, or all were too much
                self._run_alone(item, step)

    def _run_alone(self, item: _Item, step: JointStep) -> None:
        try:
            step.run()
        except BaseException as error:
            self._advance(item, error)

    def _advance(self, item: _Item, error: BaseException | None = None) -> None:
        """Let an item go on to its next step, or to its end; an error of its step is raised inside it."""
        try:
            item.step = item.work.throw(error) if error else next(item.work)
        except StopIteration as stop:
            self._end(item)
            with suppress(InvalidStateError):  # cancelled in the meantime
                item.future.set_result(stop.value)
        except BaseException as raised:
            self._end(item)
            with suppress(InvalidStateError):
                item.future.set_exception(raised)

    def _end(self, item: _Item) -> None:
        with suppress(Exception):  # nobody waits for what a cancelled item still does
            item.work.close()
        with self._wake:
            (self._urgent if item in self._urgent else self._background).remove(item)
