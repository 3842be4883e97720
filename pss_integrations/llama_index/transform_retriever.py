"""A retriever that searches with what a query transform makes of a query, and leaves the query itself alone."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
from llama_index.core.schema import NodeWithScore, QueryBundle

from pss_integrations.llama_index.asking import aask, ask
from pss_integrations.llama_index.session import dispatcher
from pss_integrations.llama_index.session_retriever import SessionRetriever
from pss_integrations.types import Routed


class PSSTransformRetriever(SessionRetriever):
    """Searches another retriever with a transformed query; a synthesizer above it answers the original one.

    LlamaIndex's ``TransformQueryEngine`` answers the transformed query, makes it twice where it is asked to retrieve
    and then to synthesize, and blocks the event loop with it. To search raw where the evidence is weak, with a card,
    or with fused rankings, use :class:`GuardedRouterRetriever`.

    What is found comes as the wrapped retriever returned it. The session is that of ``bind()``, the bundle or
    ``pss_session``; the transform gets it as its metadata.

    :param retriever: Any retriever.
    :param query_transform: A :class:`PSSQueryTransformer`, or any other. One without an ``arun`` of its own, as
        LlamaIndex's are, runs in a worker thread where it would block the event loop.
    """

    def __init__(self, retriever: BaseRetriever, query_transform: BaseQueryTransform) -> None:
        super().__init__(callback_manager=retriever.callback_manager)
        self._retriever = retriever
        self._query_transform = query_transform

    @property
    def last_decision(self) -> Routed[Any] | None:
        """The transform's last decision in this context (task or thread), if it makes any; without nodes."""
        return getattr(self._query_transform, "last_decision", None)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        transformed = self._query_transform.run(query_bundle, self._metadata(query_bundle))
        # a copy: a vector retriever writes its embedding into what it is given, which may be the caller's
        return ask(self._retriever, replace(transformed))

    @dispatcher.span
    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        metadata = self._metadata(query_bundle)
        arun = getattr(self._query_transform, "arun", None) or partial(asyncio.to_thread, self._query_transform.run)
        return await aask(self._retriever, replace(await arun(query_bundle, metadata)))

    def _metadata(self, bundle: QueryBundle) -> dict[str, Any]:
        key = self.session_key(bundle, {})
        return asdict(key) if key else {}
