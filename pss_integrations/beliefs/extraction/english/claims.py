"""What a single statement claims, before it is known what holds at the end of the conversation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from pss_integrations.beliefs.extraction.english.clauses import (
    Clause,
    sentence,
    snake,
    terms,
    third_person,
    without_old,
    without_version,
)
from pss_integrations.beliefs.names import name_key
from pss_integrations.beliefs.schema import MAX_ALIASES, BeliefType, NewBelief, Provenance

Kind = Literal["use", "change", "decide", "end", "taste", "rule", "fact", "open"]
_ENDED_IN = re.compile(
    r"\b(?:in|on) (?=(?:(?:early|late|mid) )?(?:january|february|march|april|may|june|july|august|september|october|"
    r"november|december|(?:19|20)\d\d)\b)",
    re.IGNORECASE,
)
_NAME_CHARS = 200  # what a belief allows; a longer "name" is a sentence without punctuation
_TYPES: dict[Kind, BeliefType] = {
    "taste": "preference",
    "rule": "preference",
    "fact": "entity",
    "open": "open_question",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement about one thing.

    :param kind: By what sort of words it was made.
    :param name: Canonical name of what it is about.
    :param value: The words that a correction would exchange.
    :param aliases: Other names.
    :param ends: It says that something holds no longer.
    :param why: The reason, in the user's words; it ends the content of the belief.
    :param since: When it began.
    """

    kind: Kind
    type: BeliefType
    name: str
    content: str
    value: str
    aliases: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    ends: bool = False
    why: str | None = None
    since: datetime | None = None

    @property
    def keys(self) -> frozenset[str]:
        """All its names, as they are compared."""
        return frozenset(map(name_key, (self.name, self.value, *self.aliases)))

    def exchanged(self, old: str, new: str) -> Claim:
        """The same claim with other words in one place."""
        word = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)", re.IGNORECASE)
        return replace(
            self,
            name=self.name.replace(snake(without_version(old)), snake(without_version(new))),
            content=word.sub(lambda _: new, self.content),
            value=word.sub(lambda _: new, self.value),
            aliases=tuple(word.sub(lambda _: new, alias) for alias in self.aliases),
            replaces=(*self.replaces, old),
        )

    def belief(self, scopes: tuple[str, ...], provenance: Provenance, confidence: float) -> NewBelief:
        """What is put into a store."""
        return NewBelief(
            type=self.type,
            canonical_name=self.name,
            content=f"{self.content[:-1]} because {third_person(self.why)}." if self.why else self.content,
            scopes=scopes,
            aliases=_distinct(self.aliases)[:MAX_ALIASES],
            replaces=_distinct(self.replaces),
            valid_from=self.since,
            confidence=confidence,
            provenance=provenance,
        )


def claim_of(kind: Kind, said: Clause, content: str, *, name: str = "", aliases: tuple[str, ...] = ()) -> Claim:
    """Make a claim about what a clause begins with.

    :param name: Canonical name, if it is another; its aliases are then those given.
    """
    if not name:
        name, aliases = about(said.thing, said.rest)
    return Claim(kind, _TYPES.get(kind, "decision"), name, content, said.thing or said.text, aliases, why=said.why)


def claim_with(kind: Kind, said: Clause, content: str, *words: str) -> Claim:
    """Make a claim that is named by the first of the words that it is about, and found by all of them."""
    words = tuple(dict.fromkeys(words))
    return claim_of(kind, said, content, name=snake(*words[:2]), aliases=words)


def used(said: Clause, verb: str) -> Claim:
    """A claim that something is in use; "instead of X" makes it a change."""
    said, old = without_old(said)
    return replace(claim_of("change" if old else "use", said, sentence(verb, said.text)), replaces=old)


def ended(said: Clause, verb: str) -> Claim:
    """A claim that something is not, or no longer, in use."""
    text = _ENDED_IN.sub("since ", said.text)
    return replace(claim_of("end", said, sentence(verb, text)), ends=True)


def about(thing: str, rest: str = "") -> tuple[str, tuple[str, ...]]:
    """Name something by itself and by what it is for: the canonical name, and other names.

    ``Redis`` "for sessions" is ``redis_sessions``, so that it is told from Redis for something else.
    """
    purpose = re.match(r"(?:for|as|in|on|to) (.+)", rest, re.IGNORECASE)
    bare = without_version(thing)
    name = snake(bare, *terms(purpose[1] if purpose else "")[:1])
    return name, tuple(dict.fromkeys((thing, bare, *terms(thing), *terms(rest)[:3])))


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    spelled = {name_key(name): name for name in reversed(names)}
    return tuple(name for name in dict.fromkeys(spelled[name_key(name)] for name in names) if len(name) <= _NAME_CHARS)


@dataclass(frozen=True, slots=True)
class Rule:
    """How statements of one form are read.

    :param head: Matches the beginning of the statement, up to where what is said begins.
    :param read: Makes a claim of the match and of the rest of the sentence; ``None`` if it says nothing to be kept.
    """

    head: re.Pattern[str]
    read: Callable[[re.Match[str], str], Claim | None]


def rule(read: Callable[[re.Match[str], str], Claim | None], *head: str) -> Rule:
    """Make a rule; the parts of its head are put together."""
    return Rule(re.compile("".join(head), re.IGNORECASE), read)
