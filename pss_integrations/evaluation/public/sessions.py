"""Requests as sessions: which belong together, which one is active, and which split they are in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Final

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.pss320 import Probe
from pss_integrations.evaluation.pss320_facts import Split
from pss_integrations.evaluation.public.activity import ActiveRequestTargets, follow_ups_for, write_history
from pss_integrations.evaluation.public.requests import Evidence, Request, requests_of
from pss_integrations.evaluation.public.rows import NOT_QA, Kind, read_rows
from pss_integrations.evaluation.subjects import Asked, Subject
from pss_integrations.types import Message, Passage

ALONE: Final = "has no second request to share a session with"
MOST_REQUESTS: Final = 6
PROBES: Final = 3
_CALIBRATION: Final = 5
"""One group of so many is for calibration: the paper sealed 262 of 326 sessions for the test."""


@dataclass(frozen=True, slots=True)
class PublicSession:
    """A session whose last words hide which of its requests is active.

    :param session_id: Hash of its requests, after the active one's task.
    :param group: Sessions of one group share documents; no two groups do.
    :param requests: In the order in which they are begun.
    :param active: Position of the active one.
    """

    session_id: str
    group: str
    requests: tuple[Request, ...]
    active: int

    @property
    def request(self) -> Request:
        """The active request."""
        return self.requests[self.active]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history."""
        return write_history([request.question for request in self.requests], self.active)

    @property
    def follow_ups(self) -> tuple[str, ...]:
        """What is asked at the end: at most three ways to ask for the active request without a word of it."""
        hiding = follow_ups_for(self.request.question)
        return tuple(sorted(hiding, key=lambda follow_up: _digest(self.session_id, follow_up))[:PROBES])

    @property
    def split(self) -> Split:
        """Its group's split."""
        return "test" if int(_digest(self.group), 16) % _CALIBRATION else "calibration"


@dataclass(frozen=True, slots=True)
class PublicData:
    """A published set as sessions.

    :param passages: The pool that all of them search.
    :param rows: How many records were read.
    :param left_out: Reason to the number of records that are in no session for it.
    """

    kind: Kind
    sessions: tuple[PublicSession, ...]
    passages: tuple[Passage, ...]
    rows: int
    left_out: dict[str, int]

    def chosen(self, split: Split, count: int | None = None) -> list[PublicSession]:
        """Return the sessions of a split, or a fixed choice of so many: those whose ids hash lowest."""
        sessions = [session for session in self.sessions if session.split == split]
        return sorted(sessions, key=lambda session: _digest(session.session_id))[:count]


def load_public(path: str | Path, kind: Kind | None = None, *, evidence: Evidence = "passage") -> PublicData:
    """Read a published set and make sessions of it, by the rule of :mod:`pss_integrations.evaluation.public`.

    :param path: A file, or a folder of ``*.jsonl``.
    :param kind: Which set; by default told by the first record.
    :param evidence: ``"passage"``, or ``"document"`` for target-document recall, as the paper measures.
    :raises InvalidInput: As :func:`~pss_integrations.evaluation.public.rows.read_rows`, or if no session can be made;
        the text counts why.
    """
    published = read_rows(Path(path), kind)
    requests, left_out = requests_of(published.rows, evidence)
    sessions = sessions_of(requests)
    alone = len(requests) - sum(len(session.requests) for session in sessions)
    reasons = {NOT_QA: published.left_out, **left_out, ALONE: alone}
    counted = {reason: count for reason, count in reasons.items() if count}
    rows = len(published.rows) + published.left_out
    if not sessions:
        told = ", ".join(f"{count} {reason}" for reason, count in counted.items())
        raise InvalidInput(f"no session can be made of the {rows} records of {path}: {told}")
    return PublicData(published.kind, sessions, _pool(sessions), rows, counted)


def sessions_of(requests: Sequence[Request]) -> tuple[PublicSession, ...]:
    """Put requests together; one that would be alone is in no session."""
    by_task, sessions = defaultdict[str, list[Request]](list), list[PublicSession]()
    for component in _components(requests):
        if len(component) == 1:
            by_task[component[0].task].append(component[0])
        else:
            sessions += _sessions(component)
    for lonely in by_task.values():
        sessions += [session for part in _parts(lonely) for session in _sessions(part)]
    return tuple(sessions)


def subjects_of(sessions: Sequence[PublicSession]) -> list[Subject]:
    """Make subjects; the partner is the session of the same task, of another group, that is nearest in length."""
    builder = ActiveRequestTargets()
    return [
        Subject(
            session_id=session.session_id,
            group=session.group,
            messages=session.messages,
            targets=tuple(builder.build(session.messages)),
            asked=tuple(Asked(probe, session.messages) for probe in _probes(session)),
            partner=partner,
        )
        for session, partner in zip(sessions, _partners(sessions), strict=True)
    ]


def _probes(session: PublicSession) -> Iterator[Probe]:
    request = session.request
    for follow_up in session.follow_ups:
        yield Probe(follow_up, (request.evidence,), request.question, request.task, request.answers)


def _components(requests: Sequence[Request]) -> list[list[Request]]:
    """Requests that share a document, directly or through others, in the order of the first of them."""
    joined = [*range(len(requests))]

    def first(number: int) -> int:
        while joined[number] != number:
            joined[number] = joined[joined[number]]
            number = joined[number]
        return number

    owner = dict[str, int]()
    for number, request in enumerate(requests):
        for document in request.documents:
            one, two = sorted((first(owner.setdefault(document.document_id, number)), first(number)))
            joined[two] = one
    components = defaultdict[int, list[Request]](list)
    for number, request in enumerate(requests):
        components[first(number)].append(request)
    return [*components.values()]


def _sessions(component: Sequence[Request]) -> Iterator[PublicSession]:
    """Sessions of one group."""
    group = _digest(*sorted({document.document_id for request in component for document in request.documents}))[:16]
    for part in _parts(component) if len(component) > 1 else ():
        digest = _digest(*(text for request in part for text in (request.documents[0].document_id, request.question)))
        active = int(digest, 16) % len(part)
        yield PublicSession(f"{part[active].task} {digest[:16]}", group, tuple(part), active)


def _parts(requests: Sequence[Request]) -> list[Sequence[Request]]:
    """Parts of nearly equal length, of two requests at least if there are two, and of six at most."""
    count = -(-len(requests) // MOST_REQUESTS)
    bounds = [len(requests) * number // count for number in range(count + 1)]
    return [requests[start:end] for start, end in pairwise(bounds)]


def _pool(sessions: Sequence[PublicSession]) -> tuple[Passage, ...]:
    documents = {
        document.document_id: document
        for session in sessions
        for request in session.requests
        for document in request.documents
    }
    return tuple(passage for document in documents.values() for passage in document.passages)


def _partners(sessions: Sequence[PublicSession]) -> list[int]:
    lengths = [sum(len(message.text) for message in session.messages) for session in sessions]

    def distance(position: int, other: int) -> tuple[bool, bool, int, int]:
        one, two = sessions[position], sessions[other]
        differs = one.request.task != two.request.task
        return one.group == two.group, differs, abs(lengths[position] - lengths[other]), other

    everywhere = range(len(sessions))
    return [
        min((other for other in everywhere if other != position), key=partial(distance, position), default=position)
        for position in everywhere
    ]


def _digest(*texts: str) -> str:
    return sha256("\n".join(texts).encode()).hexdigest()
