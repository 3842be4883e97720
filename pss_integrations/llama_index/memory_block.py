"""Beliefs as a block of LlamaIndex's own ``Memory``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.utils import get_tokenizer

from pss_integrations.llama_index.belief_identity import BeliefAware
from pss_integrations.llama_index.belief_messages import last_query


class BeliefMemoryBlock(BeliefAware, BaseMemoryBlock[str]):
    """Gives a ``Memory`` what is recalled for the last message of the user, and keeps what flushed messages settle.

    ``Memory`` shows its blocks only the messages that its queue has no room for: of a conversation that ends sooner
    nothing is kept. :class:`BeliefStateMemory` sees every message. A block holds nothing of any conversation, so that
    several may use it at once. Of ``Memory.aget(input=...)`` only a ``str`` reaches the blocks (LlamaIndex 23180).

    :param name: Its name in the template of the memory.
    :param priority: 0, the default, is never cut. A memory over its token limit cuts the blocks of other numbers, the
        lowest number first, and this one by :meth:`atruncate`.
    :param tokenizer_fn: Tokenizes as the memory does.
    """

    name: str = "beliefs"
    tokenizer_fn: Callable[[str], list[Any]] = Field(default_factory=get_tokenizer, exclude=True, repr=False)

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        if self.accept_short_term_memory:
            self.refuse_sidecars()

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return await self.arecall(self.caller(), last_query(messages or []))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self.akeep(self.caller(), self.spoken(messages))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave out beliefs from the end: first those recalled for this turn, then those that always are.

        :param content: The text of the block.
        :param tokens_to_truncate: At least so many tokens go.
        :return: What is left, or ``None`` if nothing is.
        """
        limit = len(self.tokenizer_fn(content)) - tokens_to_truncate if content else 0
        while content and len(self.tokenizer_fn(content)) > limit:
            content = _without_last_belief(content)
        return content or None


def _without_last_belief(text: str) -> str:
    *parts, last = text.split("\n\n")
    start, preface, *beliefs, end = last.split("\n")
    kept = ["\n".join((start, preface, *beliefs[:-1], end))] if len(beliefs) > 1 else []
    return "\n\n".join([*parts, *kept])
