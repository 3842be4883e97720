"""Beliefs, principals and a clock for the tests of the belief store."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pss_integrations.beliefs import Belief, BeliefStore, NewBelief, Principal, Provenance

ADA, BOB = Principal.user("ada"), Principal.user("bob")
ATLAS, BOREAL = "project:atlas", "project:boreal"


def new(
    name: str = "redis_cache",
    content: str = "Use Redis for the cache.",
    *,
    type: str = "decision",
    scopes: Sequence[str] = (ATLAS,),
    source: str = "user",
    **fields: Any,
) -> NewBelief:
    """A decision of a user in one project, where nothing else is said."""
    said = {"provenance": Provenance.model_validate({"source": source}), **fields}
    return NewBelief.model_validate(
        {"type": type, "canonical_name": name, "content": content, "scopes": tuple(scopes), **said}
    )


def found(store: BeliefStore, query: str, principal: Principal = ADA, scopes: Sequence[str] = (ATLAS,)) -> list[str]:
    """Ids of what a search returns."""
    return [hit.belief.id for hit in store.search(principal, scopes, query)]


def live(store: BeliefStore, principal: Principal = ADA) -> list[Belief]:
    """All current beliefs."""
    return store.list(principal, limit=None)


def chain(store: BeliefStore, principal: Principal, head: Belief) -> list[Belief]:
    """Versions from the head back to the first."""
    versions = [head]
    while versions[-1].supersedes is not None:
        versions.append(store.get(principal, versions[-1].supersedes))
        assert len(versions) < 1000, "the chain has no end"
    return versions


class Clock:
    """Stands still until it is moved on."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def step(self, hours: float = 1) -> datetime:
        """Move on, and return the time half way."""
        before = self.now
        self.now += timedelta(hours=hours)
        return before + timedelta(hours=hours) / 2
