"""Full-text search, and fusion of rankings; runs without torch and without a framework."""

from pss_integrations.retrieval.bm25 import BM25Index
from pss_integrations.retrieval.fusion import reciprocal_rank_fusion

__all__ = ["BM25Index", "reciprocal_rank_fusion"]
