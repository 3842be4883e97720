"""A retriever around any other one, guarded by the router."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Unpack

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from pss_integrations.errors import InvalidInput
from pss_integrations.llama_index.asking import aask, ask
from pss_integrations.llama_index.convert import own, searching, to_hit, to_node, with_score
from pss_integrations.llama_index.session import dispatcher, live_messages, tell
from pss_integrations.llama_index.session_retriever import SessionRetriever
from pss_integrations.protocols import ClueReader, ExpandingSearcher
from pss_integrations.retrieval.fusion import check_positive_int
from pss_integrations.routing.router import Router, RouterOptions
from pss_integrations.routing.searching import find, router_options
from pss_integrations.routing.wording import Wording
from pss_integrations.types import Route, Routed


class GuardedRouterRetriever(SessionRetriever):
    """Searches with the query as it is, with a card of the live messages, or with what the session's state adds.

    On the raw route it returns exactly what the wrapped retriever returned. Scores are the wrapped
    retriever's own, but for ``composition="rrf"``, which puts the fused score on copies. Nothing is written into
    a node's metadata, which models read: decisions are in events and in :attr:`last_decision`. A response
    synthesizer above it gets the original query.

    Without ``explain`` our own event holds no texts, but LlamaIndex's dispatcher is one for the whole process: the
    wrapped retriever, its embedding model and the postprocessors tell it, and their callback managers, the text that
    they search with, and so the card or the clue. Who must not see these must not listen there.

    :param retriever: The wrapped retriever, or an index of ours such as ``BM25Index``, which says itself what
        ``kind``, ``vocabulary`` and ``index_id`` are.
    :param manager: Reads the states. Without one there are the raw route and the card, and no identity is needed.
    :param similarity_top_k: Return no more than these. An index of ours needs it.
    :param node_postprocessors: Applied to copies of what each search found, with the bundle of that search.
    :param explain: Put the texts of query, card and clue into our event too.
    :param options: Those of :class:`~pss_integrations.routing.Router`: ``routes``, ``composition``, ``query_weight``,
        ``kind``, ``vocabulary``, ``cards``, ``certificate``, ``index_id`` and ``on_missing_identity``.
    :raises InvalidInput: If the retriever or the manager is none, an option is none of these, or an index of ours comes
        without ``similarity_top_k``.
    """

    def __init__(
        self,
        retriever: BaseRetriever | ExpandingSearcher,
        manager: ClueReader | None = None,
        *,
        similarity_top_k: int | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] = (),
        explain: bool = False,
        **options: Unpack[RouterOptions],
    ) -> None:
        if not isinstance(retriever, BaseRetriever | ExpandingSearcher):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(
                f"a retriever of LlamaIndex or an index of ours is wrapped, got {type(retriever).__name__}"
            )
        super().__init__(callback_manager=getattr(retriever, "callback_manager", None))
        if similarity_top_k is not None:
            check_positive_int("similarity_top_k", similarity_top_k)
        elif isinstance(retriever, ExpandingSearcher):
            raise InvalidInput("an index is searched for a number of hits: give similarity_top_k")
        self._retriever = retriever
        self._similarity_top_k = similarity_top_k
        self._node_postprocessors = tuple(node_postprocessors)
        self._explain = explain
        self._router = Router(manager, hit=to_hit, rescore=with_score, **router_options(retriever, options))

    @property
    def last_decision(self) -> Routed[NodeWithScore] | None:
        """The last decision made in this context (task or thread), with the nodes found."""
        return self._router.last_decision

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        def search(wording: Wording, _: Route) -> list[NodeWithScore]:
            bundle = searching(query_bundle, wording.text)
            nodes = self._found(bundle, wording)
            for postprocessor in self._node_postprocessors:
                nodes = postprocessor.postprocess_nodes(nodes, bundle)
            return nodes

        routed = self._router.route(
            query_bundle.query_str,
            self.session_key(query_bundle, {}),
            search,
            k=self._similarity_top_k,
            messages=live_messages(query_bundle, {}),
        )
        tell(routed, query_bundle.query_str, explain=self._explain)
        return list(routed.passages)

    @dispatcher.span
    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        async def search(wording: Wording, _: Route) -> list[NodeWithScore]:
            bundle = searching(query_bundle, wording.text)
            nodes = await self._afound(bundle, wording)
            for postprocessor in self._node_postprocessors:
                nodes = await postprocessor.apostprocess_nodes(nodes, bundle)
            return nodes

        routed = await self._router.aroute(
            query_bundle.query_str,
            self.session_key(query_bundle, {}),
            search,
            k=self._similarity_top_k,
            messages=live_messages(query_bundle, {}),
        )
        tell(routed, query_bundle.query_str, explain=self._explain)
        return list(routed.passages)

    def _found(self, bundle: QueryBundle, wording: Wording) -> list[NodeWithScore]:
        if isinstance(self._retriever, BaseRetriever):
            return self._own(ask(self._retriever, bundle))
        assert self._similarity_top_k is not None, "an index was refused without it"
        return [to_node(hit) for hit in find(self._retriever, wording, self._similarity_top_k)]

    async def _afound(self, bundle: QueryBundle, wording: Wording) -> list[NodeWithScore]:
        if isinstance(self._retriever, BaseRetriever):
            return self._own(await aask(self._retriever, bundle))
        return await asyncio.to_thread(self._found, bundle, wording)

    def _own(self, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        """Copies if anything may write on them: the wrapped retriever may keep what it returned."""
        return [own(node) for node in nodes] if self._node_postprocessors else nodes
