"""Beliefs: what a user or a team has settled, kept across sessions."""

from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.beliefs.principals import Principal
from pss_integrations.beliefs.schema import (
    Belief,
    Change,
    Correction,
    NewBelief,
    Provenance,
    PutResult,
)
from pss_integrations.beliefs.scopes import UNIVERSAL, fill_scope
from pss_integrations.beliefs.search import BeliefHit, Explanation
from pss_integrations.beliefs.store import BeliefStore, Erasure

__all__ = [
    "UNIVERSAL",
    "Belief",
    "BeliefHit",
    "BeliefMemory",
    "BeliefStore",
    "Change",
    "Correction",
    "Erasure",
    "Explanation",
    "NewBelief",
    "Principal",
    "Provenance",
    "PutResult",
    "fill_scope",
]
