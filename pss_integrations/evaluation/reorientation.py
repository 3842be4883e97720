"""What it costs to start a session, with beliefs and without: the re-orientation cost of Tenure (arXiv 2605.11325).

Without a memory a user tells a fresh session everything again, or pays for reading every earlier session. With one, a
block of beliefs stands before the first question. What each costs in tokens is set beside what the session then knows,
for a block is cheap as well where little was kept. No language model takes part.

A dialogue is a user's earlier sessions, in which facts are settled, replaced and left open, and the first question of a
fresh session, which needs some of them. What counts:

- A fact is *known* if one belief, in its type, its name or its content, has all the words of its current version; an
  open fact only if that belief is an open question, any other only if it is none.
- A fact is *stale* if one belief has all the words of its earlier version, and neither negates them nor shows the
  current version. None should ever be shown.
- A word is found where a word begins with it, in upper or lower case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pydantic import TypeAdapter

from pss_integrations import weights
from pss_integrations.beliefs import BeliefStore, Principal
from pss_integrations.beliefs.extraction import Extractor
from pss_integrations.beliefs.injection import Injection, estimate_tokens
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.beliefs.scopes import UNIVERSAL
from pss_integrations.errors import WeightsNotFetched
from pss_integrations.types import Message

_SCOPES: Final = (UNIVERSAL, "project:{project}")
_ITEM = "- "
_QUESTION = "- open_question "
_NEGATION = re.compile(r"\b(?:no|not|never)\b|n['’]t\b")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something about the user that the earlier sessions settle, or leave open.

    :param known: Words of its current version.
    :param stale: Words of an earlier version; none if there was none.
    :param needed: The question of the fresh session cannot be answered without it.
    :param open: It is an open question.
    """

    id: str
    known: tuple[str, ...]
    stale: tuple[str, ...] = ()
    needed: bool = False
    open: bool = False

    def known_from(self, beliefs: Iterable[str]) -> bool:
        """Whether one of these beliefs, a line each, shows the current version."""
        return any(map(self._is_shown, beliefs))

    def stale_in(self, beliefs: Iterable[str]) -> bool:
        """Whether one of these beliefs, a line each, shows an earlier version as if it held."""
        return bool(self.stale) and any(
            _says(belief, self.stale) and not self._is_shown(belief) and not _NEGATION.search(belief.casefold())
            for belief in beliefs
        )

    def _is_shown(self, belief: str) -> bool:
        return belief.startswith(_QUESTION) == self.open and _says(belief, self.known)


@dataclass(frozen=True, slots=True)
class Session:
    """An earlier session, and its day."""

    day: date
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A user's earlier sessions, oldest first, and how a fresh one begins.

    :param project: Names the scope beside ``user:universal``.
    :param question: The first message of the fresh session.
    :param restated: What the user would have to tell it first if it knew nothing: all facts, and no more words.
    """

    id: str
    project: str
    sessions: tuple[Session, ...]
    question: str
    facts: tuple[Fact, ...]
    restated: str


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts the tokens of a text.

    :param name: What counts, for people.
    """

    name: str
    count: Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Start:
    """A fresh session of a dialogue after recall.

    :param stored: Facts that the store knows.
    :param stored_stale: Facts that are stale in the store.
    :param known: Facts that the block makes known.
    :param shown_stale: Facts that are stale in the block.
    :param block_tokens: Tokens of the block.
    :param restated_tokens: Tokens of telling everything again.
    :param replayed_tokens: Tokens of all earlier messages, each with its role before it.
    """

    dialogue: Dialogue
    stored: tuple[Fact, ...]
    stored_stale: tuple[Fact, ...]
    known: tuple[Fact, ...]
    shown_stale: tuple[Fact, ...]
    block_tokens: int
    restated_tokens: int
    replayed_tokens: int

    def figures(self) -> dict[str, int]:
        """Its numbers; those of several dialogues add up."""
        return {
            "facts": len(self.dialogue.facts),
            "stored": len(self.stored),
            "stored_stale": len(self.stored_stale),
            "known": len(self.known),
            "needed": sum(fact.needed for fact in self.dialogue.facts),
            "needed_known": sum(fact.needed for fact in self.known),
            "shown_stale": len(self.shown_stale),
            "block_tokens": self.block_tokens,
            "restated_tokens": self.restated_tokens,
            "replayed_tokens": self.replayed_tokens,
        }

    def summary(self) -> dict[str, Any]:
        """Its numbers, and the ids of the facts that are not known and of those that are shown stale."""
        unknown = [fact.id for fact in self.dialogue.facts if fact not in self.known]
        stale = [fact.id for fact in self.shown_stale]
        return {"id": self.dialogue.id, **self.figures(), "unknown_ids": unknown, "stale_ids": stale}


