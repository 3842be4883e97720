"""Contexts as documents, documents as passages, and where an answer stands in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import Final

from pss_integrations.text import UNSEGMENTED, content_words, normalise
from pss_integrations.types import Passage

PASSAGE_WORDS: Final = 160
"""Most words of a passage: what an encoder that cuts after 256 tokens still reads. A Chinese character is a word."""

_HEADING: Final = re.compile(r"^Passage \d+:[ \t]*(?:\n|\Z)", re.MULTILINE)
_WORD: Final = re.compile(rf"[{UNSEGMENTED}]|[^\W{UNSEGMENTED}]+")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\s*\n\s*")


@dataclass(frozen=True)
class Document:
    """A text with its passages.

    :param document_id: Hash of title and text; its passages' ids begin with it.
    """

    document_id: str
    passages: tuple[Passage, ...]

    @property
    def doc_ids(self) -> frozenset[str]:
        """The ids of all passages."""
        return frozenset(passage.doc_id for passage in self.passages)

    def holding(self, answers: Sequence[str]) -> frozenset[str]:
        """Return the ids of the passages whose text holds one of the answers word for word."""
        words = [*map(spelled, answers)]
        return frozenset(
            passage.doc_id
            for passage, said in zip(self.passages, self._spelled, strict=True)
            if any(answer in said for answer in words)
        )

    @cached_property
    def _spelled(self) -> tuple[str, ...]:
        return tuple(spelled(passage.text) for passage in self.passages)


def documents_of(context: str, title: str = "") -> tuple[Document, ...]:
    """Cut a context into its documents, none of which comes twice.

    :param title: The title, if it is one document.
    """
    starts = [*_HEADING.finditer(context)]
    if len(starts) < 2 or context[: starts[0].start()].strip():
        return (_document(title, context.strip()),)
    ends = [match.start() for match in starts[1:]] + [len(context)]
    parts = (context[match.end() : end].strip() for match, end in zip(starts, ends, strict=True))
    made = [_document(*_titled(part)) for part in parts if part]
    return tuple({document.document_id: document for document in made}.values())


def spelled(text: str) -> str:
    """Return the words of a text, folded, with one blank before and after each: what is looked for in another."""
    return f" {' '.join(_WORD.findall(normalise(text)))} "


def names_answer(text: str, answers: Sequence[str]) -> bool:
    """Whether a text holds an answer word for word."""
    said = spelled(text)
    return any(spelled(answer) in said for answer in answers)


def is_telling(answer: str) -> bool:
    """Whether it makes sense to look for an answer: "yes" stands everywhere, and says nothing."""
    return bool(content_words(answer)) or any(map(str.isdecimal, answer))


def _titled(part: str) -> tuple[str, str]:
    """The first line and the rest, or all of it twice where there is no rest."""
    title, _, text = part.partition("\n")
    return title.strip(), text if text.strip() else title


def _document(title: str, text: str) -> Document:
    digest = sha256(f"{title}\n{text}".encode()).hexdigest()[:16]
    return Document(
        digest, tuple(Passage(f"{digest}:{number}", part, title) for number, part in enumerate(_passages(text)))
    )


def _passages(text: str) -> Iterator[str]:
    """As many whole sentences as fit; a longer one alone, cut at words."""
    kept, count = list[str](), 0
    for sentence, words in _sentences(text):
        if kept and count + words > PASSAGE_WORDS:
            yield " ".join(kept)
            kept, count = [], 0
        kept.append(sentence)
        count += words
    if kept:
        yield " ".join(kept)


def _sentences(text: str) -> Iterator[tuple[str, int]]:
    """Sentences with their number of words, at most as many as a passage may have."""
    for sentence in filter(str.strip, _SENTENCE_END.split(text)):
        starts = [word.start() for word in _WORD.finditer(sentence)]
        cuts = [0, *starts[PASSAGE_WORDS::PASSAGE_WORDS], len(sentence)]
        for number, (start, end) in enumerate(pairwise(cuts)):
            yield sentence[start:end].strip(), min(PASSAGE_WORDS, len(starts) - number * PASSAGE_WORDS)
