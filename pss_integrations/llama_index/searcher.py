"""Any LlamaIndex retriever as a searcher."""

from __future__ import annotations

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from pss_integrations.llama_index.asking import aask, ask
from pss_integrations.llama_index.convert import to_passage
from pss_integrations.retrieval.wrapped import WrappedRetriever
from pss_integrations.types import Passage


class RetrieverSearcher(WrappedRetriever[NodeWithScore]):
    """A LlamaIndex retriever as a :class:`~pss_integrations.protocols.Searcher`, in the retriever's own order.

    A passage's id is the node's; its title is ``metadata["title"]``. What is returned twice counts once.

    Scores are the nodes' own if every node has a finite one and none is above the one before; otherwise, as
    with ``score=None`` or distances, the score is ``1 / rank``.

    A retriever without an ``_aretrieve`` of its own is asked in a worker thread by :meth:`asearch`, since
    LlamaIndex would block the event loop with it.

    :param retriever: The retriever. How many nodes it finds is its own setting: more than ``k`` are cut. Its
        errors are raised on as they are, and blank queries are its business.
    :param index_id: What tells the index behind it, as it is now, from every other one, if known.
    :raises InvalidInput: If ``retriever`` is no LlamaIndex retriever, or ``index_id`` is blank or no string.
    """

    _retriever_kind = BaseRetriever
    _found_kind = NodeWithScore

    def __init__(self, retriever: BaseRetriever, *, index_id: str | None = None) -> None:
        super().__init__(retriever, index_id)

    def _retrieve(self, query: str) -> object:
        return ask(self._retriever, QueryBundle(query))

    async def _aretrieve(self, query: str) -> object:
        return await aask(self._retriever, QueryBundle(query))

    def _passage(self, item: NodeWithScore) -> Passage:
        return to_passage(item)

    def _score(self, item: NodeWithScore) -> object:
        return item.score
