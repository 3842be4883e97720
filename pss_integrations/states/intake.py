"""What a manager is given, checked before any work, and the clue targets that are made of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pss_integrations.errors import InvalidInput
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.states.manifest import spoken
from pss_integrations.states.redaction import Redact, redacted, redacted_targets
from pss_integrations.states.targets import ExplicitTargets, TargetBuilder
from pss_integrations.types import ClueTarget, Message, SessionKey

Targets = TargetBuilder | Sequence[ClueTarget]


@dataclass(frozen=True, slots=True)
class Built:
    """Clue targets, and who made them."""

    builder: TargetBuilder
    targets: Sequence[ClueTarget]

    @property
    def found_nothing(self) -> bool:
        """Whether there are no targets though the caller did not say so."""
        return not self.targets and not isinstance(self.builder, ExplicitTargets)

    @property
    def advice(self) -> str:
        """What to do if nothing was found."""
        return (
            f"the target builder {self.builder.name!r} found nothing that a follow-up could refer to; give other "
            "targets, or an empty list for a state that knows the history alone"
        )

    def check(self, history_steps: int) -> None:
        """Refuse what leaves nothing to compile.

        :raises InvalidInput: If there are no targets, and nothing is learnt from the history.
        """
        if not self.targets and not history_steps:
            raise InvalidInput("no clue targets and history_steps=0: there is nothing to compile")


def build_targets(messages: Sequence[Message], targets: Targets | None, redact: Redact | None) -> Built:
    """Make the targets of a session.

    :param targets: Targets or a builder of them; ``HistoryTargets()`` by default.
    :param redact: Takes text out of messages and targets.
    """
    if redact:
        messages = [redacted(message, redact) for message in messages]
    builder = ExplicitTargets(targets) if isinstance(targets, Sequence) else targets or HistoryTargets()
    built = builder.build(messages)
    return Built(builder, redacted_targets(built, redact) if redact else built)


def check_key(key: object) -> None:
    """Refuse what is no session key."""
    if not isinstance(key, SessionKey):
        raise InvalidInput(f"a session is named by SessionKey(user_id=..., session_id=...), got {type(key).__name__}")


def check_query(query: object) -> None:
    """Refuse what is no text."""
    if not isinstance(query, str):
        raise InvalidInput(f"a query must be a string, got {type(query).__name__}")


def check_messages(messages: Iterable[object]) -> None:
    """Refuse what are no messages."""
    for message in messages:
        if not isinstance(message, Message):
            raise InvalidInput(
                f"messages must be Message values, got {type(message).__name__}: make them with "
                "Message(role, text), convert a framework's with to_messages of pss_integrations.langchain or "
                ".llama_index, or read a file with pss_integrations.loaders"
            )


def check_spoken(messages: Sequence[Message]) -> None:
    """Refuse a session in which nothing is said."""
    if not spoken(messages):
        raise InvalidInput("there are no messages to compile" if not messages else "all messages are blank")
