"""How what is added to a query meets it, for each kind of searcher."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pss_integrations.types import Route, SearcherKind


@dataclass(frozen=True, slots=True)
class Plan:
    """What is added for one kind of searcher, and how much the query weighs against it.

    :param card_weight: Weight of the query against a card.
    :param clue_weight: Weight of the query against a clue, which is longer and says more than a card.
    :param words: Rare words of the user that a card has.
    """

    card_weight: float
    clue_weight: float
    words: int

    def weight(self, route: Route) -> float:
        """Weight of the query on a route."""
        return self.clue_weight if route == "pss" else self.card_weight


PLANS: Mapping[SearcherKind, Plan] = {
    "lexical": Plan(card_weight=2.0, clue_weight=1.0, words=4),
    "dense": Plan(card_weight=1.5, clue_weight=1.0, words=0),
    "unknown": Plan(card_weight=2.0, clue_weight=1.0, words=2),
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
