"""Which beliefs a model is shown for a query, in tiers (Tenure, section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pss_integrations.beliefs.schema import Belief
from pss_integrations.beliefs.scopes import UNIVERSAL
from pss_integrations.beliefs.search import BeliefHit

MAX_BELIEFS = 20
MAX_PINNED = 10
MAX_QUESTIONS = 15


@dataclass(frozen=True, slots=True)
class Recall:
    """What is recalled; no belief is in more than one of the first three tiers.

    :param pinned: What holds in the scopes whatever is asked.
    :param relevant: What the query names, best first, then what relations among it lead to.
    :param open_questions: What is not decided: pinned questions, then those that the query names.
    :param persona: What the user prefers everywhere; pinned preferences are pinned beliefs too where
        ``user:universal`` is among the scopes.
    :param contested: Ids of those that something contradicts which waits for a decision.
    """

    pinned: tuple[Belief, ...]
    relevant: tuple[Belief, ...]
    open_questions: tuple[Belief, ...]
    persona: tuple[Belief, ...]
    contested: frozenset[str] = frozenset()


class BeliefIndex(Protocol):
    """The live beliefs of one principal."""

    def search(self, scopes: Sequence[str], query: str, now: datetime) -> list[BeliefHit]:
        """Beliefs that a query finds, the best first."""
        ...

    def in_scopes(self, scopes: Sequence[str], now: datetime) -> list[Belief]:
        """All beliefs in the scopes."""
        ...


def recall(
    index: BeliefIndex,
    scopes: Sequence[str],
    query: str,
    now: datetime,
    *,
    max_beliefs: int = MAX_BELIEFS,
    max_pinned: int = MAX_PINNED,
    max_questions: int = MAX_QUESTIONS,
) -> Recall:
    """Choose what a model is shown: what is pinned, what the query names, what is undecided, and the persona.

    A pinned belief beyond ``max_pinned`` is recalled like any other, if the query names it.

    :param query: What is asked; a blank one names nothing.
    :param max_beliefs: The most pinned and relevant beliefs together; pinned ones come first.
    :param max_pinned: The most pinned beliefs.
    :param max_questions: The most open questions.
    """
    held = index.in_scopes(scopes, now)
    hits = index.search(scopes, query, now)
    found = [hit.belief for hit in hits]
    pinned = _leading(one for one in held if one.pinned and not _is_question(one))[: min(max_pinned, max_beliefs)]
    asked = _leading(one for one in held if one.pinned and _is_question(one))
    asked += [one for one in found if _is_question(one) and not one.pinned]
    shown = {one.id for one in pinned}
    relevant = [one for one in found if not _is_question(one) and one.id not in shown]
    universal = (one for one in index.in_scopes((UNIVERSAL,), now) if one.type == "preference")
    return Recall(
        pinned=tuple(pinned),
        relevant=tuple(relevant[: max_beliefs - len(pinned)]),
        open_questions=tuple(asked[:max_questions]),
        persona=tuple(sorted(_leading(universal), key=lambda belief: not belief.pinned)),
        contested=frozenset(hit.belief.id for hit in hits if hit.contested_by),
    )


def _leading(beliefs: Iterable[Belief]) -> list[Belief]:
    """The most reinforced first, then by id."""
    return sorted(beliefs, key=lambda belief: (-belief.reinforcement_count, belief.id))


def _is_question(belief: Belief) -> bool:
    return belief.type == "open_question"
