"""Session state for LlamaIndex: a query transform, and a retriever that wraps any other."""

from importlib.util import find_spec

from pss_integrations.errors import MissingExtra

if find_spec("llama_index") is None or find_spec("llama_index.core") is None:
    raise MissingExtra("llama-index", "llama_index.core")

from pss_integrations.llama_index.convert import to_messages
from pss_integrations.llama_index.query_transformer import PSSQueryTransformer
from pss_integrations.llama_index.retriever import GuardedRouterRetriever
from pss_integrations.llama_index.session import PSSDecisionEvent, SessionQueryBundle

__all__ = [
    "GuardedRouterRetriever",
    "PSSDecisionEvent",
    "PSSQueryTransformer",
    "SessionQueryBundle",
    "to_messages",
]
