"""The memory that an assistant carries from session to session: recall before a turn, observation after it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import replace

from pss_integrations.beliefs.extraction import Extractor, RuleExtractor, remember
from pss_integrations.beliefs.injection import Injection, inject, strip_injected
from pss_integrations.beliefs.principals import Principal
from pss_integrations.beliefs.scopes import check_template, fill_scope
from pss_integrations.beliefs.store import BeliefStore
from pss_integrations.errors import InvalidInput
from pss_integrations.forks import renew_after_fork
from pss_integrations.text import whole
from pss_integrations.types import Message

_LOG = logging.getLogger(__name__)
_SEEN = 1000  # messages that are known again when they are observed once more
_KEPT_ERRORS = 32
_QUERY = 20_000  # characters of a message that are searched for names: its beginning and its end


class BeliefMemory:
    """Recalls beliefs for a query, and keeps what a conversation settles; what the faces of both frameworks share.

    :param store: Where the beliefs are.
    :param scopes: Where to look and where to keep: scopes, or templates such as ``project:{project}``, which each call
        fills from its context. There is no default: what is kept in too wide a scope shows up where it should not.
    :param extractor: Takes beliefs from messages; by rules, without a model, if none is given.
    :param budget: Most tokens of a recall.
    :param count_tokens: Counts the tokens of a text; without it they are estimated, rather too high.
    :param background: Keep what was observed in a thread of its own, so that no turn waits for it.
    :raises InvalidInput: If there is no scope, or one has not the right form.
    """

    def __init__(
        self,
        store: BeliefStore,
        *,
        scopes: Sequence[str],
        extractor: Extractor | None = None,
        budget: int = 800,
        count_tokens: Callable[[str], int] | None = None,
        background: bool = True,
    ) -> None:
        if isinstance(scopes, str) or not scopes:
            raise InvalidInput("a belief memory needs scopes, e.g. ['project:{project}']: there is no default")
        if budget < 0:
            raise InvalidInput(f"budget must be at least 0, got {budget}")
        self.store = store
        self.templates = tuple(map(check_template, scopes))
        self.extractor = extractor or RuleExtractor()
        self._budget, self._count_tokens = budget, count_tokens
        self._background = background
        self._seen = OrderedDict[tuple[Principal, str, str] | None, None]()
        self._reset()
        renew_after_fork(self)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._waiting = set[Future[None]]()
        self._errors = deque[Exception](maxlen=_KEPT_ERRORS)

    def after_fork(self) -> None:
        """Share no thread with the process that this one was forked from; called by itself."""
        self._reset()

    def __deepcopy__(self, memo: object) -> BeliefMemory:
        """Return the memory itself: copies of what holds it share it."""
        return self

    def scopes(self, context: Mapping[str, str]) -> tuple[str, ...]:
        """The scopes of a call.

        :raises InvalidInput: If the context lacks what a template needs.
        """
        return tuple(fill_scope(template, context) for template in self.templates)

    def recall(
        self, principal: Principal, query: str, context: Mapping[str, str], *, actor: Principal | None = None
    ) -> Injection:
        """What a model is to be told before it answers a query.

        :param query: The last message of the user.
        :param context: What the templates of scopes are filled from.
        """
        query = whole(query if len(query) <= _QUERY else f"{query[: _QUERY // 2]} {query[-_QUERY // 2 :]}")
        found = self.store.recall(principal, self.scopes(context), query, actor=actor)
        return inject(found, budget=self._budget, count_tokens=self._count_tokens)

    async def arecall(
        self, principal: Principal, query: str, context: Mapping[str, str], *, actor: Principal | None = None
    ) -> Injection:
        """Do :meth:`recall` without blocking the event loop."""
        return await asyncio.to_thread(self.recall, principal, query, context, actor=actor)

    def observe(
        self,
        principal: Principal,
        messages: Sequence[Message],
        context: Mapping[str, str],
        *,
        actor: Principal | None = None,
    ) -> None:
        """Keep what messages settle; in the background unless the memory was made without.

        A failure there is logged when it happens, and raised by the next :meth:`flush`.

        :param messages: New messages, oldest first, with as many earlier ones as are needed to understand them.
        """
        scopes = self.scopes(context)
        spoken = [Message(one.role, strip_injected(one.text), one.id, one.created_at) for one in messages]

        def work() -> None:
            self._keep(principal, scopes, spoken, actor)

        if not self._background:
            work()
            return
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, thread_name_prefix="pss-beliefs")
            self._waiting = {one for one in self._waiting if not one.done()}
            self._waiting.add(self._executor.submit(copy_context().run, self._attempt, work))

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            _LOG.exception("what was observed could not be kept")
            with self._lock:
                self._errors.append(error)

    def _keep(
        self, principal: Principal, scopes: Sequence[str], messages: Sequence[Message], actor: Principal | None
    ) -> None:
        """Keep what is new; what a message said that was observed before is not counted again."""
        found = self.extractor.extract(messages, scopes)
        keys = {one.id: (principal, one.id, one.text) for one in messages if one.id is not None}
        with self._lock:
            new = [one for one in found.beliefs if keys.get(one.provenance.turn_id or "") not in self._seen]
        remember(self.store, principal, scopes, replace(found, beliefs=tuple(new)), actor=actor)
        with self._lock:
            self._seen.update(dict.fromkeys(keys.values()))
            while len(self._seen) > _SEEN:
                self._seen.popitem(last=False)

    async def aobserve(
        self,
        principal: Principal,
        messages: Sequence[Message],
        context: Mapping[str, str],
        *,
        actor: Principal | None = None,
    ) -> None:
        """Do :meth:`observe` without blocking the event loop."""
        await asyncio.to_thread(self.observe, principal, messages, context, actor=actor)

    def flush(self, timeout: float | None = None) -> None:
        """Wait until everything that was observed is kept.

        :param timeout: Seconds to wait.
        :raises TimeoutError: If it takes longer; what is left goes on.
        :raises Exception: What went wrong first since the last flush.
        """
        with self._lock:
            waiting = set(self._waiting)
        if wait(waiting, timeout).not_done:
            raise TimeoutError(f"what was observed is not kept after {timeout} s; it still may be")
        with self._lock:
            errors, self._errors = self._errors, deque[Exception](maxlen=_KEPT_ERRORS)
        if errors:
            raise errors[0]

    async def aflush(self) -> None:
        """Do :meth:`flush` without blocking the event loop."""
        await asyncio.to_thread(self.flush)

    def close(self) -> None:
        """Wait for what was observed, and end the background thread; the store stays open."""
        try:
            self.flush()
        finally:
            with self._lock:
                executor, self._executor = self._executor, None
            if executor is not None:
                executor.shutdown()
