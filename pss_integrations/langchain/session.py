"""What transformer and retriever share: their fields and copies, and the one reader of LangChain's config."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from copy import copy
from threading import Lock
from typing import Any, Literal, Self, cast

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import patch_config, var_child_runnable_config
from langchain_core.tracers.context import tracing_v2_callback_var
from langsmith import tracing_context
from pydantic import BaseModel, ConfigDict, PrivateAttr

from pss_integrations.identity import UNSET, PartialIdentity, current, resolve
from pss_integrations.routing.rewriter import OnMissingIdentity
from pss_integrations.types import SessionKey

DECISION_EVENT = "pss_decision"
SessionFrom = Literal["thread_id"]
_MAKING = Lock()


class SessionAware(BaseModel):
    """Fields of everything here that asks for a session's state.

    Copies share the manager and an index of ours. Where these can be pickled, so can what holds them: a
    ``StateManager`` cannot, and each process makes its own.

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
    session_from: SessionFrom | None = None
    on_missing_identity: OnMissingIdentity = "raw"
    _made: Any = PrivateAttr(default=None)

    # What decides goes by the fields, and knows the decisions of a context: each copy makes its own when it needs it.
    @abstractmethod
    def _make(self) -> Any: ...

    def _decider(self) -> Any:
        if self._made is None:
            with _MAKING:
                self._made = self._make() if self._made is None else self._made
        return self._made

    def __copy__(self) -> Self:
        copied = super().__copy__()
        copied._made = None
        return copied

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return super(SessionAware, copy(self)).__deepcopy__(memo)

    def __getstate__(self) -> dict[Any, Any]:
        return super(SessionAware, copy(self)).__getstate__()

    def session_key(self, config: RunnableConfig) -> SessionKey | None:
        """Resolve the session: server runtime, runtime context, arguments, config, then ``pss_session``.

        :raises IdentityConflict: If two of them name different users or sessions.
        """
        given = {name: getattr(self, name) for name in self.model_fields_set & {"user_id", "session_id"}}
        by_argument = PartialIdentity.from_mapping(given, "an explicit argument")
        return resolve(*identity_sources(config, by_argument, session_from=self.session_from))


def identity_sources(
    config: RunnableConfig,
    by_argument: PartialIdentity,
    *,
    runtime: object = None,
    session_from: SessionFrom | None = None,
) -> tuple[PartialIdentity, ...]:
    """What each source says of who asks, and in which session; nothing else here reads it.

    :param by_argument: What the object that is called was made with.
    :param runtime: That of a LangGraph node; by default the one that the config holds.
    :param session_from: ``"thread_id"`` makes the thread a source too.
    """
    configurable: dict[str, Any] = config.get("configurable") or {}
    runtime = runtime or runtime_of(config)
    authenticated = configurable.get("langgraph_auth_user") or said_by(said_by(runtime, "server_info"), "user")
    context = said_by(runtime, "context")
    user_in_context = said_by(context, "user_id")
    return (
        PartialIdentity(user_id=said_by(authenticated, "identity"), source="the authenticated user"),
        PartialIdentity(
            UNSET if user_in_context is None else user_in_context,  # an optional field that was not filled
            said_by(context, "session_id"),
            "the runtime context",
        ),
        by_argument,
        PartialIdentity.from_mapping(configurable, 'config["configurable"]'),
        PartialIdentity(session_id=configurable.get("thread_id") if session_from else None, source="thread_id"),
        current(),
    )


def runtime_of(config: RunnableConfig) -> object:
    """The runtime of the LangGraph node that a config comes from, if any."""
    return (config.get("configurable") or {}).get("__pregel_runtime")  # where LangGraph keeps it


def is_nested(config: RunnableConfig) -> bool:
    """Whether a graph runs inside a node of another one, also where it has a thread of its own."""
    metadata = config.get("metadata") or {}
    namespace = str(metadata.get("langgraph_checkpoint_ns") or "")
    outermost = metadata.get("checkpoint_ns")  # which LangChain copies once, from the outermost node
    return "|" in namespace or bool(outermost and namespace and outermost != namespace)


def said_by(holder: Any, name: str) -> Any:
    """What a mapping or an object holds under a name; ``UNSET`` if it holds nothing there."""
    if isinstance(holder, Mapping):
        return cast("Mapping[str, Any]", holder).get(name, UNSET)
    return UNSET if holder is UNSET else getattr(holder, name, UNSET)  # which has names of its own


@contextmanager
def unheard(config: RunnableConfig) -> Generator[RunnableConfig]:
    """Keep what runs in here from everyone who listens to the call: by its config, its context or its environment."""
    own = patch_config(config, callbacks=BaseCallbackManager([]))
    inherited, tracer = var_child_runnable_config.set(own), tracing_v2_callback_var.set(None)
    try:
        with tracing_context(enabled=False):
            yield own
    finally:
        tracing_v2_callback_var.reset(tracer)
        var_child_runnable_config.reset(inherited)
