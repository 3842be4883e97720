"""Names filed under texts, and counts that forget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, KeysView
from typing import Any


class Filed:
    """Names, each filed under several places; most places hold one name."""

    def __init__(self) -> None:
        """Hold none."""
        self._at: dict[str, str | tuple[str, ...]] = {}

    def add(self, name: str, places: Iterable[str]) -> None:
        """File a name under places, each given once, where it must not be yet."""
        for place in places:
            filed = self._at.setdefault(place, name)
            if filed is not name:
                self._at[place] = (*_each(filed), name)

    def remove(self, name: str, places: Iterable[str]) -> None:
        """Take a name away from places where it is filed."""
        for place in places:
            rest = tuple(other for other in _each(self._at.pop(place)) if other != name)
            if rest:
                self._at[place] = rest

    def taken(self, places: KeysView[str]) -> set[str]:
        """Return those of some places where a name is filed."""
        return self._at.keys() & places

    def at(self, places: Iterable[str]) -> set[str]:
        """Return the names that are filed under any of some places."""
        filed = self._at
        return {name for place in places if place in filed for name in _each(filed[place])}


def discount(counts: Counter[Any], items: Iterable[Any]) -> None:
    """Take back what ``counts.update(items)`` counted, and hold no zero."""
    for item in items:
        counts[item] -= 1
        if not counts[item]:
            del counts[item]


def _each(filed: str | tuple[str, ...]) -> tuple[str, ...]:
    return (filed,) if isinstance(filed, str) else filed
