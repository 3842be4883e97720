"""What the parts ask of each other; nothing here is implemented."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from pss_integrations.types import Clue, Hit, Message, SessionKey


@runtime_checkable
class Searcher(Protocol):
    """Finds passages."""

    def search(self, query: str, k: int) -> list[Hit]:
        """Return at most ``k`` hits, best first, ties by ``doc_id``; none if nothing matches."""
        ...


@runtime_checkable
class ClueReader(Protocol):
    """Writes a search clue for a query from a session's state, as ``StateManager`` does."""

    def has_state(self, key: SessionKey) -> bool:
        """Whether a state was compiled for this session; loads nothing."""
        ...

    def read(self, key: SessionKey, query: str) -> Clue:
        """Return the clue. Raises ``StateNotFound`` if nothing was compiled."""
        ...

    async def aread(self, key: SessionKey, query: str) -> Clue:
        """Do the same without blocking the event loop."""
        ...

    def messages_behind(self, key: SessionKey, messages: Sequence[Message]) -> int:
        """How many of ``messages`` came after the last compile."""
        ...
