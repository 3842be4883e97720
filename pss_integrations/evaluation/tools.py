"""What some arms need besides states. Arms whose tool is not given are left out of a run, and cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from pss_integrations.protocols import Embedder
from pss_integrations.types import Clue, Message

Chat: TypeAlias = tuple[Message, ...]
"""A system message, then user and assistant in turn, the user last."""
Rewriter: TypeAlias = Callable[[Sequence[Message], str], str]
"""Makes a search query of the messages so far and a question."""
Tool: TypeAlias = Literal["generator", "embedder", "external"]
"""A field of :class:`Tools`."""


class Generator(Protocol):
    """Goes on with chats, without any state."""

    def fits(self, chat: Chat) -> bool:
        """Whether the chat and an answer fit the context."""
        ...

    def generate(self, chats: Sequence[Chat]) -> list[Clue]:
        """Answer each chat in one line; the same chats give the same answers."""
        ...


@dataclass(frozen=True)
class Tools:
    """What a run is given for such arms.

    :param generator: Rewrites questions; :class:`~pss_integrations.evaluation.source.CachedStates` is one. A rewriting
        from a history takes about as long as reading the history does.
    :param embedder: Picks records by meaning.
    :param external: A conversational rewriter of anybody's. It is called once for each probe, and what it returns is
        not kept between runs.
    """

    generator: Generator | None = None
    embedder: Embedder | None = None
    external: Rewriter | None = None

    def has(self, tool: Tool) -> bool:
        """Whether it was given."""
        return getattr(self, tool) is not None

    def describe(self) -> dict[str, Any]:
        """Return for a record which were given."""
        external = self.external
        return {
            "generator": self.generator is not None,
            "embedder": self.embedder.name if self.embedder else None,
            "external": getattr(external, "__qualname__", type(external).__qualname__) if external else None,
        }
