"""What is done with states, step by step, in the scheduler's thread and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from pss_integrations.errors import CompileInProgress, StateNotFound
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.intake import Built
from pss_integrations.states.manifest import BackboneInfo, Cursor, StateInfo, TargetInfo, WriteInfo
from pss_integrations.states.reads import Question, Reads
from pss_integrations.states.redaction import Redact, redacted
from pss_integrations.states.scheduler import Work
from pss_integrations.states.store import StateStore
from pss_integrations.states.targets import check_targets
from pss_integrations.types import Clue, ClueTarget, Message, SessionKey

if TYPE_CHECKING:
    from pss_integrations.states.compiler import Progress
    from pss_integrations.states.engine import Engine

Since = Callable[[Cursor, Sequence[Message]], int]


class Worker:
    """Work for the scheduler: generators that yield between steps.

    :param load: Makes the engine, when it is first needed.
    :param redact: Takes text out of messages before they are compiled.
    """

    def __init__(
        self,
        store: StateStore,
        load: Callable[[], Engine],
        state: StateConfig,
        config: CompileConfig,
        redact: Redact | None,
    ) -> None:
        self._store, self._load, self._redact = store, load, redact
        self._state, self._config = state, config
        self._reads = Reads(self._read, self._check_read)
        self.loaded: Engine | None = None

    def close(self) -> None:
        """Leave the model as it was found."""
        if self.loaded is not None:
            self.loaded.close()
            self.loaded = None

    def compile(
        self,
        key: SessionKey,
        messages: tuple[Message, ...],
        built: Built,
        since: Since | None,
        progress: Progress | None,
    ) -> Work[StateInfo]:
        """Write a state and make it the current one.

        :param messages: Those that have a text.
        :param since: To go on from the current state, what counts the messages that came after its cursor.
        """
        with self._store.lock(key):
            engine = self.engine()
            targets, known = built.targets, list[ClueTarget]()
            base = self._store.info(key) if since else None
            new = len(messages)
            if base is not None and since is not None:
                engine.check(base)
                new = since(base.cursor, messages)  # a rollback may have come in between
                targets, known = base.targets.split(targets)
            targets = check_targets([*targets, *known], engine.backbone.count_tokens, self._config.max_clue_tokens - 1)
            read = [redacted(message, self._redact) for message in messages] if self._redact else messages
            result = yield from engine.compile(
                read,
                targets,
                start=engine.vector(base, self._store) if base else None,
                known_messages=len(messages) - new,
                known_targets=len(known) if base and base.write.confirmed else 0,
                progress=progress,
            )
            yield  # cancelled until here, nothing is written
            adapter = engine.adapter_file(result.vector)
            history = _history(base, read, new)
            info = StateInfo(
                user_id=key.user_id,
                session_id=key.session_id,
                backbone=BackboneInfo(name=engine.backbone.name, fingerprint=engine.backbone.fingerprint),
                state=self._state.to_dict(),
                compile=self._config.to_dict(),
                cursor=(base.cursor if base else Cursor(digests=())).extended(messages[len(messages) - new :]),
                targets=TargetInfo.of(built.builder, targets, self._config.keep_text),
                write=WriteInfo.of(result, min(self._config.history_window, engine.backbone.context_length)),
                adapter_sha256=sha256(adapter).hexdigest(),
                adapter_bytes=len(adapter),
                created_at=datetime.now(UTC),
                parent=base.state_id if base else None,
                history=history if self._config.keep_text == "history" else (),
            )
            info = self._store.save(info, adapter, engine.adapter_config())
            engine.keep(info, result.vector)
        return info

    def read(self, questions: Sequence[Question]) -> Work[Sequence[Clue]]:
        """Write a clue for each query of a session, together with what else waits to be read."""
        return self._reads.ask(questions)

    def _check_read(self, questions: Sequence[Question]) -> None:
        infos = self._infos(questions)  # before a backbone is loaded in vain
        for info in infos.values():
            self.engine().check(info)
        for _, query in questions:
            self.engine().check_query(query)

    def _read(self, questions: Sequence[Question]) -> Work[list[Clue]]:
        infos = self._infos(questions)
        return (yield from self.engine().read([(infos[key], query) for key, query in questions], self._store))

    def _infos(self, questions: Sequence[Question]) -> dict[SessionKey, StateInfo]:
        """The current state of each session that is asked, looked up once."""
        return {key: self._store.info(key) for key in dict.fromkeys(key for key, _ in questions)}

    def check(self, info: StateInfo) -> Work[None]:
        """Raise ``StateMismatch`` if a state is not one of this engine."""
        self.engine().check(info)
        yield

    def rollback(self, key: SessionKey, state_id: str | None) -> Work[StateInfo]:
        """Make an earlier state the current one."""
        with self._store.lock(key):
            current = self._store.info(key)
            earlier = [info for info in self._store.versions(key) if info.state_id != current.state_id]
            if state_id is None:
                earlier.sort(key=lambda info: info.state_id != current.parent)
                earlier = [info for info in earlier if info.created_at <= current.created_at]
            else:
                earlier = [info for info in earlier if info.state_id == state_id]
            if not earlier:
                wanted = f"state {state_id}" if state_id else "earlier state"
                raise StateNotFound(f"session {key.session_id!r} has no {wanted} besides the current one")
            self._store.use(earlier[0])
        yield
        return earlier[0]

    def remove(self, states: Iterable[StateInfo]) -> Work[set[str]]:
        """Remove states, but for those of sessions that are being compiled; returns the ids of what went."""
        removed = set[str]()
        for info in states:
            with suppress(CompileInProgress), self._store.lock(info.key):
                self._store.remove(info)
                removed.add(info.state_id)
                if self.loaded is not None:
                    self.loaded.forget(info.key)
            yield
        return removed

    def delete(self, key: SessionKey) -> Work[bool]:
        """Remove all states of a session; returns whether there was one."""
        with self._store.lock(key):
            deleted = self._store.delete(key)
        if self.loaded is not None:
            self.loaded.forget(key)
        yield
        return deleted

    def engine(self) -> Engine:
        """The engine, which the first compile or read loads."""
        if self.loaded is None:
            self.loaded = self._load()
        return self.loaded


def _history(base: StateInfo | None, read: Sequence[Message], new: int) -> tuple[tuple[str, str], ...]:
    """The text of a session, the last messages of which are new; none if it was shortened, and not kept before."""
    if base is None or base.messages == len(read) - new:
        return _texts(read)
    return (*base.history, *_texts(read[len(read) - new :])) if base.history else ()


def _texts(messages: Iterable[Message]) -> tuple[tuple[str, str], ...]:
    return tuple((message.role, message.text) for message in messages)