def load_dialogues() -> tuple[Dialogue, ...]:
    """The dialogues of the package: five users, each with three or four sessions."""
    source = files("pss_integrations.evaluation") / "dialogues" / "reorientation.json"
    return TypeAdapter(tuple[Dialogue, ...]).validate_json(source.read_text(encoding="utf-8"))


def token_counter(model: str) -> TokenCounter:
    """Count with a packaged model's tokenizer if that can be loaded from the cache, else by estimate; fetches nothing.

    :raises InvalidInput: If there is no such model.
    """
    try:
        source = weights.path_of(model)
        from transformers import AutoTokenizer
    except (WeightsNotFetched, ImportError):
        return TokenCounter("injection.estimate_tokens", estimate_tokens)
    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True)
    return TokenCounter(
        f"the tokenizer of {model}", lambda text: len(tokenizer(text, add_special_tokens=False)["input_ids"])
    )


def evaluate_reorientation(
    dialogues: Sequence[Dialogue], counter: TokenCounter, extractor: Extractor | None = None
) -> dict[str, Any]:
    """Observe the sessions of each dialogue, and begin a fresh one.

    :param extractor: Takes beliefs from the sessions; by rules if none is given.
    :return: ``tokens_by`` (what counted), ``totals`` and ``dialogues``; the figures are those of :class:`Start`.
    """
    starts = [begin(dialogue, counter, extractor) for dialogue in dialogues]
    figures = [start.figures() for start in starts]
    totals = {name: sum(one[name] for one in figures) for name in figures[0]}
    return {"tokens_by": counter.name, "totals": totals, "dialogues": [start.summary() for start in starts]}


def begin(dialogue: Dialogue, counter: TokenCounter, extractor: Extractor | None = None) -> Start:
    """Observe the sessions of a dialogue in order, each as a whole and on its day, and recall for the question."""
    held, block = _remembered(dialogue, counter, extractor)
    told = [line.partition(" | ")[0] for line in block.text.splitlines() if line.startswith(_ITEM)]
    return Start(
        dialogue=dialogue,
        stored=tuple(fact for fact in dialogue.facts if fact.known_from(held)),
        stored_stale=tuple(fact for fact in dialogue.facts if fact.stale_in(held)),
        known=tuple(fact for fact in dialogue.facts if fact.known_from(told)),
        shown_stale=tuple(fact for fact in dialogue.facts if fact.stale_in(told)),
        block_tokens=block.tokens,
        restated_tokens=counter.count(dialogue.restated),
        replayed_tokens=counter.count(_transcript(dialogue.sessions)),
    )


def in_words(result: Mapping[str, Any]) -> str:
    """The totals of :func:`evaluate_reorientation` as one line."""
    of = result["totals"]
    return (
        f"In all {of['known']} of {of['facts']} facts are known ({of['stored']} are stored), {of['needed_known']} of "
        f"the {of['needed']} that the questions need, and {of['shown_stale']} shown stale. Beliefs take "
        f"{of['block_tokens']} tokens, telling all again {of['restated_tokens']}, replaying {of['replayed_tokens']}, "
        f"counted by {result['tokens_by']}."
    )


def _remembered(dialogue: Dialogue, counter: TokenCounter, extractor: Extractor | None) -> tuple[list[str], Injection]:
    """The beliefs in the store after all sessions, each as a line of a block has it, and the block for the question."""
    principal, context = Principal.user(dialogue.id), {"project": dialogue.project}
    today = dialogue.sessions[0].day
    with TemporaryDirectory() as folder, BeliefStore(Path(folder) / "beliefs.db", clock=lambda: _noon(today)) as store:
        memory = BeliefMemory(store, scopes=_SCOPES, extractor=extractor, count_tokens=counter.count, background=False)
        for number, session in enumerate(dialogue.sessions, 1):
            today = session.day
            memory.observe(principal, _dated(session, f"{dialogue.id}-{number}"), context)
        held = [f"{_ITEM}{one.type} {one.canonical_name} — {one.content}" for one in store.list(principal, limit=None)]
        return held, memory.recall(principal, dialogue.question, context)


def _dated(session: Session, session_id: str) -> list[Message]:
    return [
        replace(message, id=f"{session_id}-{number}", created_at=_noon(session.day))
        for number, message in enumerate(session.messages, 1)
    ]


def _noon(day: date) -> datetime:
    return datetime.combine(day, time(12), UTC)


def _transcript(sessions: Iterable[Session]) -> str:
    return "\n".join(f"{message.role}: {message.text}" for session in sessions for message in session.messages)


def _says(belief: str, words: Iterable[str]) -> bool:
    text = _folded(belief)
    return all(re.search(rf"(?<!\w){re.escape(_folded(word))}", text) for word in words)


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").split())
