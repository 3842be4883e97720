"""The only mapping between LlamaIndex's messages, bundles and nodes and our own values."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval.wrapped import as_number
from pss_integrations.types import Hit, Message, Passage, Role

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
    """Convert a chat history; of a message with several blocks the text blocks count.

    :raises InvalidInput: If an item is no ``ChatMessage``.
    """
    for message in history:
        if not isinstance(message, ChatMessage):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a chat history is made of ChatMessage values, got {type(message).__name__}")
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


def own(node: NodeWithScore) -> NodeWithScore:
    """Return a copy whose score, text and metadata may be written on; what an index node leads to is shared."""
    inner = node.node
    containers = {name: copy(value) for name, value in inner if isinstance(value, dict | list)}
    return node.model_copy(update={"node": inner.model_copy(update=containers)})


def to_passage(node: NodeWithScore) -> Passage:
    """Return a node as a passage of its own: ``node_id`` names it, ``metadata["title"]`` titles it."""
    title = node.metadata.get("title")
    return Passage(node.node_id, node.get_content(), title if isinstance(title, str) else "", dict(node.metadata))


def to_hit(node: NodeWithScore) -> Hit:
    """Return a node as a hit; its score is 0.0 if it has none."""
    return Hit(to_passage(node), as_number(node.score) or 0.0)


def to_node(hit: Hit) -> NodeWithScore:
    """Return a hit of an index of ours as a node, with its title, if it has one, in its metadata."""
    passage = hit.passage
    title = {"title": passage.title} if passage.title else {}
    node = TextNode(id_=passage.doc_id, text=passage.text, metadata={**passage.metadata, **title})
    return NodeWithScore(node=node, score=hit.score)
