"""A retriever around any other one, guarded by the router."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.runnables.config import patch_config
from pydantic import PositiveInt, PrivateAttr

from pss_integrations.langchain.convert import QueryInput, annotated, document_key, split_input
from pss_integrations.langchain.session import DECISION_EVENT, SessionAware
from pss_integrations.routing.router import Router, describe
from pss_integrations.types import Composition, Message, Route, Routed


class GuardedRouterRetriever(BaseRetriever, SessionAware):
    """Searches with the query as it is, or with what the session's state adds to it.

    On the raw route it returns exactly what the wrapped retriever returned. On the other it returns copies
    whose metadata says ``pss_route``, ``pss_reason`` and, with ``composition="rrf"``, ``pss_score``.
    Each call sends the custom event ``pss_decision``.

    :param retriever: The wrapped retriever, or any runnable from a string to documents.
    :param k: Return no more than these; also per call, ``invoke(query, k=3)``.
    :param composition: ``"append"``, ``"replace"`` or ``"rrf"``.
    :param id_key: Metadata key that names a document without an ``id``, for ``rrf``.
    """

    retriever: RetrieverLike
    k: PositiveInt | None = None
    composition: Composition = "append"
    id_key: str | None = None
    _router: Router[Document] = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Make the router, whose options are checked by now."""
        super().model_post_init(context)
        self._router = Router(
            self.manager,
            key=lambda document: document_key(document, self.id_key),
            rescore=lambda document, score: annotated(document, {"score": score}),
            composition=self.composition,
            query_weight=self.query_weight,
            on_missing_identity=self.on_missing_identity,
        )

    @property
    def last_decision(self) -> Routed[Document] | None:
        """The last decision made in this context (task or thread), with the documents found."""
        return self._router.last_decision

    def invoke(self, input: QueryInput, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return documents for a query, or for ``{"input": ..., "chat_history": [...]}``.

        :raises InvalidInput: If the input has another shape, or ``k`` is no positive integer.
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

        def search(text: str, route: Route) -> list[Document]:
            return self.retriever.invoke(text, patch_config(config, callbacks=run_manager.get_child(route)))

        k = self.k if k is None else k
        routed = self._router.route(query, self.session_key(config), search, k=k, messages=messages)
        said = describe(routed, query, explain=self.explain)
        dispatch_custom_event(DECISION_EVENT, said, config={"callbacks": run_manager.get_child()})
        return _documents(routed, said)

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

        async def search(text: str, route: Route) -> list[Document]:
            child = patch_config(config, callbacks=run_manager.get_child(route))
            return await self.retriever.ainvoke(text, child)

        k = self.k if k is None else k
        routed = await self._router.aroute(query, self.session_key(config), search, k=k, messages=messages)
        said = describe(routed, query, explain=self.explain)
        await adispatch_custom_event(DECISION_EVENT, said, config={"callbacks": run_manager.get_child()})
        return _documents(routed, said)


def _documents(routed: Routed[Document], said: dict[str, Any]) -> list[Document]:
    if routed.route == "raw":
        return list(routed.documents)
    return [annotated(document, said) for document in routed.documents]
