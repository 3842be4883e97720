"""Search by words and by meaning, and fusion of rankings; runs without a framework.

Indexes and embedders are loaded when they are first used: they need numpy, and bm25s, chromadb or torch.
"""

from typing import TYPE_CHECKING

from pss_integrations.lazy import lazily
from pss_integrations.retrieval.fusion import reciprocal_rank_fusion

if TYPE_CHECKING:
    from pss_integrations.retrieval.bm25 import BM25Index
    from pss_integrations.retrieval.dense import ChromaIndex
    from pss_integrations.retrieval.embedding import as_embedder
    from pss_integrations.retrieval.transformer import TransformerEmbedder

_HOMES = {
    "BM25Index": "bm25",
    "ChromaIndex": "dense",
    "TransformerEmbedder": "transformer",
    "as_embedder": "embedding",
}

__all__ = ["BM25Index", "ChromaIndex", "TransformerEmbedder", "as_embedder", "reciprocal_rank_fusion"]

__getattr__ = lazily(__name__, _HOMES)
