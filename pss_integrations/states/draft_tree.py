"""Guesses of how a clue goes on, merged into a tree whose branches are verified in one pass (SpecInfer, 2024)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor


class DraftTree:
    """Tokens that may follow, each after the last token read or after another of them.

    :param branches: Guesses, the likeliest first; a common beginning is kept once.
    :param depth: Most tokens of a branch.
    :param size: Most tokens in all.
    """

    def __init__(self, branches: Iterable[Sequence[int]] = (), *, depth: int = 0, size: int = 0) -> None:
        self.tokens = list[int]()
        self.depths = list[int]()
        self._children = dict[tuple[int, int], int]()
        self._parents = list[int]()
        for branch in branches:
            self._grow(branch[: max(0, depth)], size)

    @classmethod
    def of(cls, tokens: Sequence[int]) -> DraftTree:
        """A single guess."""
        return cls([tokens], depth=len(tokens), size=len(tokens))

    def __len__(self) -> int:
        """Return how many tokens there are."""
        return len(self.tokens)

    @property
    def branches(self) -> bool:
        """Whether there is more than one way down; a chain needs no mask of its own."""
        return any(parent != node - 1 for node, parent in enumerate(self._parents))

    def child(self, node: int, token: int) -> int | None:
        """The node of a token after another one; -1 is the last token read."""
        return self._children.get((node, token))

    def visible(self) -> Tensor:
        """Which tokens (n, n) each one follows, itself included."""
        seen = torch.eye(len(self), dtype=torch.bool)
        for node, parent in enumerate(self._parents):
            if parent >= 0:
                seen[node] |= seen[parent]
        return seen

    def _grow(self, branch: Sequence[int], size: int) -> None:
        node = -1
        for depth, token in enumerate(branch):
            child = self._children.get((node, token))
            if child is None:
                if len(self) >= size:
                    return
                child = self._children[node, token] = len(self)
                self.tokens.append(token)
                self.depths.append(depth)
                self._parents.append(node)
            node = child
