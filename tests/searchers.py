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
from pss_integrations.retrieval import BM25Index, ChromaIndex
from pss_integrations.types import Passage

TEXTS = ["foo", "dog", "baz", "quick god", "quick fox"]
BUILT = ["bm25", "chroma", "chroma server"]
INDEXES = [*BUILT, *(f"loaded {name}" for name in BUILT)]


@dataclass(frozen=True)
class Kind:
    """One kind of searcher: how it is built; of an index of ours also how it is loaded, and what messages call it."""

    build: Callable[[Iterable[Passage]], Any]
    load: Any = None
    called: str = ""

    def of(self, *texts: str) -> Any:
        return self.build(Passage(f"p{number}", text) for number, text in enumerate(texts))


def ids(index: Any, query: str, k: int = 50) -> list[str]:
    return [hit.doc_id for hit in index.search(query, k)]


@contextmanager
def index_kind(name: str, place: Path, server: Callable[[], Any]) -> Iterator[Kind]:
    """One of :data:`INDEXES`.

    :param place: An empty directory.
    :param server: Gives a client of a Chroma server.
    """
    with ExitStack() as opened:
        if name.endswith("bm25"):
            kind = Kind(BM25Index, BM25Index.load, "BM25 index")
        else:
            kind = dense_kind(
                server() if "server" in name else opened.enter_context(chromadb.EphemeralClient()), opened
            )
        yield saved_and_loaded(kind, place) if name.startswith("loaded") else kind


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
