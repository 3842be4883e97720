"""What transformer and retriever share: their fields, and the one reader of LangChain's config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, ConfigDict

from pss_integrations.identity import UNSET, PartialIdentity, current, resolve
from pss_integrations.routing.rewriter import OnMissingIdentity
from pss_integrations.types import SessionKey

DECISION_EVENT = "pss_decision"


class SessionAware(BaseModel):
    """Fields of everything here that asks for a session's state.

    :param explain: Put the texts of query, card and clue into events too, and all that events say into metadata.
    :param user_id: The user; ``None`` counts only if it is given.
    :param session_id: The session.
    :param session_from: ``"thread_id"`` takes ``config["configurable"]["thread_id"]`` for the session id.
    :param on_missing_identity: ``"raw"`` leaves the query alone and warns once, ``"raise"`` raises.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", frozen=True)

    explain: bool = False
    user_id: str | None = None
    session_id: str | None = None
    session_from: Literal["thread_id"] | None = None
    on_missing_identity: OnMissingIdentity = "raw"

    def session_key(self, config: RunnableConfig) -> SessionKey | None:
        """Resolve the session: server runtime, runtime context, arguments, config, then ``pss_session``.

        :raises IdentityConflict: If two of them name different users or sessions.
        """
        configurable: dict[str, Any] = config.get("configurable") or {}
        runtime = configurable.get("__pregel_runtime")  # where LangGraph keeps it
        server = said_by(runtime, "server_info")
        user = configurable.get("langgraph_auth_user") or said_by(server, "user")
        context = said_by(runtime, "context")
        given = {name: getattr(self, name) for name in self.model_fields_set & {"user_id", "session_id"}}
        thread = configurable.get("thread_id") if self.session_from == "thread_id" else None
        return resolve(
            PartialIdentity(user_id=said_by(user, "identity"), source="the authenticated user"),
            PartialIdentity(said_by(context, "user_id"), said_by(context, "session_id"), "the runtime context"),
            PartialIdentity.from_mapping(given, "an explicit argument"),
            PartialIdentity.from_mapping(configurable, 'config["configurable"]'),
            PartialIdentity(session_id=thread, source="thread_id"),
            current(),
        )


def said_by(holder: Any, name: str) -> Any:
    """What a mapping or an object holds under a name; ``UNSET`` if it holds nothing there."""
    if isinstance(holder, Mapping):
        return cast("Mapping[str, Any]", holder).get(name, UNSET)
    return UNSET if holder is UNSET else getattr(holder, name, UNSET)  # which has names of its own
