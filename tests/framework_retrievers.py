"""Retrievers of both frameworks over passages in memory, for tests of what wraps one."""

from collections.abc import Callable, Iterable
from typing import Any

from embedders import WordEmbedder
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from pss_integrations.retrieval import BM25Index
from pss_integrations.types import Hit, Passage

Found = list[tuple[Passage, float | None]]

SHAPES: dict[str, Callable[[list[Hit]], Found]] = {
    "with scores": lambda hits: [(hit.passage, hit.score) for hit in hits],
    "without scores": lambda hits: [(hit.passage, None) for hit in hits],
    "with mixed scores": lambda hits: [(hit.passage, hit.score if row % 2 else None) for row, hit in enumerate(hits)],
    "with distances": lambda hits: [(hit.passage, float(row)) for row, hit in enumerate(hits)],
    "repeating": lambda hits: [(hit.passage, hit.score) for hit in hits for _ in "ab"],
    "repeating at the end": lambda hits: [(hit.passage, None) for hit in hits + hits[::-1]],
}
"""What a retriever may make of the same ranking."""

Search = Callable[[str], Found]


class _LangChainSearch(LangChainRetriever):
    find: Search

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [
            Document(one.text, id=one.doc_id, metadata={"title": one.title, **one.metadata, "score": score})
            for one, score in self.find(query)
        ]


class _LlamaIndexSearch(LlamaIndexRetriever):
    def __init__(self, find: Search) -> None:
        super().__init__()
        self._find = find

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=_node(one), score=score) for one, score in self._find(query_bundle.query_str)]

    # Else LlamaIndex would leave repetitions out by itself, which not every retriever has.
    def _handle_recursive_retrieval(self, query_bundle: QueryBundle, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        return nodes


def langchain_search(passages: Iterable[Passage], shape: str) -> LangChainRetriever:
    return _LangChainSearch(find=_search(passages, shape))


def llama_index_search(passages: Iterable[Passage], shape: str) -> LlamaIndexRetriever:
    return _LlamaIndexSearch(_search(passages, shape))


def _search(passages: Iterable[Passage], shape: str) -> Search:
    index = BM25Index(passages)
    return lambda query: SHAPES[shape](index.search(query, 50))


# -- the frameworks' own stores ------------------------------------------------------------------------------


class _LangChainWords(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return WordEmbedder().embed_documents(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class _LlamaIndexWords(BaseEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        return WordEmbedder().embed_documents([text])[0].tolist()

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def langchain_store(passages: Iterable[Passage]) -> Any:
    store = InMemoryVectorStore(_LangChainWords())
    documents = [Document(one.text, id=one.doc_id, metadata={"title": one.title, **one.metadata}) for one in passages]
    store.add_documents(documents)
    return store.as_retriever(search_kwargs={"k": 50})


def llama_index_store(passages: Iterable[Passage]) -> LlamaIndexRetriever:
    index = VectorStoreIndex([_node(one, excluded=True) for one in passages], embed_model=_LlamaIndexWords())
    return index.as_retriever(similarity_top_k=50)


def _node(passage: Passage, excluded: bool = False) -> TextNode:
    metadata = {"title": passage.title, **passage.metadata}
    return TextNode(
        id_=passage.doc_id,
        text=passage.text,
        metadata=metadata,
        excluded_embed_metadata_keys=list(metadata) if excluded else [],
    )
