"""Beliefs: what a user or a team has settled, kept across sessions.

The names below are loaded when they are first used: a store needs no extractor.
"""

from typing import TYPE_CHECKING

from pss_integrations.lazy import lazily

if TYPE_CHECKING:
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

_HOMES = {
    "Belief": "schema",
    "BeliefHit": "search",
    "BeliefMemory": "memory",
    "BeliefStore": "store",
    "Change": "schema",
    "Correction": "schema",
    "Erasure": "store",
    "Explanation": "search",
    "NewBelief": "schema",
    "Principal": "principals",
    "Provenance": "schema",
    "PutResult": "schema",
    "UNIVERSAL": "scopes",
    "fill_scope": "scopes",
}

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

__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
