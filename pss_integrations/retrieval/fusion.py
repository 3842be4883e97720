"""Reciprocal rank fusion: several rankings made one by position alone, whatever their scores mean."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

from pss_integrations.errors import InvalidInput

T = TypeVar("T")


class _Entry(NamedTuple):
    weight: float
    rank: int
    document: Any


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[T]],
    *,
    key: Callable[[T], Hashable],
    weights: Sequence[float] | None = None,
    c: int = 60,
    k: int | None = None,
) -> list[tuple[T, float]]:
    """Fuse rankings by reciprocal rank (Cormack, Clarke and Buettcher, SIGIR 2009).

    A document scores the sum of ``weight / (c + rank)`` over the rankings it is in, ranks counted from 1.
    A document that one ranking holds twice counts at its best rank there. The order of the rankings does
    not matter, as long as their weights move with them.

    :param rankings: Rankings, best first; they are not changed.
    :param key: What makes two documents the same one.
    :param weights: One per ranking, at least 0; all 1 by default. Weight 0 leaves a ranking out altogether.
    :param c: The constant that flattens the top ranks, a positive int.
    :param k: At most so many documents; all by default.
    :return: Documents with their scores, best first, ties by ``str(key)``. Of equal documents the one kept
        is that of the ranking with the highest weight, then of the best rank.
    :raises InvalidInput: If a weight is negative, infinite or no number, their number is not that of the
        rankings, or ``c`` or ``k`` is no positive int.
    """
    check_positive_int("c", c)
    if k is not None:
        check_positive_int("k", k)
    found: defaultdict[Hashable, list[_Entry]] = defaultdict(list)
    for ranking, weight in zip(rankings, _checked_weights(weights, len(rankings)), strict=True):
        if weight:
            for name, (rank, document) in _best_ranks(ranking, key).items():
                found[name].append(_Entry(weight, rank, document))
    scores = {name: _score(entries, c) for name, entries in found.items()}
    order = sorted(scores, key=lambda name: (-scores[name], str(name), repr(name)))
    return [(_first(found[name]), scores[name]) for name in order[:k]]


def check_positive_int(name: str, value: object) -> None:
    """Refuse anything but a positive int.

    :raises InvalidInput: If it is none; a bool is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInput(f"{name} must be a positive int, got {value!r}")


def is_amount(value: Any) -> bool:
    """Whether a value is a finite number of at least 0; a bool is none."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and value >= 0


def _checked_weights(weights: Sequence[float] | None, count: int) -> list[float]:
    if weights is None:
        return [1.0] * count
    if len(weights) != count:
        raise InvalidInput(f"{count} rankings need {count} weights, got {len(weights)}")
    for weight in weights:
        if not is_amount(weight):
            raise InvalidInput(f"a weight must be a finite number of at least 0, got {weight!r}")
    return list(weights)


def _best_ranks(ranking: Sequence[T], key: Callable[[T], Hashable]) -> dict[Hashable, tuple[int, T]]:
    best: dict[Hashable, tuple[int, T]] = {}
    for rank, document in enumerate(ranking, start=1):
        best.setdefault(key(document), (rank, document))
    return best


def _score(entries: list[_Entry], c: int) -> float:
    # fsum rounds once, so the sum does not depend on the order of the rankings.
    return math.fsum(entry.weight / (c + entry.rank) for entry in entries)


def _first(entries: list[_Entry]) -> Any:
    return min(entries, key=lambda entry: (-entry.weight, entry.rank)).document
