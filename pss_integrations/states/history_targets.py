"""Clue targets from nothing but the messages: what they name, and what superseded what (PSS, section 2.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import chain, zip_longest

from pss_integrations.errors import InvalidInput
from pss_integrations.states.cues import hyphenated_values
from pss_integrations.states.field_targets import change_targets, pair_targets, scope_targets, theme_targets
from pss_integrations.states.supersession import Standing, read_standing
from pss_integrations.states.targets import DEFAULT_TRUSTED_ROLES, check_roles, clue_of, latest
from pss_integrations.text import content_words, identifiers, names, normalise
from pss_integrations.types import ClueTarget, Message, Role

# What is asked in a conversation about a person, an event, a place or a thing, without naming it.
_FOLLOW_UPS = (
    "when did it happen?",
    "who was he?",
    "tell me more about that",
    "Where did this take place?",
    "what happened next?",
    "Why did she do that?",
    "do they have it too?",
    "how much is it",
    "Was anyone else involved?",
    "how did that turn out",
    "Is it any good?",
    "what else should I know about them",
    "and what came of it?",
    "What did people say about this one?",
)
_FOLLOW_UPS_USED, _SCOPE_USED, _OTHER_USED, _PAIR_USED = 12, 9, 3, 2  # requests per clue
_MAX_TERM = 48  # characters; longer ones are addresses and hashes, which nobody searches for
_DECAY = 0.8  # of a mention's weight, with every later message
_TOPIC = re.compile(r"^\W*(?:topic|subject|title)\s*[:=]\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_PART = re.compile(r"\b(project|component|service|module)\s*[:=]\s*((?:(?![,;\n]|\.(?:\s|$)).)*)", re.IGNORECASE)
_DASH = re.compile(r"\s+[-\u2013\u2014|/]\s+")
_WORD = re.compile(r"\w(?:[\w.'\u2019&@+#-]*[\w+#])?")


@dataclass(frozen=True)
class HistoryTargets:
    """Targets from nothing but the messages of trusted roles; of system messages, only what labels the topic.

    Where the history states values (versions, checkpoints, owners), the targets are those of
    :class:`~pss_integrations.states.field_targets.FieldTargets`: what is in force, what it superseded, what
    changed. The order of the messages decides which is which. Any other history is a conversation: follow-up
    questions give its topic line ("Topic: ...") and the names said last, questions about the whole its main
    names; without names, its content words. Cue words are English.

    :param trusted_roles: Roles whose messages are read; see
        :data:`~pss_integrations.states.targets.DEFAULT_TRUSTED_ROLES`.
    :param vocabulary: Names that count, for instance the titles of the index that is searched and the rare
        phrases in it, identifiers included. Without it, names are guessed from capitals and quotes, which also
        gives garbage; so three names are kept for a follow-up then, and one with it.
    :param max_targets: The most targets; every clue keeps about the same number of requests.
    :raises InvalidInput: If a role is unknown, the vocabulary is a string or ``max_targets`` is not positive.
    """

    name: str = field(default="history", init=False)
    _: KW_ONLY
    trusted_roles: frozenset[Role] = DEFAULT_TRUSTED_ROLES
    vocabulary: Collection[str] | None = None
    max_targets: int = 24

    def __post_init__(self) -> None:
        check_roles(self.trusted_roles)
        if isinstance(self.vocabulary, str):
            raise InvalidInput("vocabulary must be a collection of names, got one string")
        if self.max_targets < 1:
            raise InvalidInput(f"max_targets must be at least 1, got {self.max_targets}")

    def build(self, messages: Sequence[Message]) -> list[ClueTarget]:
        """Return the targets; none if no trusted message has a word of content."""
        trusted = [message for message in messages if message.role in self.trusted_roles]
        labels = _labels(message.text for message in trusted)
        texts = [message.text for message in trusted if message.role != "system"]
        terms = list(map(_guessed if self.vocabulary is None else _listed(self.vocabulary), texts))
        standing = read_standing(texts, list(chain.from_iterable(terms)))
        if standing.active or standing.archived:
            targets = _project_targets(labels, terms, standing)
        else:
            targets = _conversation_targets(labels, terms, texts, standing, 3 if self.vocabulary is None else 1)
        return _spread(latest(targets), self.max_targets)


def _project_targets(labels: Sequence[str], terms: Sequence[list[str]], standing: Standing) -> list[ClueTarget]:
    named = [name for name in _salient(terms) if name not in standing.values and not _has_digit(name)]
    subject = labels or named[:2]
    # Without a superseded value it may as well be a conversation that happens to state one.
    follow_ups = [] if standing.archived else _follow_ups([*subject, *standing.active.values()])
    return [
        *theme_targets(subject, _OTHER_USED),
        *pair_targets(subject, standing.pairs, _PAIR_USED),
        *change_targets(subject, standing.active, standing.archived, _OTHER_USED),
        *scope_targets(subject, standing.active, standing.archived, _SCOPE_USED),
        *follow_ups,
    ]


def _conversation_targets(
    labels: Sequence[str], terms: Sequence[list[str]], texts: Sequence[str], standing: Standing, names_kept: int
) -> list[ClueTarget]:
    subject, focus = [*labels, *_salient(terms)[:3]], [*labels, *_recent(terms)[:names_kept]]
    if not subject:
        words = list(map(content_words, texts))
        subject, focus = _salient(words)[:6], _recent(words)[:6]
    return [
        *theme_targets(subject, 2 * _OTHER_USED),
        *pair_targets(subject[:2], standing.pairs, _PAIR_USED),
        *_follow_ups(focus),
    ]


def _follow_ups(parts: Sequence[str]) -> list[ClueTarget]:
    clue = clue_of(parts)
    return [ClueTarget(request, clue) for request in _FOLLOW_UPS[:_FOLLOW_UPS_USED]] if clue else []


def _guessed(text: str) -> list[str]:
    found = [*identifiers(text), *names(text), *hyphenated_values(text)]
    return sorted({term for term in found if len(term) <= _MAX_TERM}, key=lambda term: (text.find(term), term))


def _listed(vocabulary: Collection[str]) -> Callable[[str], list[str]]:
    phrases = {normalise(phrase) for phrase in vocabulary} - {""}
    words_of = [_WORD.findall(phrase) for phrase in phrases]
    openings = {words[0] for words in words_of if words}
    longest = max(map(len, words_of), default=0)

    def longest_phrase(text: str, words: Sequence[re.Match[str]]) -> int:
        """How many of the words, from the first, make up the longest phrase of the vocabulary."""
        if not words or normalise(words[0][0]) not in openings:
            return 0
        spans = (text[words[0].start() : words[count - 1].end()] for count in range(1, len(words) + 1))
        return max((count for count, span in enumerate(spans, 1) if normalise(span) in phrases), default=0)

    def find(text: str) -> list[str]:
        words, found, at = list(_WORD.finditer(text)), list[str](), 0
        while at < len(words):
            count = longest_phrase(text, words[at : at + longest])
            if count:
                found.append(text[words[at].start() : words[at + count - 1].end()])
            at += max(count, 1)
        return found

    return find


def _salient(terms: Sequence[list[str]]) -> list[str]:
    """Return the terms of all messages, those mentioned most often and most lately first."""
    weight: dict[str, float] = {}
    spelling: dict[str, str] = {}
    for age, said in zip(range(len(terms) - 1, -1, -1), terms, strict=True):
        for term in filter(_has_letter, said):
            folded = normalise(term)
            weight[folded] = weight.get(folded, 0.0) + _DECAY**age
            spelling[folded] = term
    return [spelling[folded] for folded in sorted(weight, key=lambda folded: (-weight[folded], folded))]


def _recent(terms: Sequence[list[str]]) -> list[str]:
    """Return the terms of all messages, the last mentioned first."""
    kept: dict[str, str] = {}
    for term in filter(_has_letter, chain.from_iterable(reversed(said) for said in reversed(terms))):
        kept.setdefault(normalise(term), term)
    return list(kept.values())


def _labels(texts: Iterable[str]) -> list[str]:
    """Return what the last topic line says, else the last project and component that are labelled so."""
    topic: list[str] = []
    parts: dict[str, str] = {}
    for text in texts:
        for found in _TOPIC.finditer(text):
            topic = _DASH.split(found[1].strip())
        for found in _PART.finditer(text):
            parts[found[1].casefold()] = found[2].strip()
    return [label for label in topic or parts.values() if content_words(label) or identifiers(label)]


def _spread(targets: Sequence[ClueTarget], most: int) -> list[ClueTarget]:
    """Return at most ``most`` targets, taken from each clue in turn."""
    by_clue: dict[str, list[ClueTarget]] = {}
    for target in targets:
        by_clue.setdefault(target.clue, []).append(target)
    turns = chain.from_iterable(zip_longest(*by_clue.values()))
    return [target for target in turns if target is not None][:most]


def _has_letter(term: str) -> bool:
    return any(map(str.isalpha, term))


def _has_digit(term: str) -> bool:
    return any(map(str.isdecimal, term))
