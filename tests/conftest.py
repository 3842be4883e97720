"""Fakes of our own protocols, shared by the tests of routing and of both faces; and no network for anybody."""

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence

import pytest

from pss_integrations.errors import StateNotFound
from pss_integrations.types import Clue, Message, SessionKey

# nothing may reach for a hub, and no tokenizer may fork threads under a test
os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


class FakeReader:
    """Says one fixed clue per session, and notes what it was asked."""

    def __init__(self, clues: Mapping[SessionKey, str], error: Exception | None = None, compiled: int = 0):
        self.clues = dict(clues)
        self.error = error
        self.compiled = compiled
        self.calls: list[tuple[str, SessionKey, str]] = []
        self.counting_threads: list[threading.Thread] = []
        self.finished = True

    def has_state(self, key: SessionKey) -> bool:
        return key in self.clues

    def read(self, key: SessionKey, query: str) -> Clue:
        self.calls.append(("read", key, query))
        return self._clue(key)

    async def aread(self, key: SessionKey, query: str) -> Clue:
        self.calls.append(("aread", key, query))
        await asyncio.sleep(0)
        return self._clue(key)

    def messages_behind(self, key: SessionKey, messages: Sequence[Message]) -> int:
        self.counting_threads.append(threading.current_thread())
        return max(0, len(messages) - self.compiled)

    def engine_of(self, key: SessionKey) -> str:
        if key not in self.clues:
            raise StateNotFound(f"nothing was compiled for session {key.session_id!r}")
        return "fake engine"

    def _clue(self, key: SessionKey) -> Clue:
        if self.error is not None:
            raise self.error
        if key not in self.clues:
            raise StateNotFound(f"nothing was compiled for session {key.session_id!r}")
        return Clue(self.clues[key], (-0.5, -0.25), prompt_tokens=7, state_id="fake", finished=self.finished)


@pytest.fixture(scope="session")
def make_reader() -> Callable[..., FakeReader]:
    return FakeReader
