"""What the parts ask of each other; nothing here is implemented."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pss_integrations.types import Clue, Hit, Message, SessionKey

if TYPE_CHECKING:  # few who use these have arrays
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Searcher(Protocol):
    """Finds passages."""

    def search(self, query: str, k: int) -> list[Hit]:
        """Return at most ``k`` hits, best first, ties by ``doc_id``; none if nothing matches."""
        ...


@runtime_checkable
class ExpandingSearcher(Searcher, Protocol):
    """Finds passages also by a query and a text that is added to it, such as a clue."""

    def search_expanded(self, query: str, added: str, k: int, *, query_weight: float = 1.0) -> list[Hit]:
        """Search with both, the query weighing ``query_weight`` to 1; a blank ``added`` is a plain search."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors that point the same way where the texts mean the same."""

    @property
    def name(self) -> str:
        """What tells it from every other embedder; a saved index is only read with an embedder of its name."""
        ...

    @property
    def dimension(self) -> int:
        """Length of its vectors."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts that will be searched. Returns shape (texts, dimension)."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts that will be searched with. Returns shape (texts, dimension)."""
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

    def engine_of(self, key: SessionKey) -> str:
        """What tells backbone and configuration of a session's state from all others. Raises ``StateNotFound``."""
        ...


@runtime_checkable
class BatchClueReader(ClueReader, Protocol):
    """Reads many at once in less time, and remembers them for a while."""

    def read_batch(self, requests: Iterable[tuple[SessionKey, str]]) -> Sequence[Clue]:
        """Return a clue for each request, in order. Raises ``StateNotFound`` if nothing was compiled for one."""
        ...
