"""Extraction of beliefs by any model."""

from __future__ import annotations

from llama_index.core.llms.llm import LLM

from pss_integrations.beliefs.extraction import LLMExtractor

_NO_NAME = "unknown"  # what LlamaIndex calls a model that says nothing of itself


def llm_extractor(llm: LLM, *, max_beliefs: int = 20) -> LLMExtractor:
    """Make an extractor of a model, for ``BeliefMemory(store, extractor=llm_extractor(llm), ...)``.

    :param max_beliefs: The most that are taken from one conversation.
    """

    def generate(prompt: str) -> str:
        return llm.complete(prompt).text

    name = llm.metadata.model_name
    return LLMExtractor(generate, max_beliefs=max_beliefs, source_model=None if name == _NO_NAME else name)
