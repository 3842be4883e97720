"""What is taken from a conversation, and what takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from pss_integrations.beliefs.schema import BeliefType, NewBelief
from pss_integrations.types import Message


@dataclass(frozen=True, slots=True)
class Gone:
    """What is said to hold no longer, with nothing in its place.

    :param name: What it is about: a name or an alias of beliefs that were kept before.
    :param types: Of what types these are: who no longer likes something may still use it.
    """

    name: str
    types: tuple[BeliefType, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """That a question is open no longer.

    :param question: Its canonical name.
    :param belief: What answers it, one of the observation's beliefs; ``None`` if it merely lapsed.
    """

    question: str
    belief: NewBelief | None = None


@dataclass(frozen=True, slots=True)
class NewAliases:
    """Further names of something that is known.

    :param name: A name of it.
    :param aliases: What it is called as well.
    """

    name: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Observation:
    """What a conversation says that holds at its end.

    :param beliefs: What is to be kept. What the user says does not hold is a belief too: "Does not use MySQL."
    :param gone: Names of what those negative beliefs end.
    :param answers: Questions, of this conversation or an earlier one, that were answered in it.
    :param aliases: Other names of what is known.
    """

    beliefs: tuple[NewBelief, ...] = ()
    gone: tuple[Gone, ...] = ()
    answers: tuple[Answer, ...] = ()
    aliases: tuple[NewAliases, ...] = ()


@runtime_checkable
class Extractor(Protocol):
    """Takes beliefs from a conversation."""

    def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
        """Return what the messages, oldest first, say that holds at their end.

        The same messages give the same observation; none, or nothing to be kept, gives an empty one.

        :param scopes: Where the beliefs will hold; all of them get all of these.
        :raises InvalidInput: If there is no scope, or one has not the right form.
        """
        ...
