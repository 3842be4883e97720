"""Session state for LangChain: a query transformer, and a retriever that wraps any other."""

from importlib.util import find_spec

from pss_integrations.errors import MissingExtra

if find_spec("langchain_core") is None:
    raise MissingExtra("langchain", "langchain_core")

from pss_integrations.langchain.convert import to_messages
from pss_integrations.langchain.query_transformer import PSSQueryTransformer
from pss_integrations.langchain.retriever import GuardedRouterRetriever

__all__ = ["GuardedRouterRetriever", "PSSQueryTransformer", "to_messages"]
