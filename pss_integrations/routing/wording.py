"""How what is added to a query meets it, for each kind of searcher."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pss_integrations.text import identifiers
from pss_integrations.types import Route, SearcherKind


@dataclass(frozen=True, slots=True)
class Plan:
    """What is added for one kind of searcher, and how much the query weighs against it.

    :param card_weight: Weight of the query against a card.
    :param clue_weight: Weight of the query against a clue.
    :param exact_weight: The same for a clue with identifiers, which say exactly what is meant.
    :param words: Rare words of the user that a card has.
    :param prefers: The route that is taken where nothing else tells two candidates apart.
    """

    card_weight: float
    clue_weight: float
    exact_weight: float
    words: int
    prefers: Route

    def weight(self, route: Route, added: str) -> float:
        """Weight of the query against what a route adds."""
        if route == "card":
            return self.card_weight
        return self.exact_weight if is_exact(added) else self.clue_weight


PLANS: Mapping[SearcherKind, Plan] = {
    "lexical": Plan(card_weight=2.0, clue_weight=1.0, exact_weight=1.0, words=4, prefers="card"),
    "dense": Plan(card_weight=1.5, clue_weight=1.5, exact_weight=1.0, words=0, prefers="pss"),
    "unknown": Plan(card_weight=2.0, clue_weight=1.0, exact_weight=1.0, words=2, prefers="card"),
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
