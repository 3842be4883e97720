"""Whether a candidate is used: a pure function of features and certificate."""

from __future__ import annotations

from dataclasses import dataclass

from pss_integrations.routing.certificate import Certificate
from pss_integrations.routing.features import Features


@dataclass(frozen=True, slots=True)
class Decision:
    """What the guard says of one candidate.

    :param activates: Whether it may be used instead of the raw search.
    :param score: What the certificate makes of its features.
    :param is_supported: Whether what was found holds what the query asks for together with what was added; a query
        without content words asks for nothing of its own.
    """

    activates: bool
    score: float
    is_supported: bool


def decide(features: Features, certificate: Certificate) -> Decision:
    """Decide on a candidate from what is observable of it.

    :param features: All that is known of the candidate.
    :param certificate: Calibrated for the index and the engine, or the built-in one.
    """
    score = certificate.score(features)
    return Decision(
        activates=certificate.threshold is not None and score >= certificate.threshold,
        score=score,
        is_supported=not features.words or features.support >= certificate.unsupported_below,
    )
