"""Other ways to search the same passages, for comparison with BM25 and Chroma (PSS, section 3.1).

Each is a :class:`~pss_integrations.retrieval.index.PassageIndex`, so a run takes it as any other. What they stand for
is the idea behind a family of retrievers, built small enough to be read and run anywhere; none is a reproduction of
somebody's system:

- :class:`HierarchicalIndex`: passages grouped and summarised level by level, as RAPTOR does;
- :class:`GraphIndex`: names, what is said of them together, and the passages as evidence, as in HippoRAG;
- :class:`HydeIndex`, :class:`DecomposedIndex`: any index, searched with a rewritten query. :class:`PassageWriter` and
  :class:`QuestionSplitter` rewrite with a backbone; any other language model is a callable.
"""

from typing import TYPE_CHECKING

from pss_integrations.lazy import lazily

if TYPE_CHECKING:
    from pss_integrations.evaluation.backends.generation import PassageWriter, QuestionSplitter
    from pss_integrations.evaluation.backends.graph import GraphIndex
    from pss_integrations.evaluation.backends.hierarchical import HierarchicalIndex
    from pss_integrations.evaluation.backends.transforms import DecomposedIndex, HydeIndex

_HOMES = {
    "DecomposedIndex": "transforms",
    "GraphIndex": "graph",
    "HierarchicalIndex": "hierarchical",
    "HydeIndex": "transforms",
    "PassageWriter": "generation",
    "QuestionSplitter": "generation",
}

__all__ = ["DecomposedIndex", "GraphIndex", "HierarchicalIndex", "HydeIndex", "PassageWriter", "QuestionSplitter"]

__getattr__ = lazily(__name__, _HOMES)
