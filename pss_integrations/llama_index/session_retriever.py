"""What retrievers around another one share here."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from pss_integrations.llama_index.session import PSSDecisionEvent, SessionBound, decided
from pss_integrations.types import Routed


class SessionRetriever(SessionBound, BaseRetriever):
    """Base of a retriever that may be bound to a session, and hands out what another one found."""

    @property
    @abstractmethod
    def last_decision(self) -> Routed[Any] | None:
        """The last decision made in this context (task or thread), if there was one."""

    def last_event(self, query: str, *, explain: bool) -> PSSDecisionEvent | None:
        """Return what may be said of the last decision made in this context.

        :param query: The query that it was made for.
        :param explain: Whether texts may be said too.
        """
        decision = self.last_decision
        return decided(decision, query, explain=explain) if decision else None

    # The other one has followed its index nodes; doing it again would change its list.
    def _handle_recursive_retrieval(self, query_bundle: QueryBundle, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        return nodes

    async def _ahandle_recursive_retrieval(
        self, query_bundle: QueryBundle, nodes: list[NodeWithScore]
    ) -> list[NodeWithScore]:
        return nodes
