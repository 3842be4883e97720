"""Text baselines that choose among records: what a text memory finds for a question, without any model of the session.

A record is a clue with the requests that it was written for, everything that a state is taught. So the text that is
sent has the information of the targets and the length of a clue (PSS, sections V.1 and V.3). By clues alone a record
could not be found: a follow-up shares no word with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pss_integrations.evaluation.controls import Cast, Made
from pss_integrations.protocols import Embedder
from pss_integrations.retrieval import BM25Index
from pss_integrations.types import ClueTarget, Message, Passage

MESSAGES = 3
"""How many messages of the history are chosen: what a record says may be spread over two."""


def bank(targets: Iterable[ClueTarget]) -> dict[str, list[str]]:
    """The records of targets: each clue with its requests, in the order they come in."""
    requests = dict[str, list[str]]()
    for target in targets:
        requests.setdefault(target.clue, []).append(target.request)
    return requests


def select_bm25(cast: Cast, number: int) -> Made:
    """The record that shares most words with the question."""
    subject = cast.subjects[number]
    return Made(tuple(_by_words(subject.targets, [asked.probe.query for asked in subject.asked])))


def select_dense(cast: Cast, number: int) -> Made:
    """The record that is nearest to the question in meaning."""
    subject, embedder = cast.subjects[number], cast.tools.embedder
    assert embedder is not None
    return Made(tuple(_by_meaning(embedder, subject.targets, [asked.probe.query for asked in subject.asked])))


def select_messages(cast: Cast, number: int) -> Made:
    """The messages of the history that share most words with the question: what needs no targets at all."""
    return Made(tuple(_messages(asked.history, asked.probe.query) for asked in cast.subjects[number].asked))


def parsed(cast: Cast, number: int) -> Made:
    """The parsed active-request reference (PSS, section B.3).

    What the messages state in so many words is parsed by the target builder of the run, which knows from their order
    what is in force and what was superseded. Of its records the one that shares most words with the question is sent.
    """
    asked = cast.subjects[number].asked
    targets = {history: cast.history.build(history) for history in {one.history for one in asked}}
    return Made(tuple(text for one in asked for text in _by_words(targets[one.history], [one.probe.query])))


def _by_words(targets: Iterable[ClueTarget], queries: Sequence[str]) -> list[str]:
    """The clue of the best record for each query; blank where no record shares a word."""
    records = bank(targets)
    found = BM25Index(Passage(clue, "\n".join(requests), clue) for clue, requests in records.items())
    return ["".join(hit.passage.doc_id for hit in found.search(query, 1)) for query in queries]


def _by_meaning(embedder: Embedder, targets: Iterable[ClueTarget], queries: Sequence[str]) -> list[str]:
    """The clue of the nearest record for each query; blank where there is no record."""
    records = bank(targets)
    if not records:
        return [""] * len(queries)
    texts = ["\n".join([clue, *requests]) for clue, requests in records.items()]
    cosines = _unit(embedder.embed_queries(queries)) @ _unit(embedder.embed_documents(texts)).T  # (queries, records)
    return [[*records][row] for row in cosines.argmax(axis=1)]


def _messages(history: Sequence[Message], query: str) -> str:
    index = BM25Index(Passage(f"{place:06}", message.text) for place, message in enumerate(history))
    return "\n".join(hit.passage.text for hit in index.search(query, MESSAGES))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.floating]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
