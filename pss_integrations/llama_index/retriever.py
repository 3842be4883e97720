"""A retriever around any other one, guarded by the router."""

from __future__ import annotations

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from pss_integrations.llama_index.convert import searching, with_score
from pss_integrations.llama_index.session import SessionBound, dispatcher, live_messages, tell
from pss_integrations.protocols import ClueReader
from pss_integrations.retrieval.fusion import check_positive_int
from pss_integrations.routing.router import OnMissingIdentity, Router
from pss_integrations.types import Composition, Route, Routed


class GuardedRouterRetriever(SessionBound, BaseRetriever):
    """Searches with the query as it is, or with what the session's state adds to it.

    On the raw route it returns exactly what the wrapped retriever returned. Scores are the wrapped
    retriever's own, but for ``composition="rrf"``, which puts the fused score on copies. A response
    synthesizer above it gets the original query.

    :param retriever: The wrapped retriever.
    :param manager: Reads the states.
    :param similarity_top_k: Return no more than these.
    :param composition: ``"append"``, ``"replace"`` or ``"rrf"``.
    :param query_weight: How often ``append`` repeats the query before the clue.
    :param explain: Put the text of query and clue into events too.
    :param on_missing_identity: ``"raw"`` searches with the query and warns once, ``"raise"`` raises.
    :raises InvalidInput: If an option is none of these.
    """

    def __init__(
        self,
        retriever: BaseRetriever,
        manager: ClueReader,
        *,
        similarity_top_k: int | None = None,
        composition: Composition = "append",
        query_weight: int = 1,
        explain: bool = False,
        on_missing_identity: OnMissingIdentity = "raw",
    ) -> None:
        super().__init__(callback_manager=getattr(retriever, "callback_manager", None))
        if similarity_top_k is not None:
            check_positive_int("similarity_top_k", similarity_top_k)
        self._retriever = retriever
        self._similarity_top_k = similarity_top_k
        self._explain = explain
        self._router = Router(
            manager,
            key=_node_id,
            rescore=with_score,
            composition=composition,
            query_weight=query_weight,
            on_missing_identity=on_missing_identity,
        )

    @property
    def last_decision(self) -> Routed[NodeWithScore] | None:
        """The last decision made in this context (task or thread), with the nodes found."""
        return self._router.last_decision

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        def search(text: str, _: Route) -> list[NodeWithScore]:
            return self._retriever.retrieve(searching(query_bundle, text))

        routed = self._router.route(
            query_bundle.query_str,
            self.session_key(query_bundle, {}),
            search,
            k=self._similarity_top_k,
            messages=live_messages(query_bundle, {}),
        )
        tell(routed, query_bundle.query_str, explain=self._explain)
        return list(routed.documents)

    @dispatcher.span
    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        async def search(text: str, _: Route) -> list[NodeWithScore]:
            return await self._retriever.aretrieve(searching(query_bundle, text))

        routed = await self._router.aroute(
            query_bundle.query_str,
            self.session_key(query_bundle, {}),
            search,
            k=self._similarity_top_k,
            messages=live_messages(query_bundle, {}),
        )
        tell(routed, query_bundle.query_str, explain=self._explain)
        return list(routed.documents)

    # The wrapped retriever has followed its index nodes; doing it again would change its list.
    def _handle_recursive_retrieval(self, query_bundle: QueryBundle, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        return nodes

    async def _ahandle_recursive_retrieval(
        self, query_bundle: QueryBundle, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        return nodes


def _node_id(node: NodeWithScore) -> str:
    return node.node_id
