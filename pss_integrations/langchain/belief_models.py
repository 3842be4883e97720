"""Extraction of beliefs by any chat model."""

from __future__ import annotations

from langchain_core.language_models.chat_models import BaseChatModel

from pss_integrations.beliefs.extraction import LLMExtractor


def llm_extractor(model: BaseChatModel, *, max_beliefs: int = 20) -> LLMExtractor:
    """Make an extractor of a chat model, for ``BeliefMemory(store, extractor=llm_extractor(model), ...)``.

    :param max_beliefs: The most that are taken from one conversation.
    """

    def generate(prompt: str) -> str:
        # The callbacks of the run that is observed would stream this answer to its user.
        return str(model.invoke(prompt, {"callbacks": []}).text)

    named = (getattr(model, key, None) for key in ("model_name", "model"))
    source_model = next((name for name in named if isinstance(name, str)), None)
    return LLMExtractor(generate, max_beliefs=max_beliefs, source_model=source_model)
