"""A session written by hand, with follow-up questions and something to search: what ``pssi demo`` shows."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Final

from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.pss320 import Probe
from pss_integrations.types import Message, Passage, SessionFields, SessionKey

KEY: Final = SessionKey("demo-user", "orvanta-kelpline")
_OTHER_SESSIONS = 60
_SEED = 2024


def demo_messages() -> tuple[Message, ...]:
    """The history, in order."""
    return tuple(Message(**line) for line in _read_lines("session.jsonl"))


def demo_fields() -> SessionFields:
    """What the session is about, in structured form."""
    return SessionFields(**json.loads(_read("fields.json")))


def demo_questions() -> tuple[Probe, ...]:
    """Follow-ups that leave their scope unsaid; each has evidence in :func:`demo_pool`."""
    return tuple(
        Probe(
            evidence=tuple(frozenset(group) for group in question.pop("evidence")),
            answers=tuple(question.pop("answers")),
            **question,
        )
        for question in json.loads(_read("questions.json"))
    )


def demo_pool() -> tuple[Passage, ...]:
    """The session's own passages, then those of 60 generated sessions."""
    own = tuple(Passage(**line) for line in _read_lines("passages.jsonl"))
    return own + pss320.generate(_OTHER_SESSIONS, seed=_SEED).passages


def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _read_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _read(name).splitlines()]
