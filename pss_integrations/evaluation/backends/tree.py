"""Texts grouped by what they are near to, summarised, and grouped again, until nothing is near anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.backends.vectors import Direction, Rows, Vectors

GROUP_SIZE: Final = 10
INHERITED: Final = 0.5
"""How much of a group's score what is in it gets on top of its own."""
Summarise = Callable[[Sequence[str]], str]


@dataclass(frozen=True, slots=True)
class Level:
    """A level of groups.

    :param summaries: A text for each group.
    :param parents: For each node of the level below the position of its group; -1 if it has none.
    """

    summaries: tuple[str, ...]
    parents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """Texts at the bottom, and groups of groups above them.

    :param leaves: Directions of the texts.
    :param levels: From the bottom to the top; a node without a group stands alone.
    :param rows: Directions of each level's summaries.
    """

    leaves: Rows
    levels: tuple[Level, ...]
    rows: tuple[Rows, ...]

    @classmethod
    def grow(cls, texts: Sequence[str], vectors: Vectors, summarise: Summarise) -> Self:
        """Group texts from the bottom to the top.

        :param summarise: Given the texts of a group, in their order.
        :raises InvalidInput: If it returns no string.
        """
        below, rows = vectors.rows(texts), list[Rows]()
        leaves, levels = below, list[Level]()
        while groups := _groups(below):
            texts = [_summary(summarise, [texts[node] for node in group]) for group in groups]
            levels.append(Level(tuple(texts), _parents(groups, below.shape[0])))
            rows.append(below := vectors.rows(texts))
        return cls(leaves, tuple(levels), tuple(rows))

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Vectors, described: Iterable[Mapping[str, Any]]) -> Self:
        """Make the tree again that :meth:`describe` described."""
        levels = tuple(Level(tuple(one["summaries"]), tuple(one["parents"])) for one in described)
        return cls(vectors.rows(texts), levels, tuple(vectors.rows(level.summaries) for level in levels))

    def describe(self) -> list[dict[str, Any]]:
        """Return what JSON can hold; the directions are left out."""
        return [{"summaries": [*level.summaries], "parents": [*level.parents]} for level in self.levels]

    def scores(self, direction: Direction) -> NDArray[np.float64]:
        """Score from the top to the bottom: a node's own cosine, and half of what its group scores.

        :return: Shape (texts,), each below 2.
        """
        inherited: Any = 0.0
        for level, rows in zip(reversed(self.levels), reversed(self.rows), strict=True):
            scores = np.append(_cosines(rows, direction) + inherited, 0.0)  # -1 is the last one
            inherited = INHERITED * scores[np.array(level.parents)]
        return _cosines(self.leaves, direction) + inherited

    @property
    def has_direction(self) -> NDArray[np.bool_]:
        """Which texts say anything, shape (texts,)."""
        return _has_direction(self.leaves)


def _groups(rows: Rows) -> list[list[int]]:
    """Groups of two to ten: in order, each node that has no group yet and the nearest ones that have none either."""
    groups, free = list[list[int]](), _has_direction(rows)
    for node in range(rows.shape[0]):
        if not free[node]:
            continue
        nearness = np.where(free, rows @ rows[[node]].toarray()[0], 0.0)
        nearness[node] = np.inf
        nearest = np.argsort(-nearness, kind="stable")[:GROUP_SIZE]
        group: list[int] = sorted(nearest[nearness[nearest] > 0].tolist())
        free[group] = False
        if len(group) > 1:
            groups.append(group)
    return groups


def _parents(groups: Sequence[Sequence[int]], nodes: int) -> tuple[int, ...]:
    parent = {node: at for at, group in enumerate(groups) for node in group}
    return tuple(parent.get(node, -1) for node in range(nodes))


def _summary(summarise: Summarise, texts: Sequence[str]) -> str:
    summary: Any = summarise(texts)
    if not isinstance(summary, str):
        raise InvalidInput(f"summarise must return a string, got {type(summary).__name__}")
    return summary


def _cosines(rows: Rows, direction: Direction) -> NDArray[np.float64]:
    return rows @ direction[: rows.shape[1]]


def _has_direction(rows: Rows) -> NDArray[np.bool_]:
    return np.diff(rows.indptr) > 0
