"""Puts what was observed into a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pss_integrations.beliefs.extraction.observation import Answer, Gone, NewAliases, Observation
from pss_integrations.beliefs.names import name_key
from pss_integrations.beliefs.principals import Principal
from pss_integrations.beliefs.schema import Belief, NewBelief, PutResult
from pss_integrations.beliefs.scopes import check_scopes
from pss_integrations.beliefs.store import BeliefStore
from pss_integrations.errors import BeliefConflict, InvalidInput


def remember(
    store: BeliefStore,
    principal: Principal,
    scopes: Sequence[str],
    observation: Observation,
    *,
    actor: Principal | None = None,
) -> tuple[PutResult, ...]:
    """Put what was observed into a store, and end what it ends.

    The beliefs are put in order, and supersede what a user gave up for them, as :meth:`BeliefStore.put` does. A belief
    about it that goes by another name or is of another type is retracted, where exactly one is meant. "No longer uses
    MySQL" is kept, and supersedes "Uses MySQL": that a thing was given up is worth knowing, and a silent retraction
    would let it be suggested again. Beliefs of other types about what is gone, such as an entity, are retracted.
    Questions that were answered are closed. What cannot be put is left out, the rest is kept, and the first error is
    raised at the end.

    :param scopes: Where to look for what is superseded, gone or answered.
    :returns: What became of each belief, in order.
    :raises InvalidInput: If there is no scope, or a belief that no user said is too unsure to be kept.
    :raises BeliefConflict: If the scopes of a belief hold different beliefs of its name.
    """
    memory = _Memory(store, principal, check_scopes(scopes), actor)
    results, errors = list[PutResult](), list[BeliefConflict | InvalidInput]()

    def attempt(step: Callable[[], PutResult | None]) -> None:
        try:
            if (result := step()) is not None:
                results.append(result)
        except (BeliefConflict, InvalidInput) as error:  # the others are no worse for it
            errors.append(error)

    for belief in observation.beliefs:
        attempt(partial(memory.put, belief))
    kept = {result.belief.id for result in results}
    for gone in observation.gone:
        attempt(partial(memory.end, gone, kept))
    for answer in observation.answers:
        attempt(partial(memory.close, answer))
    for known in observation.aliases:
        attempt(partial(memory.learn, known))
    if errors:
        raise errors[0]
    return tuple(results)


@dataclass(frozen=True, slots=True)
class _Memory:
    store: BeliefStore
    principal: Principal
    scopes: tuple[str, ...]
    actor: Principal | None

    def put(self, belief: NewBelief) -> PutResult:
        old = self._known_otherwise(belief)
        result = self.store.put(self.principal, belief, actor=self.actor)
        if old is not None and old.id not in (result.belief.id, result.belief.supersedes):
            self.store.retract(self.principal, old.id, actor=self.actor)
        return result

    def end(self, gone: Gone, kept: set[str]) -> None:
        for one in self._named(gone.name):
            if one.type in gone.types and one.id not in kept:
                self.store.retract(self.principal, one.id, actor=self.actor)

    def close(self, answer: Answer) -> None:
        for one in self._named(answer.question):
            if one.type == "open_question" and _is_name(one.canonical_name, answer.question):
                self.store.resolve(self.principal, one.id, actor=self.actor)

    def learn(self, known: NewAliases) -> None:
        named = self._named(known.name)
        if len(named) == 1:  # which of several is meant nobody said
            self.store.reinforce(
                self.principal, named[0].id, aliases=known.aliases, source="assistant", actor=self.actor
            )

    def _known_otherwise(self, belief: NewBelief) -> Belief | None:
        """The one belief about what was given up that the store leaves: by an alias, or of another type."""
        if not belief.explicit:
            return None
        found = {
            one.id: one
            for name in belief.replaces
            for one in self._named(name)
            if one.type in (belief.type, "entity", "decision")
            and not _is_name(one.canonical_name, belief.canonical_name)
        }
        exact = [one for one in found.values() if any(_is_name(one.canonical_name, name) for name in belief.replaces)]
        left = [one for one in exact if one.type != belief.type] if exact else [*found.values()]
        return left[0] if len(left) == 1 else None

    def _named(self, name: str) -> list[Belief]:
        """Current beliefs with this name or alias, whole."""
        hits = self.store.search(self.principal, self.scopes, name, actor=self.actor)
        return [hit.belief for hit in hits if any(_is_name(known, name) for known in hit.belief.names)]


def _is_name(one: str, other: str) -> bool:
    return name_key(one) == name_key(other)
