"""A query transform that adds to a query what its session knows."""

from __future__ import annotations

from typing import Any, Literal

from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import QueryBundle, QueryType

from pss_integrations.errors import InvalidInput
from pss_integrations.llama_index.convert import searching
from pss_integrations.llama_index.session import SessionBound, dispatcher, live_messages, tell
from pss_integrations.protocols import ClueReader
from pss_integrations.routing.rewriter import OnMissingIdentity, Rewriter
from pss_integrations.types import Routed


class PSSQueryTransformer(SessionBound, BaseQueryTransform):
    """Returns a fresh bundle: with the text to search with, or equal to the one given when it abstains.

    A query engine would also answer the transformed query; to search with the one and answer the other, give it and
    the retriever to a :class:`PSSTransformRetriever`. Identity and history may come with a call:
    ``run(query, metadata={"user_id": ..., "session_id": ..., "chat_history": [...]})``.

    :param manager: Reads the states.
    :param composition: ``"append"`` (query and clue) or ``"replace"`` (the clue alone).
    :param query_weight: How often ``append`` repeats the query before the clue.
    :param explain: Put the text of query and clue into events too.
    :param on_missing_identity: ``"raw"`` leaves the query alone and warns once, ``"raise"`` raises.
    :raises InvalidInput: If an option is none of these.
    """

    def __init__(
        self,
        manager: ClueReader,
        *,
        composition: Literal["append", "replace"] = "append",
        query_weight: int = 1,
        explain: bool = False,
        on_missing_identity: OnMissingIdentity = "raw",
    ) -> None:
        super().__init__()
        if composition not in ("append", "replace"):
            raise InvalidInput(
                f"composition {composition!r}: a transformer takes 'append' or 'replace'; "
                "for 'rrf', which searches twice, use GuardedRouterRetriever"
            )
        self._rewriter = Rewriter(
            manager,
            composition=composition,
            query_weight=query_weight,
            on_missing_identity=on_missing_identity,
        )
        self._explain = explain

    @property
    def last_decision(self) -> Routed[Any] | None:
        """The last decision made in this context (task or thread), without nodes."""
        return self._rewriter.last_decision

    def _get_prompts(self) -> PromptDictType:
        return {}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        """There are none."""

    def _run(self, query_bundle: QueryBundle, metadata: dict[str, Any]) -> QueryBundle:
        session = self.session_key(query_bundle, metadata)
        messages = live_messages(query_bundle, metadata)
        return self._apply(query_bundle, self._rewriter.decide(query_bundle.query_str, session, messages))

    @dispatcher.span
    async def arun(self, query_bundle_or_str: QueryType, metadata: dict[str, Any] | None = None) -> QueryBundle:
        """Do the same as ``run`` without blocking the event loop."""
        bundle, metadata = _as_bundle(query_bundle_or_str), metadata or {}
        session = self.session_key(bundle, metadata)
        messages = live_messages(bundle, metadata)
        return self._apply(bundle, await self._rewriter.adecide(bundle.query_str, session, messages))

    def _apply(self, bundle: QueryBundle, decision: Routed[Any]) -> QueryBundle:
        tell(decision, bundle.query_str, explain=self._explain)
        return searching(bundle, self._rewriter.text(bundle.query_str, decision))


def _as_bundle(query: QueryType) -> QueryBundle:
    return QueryBundle(query, custom_embedding_strs=[query]) if isinstance(query, str) else query
