"""A searcher of ours as a retriever of either framework: what the demo gives the routers to wrap."""

from __future__ import annotations

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from pss_integrations.protocols import Searcher


class LangChainSearch(LangChainRetriever):
    """A searcher as a LangChain retriever; a document's id is the passage's.

    :param searcher: Finds the passages.
    :param k: The most documents to return.
    """

    searcher: Searcher
    k: int

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [
            Document(hit.passage.text, id=hit.doc_id, metadata={"title": hit.passage.title})
            for hit in self.searcher.search(query, self.k)
        ]


class LlamaIndexSearch(LlamaIndexRetriever):
    """A searcher as a LlamaIndex retriever; a node's id is the passage's.

    :param searcher: Finds the passages.
    :param similarity_top_k: The most nodes to return.
    """

    def __init__(self, searcher: Searcher, similarity_top_k: int) -> None:
        super().__init__()
        self._searcher = searcher
        self._k = similarity_top_k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(id_=hit.doc_id, text=hit.passage.text, metadata={"title": hit.passage.title}),
                score=hit.score,
            )
            for hit in self._searcher.search(query_bundle.query_str, self._k)
        ]
