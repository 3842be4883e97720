"""The only mapping between LlamaIndex's messages, bundles and nodes and our own values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.schema import NodeWithScore, QueryBundle

from pss_integrations.types import Message, Role

_ROLES: dict[MessageRole, Role] = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "system",
    MessageRole.TOOL: "tool",
    MessageRole.FUNCTION: "tool",
}


def to_messages(history: Sequence[ChatMessage]) -> list[Message]:
    """Convert a chat history; of a message with several blocks the text blocks count."""
    return [Message(_ROLES[message.role], message.content or "") for message in history]


def searching(bundle: QueryBundle, text: str) -> QueryBundle:
    """Return a fresh bundle that searches with ``text``; an equal copy if that is its query already.

    The caller's bundle is never handed on: a vector retriever writes its embedding into what it is given.
    """
    if text == bundle.query_str:
        return replace(bundle)
    return replace(bundle, query_str=text, custom_embedding_strs=[text], embedding=None)


def with_score(node: NodeWithScore, score: float) -> NodeWithScore:
    """Return a copy that carries another score; the node itself is shared."""
    return node.model_copy(update={"score": score})
