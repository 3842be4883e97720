"""What an engine keeps in memory between reads: states, and the clues that were read from them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import Tensor

from pss_integrations.states.drafts import Taught
from pss_integrations.types import SessionKey

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class ResidentState:
    """A state in memory.

    :param vector: Its parameters (numel,).
    :param taught: The clues that it was taught, if their text was kept.
    """

    vector: Tensor
    taught: tuple[Taught, ...]


class SessionLRU(Generic[ValueT]):
    """Values of sessions, of which the least recently used leave; all of a session can be dropped at once.

    :param most: How many are kept, at least one.
    """

    def __init__(self, most: int) -> None:
        self._most = max(1, most)
        self._kept: OrderedDict[tuple[SessionKey, Hashable], ValueT] = OrderedDict()

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._kept)

    def get(self, session: SessionKey, name: Hashable) -> ValueT | None:
        """Return a value, or ``None`` if it is not there."""
        if (session, name) in self._kept:
            self._kept.move_to_end((session, name))
        return self._kept.get((session, name))

    def put(self, session: SessionKey, name: Hashable, value: ValueT) -> None:
        """Keep a value."""
        self._kept[session, name] = value
        self._kept.move_to_end((session, name))
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def forget(self, session: SessionKey) -> None:
        """Drop all values of a session."""
        for kept in [kept for kept in self._kept if kept[0] == session]:
            del self._kept[kept]
