"""The history of a public session: requests that are begun, switched to and archived, and the target parsed from it.

The markers are explicit, so that which request is active can be parsed without a model (PSS, section B.3). What is
parsed knows no document, answer or follow-up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pss_integrations.states.targets import clue_of
from pss_integrations.text import bare, chunks, clusters, content_words, identifiers, tokenize
from pss_integrations.types import ClueTarget, Message

FOLLOW_UPS: Final = (
    "Find the passage for the request that is still open.",
    "Look up what I am waiting to hear about.",
    "Bring me the text that settles what we have not finished.",
    "Search for the matter I left unresolved.",
    "Which page helps with the one I did not put away?",
    "Get the source for what is currently on my desk.",
    "Retrieve the material my active question needs.",
    "Show where the pending item is dealt with.",
)
"""What is asked at the end; which of them is a session's matter, what they say is nobody's."""

WRITE_REQUESTS: Final = (
    "What is it that I want to know now?",
    "Name the topic in force.",
    "Say in a few words what has to be answered next.",
    "Everything else is archived: what remains?",
    "State the subject we returned to.",
    "Repeat what I asked and kept.",
    "What were we working on before this?",
    "Continue with my task.",
)
"""What a state is taught to answer; none is worded as a follow-up."""

_BEGIN: Final = re.compile(r"Begin request (\d+): (.+)", re.DOTALL)
_SWITCH: Final = re.compile(r"Switch to request (\d+)\.")
_ARCHIVE: Final = re.compile(r"Archive request (\d+)\.")
_LONGEST_WORD: Final = 40
_RUN: Final = 8


@dataclass(frozen=True, slots=True)
class Activity:
    """What a history says of its requests.

    :param texts: Number to text, in the order in which they were begun.
    :param active: Number of the one begun or switched to last, unless it was archived since.
    """

    texts: Mapping[str, str]
    active: str | None


@dataclass(frozen=True, slots=True)
class ActiveRequestTargets:
    """Clue targets of the active request, as far as the user's markers tell; none if no request is active."""

    @property
    def name(self) -> str:
        """What a manifest records."""
        return "active_request"

    def build(self, messages: Sequence[Message]) -> list[ClueTarget]:
        """Return a target for each of :data:`WRITE_REQUESTS`; the other requests' clues are what it must not say."""
        activity = parse_activity(messages)
        if activity.active is None or not (clue := clue_for(activity.texts[activity.active])):
            return []
        others = map(clue_for, activity.texts.values())
        conflicts = tuple(dict.fromkeys(other for other in others if other not in ("", clue)))
        return [ClueTarget(request, clue, conflicts) for request in WRITE_REQUESTS]


def write_history(questions: Sequence[str], active: int) -> tuple[Message, ...]:
    """Write the session in which each question is a request and one of them, by position, stays active."""
    turns = list[tuple[str, str]]()
    for number, question in enumerate(questions, 1):
        turns.append((f"Begin request {number}: {question}", f"Request {number} is begun."))
    if active + 1 < len(questions):
        turns.append((f"Switch to request {active + 1}.", f"Request {active + 1} is active again."))
    for number in range(1, len(questions) + 1):
        if number != active + 1:
            turns.append((f"Archive request {number}.", f"Request {number} is archived."))
    return tuple(message for said, reply in turns for message in (Message("user", said), Message("assistant", reply)))


def parse_activity(messages: Sequence[Message]) -> Activity:
    """Read the markers of the user's messages; any other message, or a number nobody began, says nothing."""
    texts, active = dict[str, str](), None
    for text in (message.text for message in messages if message.role == "user"):
        if begun := _BEGIN.fullmatch(text):
            active = begun[1]
            texts[active] = begun[2]
        elif (switched := _SWITCH.fullmatch(text)) and switched[1] in texts:
            active = switched[1]
        elif (archived := _ARCHIVE.fullmatch(text)) and archived[1] == active:
            active = None
    return Activity(texts, active)


def clue_for(question: str) -> str:
    """Return a question's content words, numbers and identifiers in order, each once, as many as a clue may have."""
    return clue_of(_pieces(question))


def follow_ups_for(question: str) -> list[str]:
    """Return the follow-ups that share no content word with a question, by stem."""
    words = content_stems(question)
    return [follow_up for follow_up in FOLLOW_UPS if words.isdisjoint(content_stems(follow_up))]


def content_stems(text: str) -> frozenset[str]:
    """Return the stems of a text's content words and identifiers, and their parts."""
    return frozenset(stem for word in (*content_words(text), *identifiers(text)) for stem in tokenize(word))


def _pieces(question: str) -> Iterator[str]:
    """Words that say something; of a run of a script without spaces, which is one word of any length, short pieces."""
    for word in (bare(match[0]) for match in chunks(question)):
        if run := clusters(word):
            yield from ("".join(run[at : at + _RUN]) for at in range(0, len(run), _RUN))
        elif len(word) <= _LONGEST_WORD and _says_something(word):
            yield word


def _says_something(word: str) -> bool:
    return bool(content_words(word) or identifiers(word)) or any(map(str.isdecimal, word))
