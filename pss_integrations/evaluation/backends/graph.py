"""Search over a graph of names and passages (HippoRAG, Gutiérrez et al., NeurIPS 2024)."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pss_integrations.errors import MissingExtra
from pss_integrations.evaluation.backends.summaries import sentences
from pss_integrations.retrieval.bm25 import BM25Index
from pss_integrations.retrieval.files import IndexFormat
from pss_integrations.retrieval.index import WeightedTexts, searched_text
from pss_integrations.text import identifiers, names, normalise

try:
    import networkx as nx
    from scipy.sparse import csr_array
except ImportError as error:
    raise MissingExtra("eval", error.name or "networkx") from error

DAMPING: Final = 0.5
"""Share that walks on at each step; the rest returns to where it began. HippoRAG's."""
STEPS: Final = 8
"""Steps of the walk; what would come after them is less than half a percent."""
NAMED: Final = 0.5
"""Share of the walk that begins at the names of the query; the rest begins at what it finds by words."""


class GraphIndex(BM25Index):
    """Passages, the names in them, and how these are said together; a query is followed from its names to evidence.

    A personalised PageRank of eight steps begins at the names of what is searched, each counting less the more
    passages hold it, and at the passages that share a word with it, by their BM25 score. A passage's score is the
    share that comes to lie there, so it is found also through a name that the query does not hold. What names nothing
    that is known is searched by BM25 alone, with its scores.

    What a name is, the index's own vocabulary says; the graph is made when a search first needs it.

    Parameters and errors are those of :class:`~pss_integrations.retrieval.BM25Index`.
    """

    _format = IndexFormat("graph index", "pss-graph-1")

    @cached_property
    def graph(self) -> Any:
        """A ``networkx.Graph``: passages by their position, names as folded strings.

        A passage and each name in it are joined with weight 1, two names with the number of sentences that hold both;
        the title is a sentence.
        """
        graph = nx.Graph()
        graph.add_nodes_from(range(len(self._passages)))
        for row, passage in enumerate(self._passages):
            for sentence in sentences(searched_text(passage)):
                found = self._names_in(sentence)
                graph.add_edges_from(((name, row) for name in found), weight=1)
                for one, other in combinations(found, 2):
                    together: int = graph.get_edge_data(one, other, {"weight": 0})["weight"]
                    graph.add_edge(one, other, weight=together + 1)
        return graph

    @cached_property
    def _position(self) -> dict[str | int, int]:
        return {node: at for at, node in enumerate(self.graph)}

    @cached_property
    def _steps(self) -> Any:
        """``csr_array`` (nodes, nodes): the share of a column that goes to a row."""
        weights: Any = csr_array(nx.to_scipy_sparse_array(self.graph, weight="weight", dtype=float))
        leaving = weights.sum(axis=0)
        return weights.multiply(1 / np.where(leaving > 0, leaving, 1)).tocsr()

    def _scores(self, texts: WeightedTexts) -> NDArray[np.float64]:
        """Return the score of each passage, shape (passages,)."""
        by_words = super()._scores(texts)
        begin = self._begin(texts)
        if not begin.any():
            return by_words
        begin *= NAMED / begin.sum()
        begin[: len(by_words)] += (1 - NAMED) * by_words / (by_words.sum() or 1.0)
        at = begin
        for _ in range(STEPS):
            at = DAMPING * (self._steps @ at) + (1 - DAMPING) * begin
        return at[: len(by_words)]

    def _begin(self, texts: WeightedTexts) -> NDArray[np.float64]:
        """What each node counts in what is searched, shape (nodes,)."""
        begin = np.zeros(len(self._position))
        for text, weight in texts:
            for name in self._names_in(text):
                if name in self._position:
                    holding = sum(isinstance(node, int) for node in self.graph[name])
                    begin[self._position[name]] += weight / holding
        return begin

    def _names_in(self, text: str) -> list[str]:
        """The names of the vocabulary that a text holds, folded, in order."""
        # The vocabulary finds names also in small letters, but of a title only the whole.
        found = (*names(text), *identifiers(text), *self.vocabulary.names_in(text))
        return sorted({normalise(name) for name in found if name in self.vocabulary})
