"""Any LangChain retriever as a searcher."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import RetrieverLike
from langchain_core.runnables import Runnable

from pss_integrations.langchain.convert import to_passage
from pss_integrations.retrieval.wrapped import WrappedRetriever, check_name
from pss_integrations.types import Passage


class RetrieverSearcher(WrappedRetriever[Document]):
    """A LangChain retriever as a :class:`~pss_integrations.protocols.Searcher`, in the retriever's own order.

    A passage's id is the document's, else ``metadata[id_key]``, else a hash of the text; its title is
    ``metadata["title"]``. What is returned twice under one id counts once.

    LangChain's documents carry no score. ``metadata[score_key]`` is one if every document has a finite number
    there and none is above the one before; otherwise, as with distances, the score is ``1 / rank``.

    :param retriever: A retriever, or any runnable from a string to documents. How many it finds is its own
        setting: more than ``k`` are cut. Its errors are raised on as they are, and blank queries are its business.
    :param id_key: Metadata key that names a document without an ``id``.
    :param score_key: Metadata key of a score of which more is better.
    :param index_id: What tells the index behind it, as it is now, from every other one, if known.
    :raises InvalidInput: If ``retriever`` is no runnable, or another argument is blank or no string.
    """

    _retriever_kind = Runnable
    _found_kind = Document

    def __init__(
        self,
        retriever: RetrieverLike,
        *,
        id_key: str | None = None,
        score_key: str | None = None,
        index_id: str | None = None,
    ) -> None:
        super().__init__(retriever, index_id)
        check_name("id_key", id_key)
        check_name("score_key", score_key)
        self._id_key = id_key
        self._score_key = score_key

    def _retrieve(self, query: str) -> object:
        return self._retriever.invoke(query)

    async def _aretrieve(self, query: str) -> object:
        return await self._retriever.ainvoke(query)

    def _passage(self, item: Document) -> Passage:
        return to_passage(item, self._id_key)

    def _score(self, item: Document) -> Any:
        return item.metadata.get(self._score_key)
