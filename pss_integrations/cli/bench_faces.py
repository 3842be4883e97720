"""The retrievers of both frameworks, for measurements that import neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llama_index.core.base.llms.types import ChatMessage

from pss_integrations.langchain import GuardedRouterRetriever as LangChainRetriever
from pss_integrations.llama_index import GuardedRouterRetriever as LlamaIndexRetriever
from pss_integrations.llama_index import SessionQueryBundle

if TYPE_CHECKING:
    from pss_integrations.evaluation.bench_loop import Ask
    from pss_integrations.retrieval import BM25Index
    from pss_integrations.states import StateManager
    from pss_integrations.types import Message, SessionKey

_K = 10


def langchain(index: BM25Index, manager: StateManager, key: SessionKey, messages: Sequence[Message]) -> Ask:
    """A retriever of LangChain for a session, with its live messages."""
    retriever = LangChainRetriever(
        retriever=index, manager=manager, k=_K, user_id=key.user_id, session_id=key.session_id
    )
    history = [(message.role, message.text) for message in messages]
    return lambda query: retriever.ainvoke({"input": query, "chat_history": history})


def llama_index(index: BM25Index, manager: StateManager, key: SessionKey, messages: Sequence[Message]) -> Ask:
    """A retriever of LlamaIndex for a session, with its live messages."""
    retriever = LlamaIndexRetriever(index, manager, similarity_top_k=_K)
    history = [ChatMessage(role=message.role, content=message.text) for message in messages]

    def bundle(query: str) -> SessionQueryBundle:
        return SessionQueryBundle(query, user_id=key.user_id, session_id=key.session_id, chat_history=history)

    return lambda query: retriever.aretrieve(bundle(query))
