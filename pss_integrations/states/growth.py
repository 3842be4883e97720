"""Compiles sessions in the background when they have grown.

Nothing runs before a session is observed. The threads here make clue targets and wait; the model belongs to the
manager's scheduler, where reads go before the next compile step, so background compiles never hold a read up for longer
than one step. They take no priority of their own beyond that.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextvars import Context, copy_context
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol, Self

from pss_integrations.errors import InvalidInput, ManagerClosed, StateError
from pss_integrations.forks import renew_after_fork
from pss_integrations.states.debounce import Debounced
from pss_integrations.states.idle import IdleTimer, Wait
from pss_integrations.states.intake import Targets, check_key, check_messages
from pss_integrations.states.manifest import spoken
from pss_integrations.states.policy import GrowthPolicy
from pss_integrations.states.update import OnDiverged, StateUpdate, check_on_diverged
from pss_integrations.types import Message, SessionKey

_LOG = logging.getLogger(__name__)
_SETTLED = 4096
"""Sessions whose status is remembered though nothing of them waits."""


class Updater(Protocol):
    """What is asked of a :class:`~pss_integrations.states.manager.StateManager`."""

    def messages_behind(self, key: SessionKey, messages: Sequence[Message]) -> int:
        """How many of these messages came after the last compile."""
        ...

    def update(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        *,
        targets: Targets | None = None,
        on_diverged: OnDiverged = "compile",
    ) -> StateUpdate:
        """Bring the session's state up to date, and wait for that."""
        ...


@dataclass(frozen=True, slots=True)
class CompileStatus:
    """Where a session stands.

    :param state: ``"unseen"`` if it was never observed; ``"waiting"`` for more messages; ``"queued"``;
        ``"compiling"``; ``"current"`` if no message came since the last compile; ``"failed"`` if that raised.
    :param behind: How many messages came after the last compile.
    :param update: What the last attempt gave that did not fail.
    :param error: What the last attempt raised.
    """

    state: Literal["unseen", "waiting", "queued", "compiling", "current", "failed"]
    behind: int = 0
    update: StateUpdate | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Observed:
    """The messages of a session, and where they were observed."""

    messages: tuple[Message, ...]
    context: Context


@dataclass(slots=True)
class _Watched:
    """A session, with what was observed last unless it is being compiled, or was."""

    newest: _Observed | None = None
    behind: int = 0
    tried: int = 0  # of them, those that the last attempt saw
    update: StateUpdate | None = None
    error: Exception | None = None


