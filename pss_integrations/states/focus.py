"""What a conversation is about at its latest: what messages label as their topic, and what the user said last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pss_integrations.text import content_words, identifiers
from pss_integrations.types import Message
from pss_integrations.vocabulary import Vocabulary, title_parts

RARE_WORDS = 4
"""How many rare words of what the user said last are kept, in clues and cards."""
_LAST = 2  # messages

_TOPIC = re.compile(r"^[^\w\n]*(?:topic|subject|title)\s*[:=]\s*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_PART = re.compile(r"\b(project|component|service|module)\s*[:=]\s*((?:(?![,;\n]|\.(?:\s|$)).)*)", re.IGNORECASE)


def labels_in(texts: Iterable[str]) -> list[str]:
    """Return what the last topic line says ("Topic: Kurt Vonnegut - Early life"), else the last labelled parts.

    Parts are a project and a component: "component: tile stitcher".
    """
    topic: list[str] = []
    parts: dict[str, str] = {}
    for text in texts:
        for found in _TOPIC.finditer(text):
            topic = title_parts(found[1].strip())
        for found in _PART.finditer(text):
            parts[found[1].casefold()] = found[2].strip()
    return [label for label in topic or parts.values() if content_words(label) or identifiers(label)]


def named_last(messages: Sequence[Message], vocabulary: Vocabulary) -> list[str]:
    """Return the topic, and the name that was said last: a title of the index if there was one.

    Where there is neither a topic nor a title, another name of the index.
    """
    texts = [message.text for message in reversed(messages) if message.role != "system"]
    topic = labels_in(message.text for message in messages)
    title = next((found[-1:] for text in texts if (found := vocabulary.titles_in(text))), [])
    if topic or title:
        return [*topic, *title]
    return next((found[-1:] for text in texts if (found := vocabulary.names_in(text))), [])


def said_last(messages: Iterable[Message]) -> Sequence[str]:
    """Return the texts of the user's last messages, in order."""
    return [message.text for message in messages if message.role == "user"][-_LAST:]
