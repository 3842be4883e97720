"""When a session has grown enough to be compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pss_integrations.errors import InvalidInput
from pss_integrations.types import Message


@dataclass(frozen=True, slots=True)
class GrowthPolicy:
    """When a session is compiled: as soon as any of these holds.

    What came since its last compile, or since the last attempt at one, counts; messages without a text do not.

    :param min_messages: So many messages came.
    :param min_tokens: They have about so many tokens.
    :param idle_seconds: Some came, but none for so long.
    :param count_tokens: Counts the tokens of a text; by default its words.
    :raises InvalidInput: If a value is not positive.
    """

    min_messages: int = 8
    min_tokens: int | None = None
    idle_seconds: float | None = None
    count_tokens: Callable[[str], int] | None = None

    def __post_init__(self) -> None:
        for name, least in (("min_messages", 1), ("min_tokens", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InvalidInput(f"{name} must be at least {least}, got {value}")
        if self.idle_seconds is not None and not self.idle_seconds > 0:
            raise InvalidInput(f"idle_seconds must be positive, got {self.idle_seconds}")

    def is_due(self, new: Sequence[Message]) -> bool:
        """Whether so many messages are enough."""
        if len(new) >= self.min_messages or self.min_tokens is None:
            return len(new) >= self.min_messages
        count = self.count_tokens or _words
        return sum(count(message.text) for message in new) >= self.min_tokens


def _words(text: str) -> int:
    return len(text.split())
