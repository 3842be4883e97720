"""Whose beliefs a call is about: read once from LangChain's config and LangGraph's runtime, then passed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig, ensure_config
from pydantic import ConfigDict

from pss_integrations.beliefs import aware
from pss_integrations.beliefs.aware import Caller
from pss_integrations.beliefs.scopes import places
from pss_integrations.errors import InvalidInput
from pss_integrations.identity import UNSET, current
from pss_integrations.langchain.belief_messages import spoken
from pss_integrations.langchain.session import identity_sources, is_nested, runtime_of, said_by
from pss_integrations.types import Message


class BeliefAware(aware.BeliefAware):
    """Fields of everything here that recalls or keeps beliefs.

    The values of ``context`` win over those of the call.

    :param trust_nested: In a graph that runs inside another one, as a sub-agent does, what comes in as the user's was
        written by a model, and counts as the assistant's, unless this says that it is the user's own.
    """

    model_config = ConfigDict(frozen=True)

    trust_nested: bool = False

    reader_of_sidecars = "SidecarChatModel"
    how_to_name_a_user = (
        'give principal=Principal.user(...), config["configurable"]["user_id"], a runtime context with user_id, '
        "or `with pss_session(...):`"
    )

    def caller(self, config: RunnableConfig, runtime: object = None) -> Caller:
        """Resolve who asks: server runtime, runtime context, arguments, config, then ``pss_session``.

        :param runtime: The runtime of a LangGraph node; by default the one that LangGraph keeps in the config.
        :raises MissingIdentity: If none of them names a user, and no user is given as principal.
        :raises IdentityConflict: If two of them name different users.
        :raises InvalidInput: If runtime context and config fill a place of a scope differently.
        """
        configurable: Mapping[str, Any] = config.get("configurable") or {}
        runtime = runtime or runtime_of(config)
        principal, actor = self.named(*identity_sources(config, self.by_principal(), runtime=runtime))
        needed = {place for template in self.memory.templates for place in places(template)}
        said = _filled(needed - self.context.keys(), (said_by(runtime, "context"), configurable))
        is_user = self.trust_nested or not is_nested(config)
        return Caller(principal, actor, {**said, **self.context}, _session(configurable), is_user)

    def spoken(self, caller: Caller, messages: Sequence[BaseMessage]) -> list[Message]:
        """What user and assistant said, in words: the user in the user's own name only."""
        return spoken(messages, self.trusted_names if caller.is_user else None)

    def flush(self, config: RunnableConfig | None = None) -> None:
        """Wait until everything that was observed of the caller's is kept.

        :raises MissingIdentity: If nothing names a user; to wait for everybody's, flush the :class:`BeliefMemory`.
        :raises Exception: What went wrong first meanwhile; the errors of others are theirs.
        """
        caller = self.caller(ensure_config(config))
        self.memory.flush(principal=caller.principal, actor=caller.actor)

    async def aflush(self, config: RunnableConfig | None = None) -> None:
        """Do the same without blocking the event loop."""
        caller = self.caller(ensure_config(config))
        await self.memory.aflush(principal=caller.principal, actor=caller.actor)


def _session(configurable: Mapping[str, Any]) -> str | None:
    by_call = (configurable.get(name) for name in ("session_id", "thread_id"))
    by_context = current().session_id
    found = (one for one in (*by_call, by_context) if one is not None and one is not UNSET)
    return next(map(str, found), None)


def _filled(needed: set[str], holders: Sequence[object]) -> dict[str, str]:
    filled = dict[str, str]()
    for place in sorted(needed):
        values = {value for holder in holders if isinstance(value := said_by(holder, place), str)}
        if len(values) > 1:
            raise InvalidInput(f"the runtime context and the config fill {place!r} differently: let one say it")
        if values:
            filled[place] = values.pop()
    return filled
