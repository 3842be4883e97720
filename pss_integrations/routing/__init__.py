"""Chooses between the raw query and a session's clue; runs without torch and without a framework."""

from pss_integrations.routing.guard import is_self_contained, is_usable_clue
from pss_integrations.routing.router import Rewriter, Router

__all__ = ["Rewriter", "Router", "is_self_contained", "is_usable_clue"]
