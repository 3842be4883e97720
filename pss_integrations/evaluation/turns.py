"""What an arm is, and what it may use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pss_integrations.evaluation.subjects import Asked, Subject
from pss_integrations.routing import BUILT_IN, Certificate
from pss_integrations.routing.wording import Wording
from pss_integrations.types import Clue, Hit, SearcherKind
from pss_integrations.vocabulary import Vocabulary

Sent: TypeAlias = tuple[Wording, ...]

Find: TypeAlias = Callable[[Wording], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class Turn:
    """What an arm may use.

    :param written: What the arm's state wrote; ``None`` if it has none.
    :param text: What the arm's source of texts made; blank if it has none.
    :param count_tokens: The backbone's count of a text's tokens.
    :param find: Searches.
    :param kind: What the searcher compares.
    :param vocabulary: What its passages name.
    :param index_id: What tells it from every other searcher.
    :param certificate: What the guard decides by.
    :param query_weight: How much the query weighs against what is appended to it, where an arm does not say.
    """

    subject: Subject
    asked: Asked
    written: Clue | None
    count_tokens: Callable[[str], int]
    find: Find
    kind: SearcherKind = "unknown"
    vocabulary: Vocabulary | None = None
    index_id: str | None = None
    certificate: Certificate = BUILT_IN
    query_weight: float = 1.0
    text: str = ""

    @property
    def clue(self) -> str:
        """The clue's text; blank if there is none."""
        return self.written.text if self.written else ""

    @property
    def query(self) -> str:
        """The probe's own words."""
        return self.asked.probe.query


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to search.

    :param name: Its name in tables.
    :param send: What it searches for.
    :param state: The state whose clue it reads, a key of :data:`~pss_integrations.evaluation.controls.STATES`.
    :param text: Where its text comes from, a key of :data:`~pss_integrations.evaluation.texts.TEXTS`.
    :param taught: Whether it holds what a state is taught without being one: for a probe that was asked before the last
        message it knows what came after.
    :param best_of: Arms of which it is the best one for each probe, by what answers it; it sends nothing itself.
    """

    name: str
    send: Callable[[Turn], Sent]
    state: str | None = None
    text: str | None = None
    taught: bool = False
    best_of: tuple[str, ...] = ()
