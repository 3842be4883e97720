"""The shared state manager: compiles, reads and keeps the states of all sessions.

Everything that touches the model is work for one scheduler thread, so a state is never bound where another session
could meet it. The model is loaded by the first compile or read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from pss_integrations.errors import CompileInProgress, InvalidInput, StateMismatch, StateNotFound
from pss_integrations.home import home_dir
from pss_integrations.identity import UNSET, Unset
from pss_integrations.states.config import READ_ROWS, CompileConfig, StateConfig
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.states.manifest import StateInfo, spoken
from pss_integrations.states.redaction import redacted, redacted_targets
from pss_integrations.states.scheduler import Scheduler
from pss_integrations.states.store import StateStore
from pss_integrations.states.targets import ExplicitTargets, TargetBuilder
from pss_integrations.states.upkeep import Migration, kept_session, to_prune
from pss_integrations.states.worker import Worker
from pss_integrations.types import Clue, ClueTarget, Message, SessionKey

if TYPE_CHECKING:
    from pss_integrations.states.backbone import Backbone
    from pss_integrations.states.compiler import Progress
    from pss_integrations.states.engine import Engine

ResultT = TypeVar("ResultT")
Targets = TargetBuilder | Sequence[ClueTarget]


class StateManager:
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
        self.path = Path(path) if path is not None else home_dir()
        self.state = state or StateConfig()
        self.config = config or CompileConfig()
        self._backbone, self._device, self._dtype, self._download = backbone, device, dtype, download
        self._lanes, self._resident_bytes = (compile_lanes, read_lanes), resident_bytes
        self._redact = redact
        self._store = StateStore(self.path)
        self._scheduler = Scheduler(at_once=compile_lanes)
        self._worker = Worker(self._store, self._load, self.state, self.config, redact)
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
        return self._scheduler.wait(
            self._submit_compile(key, messages, self._build(messages, targets), False, progress)
        )

    async def acompile(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        *,
        targets: Targets | None = None,
        progress: Progress | None = None,
    ) -> StateInfo:
        """Do :meth:`compile` without blocking the event loop; cancelling it leaves the old state."""
        built = await asyncio.to_thread(self._build, messages, targets)
        return await asyncio.wrap_future(self._submit_compile(key, messages, built, False, progress))

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
        return self._scheduler.wait(self._submit_compile(key, messages, self._build(messages, targets), True, progress))

    async def arecompile(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        *,
        targets: Targets | None = None,
        progress: Progress | None = None,
    ) -> StateInfo:
        """Do :meth:`recompile` without blocking the event loop."""
        built = await asyncio.to_thread(self._build, messages, targets)
        return await asyncio.wrap_future(self._submit_compile(key, messages, built, True, progress))

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

    # --- what is stored

    def has_state(self, key: SessionKey) -> bool:
        """Whether a state was compiled for this session."""
        try:
            self._store.directory(key)
        except StateNotFound:
            return False
        return True

    def messages_behind(self, key: SessionKey, messages: Sequence[Message]) -> int:
        """How many of these messages, the whole session or its latest part, came after the last compile.

        :raises StateNotFound: If nothing was compiled for the session.
        """
        return self._store.info(key).cursor.count_after(messages)

    def engine_of(self, key: SessionKey) -> str:
        """What tells backbone and configuration of a session's state from all others: 64 hex digits.

        :raises StateNotFound: If nothing was compiled for the session.
        """
        return self._store.info(key).engine_digest

    def info(self, key: SessionKey) -> StateInfo:
        """Manifest of a session's state.

        :raises StateNotFound: If nothing was compiled for the session.
        """
        return self._store.info(key)

    def list(
        self, *, user_id: str | Unset | None = UNSET, limit: int | None = None, after: SessionKey | None = None
    ) -> list[StateInfo]:
        """Manifests of all states, or of one user's, whole or page by page.

        They come in the order of their directories: it means nothing, but it is the same for every page and does not
        change when other states come or go. A page reads no manifests but its own.

        :param user_id: Only this user's; ``None`` is those of sessions without a user.
        :param limit: The most that are returned.
        :param after: The session of the last manifest of the page before.
        :raises InvalidInput: If ``limit`` is below one, or ``after`` is of another user.
        """
        if limit is not None and limit < 1:
            raise InvalidInput(f"limit must be at least 1, got {limit}")
        if after is not None and user_id is not UNSET and after.user_id != user_id:
            raise InvalidInput(f"after names a session of user {after.user_id!r}, the list is of user {user_id!r}")
        return [*islice(self._store.all(user_id=user_id, after=after), limit)]

    def delete(self, key: SessionKey) -> bool:
        """Remove all states of a session, from disk and from memory; returns whether there was one.

        :raises CompileInProgress: If the session is being compiled.
        """
        return self._scheduler.wait(self._scheduler.submit(self._worker.delete(key), urgent=True))

    async def adelete(self, key: SessionKey) -> bool:
        """Do :meth:`delete` without blocking the event loop."""
        return await asyncio.wrap_future(self._scheduler.submit(self._worker.delete(key), urgent=True))

    def versions(self, key: SessionKey) -> Sequence[StateInfo]:
        """Manifests of all states of a session that are kept, the newest first; none if there are none."""
        return self._store.versions(key)

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

    def export(self, key: SessionKey, target: str | Path) -> Path:
        """Copy a state into a new directory that ``PeftModel.from_pretrained`` and vLLM load.

        :raises StateNotFound: If nothing was compiled for the session.
        :raises InvalidInput: If the directory exists and is not empty.
        """
        return self._store.export(key, Path(target))

    async def arollback(self, key: SessionKey, state_id: str | None = None) -> StateInfo:
        """Do :meth:`rollback` without blocking the event loop."""
        return await asyncio.to_thread(self.rollback, key, state_id)

    async def aprune(self, *, max_bytes: int | None = None, max_age: timedelta | None = None) -> Sequence[StateInfo]:
        """Do :meth:`prune` without blocking the event loop."""
        return await asyncio.to_thread(self.prune, max_bytes=max_bytes, max_age=max_age)

    async def amigrate(self, *, progress: Progress | None = None) -> Migration:
        """Do :meth:`migrate` without blocking the event loop."""
        return await asyncio.to_thread(self.migrate, progress=progress)

    async def ainfo(self, key: SessionKey) -> StateInfo:
        """Do :meth:`info` without blocking the event loop."""
        return await asyncio.to_thread(self.info, key)

    async def alist(
        self, *, user_id: str | Unset | None = UNSET, limit: int | None = None, after: SessionKey | None = None
    ) -> list[StateInfo]:
        """Do :meth:`list` without blocking the event loop."""
        return await asyncio.to_thread(self.list, user_id=user_id, limit=limit, after=after)

    async def aexport(self, key: SessionKey, target: str | Path) -> Path:
        """Do :meth:`export` without blocking the event loop."""
        return await asyncio.to_thread(self.export, key, target)

    # --- work for the scheduler's thread

    def _build(self, messages: Sequence[Message], targets: Targets | None) -> tuple[TargetBuilder, list[ClueTarget]]:
        _check_messages(messages)
        if not spoken(messages):
            raise InvalidInput("there are no messages to compile" if not messages else "all messages are blank")
        if self._redact:
            messages = [redacted(message, self._redact) for message in messages]
        builder = ExplicitTargets(targets) if isinstance(targets, Sequence) else targets or HistoryTargets()
        built = builder.build(messages)
        if self._redact:
            built = redacted_targets(built, self._redact)
        if not built and not isinstance(builder, ExplicitTargets):
            raise InvalidInput(
                f"the target builder {builder.name!r} found nothing that a follow-up could refer to; give other "
                "targets, or an empty list for a state that knows the history alone"
            )
        return builder, built

    def _submit_compile(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        built: tuple[TargetBuilder, list[ClueTarget]],
        warm: bool,
        progress: Progress | None,
    ) -> Future[StateInfo]:
        _check_key(key)
        if not built[1] and not self.config.history_steps:
            raise InvalidInput("no clue targets and history_steps=0: there is nothing to compile")
        if warm:
            self._store.info(key).cursor.behind(messages)
        with self._guard:
            if key in self._compiling:
                raise CompileInProgress(f"session {key.session_id!r} is being compiled already")
            self._compiling.add(key)
        try:
            self._store.check_writable()
            work = self._worker.compile(key, spoken(messages), built, warm, progress)
            future = self._scheduler.submit(work, urgent=False)
        except BaseException:
            self._compiling.discard(key)
            raise
        future.add_done_callback(lambda _: self._compiling.discard(key))
        return future

    def _submit_read(self, requests: Iterable[tuple[SessionKey, str]]) -> Future[Sequence[Clue]]:
        pairs = list(requests)
        for key, query in pairs:
            _check_key(key)
            _check_query(query)
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


def _check_key(key: object) -> None:
    """Refuse what is no session key, before any work."""
    if not isinstance(key, SessionKey):
        raise InvalidInput(f"a session is named by SessionKey(user_id=..., session_id=...), got {type(key).__name__}")


def _check_query(query: object) -> None:
    """Refuse what is no text, before any work."""
    if not isinstance(query, str):
        raise InvalidInput(f"a query must be a string, got {type(query).__name__}")


def _check_messages(messages: Iterable[object]) -> None:
    """Refuse what are no messages, before any work."""
    for message in messages:
        if not isinstance(message, Message):
            raise InvalidInput(
                f"messages must be Message values, got {type(message).__name__}: make them with "
                "Message(role, text), or read a file with pss_integrations.loaders"
            )
