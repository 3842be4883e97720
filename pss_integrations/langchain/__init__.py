"""LangChain: session state for any retriever, and a belief memory for chains and agents.

The names of the belief memory and the middlewares are loaded when they are first used; the middlewares need the
package ``langchain`` as well.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from pss_integrations.errors import MissingExtra
from pss_integrations.lazy import lazily

if find_spec("langchain_core") is None:
    raise MissingExtra("langchain", "langchain_core")

from pss_integrations.langchain.convert import to_messages
from pss_integrations.langchain.query_transformer import PSSQueryTransformer
from pss_integrations.langchain.retriever import GuardedRouterRetriever
from pss_integrations.langchain.searcher import RetrieverSearcher

if TYPE_CHECKING:
    from pss_integrations.langchain.belief_models import llm_extractor
    from pss_integrations.langchain.belief_tools import create_manage_belief_tool, create_search_belief_tool
    from pss_integrations.langchain.compile_middleware import SessionCompileMiddleware
    from pss_integrations.langchain.memory import BeliefStateMemory
    from pss_integrations.langchain.middleware import BeliefStateMiddleware
    from pss_integrations.langchain.sidecar import SidecarChatModel

_HOMES = {
    "BeliefStateMemory": "memory",
    "BeliefStateMiddleware": "middleware",
    "SessionCompileMiddleware": "compile_middleware",
    "SidecarChatModel": "sidecar",
    "create_manage_belief_tool": "belief_tools",
    "create_search_belief_tool": "belief_tools",
    "llm_extractor": "belief_models",
}

__all__ = [
    "BeliefStateMemory",
    "BeliefStateMiddleware",
    "GuardedRouterRetriever",
    "PSSQueryTransformer",
    "RetrieverSearcher",
    "SessionCompileMiddleware",
    "SidecarChatModel",
    "create_manage_belief_tool",
    "create_search_belief_tool",
    "llm_extractor",
    "to_messages",
]

__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
