"""What the measurements of risks share: which sessions they take, how a mean is told, and where a name is said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.analysis import Scores, plain
from pss_integrations.evaluation.pss320 import BenchmarkSession
from pss_integrations.text import normalise


def across_groups(sessions: Sequence[BenchmarkSession], count: int) -> list[BenchmarkSession]:
    """Take the first session of each source group, then the second of each, so that few sessions are of many groups.

    :raises InvalidInput: If there are not so many, or fewer than two are asked for.
    """
    if not 2 <= count <= len(sessions):
        raise InvalidInput(f"there are {len(sessions)} sessions, of which 2 or more are needed: got {count}")
    seen, ranked = Counter[str](), list[tuple[int, BenchmarkSession]]()
    for session in sessions:
        ranked.append((seen[session.source_group], session))
        seen[session.source_group] += 1
    return [session for _, session in sorted(ranked, key=lambda one: one[0])][:count]


def estimated(
    values: Sequence[float | None], sessions: Sequence[BenchmarkSession], items: int
) -> dict[str, Any] | None:
    """A mean over sessions as plain data, with its interval where the sessions are of two source groups or more.

    :param values: One per session; sessions without a value are left out.
    :param items: How many single observations the values are made of.
    :return: ``mean``, ``low``, ``high``, ``sessions`` and ``items``; ``None`` if no session has a value.
    """
    known = [(value, one.source_group) for value, one in zip(values, sessions, strict=True) if value is not None]
    if not known:
        return None
    found = plain(Scores(tuple(value for value, _ in known), tuple(group for _, group in known), items))
    return {**{name: value for name, value in found.items() if name != "probes"}, "items": items}


def estimated_share(outcomes: Sequence[Sequence[bool]], sessions: Sequence[BenchmarkSession]) -> dict[str, Any] | None:
    """:func:`estimated` of the share of what came true, in each session.

    :param outcomes: One sequence per session; a session without any is left out.
    """
    shares = [sum(some) / len(some) if some else None for some in outcomes]
    return estimated(shares, sessions, sum(map(len, outcomes)))


def is_said(name: str, texts: Iterable[str]) -> bool:
    """Whether one of the texts holds a name whole: ``v1.2`` is not said in ``v1.25``."""
    pattern = re.compile(rf"(?<!\w){re.escape(normalise(name))}(?!\w)")
    return any(pattern.search(normalise(text)) for text in texts)
