"""Rows as requests: the question, its evidence, and why a row cannot be one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, get_args

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.public.activity import clue_for, follow_ups_for
from pss_integrations.evaluation.public.documents import Document, documents_of, is_telling, names_answer
from pss_integrations.evaluation.public.rows import Row
from pss_integrations.text import normalise

Evidence = Literal["passage", "document"]
"""What has to be found: a passage that holds the answer, or any passage of its document, as the paper measures."""

REPEATED: Final = "repeats a question of its context"
NO_ANSWER: Final = "has no answer"
NO_CONTENT: Final = "asks without a content word"
SAYS_ANSWER: Final = "names an answer in its question"
NOT_HIDDEN: Final = "has a word of every follow-up"
NOT_LOCATED: Final = "has its answer in none of several documents"

_UNANSWERABLE: Final = "unanswerable"


@dataclass(frozen=True, slots=True)
class Request:
    """A question that a session can be made of.

    :param documents: The documents of its context.
    :param evidence: Ids of the passages of which any one serves.
    :param answers: Its answers that can be told from other words.
    """

    task: str
    question: str
    answers: tuple[str, ...]
    documents: tuple[Document, ...]
    evidence: frozenset[str]


def requests_of(rows: Sequence[Row], evidence: Evidence) -> tuple[list[Request], dict[str, int]]:
    """Make requests of rows, in their order.

    :return: The requests, and how many rows were left out for each reason.
    :raises InvalidInput: If ``evidence`` is unknown.
    """
    if evidence not in get_args(Evidence):
        raise InvalidInput(f"unknown evidence {evidence!r}: use one of {', '.join(get_args(Evidence))}")
    cut = cache(documents_of)  # a book comes again with each of its questions
    left_out, seen, made = Counter[str](), set[tuple[str, ...]](), list[Request]()
    for row in rows:
        documents = cut(row.context, row.title)
        asked = (normalise(row.question), *(document.document_id for document in documents))
        if reason := REPEATED if asked in seen else _unusable(row):
            left_out[reason] += 1
        elif found := _located(documents, row, evidence):
            made.append(Request(row.task, row.question, _telling(row), documents, found))
        else:
            left_out[NOT_LOCATED] += 1
        seen.add(asked)
    return made, dict(left_out)


def _unusable(row: Row) -> str | None:
    """The first reason that a row's own words give; ``None`` if there is none."""
    return next((reason for reason, holds in _REASONS.items() if holds(row)), None)


_REASONS: Final[Mapping[str, Callable[[Row], bool]]] = {
    NO_ANSWER: lambda row: not any(map(_is_answer, row.answers)),
    NO_CONTENT: lambda row: not clue_for(row.question),
    SAYS_ANSWER: lambda row: any(names_answer(text, _telling(row)) for text in (row.question, clue_for(row.question))),
    NOT_HIDDEN: lambda row: not follow_ups_for(row.question),
}


def _is_answer(answer: str) -> bool:
    return normalise(answer) not in ("", _UNANSWERABLE)


def _telling(row: Row) -> tuple[str, ...]:
    return tuple(answer for answer in row.answers if _is_answer(answer) and is_telling(answer))


def _located(documents: Sequence[Document], row: Row, evidence: Evidence) -> frozenset[str]:
    """Ids of the passages that serve; none if nothing tells which of several documents they are in."""
    holding = [(document, document.holding(_telling(row))) for document in documents]
    right = [(document, found) for document, found in holding if found]
    if not right and len(documents) > 1:
        return frozenset()
    if evidence == "document" or not right:
        return frozenset[str]().union(*(document.doc_ids for document, _ in right or holding))
    return frozenset[str]().union(*(found for _, found in right))
