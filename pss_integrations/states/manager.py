"""The shared state manager: compiles, reads and keeps the states of all sessions.

Everything that touches the model is work for one scheduler thread, so a state is never bound where another session
could meet it. The model is loaded by the first compile or read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar

from pss_integrations.errors import CompileInProgress, InvalidInput, StateMismatch
from pss_integrations.states.config import READ_ROWS, CompileConfig, StateConfig
from pss_integrations.states.intake import (
    Built,
    Targets,
    build_targets,
    check_key,
    check_messages,
    check_query,
    check_spoken,
)
from pss_integrations.states.manifest import Cursor, StateInfo, spoken
from pss_integrations.states.scheduler import Scheduler, Work
from pss_integrations.states.stored import StoredStates
from pss_integrations.states.sync import (
    OnError,
    Session,
    SyncOptions,
    SyncProgress,
    SyncReport,
    async_sync,
    sync,
)
from pss_integrations.states.update import OnDiverged, Request, StateUpdate, Updates
from pss_integrations.states.upkeep import Migration, kept_session, to_prune
from pss_integrations.states.worker import Worker
from pss_integrations.types import Clue, Message, SessionKey

if TYPE_CHECKING:
    from pss_integrations.states.backbone import Backbone
    from pss_integrations.states.compiler import Progress
    from pss_integrations.states.engine import Engine

ResultT = TypeVar("ResultT")


class StateManager(StoredStates):
    """Compiles sessions into states and reads clues from them; one for all chains, engines and threads.

    :param path: Directory of the states; ``PSS_HOME`` or the user's data directory by default.
    :param backbone: A loaded backbone, or what :func:`~pss_integrations.states.backbone.load_backbone` takes.
    :param state: Shape of the states.
    :param config: How they are written.
    :param device: ``"cpu"``, ``"cuda"``, ``"mps"`` or ``"auto"``.
    :param dtype: What to compute in; ``"auto"`` takes what the device does fast.
    :param download: Fetch weights that are not in the cache instead of raising ``WeightsNotFetched``.
    :param read_lanes: How many different states one batch of reads can use.
    :param compile_lanes: How many states can be written at once; those that are small are, since that is faster.
    :param resident_bytes: Memory for states that were read lately.
    :param redact: Applied to every text before anything is made of it: to messages, requests and clues. What it takes
        out is neither compiled nor kept. The same text must give the same text.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        backbone: Backbone | str | Path | None = None,
        state: StateConfig | None = None,
        config: CompileConfig | None = None,
        device: str = "auto",
        dtype: str = "auto",
        download: bool = False,
        read_lanes: int = READ_ROWS,
        compile_lanes: int = 4,
        resident_bytes: int = 1 << 30,
        redact: Callable[[str], str] | None = None,
    ) -> None:
        for name, lanes in (("read_lanes", read_lanes), ("compile_lanes", compile_lanes)):
            if lanes < 1:
                raise InvalidInput(f"{name} must be at least 1, got {lanes}")
        super().__init__(path)
        self.state = state or StateConfig()
        self.config = config or CompileConfig()
        self._backbone, self._device, self._dtype, self._download = backbone, device, dtype, download
        self._lanes, self._resident_bytes = (compile_lanes, read_lanes), resident_bytes
        self._redact = redact
        self._scheduler = Scheduler(at_once=compile_lanes)
        self._worker = Worker(self._store, self._load, self.state, self.config, redact)
        self._updates = Updates(
            self._store, self._worker, self._submit_write, redact=redact, history_steps=self.config.history_steps
        )
        self._compiling = set[SessionKey]()
        self._guard = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cancel what is queued, stop the thread and leave the model as it was found."""
        self._scheduler.close()
        self._worker.close()

    def __deepcopy__(self, memo: object) -> Self:
        """Return the manager itself: copies of what holds it share it."""
        return self

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled.

        :raises InvalidInput: Always.
        """
        raise InvalidInput("a manager holds a thread and a model, and cannot be pickled: make one in each process")

    # --- writing

    def compile(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        *,
        targets: Targets | None = None,
        progress: Progress | None = None,
    ) -> StateInfo:
        """Write a session's state from its messages (PSS, section 2.3) and make it the current one.

        :param key: Whose session it is.
        :param messages: The session so far, in order.
        :param targets: Clue targets or a builder of them; ``HistoryTargets()`` by default.
        :param progress: Called in the scheduler's thread after each pass.
        :returns: The manifest of the new state.
        :raises InvalidInput: If there are no messages, or a clue is too long.
        :raises CompileInProgress: If this session is being compiled already, here or in another process.
        :raises StorageError: If the directory cannot be written.
        """
        return self._scheduler.wait(self._submit_write(key, self._prepare(key, messages, targets, False, progress)))

    async def acompile(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        *,
        targets: Targets | None = None,
        progress: Progress | None = None,
    ) -> StateInfo:
        """Do :meth:`compile` without blocking the event loop; cancelling it leaves the old state."""
        work = await asyncio.to_thread(self._prepare, key, messages, targets, False, progress)
        return await asyncio.wrap_future(self._submit_write(key, work))

    def recompile(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        *,
        targets: Targets | None = None,
        progress: Progress | None = None,
    ) -> StateInfo:
        """Go on from the current state with the messages that came since; earlier targets are replayed.

        :param messages: The whole session, of which the current state knows the beginning.
        :raises StateNotFound: If nothing was compiled before.
        :raises HistoryDiverged: If messages that were compiled have changed since.
        """
        return self._scheduler.wait(self._submit_write(key, self._prepare(key, messages, targets, True, progress)))

    async def arecompile(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        *,
        targets: Targets | None = None,
        progress: Progress | None = None,
    ) -> StateInfo:
        """Do :meth:`recompile` without blocking the event loop."""
        work = await asyncio.to_thread(self._prepare, key, messages, targets, True, progress)
        return await asyncio.wrap_future(self._submit_write(key, work))

    def update(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        *,
        targets: Targets | None = None,
        on_diverged: OnDiverged = "compile",
        progress: Progress | None = None,
    ) -> StateUpdate:
        """Bring a session's state up to date: compile what has none, go on where it has grown, else do nothing.

        Where earlier messages were trimmed or summarised, what the state knows of them is kept.

        :param messages: The session so far.
        :param on_diverged: If messages that were compiled have changed since, as after an edit or on a fork: compile
            the session afresh, or keep the state.
        :returns: What became of it; also where nothing could refer to anything, or it is being compiled elsewhere.
        :raises InvalidInput: If an argument cannot be used, or a clue is too long.
        :raises StorageError: If the directory cannot be written.
        """
        request = Request(key, messages, targets=targets, on_diverged=on_diverged, progress=progress)
        return self._scheduler.wait(self._updates.begin(request, self._updates.prepare(request)))

    async def aupdate(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        *,
        targets: Targets | None = None,
        on_diverged: OnDiverged = "compile",
        progress: Progress | None = None,
    ) -> StateUpdate:
        """Do :meth:`update` without blocking the event loop; cancelling it leaves the old state."""
        request = Request(key, messages, targets=targets, on_diverged=on_diverged, progress=progress)
        prepared = await asyncio.to_thread(self._updates.prepare, request)
        return await asyncio.wrap_future(self._updates.begin(request, prepared))

    def sync(
        self,
        source: Iterable[Session],
        *,
        targets: Targets | None = None,
        on_error: OnError = "skip",
        on_diverged: OnDiverged = "compile",
        progress: SyncProgress | None = None,
    ) -> SyncReport:
        """Do :meth:`update` for every session of a source, such as the readers of stored chats of both faces.

        Several are under way at once, and the source is read no faster than they are done. What is current is skipped
        before a model is loaded, so another run goes on where one was interrupted.

        :param source: Sessions with their messages.
        :param on_error: What to do if a session cannot be compiled: go on with the others, or raise. What would fail
            for every session (no weights, no space, a closed manager) is always raised.
        :param progress: Called with the number of sessions that are done, how many there are where the source has a
            length, and what became of the last one.
        :raises InvalidInput: If the source gives anything but pairs of key and messages.
        """
        self._scheduler.check_waiting()
        return sync(self._updates, source, self._sync_options(targets, progress, on_error, on_diverged))

    async def async_sync(
        self,
        source: Iterable[Session] | AsyncIterable[Session],
        *,
        targets: Targets | None = None,
        on_error: OnError = "skip",
        on_diverged: OnDiverged = "compile",
        progress: SyncProgress | None = None,
    ) -> SyncReport:
        """Do :meth:`sync` without blocking the event loop; a source that may block is read in threads."""
        return await async_sync(self._updates, source, self._sync_options(targets, progress, on_error, on_diverged))

    # --- reading

    def read(self, key: SessionKey, query: str) -> Clue:
        """Write a search clue for a query from a session's state (PSS, section 2.4).

        :raises StateNotFound: If nothing was compiled for the session.
        :raises StateMismatch: If its state belongs to another backbone or configuration.
        :raises StateCorrupt: If its files were damaged.
        """
        return self.read_batch([(key, query)])[0]

    async def aread(self, key: SessionKey, query: str) -> Clue:
        """Do :meth:`read` without blocking the event loop."""
        return (await self.aread_batch([(key, query)]))[0]

    def read_batch(self, requests: Iterable[tuple[SessionKey, str]]) -> Sequence[Clue]:
        """Read many queries, of many sessions, in as few passes as fit; in the order of the requests."""
        return self._scheduler.wait(self._submit_read(requests))

    async def aread_batch(self, requests: Iterable[tuple[SessionKey, str]]) -> Sequence[Clue]:
        """Do :meth:`read_batch` without blocking the event loop."""
        return await asyncio.wrap_future(self._submit_read(requests))

    # --- removing, and going back

    def delete(self, key: SessionKey) -> bool:
        """Remove all states of a session, from disk and from memory; returns whether there was one.

        :raises CompileInProgress: If the session is being compiled.
        """
        return self._scheduler.wait(self._scheduler.submit(self._worker.delete(key), urgent=True))

    async def adelete(self, key: SessionKey) -> bool:
        """Do :meth:`delete` without blocking the event loop."""
        return await asyncio.wrap_future(self._scheduler.submit(self._worker.delete(key), urgent=True))

    def rollback(self, key: SessionKey, state_id: str | None = None) -> StateInfo:
        """Make an earlier state of a session the current one; the later ones stay.

        :param state_id: Which one; by default the one that the current state went on from, else the newest that is
            older than the current one.
        :returns: The manifest of what is current now.
        :raises StateNotFound: If there is no such state.
        :raises CompileInProgress: If the session is being compiled.
        """
        return self._scheduler.wait(self._scheduler.submit(self._worker.rollback(key, state_id), urgent=True))

    def prune(self, *, max_bytes: int | None = None, max_age: timedelta | None = None) -> Sequence[StateInfo]:
        """Remove states until what is left is small and young enough; superseded states go before current ones.

        Sessions that are being compiled are left alone.

        :param max_bytes: Most bytes of adapters that may stay.
        :param max_age: States that were written longer ago go.
        :returns: Manifests of what was removed.
        :raises InvalidInput: If neither limit is given, or one is negative.
        """
        current = {info.state_id for info in self._store.all()}
        states = [info for key in self._store.sessions() for info in self._store.versions(key)]
        gone = to_prune(
            [(info, info.state_id in current) for info in states],
            max_bytes=max_bytes,
            max_age=max_age,
            now=datetime.now(UTC),
        )
        removed = self._scheduler.wait(self._scheduler.submit(self._worker.remove(gone), urgent=True))
        return [info for info in gone if info.state_id in removed]

    def migrate(self, *, progress: Progress | None = None) -> Migration:
        """Write the states of other backbones or shapes again for this one, from the text that they kept.

        :param progress: As for :meth:`compile`.
        :returns: What was written again, and what could not be, with the reason.
        """
        migrated, impossible = list[StateInfo](), list[tuple[StateInfo, str]]()
        for info in self.list():
            try:
                self._scheduler.wait(self._scheduler.submit(self._worker.check(info), urgent=True))
            except StateMismatch:
                kept = kept_session(info)
                if isinstance(kept, str):
                    impossible.append((info, kept))
                else:
                    migrated.append(self.compile(info.key, kept[0], targets=kept[1], progress=progress))
        return Migration(tuple(migrated), tuple(impossible))

    async def arollback(self, key: SessionKey, state_id: str | None = None) -> StateInfo:
        """Do :meth:`rollback` without blocking the event loop."""
        return await asyncio.to_thread(self.rollback, key, state_id)

    async def aprune(self, *, max_bytes: int | None = None, max_age: timedelta | None = None) -> Sequence[StateInfo]:
        """Do :meth:`prune` without blocking the event loop."""
        return await asyncio.to_thread(self.prune, max_bytes=max_bytes, max_age=max_age)

    async def amigrate(self, *, progress: Progress | None = None) -> Migration:
        """Do :meth:`migrate` without blocking the event loop."""
        return await asyncio.to_thread(self.migrate, progress=progress)

    # --- work for the scheduler's thread

    def _sync_options(
        self, targets: Targets | None, progress: SyncProgress | None, on_error: OnError, on_diverged: OnDiverged
    ) -> SyncOptions:
        # twice the lanes: none of them waits for the next session's targets
        return SyncOptions(targets, progress, on_error, on_diverged, at_once=2 * self._lanes[0])

    def _build(self, messages: Sequence[Message], targets: Targets | None) -> Built:
        check_messages(messages)
        check_spoken(messages)
        built = build_targets(messages, targets, self._redact)
        if built.found_nothing:
            raise InvalidInput(built.advice)
        return built

    def _prepare(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        targets: Targets | None,
        warm: bool,
        progress: Progress | None,
    ) -> Work[StateInfo]:
        """Check and build all that needs no model; it reads files and every message, so no event loop can do it."""
        check_key(key)
        built = self._build(messages, targets)
        built.check(self.config.history_steps)
        if warm:
            self._store.info(key).cursor.behind(messages)
        self._store.check_writable()
        return self._worker.compile(key, spoken(messages), built, Cursor.behind if warm else None, progress)

    def _submit_write(self, key: SessionKey, work: Work[ResultT]) -> Future[ResultT]:
        """Queue work that writes a session's state, at most one for each session."""
        with self._guard:
            if key in self._compiling:
                raise CompileInProgress(f"session {key.session_id!r} is being compiled already")
            self._compiling.add(key)
        try:
            future = self._scheduler.submit(work, urgent=False)
        except BaseException:
            self._compiling.discard(key)
            raise
        future.add_done_callback(lambda _: self._compiling.discard(key))
        return future

    def _submit_read(self, requests: Iterable[tuple[SessionKey, str]]) -> Future[Sequence[Clue]]:
        pairs = list(requests)
        for key, query in pairs:
            check_key(key)
            check_query(query)
        return self._scheduler.submit(self._worker.read(pairs), urgent=True)

    def _load(self) -> Engine:
        from pss_integrations.states.backbone import DEFAULT_BACKBONE, Backbone, load_backbone
        from pss_integrations.states.engine import Engine

        backbone = self._backbone if self._backbone is not None else DEFAULT_BACKBONE
        if not isinstance(backbone, Backbone):
            backbone = load_backbone(backbone, device=self._device, dtype=self._dtype, download=self._download)
        return Engine(
            backbone,
            self.state,
            self.config,
            compile_lanes=self._lanes[0],
            read_lanes=self._lanes[1],
            resident_bytes=self._resident_bytes,
        )
