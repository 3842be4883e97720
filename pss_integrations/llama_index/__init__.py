"""LlamaIndex: session state for any retriever, and a belief memory for chat engines and agents."""

from importlib.util import find_spec

from pss_integrations.errors import MissingExtra

if find_spec("llama_index") is None or find_spec("llama_index.core") is None:
    raise MissingExtra("llama-index", "llama_index.core")

from pss_integrations.llama_index.belief_models import llm_extractor
from pss_integrations.llama_index.convert import to_messages
from pss_integrations.llama_index.memory import BeliefStateMemory
from pss_integrations.llama_index.memory_block import BeliefMemoryBlock
from pss_integrations.llama_index.query_transformer import PSSQueryTransformer
from pss_integrations.llama_index.retriever import GuardedRouterRetriever
from pss_integrations.llama_index.searcher import RetrieverSearcher
from pss_integrations.llama_index.session import PSSDecisionEvent, SessionQueryBundle
from pss_integrations.llama_index.sidecar import SidecarLLM

__all__ = [
    "BeliefMemoryBlock",
    "BeliefStateMemory",
    "GuardedRouterRetriever",
    "PSSDecisionEvent",
    "PSSQueryTransformer",
    "RetrieverSearcher",
    "SessionQueryBundle",
    "SidecarLLM",
    "llm_extractor",
    "to_messages",
]
