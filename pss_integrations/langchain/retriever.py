"""A retriever around any other one, guarded by the router."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from os import PathLike
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    BaseCallbackManager,
    CallbackManagerForRetrieverRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.runnables.config import patch_config
from pydantic import Field, PositiveInt

from pss_integrations.errors import InvalidInput
from pss_integrations.langchain.convert import QueryInput, annotated, split_input, to_document, to_hit
from pss_integrations.langchain.session import DECISION_EVENT, SessionAware, unheard
from pss_integrations.protocols import ClueReader, ExpandingSearcher
from pss_integrations.retrieval.wrapped import checked_list
from pss_integrations.routing.card import CardBuilder
from pss_integrations.routing.certificate import Certificate
from pss_integrations.routing.describe import describe
from pss_integrations.routing.router import Router, RouterOptions
from pss_integrations.routing.searching import find, router_options
from pss_integrations.routing.wording import Wording
from pss_integrations.types import Composition, Message, Route, Routed, SearcherKind
from pss_integrations.vocabulary import Vocabulary


class GuardedRouterRetriever(BaseRetriever, SessionAware):
    """Searches with the query as it is, with a card of the live messages, or with what the session's state adds.

    On the raw route it returns exactly what the wrapped retriever returned. On the others it returns copies
    whose metadata says ``pss_route``, ``pss_reason`` and, with ``composition="rrf"``, ``pss_score``; with
    ``explain=True`` also all else that the event says. Each call sends the custom event ``pss_decision``.

    Traces hold the texts of card and clue only with ``explain=True``: without it the searches made with them, and
    their reranking, run without the call's callbacks and without LangSmith. That of the query has its child run.

    :param retriever: The wrapped retriever, any runnable from a string to documents, or an index of ours such as
        ``BM25Index``, which says itself what ``kind``, ``vocabulary`` and ``index_id`` are.
    :param manager: Reads the states; never serialized. Without one there are the raw route and the card, and no
        identity is needed.
    :param k: Return no more than these; also per call, ``invoke(query, k=3)``. An index of ours needs it.
    :param routes: What is tried and paid for, such as ``("raw", "pss")``; all by default.
    :param composition: ``"append"``, ``"replace"`` or ``"rrf"``.
    :param query_weight: How much the query weighs in ``append``, from 0.01 to 100; what measured best by default. A
        retriever that takes one text gets the query repeated so often.
    :param kind: What searches: ``"lexical"``, ``"dense"`` or ``"unknown"``.
    :param vocabulary: What the index names, for cards and for the guard.
    :param cards: Makes the cards; :class:`~pss_integrations.routing.SessionCards` by default.
    :param certificate: What the guard decides by, or its file; the built-in one by default.
    :param index_id: What tells the index from all others; a calibrated certificate holds for one.
    :param compressor: Reranks copies of what each search found, by the text of that search.
    :param id_key: Metadata key that names a document without an ``id``.
    """

    retriever: RetrieverLike | ExpandingSearcher
    manager: ClueReader | None = Field(default=None, exclude=True, repr=False)
    k: PositiveInt | None = None
    routes: Sequence[Route] | None = None
    composition: Composition = "append"
    query_weight: float | None = None
    kind: SearcherKind | None = None
    vocabulary: Vocabulary | None = Field(default=None, exclude=True, repr=False)
    cards: CardBuilder | None = Field(default=None, exclude=True, repr=False)
    certificate: Certificate | str | PathLike[str] | None = None
    index_id: str | None = None
    compressor: BaseDocumentCompressor | None = None
    id_key: str | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Search in async too by what a subclass makes of the sync search alone: it may filter (langchain 27920)."""
        super().__init_subclass__(**options)
        if "_get_relevant_documents" in vars(cls) and "_aget_relevant_documents" not in vars(cls):
            cls._aget_relevant_documents = cls._search_in_a_thread

    def model_post_init(self, context: Any, /) -> None:
        """Make the router.

        :raises ValueError: If an option cannot be used, or an index of ours comes without ``k``.
        """
        super().model_post_init(context)
        if isinstance(self.retriever, ExpandingSearcher) and self.k is None:
            raise InvalidInput("an index is searched for a number of hits: give k")
        self._made = self._make()

    @property
    def _router(self) -> Router[Document]:
        return self._decider()

    def _make(self) -> Router[Document]:
        given = {name: getattr(self, name) for name in RouterOptions.__optional_keys__}
        return Router(
            self.manager,
            hit=lambda document: to_hit(document, self.id_key),
            rescore=lambda document, score: annotated(document, {"score": score}),
            **router_options(self.retriever, given),
        )

    @property
    def last_decision(self) -> Routed[Document] | None:
        """The last decision made in this context (task or thread), with the documents found."""
        return self._router.last_decision

    def invoke(self, input: QueryInput, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return documents for a query, or for ``{"input": ..., "chat_history": [...]}``.

        :raises InvalidInput: If the input has another shape, ``k`` is no positive integer, or the wrapped retriever
            returns no list of documents for the query as it is.
        :raises IdentityConflict: If two sources name different sessions.
        :raises StateError: If a state is there and cannot be read.
        """
        query, messages = split_input(input)
        config = ensure_config(config)  # the hook below is given no config by itself
        return super().invoke(query, config, run_config=config, messages=messages, **kwargs)

    async def ainvoke(self, input: QueryInput, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Do the same without blocking the event loop."""
        query, messages = split_input(input)
        config = ensure_config(config)
        return await super().ainvoke(query, config, run_config=config, messages=messages, **kwargs)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        run_config: RunnableConfig | None = None,
        messages: Sequence[Message] = (),
        k: int | None = None,
    ) -> list[Document]:
        config = ensure_config(run_config)
        k = self.k if k is None else k

        def search(wording: Wording, route: Route) -> Sequence[Document]:
            with self._heard(route, config, run_manager.get_child(route)) as own:
                found = self._found(wording, k, own)
                if self.compressor is None or not found:
                    return found
                copies = [annotated(document, {}) for document in found]
                heard = own.get("callbacks")
                return list(self.compressor.compress_documents(copies, wording.text, callbacks=heard))

        routed = self._router.route(query, self.session_key(config), search, k=k, messages=messages)
        said = describe(routed, query, explain=self.explain)
        dispatch_custom_event(DECISION_EVENT, said, config={"callbacks": run_manager.get_child()})
        return self._documents(routed, said)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        run_config: RunnableConfig | None = None,
        messages: Sequence[Message] = (),
        k: int | None = None,
    ) -> list[Document]:
        config = ensure_config(run_config)
        k = self.k if k is None else k

        async def search(wording: Wording, route: Route) -> Sequence[Document]:
            with self._heard(route, config, run_manager.get_child(route)) as own:
                found = await self._afound(wording, k, own)
                if self.compressor is None or not found:
                    return found
                copies = [annotated(document, {}) for document in found]
                heard = own.get("callbacks")
                return list(await self.compressor.acompress_documents(copies, wording.text, callbacks=heard))

        routed = await self._router.aroute(query, self.session_key(config), search, k=k, messages=messages)
        said = describe(routed, query, explain=self.explain)
        await adispatch_custom_event(DECISION_EVENT, said, config={"callbacks": run_manager.get_child()})
        return self._documents(routed, said)

    async def _search_in_a_thread(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        search = partial(self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **options)
        return await asyncio.to_thread(search)

    def _heard(
        self, route: Route, config: RunnableConfig, child: BaseCallbackManager
    ) -> AbstractContextManager[RunnableConfig]:
        """The config of one search, under which card and clue are heard only if they are to be told."""
        if route == "raw" or self.explain:
            return nullcontext(patch_config(config, callbacks=child))
        return unheard(config)

    def _found(self, wording: Wording, k: int | None, config: RunnableConfig) -> list[Document]:
        if not isinstance(self.retriever, ExpandingSearcher):
            return checked_list(self.retriever.invoke(wording.text, config), Document, self.retriever)
        assert k is not None, "an index was refused without it"
        return [to_document(hit) for hit in find(self.retriever, wording, k)]

    async def _afound(self, wording: Wording, k: int | None, config: RunnableConfig) -> list[Document]:
        if isinstance(self.retriever, ExpandingSearcher):
            return await asyncio.to_thread(self._found, wording, k, config)
        return checked_list(await self.retriever.ainvoke(wording.text, config), Document, self.retriever)

    def _documents(self, routed: Routed[Document], said: dict[str, Any]) -> list[Document]:
        if routed.route == "raw":
            return list(routed.passages)
        shown = said if self.explain else {name: said[name] for name in ("route", "reason")}
        return [annotated(document, shown) for document in routed.passages]
