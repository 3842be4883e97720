"""LlamaIndex: session state for any retriever, and a belief memory for chat engines and agents.

The names of the belief memory, and those of memories that compile, are loaded when they are first used.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from pss_integrations.errors import MissingExtra
from pss_integrations.lazy import lazily

if find_spec("llama_index") is None or find_spec("llama_index.core") is None:
    raise MissingExtra("llama-index", "llama_index.core")

from pss_integrations.llama_index.convert import to_messages
from pss_integrations.llama_index.query_transformer import PSSQueryTransformer
from pss_integrations.llama_index.retriever import GuardedRouterRetriever
from pss_integrations.llama_index.searcher import RetrieverSearcher
from pss_integrations.llama_index.session import PSSDecisionEvent, SessionQueryBundle
from pss_integrations.llama_index.transform_retriever import PSSTransformRetriever
from pss_integrations.llama_index.workflow import PSSRetrievalWorkflow, RetrievedEvent, RetrieveEvent

if TYPE_CHECKING:
    from pss_integrations.llama_index.belief_models import llm_extractor
    from pss_integrations.llama_index.compile_memory import SessionCompileMemory
    from pss_integrations.llama_index.memory import BeliefStateMemory
    from pss_integrations.llama_index.memory_block import BeliefMemoryBlock
    from pss_integrations.llama_index.sidecar import SidecarLLM

_HOMES = {
    "BeliefMemoryBlock": "memory_block",
    "BeliefStateMemory": "memory",
    "SessionCompileMemory": "compile_memory",
    "SidecarLLM": "sidecar",
    "llm_extractor": "belief_models",
}

__all__ = [
    "BeliefMemoryBlock",
    "BeliefStateMemory",
    "GuardedRouterRetriever",
    "PSSDecisionEvent",
    "PSSQueryTransformer",
    "PSSRetrievalWorkflow",
    "PSSTransformRetriever",
    "RetrieveEvent",
    "RetrievedEvent",
    "RetrieverSearcher",
    "SessionCompileMemory",
    "SessionQueryBundle",
    "SidecarLLM",
    "llm_extractor",
    "to_messages",
]

__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
