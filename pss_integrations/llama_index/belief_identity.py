"""What everything here that recalls or keeps beliefs shares: whose they are, and where they hold."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from llama_index.core.bridge.pydantic import BaseModel, ConfigDict, Field

from pss_integrations.beliefs.extraction import SidecarExtractor
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.beliefs.principals import Principal
from pss_integrations.errors import BeliefStorageError, InvalidInput, MissingIdentity, PSSError
from pss_integrations.identity import UNSET, PartialIdentity, current, resolve
from pss_integrations.types import Message

_LOG = logging.getLogger(__name__)
_NOT_RECALLED = "beliefs could not be recalled"
NOT_KEPT = "what was said could not be kept as beliefs"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as one call says it.

    :param principal: Whose beliefs are meant.
    :param actor: The user who reads or writes the beliefs of a team; ``None`` for a user's own.
    """

    principal: Principal
    actor: Principal | None


@contextmanager
def logged(failure: str, error_class: type[PSSError] = BeliefStorageError) -> Generator[None]:
    """Log an error and go on, so that no chat breaks for the sake of beliefs.

    :param failure: What could not be done.
    :param error_class: Other errors are raised.
    """
    try:
        yield
    except error_class as error:
        _LOG.error("%s, the chat goes on: %s", failure, type(error).__name__, exc_info=error)


class BeliefAware(BaseModel):
    """Fields of everything here that recalls or keeps beliefs.

    Who the user is, ``user_id``, a ``principal`` or the enclosing ``pss_session`` says, and all of them that say it
    must agree. Which session it is does not matter: a user has the same beliefs in all.

    :param memory: Recalls and keeps; any number of objects and sessions may share it. It is never serialized.
    :param principal: Whose beliefs; by default the user's. For a team the user is the actor.
    :param user_id: The user.
    :param context: Values for the places of scopes, such as ``project``.
    :raises InvalidInput: If the context lacks what a scope needs, or the user's id is no usable string.
    :raises MissingIdentity: If the user's id is empty.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: BeliefMemory = Field(exclude=True, repr=False)
    principal: Principal | None = None
    user_id: str | None = None
    context: dict[str, str] = Field(default_factory=dict)

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        # here, since pydantic would wrap our errors if a validator raised them
        self.memory.scopes(self.context)
        if self.user_id is not None:
            Principal.user(self.user_id)

    @property
    def reads_sidecars(self) -> bool:
        """Whether the memory takes beliefs from the blocks that a model appends to its answers."""
        return isinstance(self.memory.extractor, SidecarExtractor)

    def refuse_sidecars(self) -> None:
        """Refuse a memory that reads sidecars, for an observer that meets no block.

        :raises InvalidInput: If it is one.
        """
        if self.reads_sidecars:
            raise InvalidInput(
                "only SidecarLLM sees the blocks that a SidecarExtractor reads: "
                "give it the model and this memory, and observe=False here"
            )

    def caller(self) -> Caller:
        """Resolve who asks, before anything is done for them.

        :raises InvalidInput: If the context lacks what a scope needs.
        :raises MissingIdentity: If nothing says who the user is.
        :raises IdentityConflict: If two sources name different users.
        """
        self.memory.scopes(self.context)
        named = self.principal.id if self.principal is not None and self.principal.kind == "user" else UNSET
        sources = (
            PartialIdentity(named, source="the principal"),
            PartialIdentity(UNSET if self.user_id is None else self.user_id, source="user_id"),
            current(),
        )
        key = resolve(*(replace(source, session_id="any") for source in sources))
        if key is None or key.user_id is None:
            raise MissingIdentity(
                "beliefs belong to a user, and none was named: give user_id=..., principal=Principal.user(...), "
                "or `with pss_session(user_id=..., session_id=...):`"
            )
        user = Principal.user(key.user_id)
        if self.principal is None or self.principal.kind == "user":
            return Caller(user, None)
        return Caller(self.principal, user)

    def recall(self, query: str) -> str:
        """What a model is to be told before it answers; ``""`` if nothing is, or the beliefs cannot be read."""
        caller = self.caller()
        with logged(_NOT_RECALLED):
            return self.memory.recall(caller.principal, query, self.context, actor=caller.actor).text
        return ""

    async def arecall(self, query: str) -> str:
        """Do the same without blocking the event loop."""
        caller = self.caller()
        with logged(_NOT_RECALLED):
            return (await self.memory.arecall(caller.principal, query, self.context, actor=caller.actor)).text
        return ""

    def keep(self, caller: Caller, messages: Sequence[Message]) -> None:
        """Keep what messages settle, if beliefs can be written."""
        if not messages:
            return
        with logged(NOT_KEPT):
            self.memory.observe(caller.principal, messages, self.context, actor=caller.actor)

    async def akeep(self, caller: Caller, messages: Sequence[Message]) -> None:
        """Do the same without blocking the event loop."""
        if not messages:
            return
        with logged(NOT_KEPT):
            await self.memory.aobserve(caller.principal, messages, self.context, actor=caller.actor)

    def flush(self) -> None:
        """Wait until everything that was observed is kept; raise what went wrong meanwhile."""
        self.memory.flush()

    async def aflush(self) -> None:
        """Do the same without blocking the event loop."""
        await self.memory.aflush()