class BackgroundCompiler:
    """Compiles the sessions that it is shown when they have grown, one compile at a time for each session.

    What was observed is not kept when the process ends: the next :meth:`observe` of the session, or
    :meth:`StateManager.sync <pss_integrations.states.manager.StateManager.sync>`, finds what was not compiled.

    :param manager: Compiles them; close it after this.
    :param policy: When; after 8 new messages by default.
    :param targets: Clue targets or a builder of them; ``HistoryTargets()`` by default.
    :param on_diverged: What to do if earlier messages changed, as for :meth:`StateManager.update
        <pss_integrations.states.manager.StateManager.update>`.
    :param threads: How many sessions are compiled side by side.
    :param on_error: Told of each compile that failed, in its thread; it is logged, and seen in the status, as well.
    :param clock: Seconds that only grow, by which a session is idle.
    :param wait: Waits on a condition, at most so many seconds.
    :raises InvalidInput: If there are no threads.
    """

    def __init__(
        self,
        manager: Updater,
        policy: GrowthPolicy | None = None,
        *,
        targets: Targets | None = None,
        on_diverged: OnDiverged = "compile",
        threads: int = 1,
        on_error: Callable[[SessionKey, Exception], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait: Wait = threading.Condition.wait,
    ) -> None:
        if threads < 1:
            raise InvalidInput(f"threads must be at least 1, got {threads}")
        check_on_diverged(on_diverged)
        self.policy = policy or GrowthPolicy()
        self._manager, self._targets = manager, targets
        self._on_diverged: OnDiverged = on_diverged
        self._threads, self._on_error = threads, on_error
        self._clock, self._wait = clock, wait
        self._closed = False
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Forget what the process that this one was forked from has observed, and its threads; called by itself."""
        self._lock = threading.Lock()
        self._watched = dict[SessionKey, _Watched]()
        self._settled = OrderedDict[SessionKey, None]()
        self._work = Debounced(self._compile, self._threads)
        seconds = self.policy.idle_seconds
        self._timer = None if seconds is None else IdleTimer(seconds, self._idle, clock=self._clock, wait=self._wait)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def observe(self, key: SessionKey, messages: Sequence[Message]) -> CompileStatus:
        """Take note of a session, and have it compiled if it has grown enough; without waiting for that.

        No model is loaded here; the most that is read is the manifest of the session's state. While the session is
        queued, its newest messages are compiled in the place of those before; while it is being compiled, they are
        compiled once more afterwards, if they are enough by then.

        :param messages: The session so far.
        :return: Where the session stands now.
        :raises InvalidInput: If the key is no key, or a message no message.
        :raises ManagerClosed: If this was closed.
        """
        check_key(key)
        check_messages(messages)
        observed = _Observed(tuple(messages), copy_context())
        with self._lock:
            self._check_open()
            self._settled.pop(key, None)
            self._watched.setdefault(key, _Watched()).newest = observed
        self._weigh(key, observed)
        if self._timer is not None:
            self._timer.touch(key)
        return self.status(key)

    async def aobserve(self, key: SessionKey, messages: Sequence[Message]) -> CompileStatus:
        """Do :meth:`observe` without blocking the event loop, not even to read a manifest."""
        return await asyncio.to_thread(self.observe, key, messages)

    def status(self, key: SessionKey) -> CompileStatus:
        """Where a session stands; those that were settled long ago may be unseen again."""
        with self._lock:
            watched = self._watched.get(key)
            if watched is None:
                return CompileStatus("unseen")
            at_rest = "failed" if watched.error else "waiting" if watched.behind else "current"
            state = self._work.stage(key) or at_rest
            return CompileStatus(state, watched.behind, watched.update, watched.error)

    def flush(self, key: SessionKey | None = None, timeout: float | None = None) -> bool:
        """Compile what was observed, enough or not, and what failed once more; and wait for it.

        :param key: Only this session.
        :param timeout: Seconds to wait; what is not done by then goes on.
        :return: Whether all of it is done.
        :raises Exception: The first error of those compiles.
        """
        futures = self._submit_all(key)
        is_done = not wait(futures, timeout).not_done
        _raise_first(futures)
        return is_done

    async def aflush(self, key: SessionKey | None = None, timeout: float | None = None) -> bool:  # noqa: ASYNC109
        """Do :meth:`flush` without blocking the event loop."""
        futures = self._submit_all(key)
        left = [asyncio.wrap_future(future) for future in futures if not future.done()]
        for future in left:  # else the loop would say of an error after the time is over that nobody saw it
            future.add_done_callback(lambda done: done.cancelled() or done.exception())
        is_done = not left or not (await asyncio.wait(left, timeout=timeout))[1]
        _raise_first(futures)
        return is_done

    def close(self) -> None:
        """Finish what is queued, and end the threads; what was not enough to be queued is not compiled."""
        with self._lock:
            self._closed = True
        if self._timer is not None:
            self._timer.close()
        self._work.close()

    def _weigh(self, key: SessionKey, observed: _Observed) -> None:
        """Queue a session if what was observed is enough."""
        behind, said = self._behind(key, observed.messages), spoken(observed.messages)
        with self._lock:
            watched = self._watched.get(key)
            if watched is None or watched.newest is not observed:  # it is being compiled, or newer ones are weighed
                return
            watched.behind, watched.tried = behind, min(watched.tried, behind)
            if not self._closed and self.policy.is_due(said[len(said) - behind + watched.tried :]):
                self._work.submit(key)

    def _behind(self, key: SessionKey, messages: Sequence[Message]) -> int:
        try:
            return self._manager.messages_behind(key, messages)
        except StateError:  # there is no state, or a damaged one, of which the compile will tell
            return len(spoken(messages))

    def _idle(self, key: SessionKey) -> None:
        with self._lock:
            if not self._closed:
                self._submit_waiting(key)

    def _submit_all(self, key: SessionKey | None) -> list[Future[None]]:
        if key is not None:
            check_key(key)
        with self._lock:
            self._check_open()
            for one in list(self._watched) if key is None else [key]:
                self._submit_waiting(one)
            return self._work.futures(key)

    def _submit_waiting(self, key: SessionKey) -> None:
        watched = self._watched.get(key)
        if watched is not None and watched.newest is not None:
            self._work.submit(key)

    def _compile(self, key: SessionKey) -> None:
        """Compile the newest messages of a session, in the context in which they were observed."""
        with self._lock:
            watched = self._watched.get(key)
            if watched is None or watched.newest is None:  # they came so late that the compile before took them
                return
            taken, watched.newest = watched.newest, None
            watched.tried = watched.behind
        try:
            update = taken.context.run(self._update, key, taken.messages)
        except Exception as error:
            self._settle(key, watched, taken, error)
            taken.context.run(self._report, key, error)
            raise
        self._settle(key, watched, taken, update)

    def _update(self, key: SessionKey, messages: Sequence[Message]) -> StateUpdate:
        return self._manager.update(key, messages, targets=self._targets, on_diverged=self._on_diverged)

    def _settle(self, key: SessionKey, watched: _Watched, taken: _Observed, result: StateUpdate | Exception) -> None:
        """Note what became of a session, and look at what was observed meanwhile."""
        behind = self._behind(key, taken.messages)
        with self._lock:
            watched.behind = watched.tried = behind
            if isinstance(result, StateUpdate):
                watched.update, watched.error = result, None
            else:
                watched.error = result
                watched.newest = watched.newest or taken
            if watched.newest is None:
                self._settled[key] = None
            while len(self._settled) > _SETTLED:
                del self._watched[self._settled.popitem(last=False)[0]]
            newest = watched.newest
        if newest not in (None, taken):
            self._weigh(key, newest)

    def _report(self, key: SessionKey, error: Exception) -> None:
        _LOG.error("a session could not be compiled", exc_info=error)
        if self._on_error:
            try:
                self._on_error(key, error)
            except Exception:
                _LOG.exception("on_error raised")

    def _check_open(self) -> None:
        if self._closed:
            raise ManagerClosed("the background compiler was closed; make a new one")


def _raise_first(futures: Sequence[Future[None]]) -> None:
    for future in futures:
        if future.done() and (error := future.exception()):
            raise error
