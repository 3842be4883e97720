"""Search by words and by meaning, and fusion of rankings; runs without a framework.

Indexes and embedders are loaded when they are first used: they need numpy, and bm25s, chromadb or torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
