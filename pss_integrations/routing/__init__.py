"""Chooses between the raw query, a card and a session's clue; runs without torch and without a framework."""

from pss_integrations.routing.card import Card, CardBuilder, SessionCards
from pss_integrations.routing.certificate import BUILT_IN, Binding, Certificate
from pss_integrations.routing.features import Features
from pss_integrations.routing.guard import Decision, decide
from pss_integrations.routing.rewriter import Rewriter
from pss_integrations.routing.router import Router
from pss_integrations.routing.rules import is_self_contained, is_usable_clue

__all__ = [
    "BUILT_IN",
    "Binding",
    "Card",
    "CardBuilder",
    "Certificate",
    "Decision",
    "Features",
    "Rewriter",
    "Router",
    "SessionCards",
    "decide",
    "is_self_contained",
    "is_usable_clue",
]
