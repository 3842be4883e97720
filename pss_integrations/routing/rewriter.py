"""From a query to the text to search with, where nothing but the query is seen; the query transformers run it.

The reasons are those of :mod:`~pss_integrations.routing.router`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Generic, Literal, get_args
from weakref import WeakKeyDictionary

from pss_integrations.errors import HistoryDiverged, InvalidInput, StateNotFound
from pss_integrations.identity import MISSING_IDENTITY, require
from pss_integrations.protocols import ClueReader
from pss_integrations.retrieval.fusion import check_positive_int
from pss_integrations.routing.flow import Flow, Look, Read, awalk, walk
from pss_integrations.routing.rules import is_self_contained, is_usable_clue
from pss_integrations.routing.wording import Wording
from pss_integrations.types import Clue, DocumentT, Message, Routed, SessionKey

OnMissingIdentity = Literal["raw", "raise"]
# One variable for all, since a context keeps each variable for ever; and it must not keep what nobody else does.
_LAST: ContextVar[WeakKeyDictionary[SessionReader[Any], Routed[Any] | None]] = ContextVar("last_decisions")


class SessionReader(Generic[DocumentT]):
    """What rewriter and router share: whose session it is, what its state says, and the last decision.

    Where the reader can be copied deeply and pickled, so can they; a copy has decided nothing yet.

    :param reader: Writes the clues; a ``StateManager``. ``None`` where no state is ever read.
    :param on_missing_identity: ``"raw"`` leaves queries without a session alone and warns once;
        ``"raise"`` raises, whatever the query.
    :raises InvalidInput: If ``on_missing_identity`` is neither.
    """

    def __init__(self, reader: ClueReader | None, on_missing_identity: OnMissingIdentity = "raw") -> None:
        check_choice("on_missing_identity", on_missing_identity, get_args(OnMissingIdentity))
        self._reader = reader
        self._on_missing_identity = on_missing_identity
        self._warned = False

    @property
    def last_decision(self) -> Routed[DocumentT] | None:
        """The last decision made in this context (task or thread); ``None`` if there was none."""
        last = _LAST.get(None)
        return None if last is None else last.get(self)

    @last_decision.setter
    def last_decision(self, decision: Routed[DocumentT] | None) -> None:
        last = WeakKeyDictionary(_LAST.get(None) or {})  # contexts share what they hold: this one needs its own
        last[self] = decision
        _LAST.set(last)

    def _needs_no_session(self, query: str, session: SessionKey | None) -> str | None:
        """Return the reason where no state need be read; asks for nothing."""
        if self._on_missing_identity == "raise" and self._reader is not None:
            require(session)
        if not query.strip():
            return "blank_query"
        if is_self_contained(query):
            return "self_contained"
        if session is None and self._reader is not None:
            self._warn_once()
            return "no_session"
        return None

    def _clue(self, query: str, session: SessionKey, messages: Sequence[Message]) -> Flow[tuple[Clue, int | None]]:
        """Read the clue, and count the messages since the compile; a changed history tells nothing."""
        clue: Clue = yield Read(session, query)
        behind: int | None = None
        if messages and self._reader is not None:
            reader = self._reader
            with suppress(HistoryDiverged, StateNotFound):
                behind = yield Look(lambda: reader.messages_behind(session, messages))
        return clue, behind

    def _warn_once(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(f"{MISSING_IDENTITY}; searching with the query as it is", UserWarning, 2)


class Rewriter(SessionReader[Any]):
    """Turns a query into the text to search with, or leaves it alone.

    :param reader: Writes the clues; a ``StateManager``.
    :param composition: How a clue meets the query: ``"append"`` or ``"replace"``.
    :param query_weight: How often ``append`` repeats the query before the clue; at least 1.
    :param on_missing_identity: See :class:`SessionReader`.
    :raises InvalidInput: If an option is none of these.
    """

    def __init__(
        self,
        reader: ClueReader,
        *,
        composition: Literal["append", "replace"] = "append",
        query_weight: int = 1,
        on_missing_identity: OnMissingIdentity = "raw",
    ) -> None:
        super().__init__(reader, on_missing_identity)
        check_choice("composition", composition, ("append", "replace"))
        check_positive_int("query_weight", query_weight)
        self._composition: Literal["append", "replace"] = composition
        self._query_weight = query_weight

    def decide(self, query: str, session: SessionKey | None, messages: Sequence[Message] = ()) -> Routed[Any]:
        """Decide before any search; the result has no documents.

        :param messages: The live history, only to say how old the state is.
        :raises MissingIdentity: If there is no session and the rewriter was told to raise.
        :raises StateError: What the reader raises, ``StateNotFound`` excepted.
        """
        self.last_decision = None  # a failure must not leave the decision of an earlier call behind
        self.last_decision = decision = walk(self._flow(query, session, messages), self._reader)
        return decision

    async def adecide(self, query: str, session: SessionKey | None, messages: Sequence[Message] = ()) -> Routed[Any]:
        """Do the same without blocking the event loop."""
        self.last_decision = None
        self.last_decision = decision = await awalk(self._flow(query, session, messages), self._reader)
        return decision

    def text(self, query: str, decision: Routed[Any]) -> str:
        """Return the text to search with: the query itself on the raw route."""
        if decision.route == "raw" or decision.clue is None:
            return query
        return Wording(query if self._composition == "append" else "", decision.clue.text, self._query_weight).text

    def _flow(self, query: str, session: SessionKey | None, messages: Sequence[Message]) -> Flow[Routed[Any]]:
        if reason := self._needs_no_session(query, session):
            return Routed((), "raw", reason)
        try:
            clue, behind = yield from self._clue(query, require(session), messages)
        except StateNotFound:
            return Routed((), "raw", "no_state")
        if not (clue.finished and is_usable_clue(clue.text, query)):
            return Routed((), "raw", "unusable_clue", clue=clue, messages_behind=behind)
        return Routed((), "pss", "clue", self._composition, clue=clue, messages_behind=behind)


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a value that is none of the choices.

    :raises InvalidInput: If it is none.
    """
    if value not in choices:
        raise InvalidInput(f"unknown {name} {value!r}: use one of {', '.join(choices)}")
