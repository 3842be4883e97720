from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.metrics import Evidence, all_recall_at_k, mean_at_k
from pss_integrations.retrieval import BM25Index

RECORDED = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def benchmark_320() -> pss320.Benchmark:
    return pss320.generate(seed=1)


@pytest.fixture
def recorded() -> Path:
    """The folder of recorded data sets beside the project."""
    if not RECORDED.is_dir():
        pytest.skip(f"no recorded data: {RECORDED} does not exist")
    return RECORDED


@pytest.fixture
def all_recall() -> Callable[[BM25Index, Iterable[tuple[str, Evidence]]], float]:
    """Mean All-Recall@4 of queries over an index."""

    def score(index: BM25Index, asked: Iterable[tuple[str, Evidence]]) -> float:
        results = [([hit.doc_id for hit in index.search(query, 4)], evidence) for query, evidence in asked]
        return mean_at_k(all_recall_at_k, results, 4).value

    return score
