"""The memory that an assistant carries from session to session: recall before a turn, observation after it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import replace
from functools import partial

from pss_integrations.beliefs.background import Background
from pss_integrations.beliefs.extraction import Extractor, RuleExtractor, remember
from pss_integrations.beliefs.injection import Injection, inject, strip_injected
from pss_integrations.beliefs.principals import Principal
from pss_integrations.beliefs.repeats import Observed, Repeats
from pss_integrations.beliefs.scopes import check_template, fill_scope
from pss_integrations.beliefs.store import BeliefStore
from pss_integrations.errors import BeliefConflict, InvalidInput
from pss_integrations.forks import renew_after_fork
from pss_integrations.text import whole
from pss_integrations.types import Message

_LOG = logging.getLogger(__name__)
Owner = tuple[Principal, Principal | None]
_KEPT_ERRORS = 100
_QUERY = 20_000  # characters of a message that are searched for names: its beginning and its end


class BeliefMemory:
    """Recalls beliefs for a query, and keeps what a conversation settles; what the faces of both frameworks share.

    :param store: Where the beliefs are.
    :param scopes: Where to look and where to keep: scopes, or templates such as ``project:{project}``, which each call
        fills from its context. There is no default: what is kept in too wide a scope shows up where it should not.
    :param extractor: Takes beliefs from messages; by rules, without a model, if none is given.
    :param budget: Most tokens of a recall.
    :param count_tokens: Counts the tokens of a text; without it they are estimated, rather too high.
    :param background: Keep what was observed in a few threads, so that no turn waits for it: that of one principal in
        order, that of others meanwhile.
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
        self._repeats = Repeats()
        self._reset()
        renew_after_fork(self)

    def _reset(self) -> None:
        self._work = Background()
        self._errors = dict[Owner, Exception]()

    def after_fork(self) -> None:
        """Share no thread with the process that this one was forked from; called by itself."""
        self._repeats.renew()
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
        session_id: str | None = None,
        before: int = 0,
    ) -> None:
        """Keep what messages settle; in the background unless the memory was made without.

        A failure there is logged when it happens, and raised by the next :meth:`flush` of whoever it belongs to.

        A message that is observed again, as when a call is tried again, counts once: it is known by its id, or
        without one by its place in the conversation, role, text and time. What is said twice in one turn counts once
        too. The memory of that ends with the process.

        :param messages: New messages, oldest first, with as many earlier ones as are needed to understand them.
        :param session_id: The conversation, within which a place is told; all that name none are one conversation.
        :param before: How many messages of the conversation came before them.
        """
        scopes = self.scopes(context)
        spoken = [replace(one, text=strip_injected(one.text)) for one in messages]
        owner = _owner(principal, actor)
        observed = Observed.of(spoken, owner, scopes, session_id, before)
        work = partial(self._keep, principal, scopes, observed, actor)
        if self._background:
            self._work.submit(principal, partial(copy_context().run, partial(self._attempt, work, owner)))
        else:
            work()

    def _attempt(self, work: Callable[[], None], owner: Owner) -> None:
        try:
            work()
        except Exception as error:
            _LOG.exception("what was observed could not be kept")
            if len(self._errors) < _KEPT_ERRORS:
                self._errors.setdefault(owner, error)

    def _keep(self, principal: Principal, scopes: Sequence[str], observed: Observed, actor: Principal | None) -> None:
        if self._repeats.has_all(observed):
            return
        found = self.extractor.extract(observed.messages, scopes)
        try:
            remember(self.store, principal, scopes, self._repeats.new(found, observed), actor=actor)
        except (BeliefConflict, InvalidInput):  # all the rest is kept
            self._repeats.add(found, observed)
            raise
        self._repeats.add(found, observed)

    async def aobserve(
        self,
        principal: Principal,
        messages: Sequence[Message],
        context: Mapping[str, str],
        *,
        actor: Principal | None = None,
        session_id: str | None = None,
        before: int = 0,
    ) -> None:
        """Do :meth:`observe` without blocking the event loop."""
        await asyncio.to_thread(
            self.observe, principal, messages, context, actor=actor, session_id=session_id, before=before
        )

    def flush(
        self, timeout: float | None = None, *, principal: Principal | None = None, actor: Principal | None = None
    ) -> None:
        """Wait until what was observed is kept.

        :param timeout: Seconds to wait.
        :param principal: Whose it is. For whoever runs the memory, and for no user's call, ``None``: then it is
            waited for all of it, and an error may be anybody's.
        :param actor: Who observed it, if it is a team's: nobody is told the errors of others.
        :raises TimeoutError: If it takes longer; what is left goes on.
        :raises Exception: What went wrong first since the last flush.
        """
        if not self._work.wait(principal, timeout):
            raise TimeoutError(f"what was observed is not kept after {timeout} s; it still may be")
        owners = list(self._errors) if principal is None else [_owner(principal, actor)]
        errors = [error for owner in owners if (error := self._errors.pop(owner, None))]
        if errors:
            raise errors[0]

    async def aflush(self, *, principal: Principal | None = None, actor: Principal | None = None) -> None:
        """Do :meth:`flush` without blocking the event loop."""
        await asyncio.to_thread(self.flush, principal=principal, actor=actor)

    def close(self) -> None:
        """Wait for what was observed, and end the background threads; the store stays open."""
        try:
            self.flush()
        finally:
            self._work.close()


def _owner(principal: Principal, actor: Principal | None) -> Owner:
    """Whose observation it is: of a user's own beliefs the user's, whether or not an actor is said."""
    return principal, actor if principal.kind == "team" else None
