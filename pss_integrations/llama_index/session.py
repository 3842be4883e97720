"""What transformer and retriever share: binding, identity, and the event that tells a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import llama_index.core.instrumentation as instrument
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field  # pyright: ignore[reportPrivateImportUsage]
from llama_index.core.instrumentation.events.base import BaseEvent  # pyright: ignore[reportPrivateImportUsage]
from llama_index.core.schema import QueryBundle

from pss_integrations.identity import UNSET, PartialIdentity, Unset, current, resolve
from pss_integrations.llama_index.convert import to_messages
from pss_integrations.routing.describe import describe
from pss_integrations.types import Message, Routed, SessionKey

dispatcher = instrument.get_dispatcher(__name__)  # pyright: ignore[reportPrivateImportUsage]


@dataclass(kw_only=True)
class SessionQueryBundle(QueryBundle):
    """A query that says whose it is; what it leaves open, others may say.

    :param user_id: The user, or ``None`` for a session without one, which counts only if it is given.
    :param session_id: The session within that user.
    :param chat_history: The live messages: what cards are made of, and what tells how old the state is.
    """

    user_id: str | Unset | None = UNSET
    session_id: str | None = None
    chat_history: Sequence[ChatMessage] = ()


class PSSDecisionEvent(BaseEvent):
    """What was decided for one query; ``query``, ``clue`` and ``card`` only with ``explain=True``.

    ``confidence`` is the clue's mean log-probability per token, and no score of a node.
    """

    route: str
    reason: str
    composition: str | None = None
    confidence: float | None = None
    calibrated: bool = False
    supported: bool | None = None
    messages_behind: int | None = None
    features: dict[str, float] = Field(default_factory=dict[str, float])
    query: str | None = None
    clue: str | None = None
    card: str | None = None

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "PSSDecisionEvent"


class SessionBound:
    """Something that may be bound to a session, cheaply and without changing the original."""

    _bound = PartialIdentity(source="bind()")

    def bind(self, *, user_id: str | None, session_id: str) -> Self:
        """Return a copy for one session; it shares everything else with the original.

        :raises MissingIdentity: If an id is empty.
        :raises InvalidInput: If an id is no usable string.
        """
        key = SessionKey(user_id, session_id)
        bound = copy(self)
        bound._bound = PartialIdentity(key.user_id, key.session_id, "bind()")
        return bound

    def session_key(self, bundle: QueryBundle, metadata: Mapping[str, Any]) -> SessionKey | None:
        """Resolve the session: metadata of the call, ``bind()``, the bundle, then ``pss_session``.

        :raises IdentityConflict: If two of them name different users or sessions.
        """
        return resolve(*identity_sources(self._bound, bundle=bundle, metadata=metadata))


def identity_sources(
    *by_argument: PartialIdentity, bundle: QueryBundle | None = None, metadata: Mapping[str, Any] | None = None
) -> tuple[PartialIdentity, ...]:
    """What each source says of who asks, and in which session, the enclosing ``pss_session`` last.

    Nothing else here reads them.

    :param by_argument: What the object that is called was made or bound with.
    """
    by_bundle = vars(bundle) if isinstance(bundle, SessionQueryBundle) else {}
    return (
        PartialIdentity.from_mapping(metadata or {}, "metadata"),
        *by_argument,
        PartialIdentity.from_mapping(by_bundle, "the query bundle"),
        current(),
    )


def live_messages(bundle: QueryBundle, metadata: Mapping[str, Any]) -> list[Message]:
    """Return the history that came with a query: ``chat_history`` of the metadata or of the bundle."""
    history = metadata.get("chat_history")
    if history is None and isinstance(bundle, SessionQueryBundle):
        history = bundle.chat_history
    return to_messages(history or [])


def decided(decision: Routed[Any], query: str, *, explain: bool) -> PSSDecisionEvent:
    """Return the event."""
    return PSSDecisionEvent(**describe(decision, query, explain=explain))


def tell(decision: Routed[Any], query: str, *, explain: bool) -> None:
    """Send the event."""
    dispatcher.event(decided(decision, query, explain=explain))
