"""A caller's function takes text out before anything is made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import cast

from pss_integrations.errors import InvalidInput
from pss_integrations.types import ClueTarget, Message

Redact = Callable[[str], str]


def redacted(message: Message, redact: Redact) -> Message:
    """A message with what is left of its text.

    :raises InvalidInput: If the function returns no string.
    """
    return replace(message, text=_left(message.text, redact))


def redacted_targets(targets: Iterable[ClueTarget], redact: Redact) -> list[ClueTarget]:
    """Targets with what is left of their texts; those of which no request or no clue is left are dropped.

    :raises InvalidInput: If the function returns no string.
    """
    kept = list[ClueTarget]()
    for target in targets:
        request, clue = _left(target.request, redact), _left(target.clue, redact)
        conflicts = (_left(conflict, redact) for conflict in target.conflicts)
        if request.strip() and clue.strip():
            kept.append(ClueTarget(request, clue, tuple(one for one in conflicts if one.strip() and one != clue)))
    return kept


def _left(text: str, redact: Redact) -> str:
    left = cast("object", redact(text))
    if not isinstance(left, str):
        raise InvalidInput(f"redact must return the text that is left, got {type(left).__name__}")
    return left
