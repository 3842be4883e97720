"""The LlamaIndex face where nothing but its own extra is installed: raw and card, and the transform retriever."""

from importlib.util import find_spec

from llama_index.core.base.llms.types import ChatMessage

from pss_integrations import BM25Index, Passage
from pss_integrations.llama_index import GuardedRouterRetriever, SessionQueryBundle

for absent in ("torch", "transformers", "langchain_core", "chromadb"):
    assert find_spec(absent) is None, f"{absent} is installed"

pages = [
    ("heron", "Heron renderer", "The cache of Heron holds 40 tiles."),
    ("crane", "Crane ingest", "The cache of Crane holds 7 files."),
]
index = BM25Index([Passage(name, text, title) for name, title, text in pages])
retriever = GuardedRouterRetriever(index, similarity_top_k=1)
history = [ChatMessage("Tell me about the Crane ingest."), ChatMessage("It reads files.", role="assistant")]
(found,) = retriever.retrieve(SessionQueryBundle("and how large is its cache?", chat_history=history))
assert found.node.node_id == "crane", found
assert retriever.last_decision is not None
assert retriever.last_decision.route == "card", retriever.last_decision
