"""Upkeep of stored states: which ones go, and which ones can be written again for another backbone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from pss_integrations.errors import InvalidInput
from pss_integrations.states.manifest import StateInfo
from pss_integrations.types import ClueTarget, Message, Role


@dataclass(frozen=True, slots=True)
class Migration:
    """What became of the states of another backbone.

    :param migrated: Manifests of the states that were written again.
    :param impossible: Manifests of those that could not be, each with the reason.
    """

    migrated: tuple[StateInfo, ...]
    impossible: tuple[tuple[StateInfo, str], ...]


def to_prune(
    states: Iterable[tuple[StateInfo, bool]],
    *,
    max_bytes: int | None,
    max_age: timedelta | None,
    now: datetime,
) -> list[StateInfo]:
    """Choose the states that have to go: those that are too old, then the oldest until the rest is small enough.

    :param states: Manifests, and whether each is the current one of its session; those that are not go first.
    :param max_bytes: Most bytes of adapters that may stay.
    :param max_age: States that were written longer ago go.
    :raises InvalidInput: If neither limit is given, or one is negative.
    """
    if max_bytes is None and max_age is None:
        raise InvalidInput("nothing says what to prune: give max_bytes, max_age or both")
    if (max_bytes or 0) < 0 or (max_age or timedelta()) < timedelta():
        raise InvalidInput(f"limits cannot be negative, got max_bytes={max_bytes} and max_age={max_age}")
    # Superseded ones first, then by age.
    order = sorted(states, key=lambda one: (one[1], one[0].created_at, one[0].state_id))
    left = sum(info.adapter_bytes for info, _ in order)
    gone = list[StateInfo]()
    for info, _ in order:
        is_old = max_age is not None and now - info.created_at > max_age
        if is_old or (max_bytes is not None and left > max_bytes):
            gone.append(info)
            left -= info.adapter_bytes
    return gone


def kept_session(info: StateInfo) -> tuple[Sequence[Message], Sequence[ClueTarget]] | str:
    """The messages and targets that a state was written from, or the reason why they are not known."""
    if not info.history:
        return f"its text was not kept (keep_text was {info.compile.get('keep_text')!r}, 'history' is needed)"
    messages = [Message(cast("Role", role), text) for role, text in info.history]
    return messages, [ClueTarget(*kept) for kept in info.targets.kept]
