"""What events and metadata say of a decision."""

from __future__ import annotations

from typing import Any

from pss_integrations.types import Routed


def describe(decision: Routed[Any], query: str, *, explain: bool) -> dict[str, Any]:
    """Return what events and metadata say of a decision; texts only if ``explain``.

    ``confidence`` is the clue's mean log-probability per token: no score of a document, and not calibrated.
    """
    clue = decision.clue
    said = {
        "route": decision.route,
        "reason": decision.reason,
        "composition": decision.composition,
        "confidence": clue.mean_logprob if clue else None,
        "calibrated": decision.calibrated,
        "supported": decision.supported,
        "messages_behind": decision.messages_behind,
        "features": dict(decision.features),
    }
    if not explain:
        return said
    return said | {"query": query, "clue": clue.text if clue else None, "card": decision.card or None}
