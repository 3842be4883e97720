"""Every kind of searcher, for the suites that hold over all of them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import chromadb
from embedders import WordEmbedder
from framework_retrievers import SHAPES, langchain_search, langchain_store, llama_index_search, llama_index_store

from pss_integrations import langchain, llama_index
from pss_integrations.evaluation.backends import DecomposedIndex, GraphIndex, HierarchicalIndex, HydeIndex
from pss_integrations.retrieval import BM25Index, ChromaIndex
from pss_integrations.types import Passage

TEXTS = ["foo", "dog", "baz", "quick god", "quick fox"]


@dataclass(frozen=True)
class Kind:
    """One kind of searcher: how it is built; of an index of ours also how it is loaded, and what messages call it.

    :param outweighs: How much one of two texts must weigh to decide; more where a third one speaks for both.
    """

    build: Callable[[Iterable[Passage]], Any]
    load: Any = None
    called: str = ""
    outweighs: float = 1.5

    def of(self, *texts: str) -> Any:
        return self.build(Passage(f"p{number}", text) for number, text in enumerate(texts))


def transformed(kind: Kind, transform: Callable[[Any], Any], **changes: Any) -> Kind:
    """An index under a query transformation, which is saved and loaded as what it is."""
    return replace(
        kind,
        build=lambda passages: transform(kind.build(passages)),
        load=lambda path: transform(kind.load(path)),
        **changes,
    )


def hyde(index: Any) -> HydeIndex:
    return HydeIndex(index, lambda query: query[:100], name="repeats")


def decomposed(index: Any) -> DecomposedIndex:
    return DecomposedIndex(index, str.split, name="words")


BM25 = Kind(BM25Index, BM25Index.load, "BM25 index")
PLAIN = {
    "bm25": BM25,
    "hierarchical": Kind(HierarchicalIndex, HierarchicalIndex.load, "hierarchical index"),
    "dense hierarchical": Kind(
        lambda passages: HierarchicalIndex(passages, WordEmbedder()),
        lambda path: HierarchicalIndex.load(path, WordEmbedder()),
        "hierarchical index",
    ),
    "graph": Kind(GraphIndex, GraphIndex.load, "graph index"),
    "hyde bm25": transformed(BM25, hyde),
    "decomposed bm25": transformed(BM25, decomposed),
}
"""Indexes that need nothing but the passages."""
TRANSFORMED: dict[str, dict[str, Any]] = {
    "hyde chroma": {"transform": hyde, "outweighs": 3},
    "decomposed chroma": {"transform": decomposed},
}
BUILT = [*PLAIN, "chroma", "chroma server", *TRANSFORMED]
INDEXES = [*BUILT, *(f"loaded {name}" for name in BUILT)]


def ids(index: Any, query: str, k: int = 50) -> list[str]:
    return [hit.doc_id for hit in index.search(query, k)]


@contextmanager
def index_kind(name: str, place: Path, server: Callable[[], Any]) -> Iterator[Kind]:
    """One of :data:`INDEXES`.

    :param place: An empty directory.
    :param server: Gives a client of a Chroma server.
    """
    built = name.removeprefix("loaded ")
    with ExitStack() as opened:
        if built in PLAIN:
            kind = PLAIN[built]
        else:
            kind = dense_kind(
                server() if "server" in built else opened.enter_context(chromadb.EphemeralClient()), opened
            )
        if built in TRANSFORMED:
            kind = transformed(kind, **TRANSFORMED[built])
        yield saved_and_loaded(kind, place) if built != name else kind


def dense_kind(client: Any, opened: ExitStack) -> Kind:
    return Kind(
        lambda passages: opened.enter_context(ChromaIndex(passages, WordEmbedder(), client=client)),
        lambda path: opened.enter_context(ChromaIndex.load(path, WordEmbedder(), client=client)),
        "dense index",
    )


def saved_and_loaded(kind: Kind, place: Path) -> Kind:
    numbers = count()

    def build(passages: Iterable[Passage]) -> Any:
        path = place / str(next(numbers))
        kind.build(passages).save(path)
        return kind.load(path)

    return replace(kind, build=build)


def wrapped_in_langchain(shape: str) -> Kind:
    return Kind(lambda given: langchain.RetrieverSearcher(langchain_search(given, shape), score_key="score"))


def wrapped_in_llama_index(shape: str) -> Kind:
    return Kind(lambda given: llama_index.RetrieverSearcher(llama_index_search(given, shape)))


WRAPPED = {
    **{f"langchain {shape}": wrapped_in_langchain(shape) for shape in SHAPES},
    **{f"llama_index {shape}": wrapped_in_llama_index(shape) for shape in SHAPES},
    "langchain store": Kind(lambda given: langchain.RetrieverSearcher(langchain_store(given))),
    "llama_index store": Kind(lambda given: llama_index.RetrieverSearcher(llama_index_store(given))),
}
"""Retrievers of both frameworks under our contract."""
