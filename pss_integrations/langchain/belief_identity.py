"""Whose beliefs a call is about: read once from LangChain's config and LangGraph's runtime, then passed on."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, ConfigDict, Field

from pss_integrations.beliefs.extraction import SidecarExtractor
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.beliefs.principals import Principal
from pss_integrations.beliefs.scopes import places
from pss_integrations.errors import BeliefStorageError, InvalidInput, MissingIdentity
from pss_integrations.identity import UNSET, PartialIdentity, current, resolve
from pss_integrations.langchain.session import said_by
from pss_integrations.types import Message

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as one call says it.

    :param principal: Whose beliefs are meant.
    :param actor: The user who reads or writes the beliefs of a team; ``None`` for a user's own.
    :param context: What the places of scopes are filled from.
    """

    principal: Principal
    actor: Principal | None
    context: Mapping[str, str]


class BeliefAware(BaseModel):
    """Fields of everything here that recalls or keeps beliefs.

    :param memory: Recalls and keeps; never serialized.
    :param principal: Whose beliefs; by default those of the user whom the call names. For a team that user is the
        actor.
    :param context: Values for the places of scopes, such as ``project``; they win over those of the call.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True)

    memory: BeliefMemory = Field(exclude=True, repr=False)
    principal: Principal | None = None
    context: Mapping[str, str] = Field(default_factory=dict[str, str])

    @property
    def reads_sidecars(self) -> bool:
        """Whether the memory takes beliefs from the blocks that a model appends to its answers."""
        return isinstance(self.memory.extractor, SidecarExtractor)

    def refuse_sidecars(self) -> None:
        """Refuse a memory that reads sidecars, for an observer that cannot keep them out of what users see.

        :raises InvalidInput: If it is one.
        """
        if self.reads_sidecars:
            raise InvalidInput(
                "only SidecarChatModel keeps the blocks that a SidecarExtractor reads from users' eyes: "
                "give it the model and this memory, and observe=False here"
            )

    def caller(self, config: RunnableConfig, runtime: object = None) -> Caller:
        """Resolve who asks: server runtime, runtime context, arguments, config, then ``pss_session``.

        :param runtime: The runtime of a LangGraph node; by default the one that LangGraph keeps in the config.
        :raises MissingIdentity: If none of them names a user, and no user is given as principal.
        :raises IdentityConflict: If two of them name different users.
        :raises InvalidInput: If runtime context and config fill a place of a scope differently.
        """
        configurable: Mapping[str, Any] = config.get("configurable") or {}
        runtime = runtime or configurable.get("__pregel_runtime")  # where LangGraph keeps it
        user = _user(configurable, runtime, self.principal)
        if user is None:
            raise MissingIdentity(
                "beliefs belong to a user, and none was named: give principal=Principal.user(...), "
                'config["configurable"]["user_id"], a runtime context with user_id, or `with pss_session(...):`'
            )
        principal = self.principal or user
        actor = user if principal.kind == "team" else None
        needed = {place for template in self.memory.templates for place in places(template)}
        said = _filled(needed - self.context.keys(), (said_by(runtime, "context"), configurable))
        return Caller(principal, actor, {**said, **self.context})

    def recall(self, caller: Caller, query: str) -> str:
        """What a model is to be told before it answers; ``""`` if nothing is, or the database fails, which is logged.

        :raises InvalidInput: If the call does not fill a place of a scope.
        :raises AccessDenied: If the actor may not read the beliefs.
        """
        try:
            return self.memory.recall(caller.principal, query, caller.context, actor=caller.actor).text
        except BeliefStorageError as error:
            return _nothing(error)

    async def arecall(self, caller: Caller, query: str) -> str:
        """Do the same without blocking the event loop."""
        try:
            return (await self.memory.arecall(caller.principal, query, caller.context, actor=caller.actor)).text
        except BeliefStorageError as error:
            return _nothing(error)

    def keep(self, caller: Caller, messages: Sequence[Message]) -> None:
        """Keep what messages settle; what goes wrong is logged, since no answer may be lost by it."""
        if not messages:
            return
        with _failures_logged():
            self.memory.observe(caller.principal, messages, caller.context, actor=caller.actor)

    async def akeep(self, caller: Caller, messages: Sequence[Message]) -> None:
        """Do the same without blocking the event loop."""
        if not messages:
            return
        with _failures_logged():
            await self.memory.aobserve(caller.principal, messages, caller.context, actor=caller.actor)

    def flush(self) -> None:
        """Wait until everything that was observed is kept; raise what went wrong meanwhile."""
        self.memory.flush()

    async def aflush(self) -> None:
        """Do the same without blocking the event loop."""
        await self.memory.aflush()


def _nothing(error: BeliefStorageError) -> str:
    _LOG.error("an answer goes without beliefs, which could not be recalled", exc_info=error)
    return ""


@contextmanager
def _failures_logged() -> Generator[None]:
    try:
        yield
    except Exception as error:  # an extractor may raise anything
        _LOG.error("what was observed could not be kept: %s", type(error).__name__, exc_info=error)


def _user(configurable: Mapping[str, Any], runtime: object, principal: Principal | None) -> Principal | None:
    authenticated = configurable.get("langgraph_auth_user") or said_by(said_by(runtime, "server_info"), "user")
    given = principal.id if principal is not None and principal.kind == "user" else UNSET
    in_context = said_by(said_by(runtime, "context"), "user_id")
    sources = (
        PartialIdentity(said_by(authenticated, "identity"), source="the authenticated user"),
        # An optional field that was not filled says nothing.
        PartialIdentity(UNSET if in_context is None else in_context, source="the runtime context"),
        PartialIdentity(given, source="the principal"),
        PartialIdentity(configurable.get("user_id", UNSET), source='config["configurable"]'),
        current(),
    )
    # A user has the same beliefs in every session, so that no source need name one.
    key = resolve(*(replace(source, session_id="any") for source in sources))
    return None if key is None or key.user_id is None else Principal.user(key.user_id)


def _filled(needed: set[str], holders: Sequence[object]) -> dict[str, str]:
    filled = dict[str, str]()
    for place in sorted(needed):
        values = {value for holder in holders if isinstance(value := said_by(holder, place), str)}
        if len(values) > 1:
            raise InvalidInput(f"the runtime context and the config fill {place!r} differently: let one say it")
        if values:
            filled[place] = values.pop()
    return filled
