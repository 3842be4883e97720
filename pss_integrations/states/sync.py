"""Brings the states of many stored sessions up to date, lazily, and from where an interrupted run ended."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Callable, Generator, Iterable, Mapping, Sequence, Sized
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast, get_args

from pss_integrations.errors import BackboneError, InvalidInput, ManagerClosed, MissingExtra, StorageError
from pss_integrations.states.intake import Targets, check_key
from pss_integrations.states.update import (
    OUTCOMES,
    OnDiverged,
    Outcome,
    Request,
    StateUpdate,
    Updates,
    check_on_diverged,
)
from pss_integrations.types import Message, SessionKey

OnError = Literal["skip", "raise"]
Session = tuple[SessionKey, Sequence[Message]]
SyncProgress = Callable[[int, int | None, StateUpdate], None]
FutureT = TypeVar("FutureT", Future[StateUpdate], "asyncio.Future[StateUpdate]")
_EVERYBODYS = (BackboneError, ManagerClosed, MissingExtra, StorageError)
"""What no other session would be spared."""
_END = object()


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What became of the sessions of a source.

    :param counts: How many there were of each outcome.
    :param failures: The sessions that could not be compiled, each with the error.
    """

    counts: Mapping[Outcome, int]
    failures: tuple[tuple[SessionKey, Exception], ...] = ()

    @property
    def sessions(self) -> int:
        """How many sessions there were."""
        return sum(self.counts.values()) + len(self.failures)


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How a source is gone through.

    :param at_once: How many sessions may be under way.
    :raises InvalidInput: If an option is unknown.
    """

    targets: Targets | None
    progress: SyncProgress | None
    on_error: OnError
    on_diverged: OnDiverged
    at_once: int

    def __post_init__(self) -> None:
        check_on_diverged(self.on_diverged)
        if self.on_error not in get_args(OnError):
            raise InvalidInput(f"on_error must be 'skip' or 'raise', got {self.on_error!r}")

    def request(self, session: Session) -> Request:
        """What is asked for one session."""
        return Request(*session, targets=self.targets, on_diverged=self.on_diverged)


def sync(updates: Updates, source: Iterable[Session], options: SyncOptions) -> SyncReport:
    """Update the sessions of a source, which is read no faster than they are done."""
    tally = _Tally[Future[StateUpdate]](options, source)
    with tally.under_way() as pending:
        for item in source:
            session = _session(item)
            while tally.must_wait_for(session[0]):
                wait(pending, return_when=FIRST_COMPLETED)
                tally.take_done()
            with tally.noting_failure(session[0]):
                request = options.request(session)
                pending[updates.begin(request, updates.prepare(request))] = session[0]
            tally.take_done()
        while pending:
            wait(pending, return_when=FIRST_COMPLETED)
            tally.take_done()
    return tally.report()


async def async_sync(
    updates: Updates, source: Iterable[Session] | AsyncIterable[Session], options: SyncOptions
) -> SyncReport:
    """Do the same without blocking the event loop."""
    tally = _Tally["asyncio.Future[StateUpdate]"](options, source)
    with tally.under_way() as pending:
        async for item in source if isinstance(source, AsyncIterable) else _in_threads(source):
            session = _session(item)
            while tally.must_wait_for(session[0]):
                await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                tally.take_done()
            with tally.noting_failure(session[0]):
                request = options.request(session)
                prepared = await asyncio.to_thread(updates.prepare, request)
                pending[asyncio.wrap_future(updates.begin(request, prepared))] = session[0]
            tally.take_done()
        while pending:
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            tally.take_done()
    return tally.report()


class _Tally(Generic[FutureT]):
    """Counts the sessions of a source, and holds those that are under way."""

    def __init__(self, options: SyncOptions, source: object) -> None:
        self._options = options
        self._total = len(source) if isinstance(source, Sized) else None
        self._pending = dict[FutureT, SessionKey]()
        self._counts = Counter[Outcome]()
        self._failures = list[tuple[SessionKey, Exception]]()

    @contextmanager
    def under_way(self) -> Generator[dict[FutureT, SessionKey]]:
        """The updates under way, cancelled if the run ends before them."""
        try:
            yield self._pending
        finally:
            for future in self._pending:
                future.cancel()

    def must_wait_for(self, key: SessionKey) -> bool:
        """Whether a session cannot be begun before others are done: there are enough, or one is itself."""
        return len(self._pending) >= self._options.at_once or key in self._pending.values()

    @contextmanager
    def noting_failure(self, key: SessionKey) -> Generator[None]:
        """Go on after an error of this session."""
        try:
            yield
        except _EVERYBODYS:
            raise
        except Exception as error:
            if self._options.on_error == "raise":
                raise
            self._failures.append((key, error))

    def take_done(self) -> None:
        """Count what is done, in the order of the source."""
        for future in [one for one in self._pending if one.done()]:
            key = self._pending.pop(future)
            with self.noting_failure(key):
                if future.cancelled():
                    raise ManagerClosed("the state manager was closed before the work was done")
                update = future.result()
                self._counts[update.outcome] += 1
                self._tell(update)

    def _tell(self, update: StateUpdate) -> None:
        if self._options.progress:
            self._options.progress(self._counts.total() + len(self._failures), self._total, update)

    def report(self) -> SyncReport:
        """What became of all of them."""
        return SyncReport({outcome: self._counts[outcome] for outcome in OUTCOMES}, tuple(self._failures))


def _session(item: object) -> Session:
    if not isinstance(item, tuple) or len(pair := cast("tuple[Any, ...]", item)) != 2:
        raise InvalidInput(f"a source gives pairs of SessionKey and messages, got {type(item).__name__}")
    check_key(pair[0])
    return pair


async def _in_threads(source: Iterable[Session]) -> AsyncIterator[Session]:
    """The sessions of a source that may block."""
    sessions = iter(source)
    while (session := await asyncio.to_thread(next, cast("Any", sessions), _END)) is not _END:
        yield cast("Session", session)
