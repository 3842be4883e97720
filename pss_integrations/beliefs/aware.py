"""What the faces of both frameworks share: who calls, and recalling and keeping that break no chat."""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from pss_integrations.beliefs.extraction import SidecarExtractor
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.beliefs.principals import Principal
from pss_integrations.errors import BeliefStorageError, InvalidInput, MissingIdentity
from pss_integrations.identity import UNSET, PartialIdentity, resolve
from pss_integrations.types import Message

_LOG = logging.getLogger(__name__)
_NOT_RECALLED = "beliefs could not be recalled, the chat goes on without"
_NOT_KEPT = "what was observed could not be kept"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as one call says it.

    :param principal: Whose beliefs are meant.
    :param actor: The user who reads or writes the beliefs of a team; ``None`` for a user's own.
    :param context: What the places of scopes are filled from.
    :param session_id: The conversation, if the call names it: only for knowing what is tried again.
    :param is_user: Whether what comes in as the user's is that, and not what a model wrote for another one.
    """

    principal: Principal
    actor: Principal | None
    context: Mapping[str, str]
    session_id: str | None = None
    is_user: bool = True


class BeliefAware(BaseModel):
    """Fields of everything that recalls or keeps beliefs for a framework.

    :param memory: Recalls and keeps; any number of objects and sessions may share it. It is never serialized.
    :param principal: Whose beliefs; by default those of the user who calls. For a team that user is the actor.
    :param context: Values for the places of scopes, such as ``project``.
    :param trusted_names: A message of the user that has a name counts as another agent's, unless it is one of these.
        What others say is at most inferred.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    memory: BeliefMemory = Field(exclude=True, repr=False)
    principal: Principal | None = None
    context: Mapping[str, str] = Field(default_factory=dict[str, str])
    trusted_names: tuple[str, ...] = ()

    reader_of_sidecars: ClassVar[str]
    how_to_name_a_user: ClassVar[str]

    @property
    def reads_sidecars(self) -> bool:
        """Whether the memory takes beliefs from the blocks that a model appends to its answers."""
        return isinstance(self.memory.extractor, SidecarExtractor)

    def refuse_sidecars(self) -> None:
        """Refuse a memory that reads sidecars, for an observer that meets none, or cannot keep them from users' eyes.

        :raises InvalidInput: If it is one.
        """
        if self.reads_sidecars:
            raise InvalidInput(
                f"only {self.reader_of_sidecars} reads the blocks of a SidecarExtractor, and keeps them from users: "
                "give it the model and this memory, and observe=False here"
            )

    def named(self, *sources: PartialIdentity) -> tuple[Principal, Principal | None]:
        """Return whose beliefs are meant and who acts, by what the sources of a call say of the user.

        :raises MissingIdentity: If none of them names a user.
        :raises IdentityConflict: If two of them name different users.
        """
        # A user has the same beliefs in every session, so that no source need name one.
        key = resolve(*(replace(source, session_id="any") for source in sources))
        if key is None or key.user_id is None:
            raise MissingIdentity(f"beliefs belong to a user, and none was named: {self.how_to_name_a_user}")
        user = Principal.user(key.user_id)
        if self.principal is None or self.principal.kind == "user":
            return user, None
        return self.principal, user

    def by_principal(self) -> PartialIdentity:
        """What the principal says of the user: nothing, if it is a team."""
        named = self.principal.id if self.principal is not None and self.principal.kind == "user" else UNSET
        return PartialIdentity(named, source="the principal")

    def recall(self, caller: Caller, query: str) -> str:
        """What a model is to be told before it answers; ``""`` if nothing is, or the database fails, which is logged.

        :raises InvalidInput: If the call does not fill a place of a scope.
        :raises AccessDenied: If the actor may not read the beliefs.
        """
        with _logged(_NOT_RECALLED, BeliefStorageError):
            return self.memory.recall(caller.principal, query, caller.context, actor=caller.actor).text
        return ""

    async def arecall(self, caller: Caller, query: str) -> str:
        """Do the same without blocking the event loop."""
        with _logged(_NOT_RECALLED, BeliefStorageError):
            return (await self.memory.arecall(caller.principal, query, caller.context, actor=caller.actor)).text
        return ""

    def keep(self, caller: Caller, messages: Sequence[Message], before: int = 0) -> None:
        """Keep what messages settle; what goes wrong is logged, since no answer may be lost by it.

        :param before: How many messages of the conversation came before them.
        """
        if not messages:
            return
        with _logged(_NOT_KEPT, Exception):  # an extractor may raise anything
            self.memory.observe(
                caller.principal,
                messages,
                caller.context,
                actor=caller.actor,
                session_id=caller.session_id,
                before=before,
            )

    async def akeep(self, caller: Caller, messages: Sequence[Message], before: int = 0) -> None:
        """Do the same without blocking the event loop."""
        if not messages:
            return
        with _logged(_NOT_KEPT, Exception):
            await self.memory.aobserve(
                caller.principal,
                messages,
                caller.context,
                actor=caller.actor,
                session_id=caller.session_id,
                before=before,
            )


@contextmanager
def _logged(failure: str, error_class: type[Exception]) -> Generator[None]:
    try:
        yield
    except error_class as error:
        _LOG.error("%s: %s", failure, type(error).__name__, exc_info=error)
