"""How what is added to a query meets it, for each kind of searcher."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pss_integrations.text import identifiers
from pss_integrations.types import Route, SearcherKind


@dataclass(frozen=True, slots=True)
class Plan:
    """What is added for one kind of searcher, and how much the query weighs against it.

    :param usual_weight: Weight of the query against what is added to it.
    :param exact_weight: The same where a clue with identifiers is added, which say exactly what is meant.
    :param words: Rare words of the user that a card has.
    """

    usual_weight: float
    exact_weight: float
    words: int

    def weight(self, route: Route, added: str) -> float:
        """Weight of the query against what a route adds."""
        return self.exact_weight if route == "pss" and is_exact(added) else self.usual_weight


PLANS: Mapping[SearcherKind, Plan] = {
    "lexical": Plan(usual_weight=2.0, exact_weight=1.0, words=4),
    "dense": Plan(usual_weight=1.5, exact_weight=1.0, words=0),
    "unknown": Plan(usual_weight=2.0, exact_weight=1.0, words=2),
}
"""Measured on recorded conversations and on PSS-320: see the README."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What is searched for: a query, and a text added to it.

    :param query: The query; blank if the added text is searched for alone.
    :param added: A card or a clue; blank on the raw route.
    :param weight: How much the query weighs against what is added.
    """

    query: str
    added: str = ""
    weight: float = 1.0

    @property
    def text(self) -> str:
        """Both in one text, for a searcher that takes one: the query repeated as often as it weighs."""
        if not self.added:
            return self.query
        return " ".join([*[self.query] * max(1, round(self.weight)), self.added]) if self.query else self.added


def is_exact(added: str) -> bool:
    """Whether a text names something that hardly anything else is called: an identifier with letters and digits."""
    return any(any(map(str.isalpha, found)) and any(map(str.isdecimal, found)) for found in identifiers(added))
