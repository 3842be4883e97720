"""A state source without a model: a state is its targets, and reading takes the clue of the likeliest request."""

from collections.abc import Sequence
from typing import Any

from pss_integrations.text import tokenize
from pss_integrations.types import Clue, ClueTarget, Message

State = tuple[ClueTarget, ...]


class Oracle:
    def compile(self, messages: Sequence[Message], targets: Sequence[ClueTarget]) -> State:
        return tuple(targets)

    def shuffle(self, state: State) -> State:
        return tuple(ClueTarget(target.request, target.clue[::-1]) for target in state)

    def zero(self) -> State:
        return ()

    def read(self, requests: Sequence[tuple[State, Sequence[str]]]) -> list[list[Clue]]:
        return [
            [Clue(self.clue(state, query), (0.0,), 1, "oracle", finished=True) for query in queries]
            for state, queries in requests
        ]

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def describe(self) -> dict[str, Any]:
        return {"backbone": "oracle"}

    def clue(self, state: State, query: str) -> str:
        asked = set(tokenize(query))
        return max(state, key=lambda one: len(asked & set(tokenize(one.request)))).clue if state else ""


class ZeroStates(Oracle):
    """Writes nothing into its states."""

    def compile(self, messages: Sequence[Message], targets: Sequence[ClueTarget]) -> State:
        return ()


class SwappedStates(Oracle):
    """Hands every session the state of the one before."""

    last: State = ()

    def compile(self, messages: Sequence[Message], targets: Sequence[ClueTarget]) -> State:
        swapped, self.last = self.last, tuple(targets)
        return swapped


class LeakingReads(Oracle):
    """Reads the whole batch with the state that was bound first."""

    def read(self, requests: Sequence[tuple[State, Sequence[str]]]) -> list[list[Clue]]:
        return super().read([(requests[0][0], queries) for _, queries in requests])
