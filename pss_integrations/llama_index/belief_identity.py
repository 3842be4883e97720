"""What everything here that recalls or keeps beliefs shares: whose they are, and where they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage

from pss_integrations.beliefs import aware
from pss_integrations.beliefs.aware import Caller
from pss_integrations.beliefs.principals import Principal
from pss_integrations.identity import UNSET, PartialIdentity
from pss_integrations.llama_index.belief_messages import spoken
from pss_integrations.llama_index.session import identity_sources
from pss_integrations.types import Message


class BeliefAware(aware.BeliefAware):
    """Fields of everything here that recalls or keeps beliefs.

    Who the user is, ``user_id``, a ``principal`` or the enclosing ``pss_session`` says, and all of them that say it
    must agree. Which session it is does not matter: a user has the same beliefs in all.

    :param user_id: The user.
    :param trusted_names: The name of a message is ``additional_kwargs["name"]``. Without one, what comes in as the
        user's counts as that: give a sub-agent, whose prompt is written by a model, a memory with ``observe=False``.
    :raises InvalidInput: If the context lacks what a scope needs, or the user's id is no usable string.
    :raises MissingIdentity: If the user's id is empty.
    """

    user_id: str | None = None

    reader_of_sidecars = "SidecarLLM"
    how_to_name_a_user = (
        "give user_id=..., principal=Principal.user(...), or `with pss_session(user_id=..., session_id=...):`"
    )

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        # here, since pydantic would wrap our errors if a validator raised them
        self.memory.scopes(self.context)
        if self.user_id is not None:
            Principal.user(self.user_id)

    def caller(self) -> Caller:
        """Resolve who asks, before anything is done for them.

        :raises InvalidInput: If the context lacks what a scope needs.
        :raises MissingIdentity: If nothing says who the user is.
        :raises IdentityConflict: If two sources name different users.
        """
        self.memory.scopes(self.context)
        by_field = PartialIdentity(UNSET if self.user_id is None else self.user_id, source="user_id")
        *_, enclosing = sources = identity_sources(self.by_principal(), by_field)
        principal, actor = self.named(*sources)
        session = enclosing.session_id
        return Caller(principal, actor, self.context, session if isinstance(session, str) else None)

    def spoken(self, messages: Sequence[ChatMessage]) -> list[Message]:
        """What user and assistant said, in words: the user in the user's own name only."""
        return spoken(messages, self.trusted_names)

    def flush(self) -> None:
        """Wait until everything that was observed of the caller's is kept.

        :raises MissingIdentity: If nothing says who the user is; to wait for everybody's, flush the
            :class:`BeliefMemory`.
        :raises Exception: What went wrong first meanwhile; the errors of others are theirs.
        """
        caller = self.caller()
        self.memory.flush(principal=caller.principal, actor=caller.actor)

    async def aflush(self) -> None:
        """Do the same without blocking the event loop."""
        caller = self.caller()
        await self.memory.aflush(principal=caller.principal, actor=caller.actor)
