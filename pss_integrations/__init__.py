"""Session memory for LangChain and LlamaIndex: a history-aware retriever that doesn't reread the history.

The names below are loaded when they are first used, so importing the package loads neither torch nor a framework.
The faces are :mod:`pss_integrations.langchain` and :mod:`pss_integrations.llama_index`.
"""

from typing import TYPE_CHECKING

from pss_integrations.lazy import lazily

if TYPE_CHECKING:
    from pss_integrations.beliefs import BeliefMemory, BeliefStore, NewBelief, Principal
    from pss_integrations.identity import pss_session
    from pss_integrations.retrieval import BM25Index
    from pss_integrations.states import StateManager
    from pss_integrations.types import ClueTarget, Message, Passage, SessionFields, SessionKey
    from pss_integrations.vocabulary import Vocabulary

_HOMES = {
    "BM25Index": "retrieval",
    "BeliefMemory": "beliefs",
    "BeliefStore": "beliefs",
    "ClueTarget": "types",
    "Message": "types",
    "NewBelief": "beliefs",
    "Passage": "types",
    "Principal": "beliefs",
    "SessionFields": "types",
    "SessionKey": "types",
    "StateManager": "states",
    "Vocabulary": "vocabulary",
    "pss_session": "identity",
}

__all__ = [
    "BM25Index",
    "BeliefMemory",
    "BeliefStore",
    "ClueTarget",
    "Message",
    "NewBelief",
    "Passage",
    "Principal",
    "SessionFields",
    "SessionKey",
    "StateManager",
    "Vocabulary",
    "pss_session",
]

__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
