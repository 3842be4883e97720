"""The states that are compared: the right one and, as causal controls, deliberate wrong ones (PSS, section J.7).

===============  ===========================================================================================
correct          compiled from the session's messages and its targets
matched_wrong    the correct state of another session with the same kinds of fields
shuffled         the correct state, entries permuted within each factor: norms kept, structure gone
zero             no state: the base model
target_only      compiled from the targets without the history
history_only     compiled from the history without targets
history_targets  compiled from the messages and what is parsed from them
reordered        the same from the messages in random order, targets parsed from that order
===============  ===========================================================================================

``reordered`` is to be compared with ``history_targets``: targets from fields know no order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from pss_integrations.evaluation.subjects import Subject
from pss_integrations.evaluation.tools import Tools
from pss_integrations.states.targets import TargetBuilder
from pss_integrations.types import Clue, ClueTarget, Message


class StateSource(Protocol):
    """Writes and reads states. What a state is, is its own matter; ``None`` stands for a session without one."""

    def compile(self, messages: Sequence[Message], targets: Sequence[ClueTarget]) -> Any:
        """Write a state; the same input gives the same state."""
        ...

    def shuffle(self, state: Any) -> Any:
        """Permute a state's entries within each factor."""
        ...

    def zero(self) -> Any:
        """Return the state that changes nothing."""
        ...

    def read(self, requests: Sequence[tuple[Any, Sequence[str]]]) -> list[list[Clue]]:
        """Write a clue for each query from its state, one list per request."""
        ...

    def count_tokens(self, text: str) -> int:
        """Number of the backbone's tokens."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return everything its states depend on besides their input."""
        ...


class Cast:
    """The subjects of a run, and who writes their states and texts.

    :param history: Makes targets from messages, for the two controls about their order and the parsed reference.
    :param tools: What texts are made with besides states.
    """

    def __init__(
        self, subjects: Sequence[Subject], source: StateSource, history: TargetBuilder, tools: Tools | None = None
    ) -> None:
        self.subjects, self.source, self.history = subjects, source, history
        self.tools = tools or Tools()

    def correct(self, number: int) -> Any:
        """The state of the session at a position, ``None`` if it has no targets."""
        subject = self.subjects[number]
        return self.source.compile(subject.messages, subject.targets) if subject.targets else None

    def wrong(self, number: int) -> Any:
        """The state of its partner."""
        return self.correct(self.subjects[number].partner)

    def shuffled(self, number: int) -> Any:
        """Its state, shuffled."""
        state = self.correct(number)
        return None if state is None else self.source.shuffle(state)

    def target_only(self, number: int) -> Any:
        """A state without the history."""
        targets = self.subjects[number].targets
        return self.source.compile((), targets) if targets else None

    def parsed(self, messages: Sequence[Message]) -> Any:
        """A state from messages and what is parsed from them, in the order they come in."""
        targets = self.history.build(messages)
        return self.source.compile(messages, targets) if targets else None

    def reordered(self, number: int) -> Any:
        """A state from the messages in another order, which is the same in every run."""
        subject = self.subjects[number]
        order = Random(f"reordered {subject.session_id}")
        return self.parsed(order.sample(subject.messages, len(subject.messages)))


@dataclass(frozen=True, slots=True)
class Made:
    """Texts, one for each probe of a session.

    :param record: How they were made, as plain data.
    """

    texts: tuple[str, ...]
    record: Mapping[str, Any] = field(default_factory=dict[str, Any])


STATES: Mapping[str, Callable[[Cast, int], Any]] = {
    "correct": Cast.correct,
    "matched_wrong": Cast.wrong,
    "shuffled": Cast.shuffled,
    "zero": lambda cast, number: cast.source.zero(),
    "target_only": Cast.target_only,
    "history_only": lambda cast, number: cast.source.compile(cast.subjects[number].messages, ()),
    "history_targets": lambda cast, number: cast.parsed(cast.subjects[number].messages),
    "reordered": Cast.reordered,
}
