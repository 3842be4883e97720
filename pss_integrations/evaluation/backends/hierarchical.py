"""Search over passages and summaries of groups of them (RAPTOR, Sarthi et al., ICLR 2024)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.backends.summaries import extractive_summary
from pss_integrations.evaluation.backends.tree import Summarise, Tree
from pss_integrations.evaluation.backends.vectors import Direction, EmbeddedVectors, Vectors, WordVectors
from pss_integrations.retrieval.embedding import as_embedder
from pss_integrations.retrieval.files import IndexFormat
from pss_integrations.retrieval.index import PassageIndex, WeightedTexts, checked_passages, searched_text
from pss_integrations.types import Hit, Passage

_TREE: Final = "tree.json"


class HierarchicalIndex(PassageIndex):
    """Passages in groups of groups, each with a summary; a passage is found by its own text and by its groups' ones.

    All levels are searched, from the top to the bottom, and nothing is cut off on the way: this is RAPTOR's collapsed
    tree, which its authors found better than following the best branches: these are lost where no summary repeats
    what is asked for, such as an identifier. As only passages are returned, a summary that matches speaks for what it
    sums up: a node scores its cosine, and half of what its group scores.

    By words, a hit shares a word with what is searched, itself or through a summary; with an embedder, every passage
    with a token is found.

    :param passages: What can be found; any number, also none.
    :param embedder: What groups and compares texts, as for :class:`~pss_integrations.retrieval.ChromaIndex`; without
        one, they are compared by words.
    :param summarise: Makes a text of a group's two to ten texts, such as a language model; by default their most
        central sentences. It is called for each group, about one per nine passages.
    :raises InvalidInput: If an item is no passage of strings, two passages share a ``doc_id``, the embedder is none
        or gives vectors that cannot be compared, or ``summarise`` returns no string.
    """

    _format = IndexFormat("hierarchical index", "pss-hierarchical-1")

    def __init__(
        self, passages: Iterable[Passage], embedder: Any = None, *, summarise: Summarise = extractive_summary
    ) -> None:
        self._passages = checked_passages(passages)
        texts = [*map(searched_text, self._passages)]
        self._compare(texts, embedder)
        self._tree = Tree.grow(texts, self._vectors, summarise)

    @property
    def summaries(self) -> Sequence[Sequence[str]]:
        """The summaries of each level, from the bottom to the top."""
        return [level.summaries for level in self._tree.levels]

    def save(self, path: str | PathLike[str]) -> None:
        """Write passages and summaries to a directory. See :meth:`PassageIndex.save`."""
        self._format.save(path, self._passages, self._save_tree, {"vectors": self._vectors.name})

    @classmethod
    def load(cls, path: str | PathLike[str], embedder: Any = None) -> HierarchicalIndex:
        """Read an index that :meth:`save` wrote, summarising nothing; texts are embedded again.

        :param embedder: That which it was built with, if any.
        :raises InvalidInput: If the directory is missing, holds something else, was built with another embedder, or
            a file in it was truncated, altered or mixed in from another index.
        """
        index = cls.__new__(cls)
        index._passages, manifest = cls._format.load(path)
        texts = [*map(searched_text, index._passages)]
        index._compare(texts, embedder)
        if index._vectors.name != manifest.get("vectors"):
            raise InvalidInput(
                f"the index at {path} compares by {manifest.get('vectors')!r}, not by {index._vectors.name!r}: "
                "load it with the embedder that it was built with, or build it again"
            )
        index._tree = Tree.of(texts, index._vectors, json.loads(Path(path, _TREE).read_text(encoding="utf-8")))
        return index

    @property
    def _parameters(self) -> Mapping[str, Any]:
        return {"vectors": self._vectors.name, "tree": sha256(self._written_tree.encode()).hexdigest()}

    @property
    def _written_tree(self) -> str:
        return json.dumps(self._tree.describe())

    def _save_tree(self, directory: Path) -> None:
        Path(directory, _TREE).write_text(self._written_tree, encoding="utf-8")

    def _compare(self, texts: Sequence[str], embedder: Any) -> None:
        self._vectors: Vectors = WordVectors(texts) if embedder is None else EmbeddedVectors(as_embedder(embedder))
        self.kind = self._vectors.kind

    def _find(self, requests: Sequence[WeightedTexts], k: int) -> list[list[Hit]]:
        return [self._best(self._vectors.direction(texts), k) for texts in requests]

    def _best(self, direction: Direction, k: int) -> list[Hit]:
        if not direction.any():
            return []
        scores = self._tree.scores(direction)
        found = np.flatnonzero(scores > 0 if self.kind == "lexical" else self._tree.has_direction)
        best = found[np.argsort(-scores[found], kind="stable")[:k]]
        return [Hit(self._passages[row], float(scores[row])) for row in best]
