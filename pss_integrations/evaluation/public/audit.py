"""Checks of public sessions before anything is compiled: what would make their scores mean less than they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pss_integrations.evaluation.public.activity import content_stems, parse_activity
from pss_integrations.evaluation.public.documents import names_answer
from pss_integrations.evaluation.public.sessions import PublicData, PublicSession
from pss_integrations.evaluation.subjects import Subject
from pss_integrations.text import normalise


def audit(data: PublicData, sessions: Sequence[PublicSession], subjects: Sequence[Subject]) -> list[str]:
    """Check what is to be run; returns one line per problem, none if all is well.

    Checked: ids are unique, and no question is asked twice of the same documents; no document is in two groups; the
    markers of the history tell the active request; no follow-up has a content word of it, by stem, or is what a state
    is taught; evidence is in the pool; there are targets, and none holds an answer or an id of the pool. (The clue of
    another request, which a state must not say, may hold an answer, as the history may: they are questions of the same
    book.)

    :param sessions: Those that are run.
    :param subjects: The same as subjects, in the same order.
    """
    doc_ids = [passage.doc_id for passage in data.passages]
    known = frozenset(doc_ids)
    asked = (
        " ".join([normalise(request.question), *sorted(document.document_id for document in request.documents)])
        for session in data.sessions
        for request in session.requests
    )
    problems = [
        *_repeated("session id", (session.session_id for session in data.sessions)),
        *_repeated("passage id", doc_ids),
        *_repeated("question", asked),
        *_shared(data.sessions),
    ]
    for session, subject in zip(sessions, subjects, strict=True):
        found = [*_history_problems(session), *_probe_problems(subject, known), *_target_problems(session, subject)]
        problems += [f"{session.session_id}: {problem}" for problem in found]
    return problems


def _repeated(what: str, values: Iterable[str]) -> list[str]:
    return [f"{what} {value!r} occurs {count} times" for value, count in Counter(values).items() if count > 1]


def _shared(sessions: Sequence[PublicSession]) -> Iterator[str]:
    groups = dict[str, str]()
    for session in sessions:
        for document in (document for request in session.requests for document in request.documents):
            group = groups.setdefault(document.document_id, session.group)
            if group != session.group:
                yield f"document {document.document_id} is in the groups {group} and {session.group}"


def _history_problems(session: PublicSession) -> Iterator[str]:
    activity = parse_activity(session.messages)
    told = activity.texts.get(activity.active or "")
    if told != session.request.question:
        yield f"the history says that {told!r} is active, and it is {session.request.question!r}"


def _probe_problems(subject: Subject, known: frozenset[str]) -> Iterator[str]:
    taught = {normalise(target.request) for target in subject.targets}
    for probe in (asked.probe for asked in subject.asked):
        if shared := content_stems(probe.query) & content_stems(probe.gold_rewrite):
            yield f"the follow-up {probe.query!r} has {sorted(shared)} of its request"
        if normalise(probe.query) in taught:
            yield f"the follow-up {probe.query!r} is taught"
        if not probe.evidence or not all(group and group <= known for group in probe.evidence):
            yield "evidence is missing, or is not in the pool"


def _target_problems(session: PublicSession, subject: Subject) -> Iterator[str]:
    if not subject.targets:
        yield "has no clue target"
    ids = [document.document_id for request in session.requests for document in request.documents]
    for target in subject.targets:
        if any(names_answer(text, session.request.answers) for text in (target.request, target.clue)):
            yield f"the target {target.clue!r} holds an answer"
        if any(document_id in text for text in (target.request, target.clue, *target.conflicts) for document_id in ids):
            yield f"the target {target.clue!r} holds the id of a document"
