"""What the demo runs on: sessions to compile, questions to ask in them, and passages to search."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from pss_integrations import demo
from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.datasets import RecordedProbe, RecordedSession, load_sessions
from pss_integrations.evaluation.metrics import Evidence, Metric, all_recall_at_k, recall_at_k
from pss_integrations.states.field_targets import FieldTargets
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.states.targets import TargetBuilder
from pss_integrations.types import Message, Passage, Role, SessionKey

_LEAST_MESSAGES = 8
_LEAST_QUESTIONS = 3
_POOL_SEED = 2024  # the demo pool's, so that the other session finds its own passages there
_TRUSTED: Final[frozenset[Role]] = frozenset({"user", "system", "assistant"})


@dataclass(frozen=True, slots=True)
class Question:
    """A follow-up, and the evidence groups that a search for it has to find."""

    query: str
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Session:
    """A session to compile, and the questions that are asked in it, if any."""

    key: SessionKey
    messages: tuple[Message, ...]
    targets: TargetBuilder
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """Sessions over one pool of passages; the wrong state of each is that of the next, of the last that of the first.

    :param name: What it is, for people.
    :param targets: Where the clue targets come from, for people.
    :param metric: How a ranking is judged, and ``metric_name`` what that is called.
    """

    name: str
    targets: str
    sessions: tuple[Session, ...]
    passages: tuple[Passage, ...]
    metric: Metric
    metric_name: str


def handwritten() -> Scenario:
    """The session that comes with the package, and a generated one whose state is the wrong one."""
    other = pss320.generate(1, seed=_POOL_SEED).sessions[0]
    questions = tuple(Question(probe.query, probe.evidence) for probe in demo.demo_questions())
    return Scenario(
        name="a session written by hand",
        targets="the session's fields (what is in force, what was before)",
        sessions=(
            Session(demo.KEY, demo.demo_messages(), FieldTargets(demo.demo_fields()), questions),
            Session(other.key, other.messages, FieldTargets(other.fields)),
        ),
        passages=demo.demo_pool(),
        metric=all_recall_at_k,
        metric_name="All-Recall",
    )


def recorded(directory: Path, count: int) -> Scenario:
    """The first sessions of a data set that have a cut, enough messages and enough questions after it.

    :param directory: Holds ``sessions.jsonl`` and ``corpus.jsonl``.
    :param count: How many, at least 2: the wrong state of one is that of another.
    :raises InvalidInput: If the data cannot be read, or fewer than two sessions will do.
    """
    data = load_sessions(directory)
    usable = (session for session in data.sessions if _is_usable(session))
    sessions = tuple(_compiled(session) for session in islice(usable, count))
    if len(sessions) < 2:
        raise InvalidInput(
            f"{directory} has {len(sessions)} sessions with a cut, {_LEAST_MESSAGES} messages and {_LEAST_QUESTIONS} "
            "questions that need the history: at least 2 are needed"
        )
    return Scenario(
        name=f"{len(sessions)} sessions of {data.name}",
        targets="the messages; assistant text is trusted here, since these conversations are known",
        sessions=sessions,
        passages=data.passages,
        metric=recall_at_k,  # with one gold document, as in CANARD, that is whether it was found
        metric_name="Recall",
    )


def _is_usable(session: RecordedSession) -> bool:
    return len(session.messages) >= _LEAST_MESSAGES and len(_questions(session)) >= _LEAST_QUESTIONS


def _questions(session: RecordedSession) -> list[RecordedProbe]:
    return [probe for probe in session.probes_with_state if probe.gold_doc_ids and probe.needs_history]


def _compiled(session: RecordedSession) -> Session:
    questions = tuple(
        Question(probe.query, tuple(frozenset({doc_id}) for doc_id in sorted(probe.gold_doc_ids)))
        for probe in _questions(session)
    )
    builder = HistoryTargets(trusted_roles=_TRUSTED)
    return Session(SessionKey(None, session.session_id), session.compiled, builder, questions)
