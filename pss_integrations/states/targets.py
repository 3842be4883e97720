"""Clue targets: what a state is taught to answer (PSS, section 2.3), and who may teach it.

A builder turns a session's messages into :class:`~pss_integrations.types.ClueTarget` values at write time.
None of them ever sees a future query, an answer or the id of a document. More builders are in
:mod:`~pss_integrations.states.field_targets` and :mod:`~pss_integrations.states.history_targets`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from pss_integrations.errors import InvalidInput
from pss_integrations.types import ROLES, ClueTarget, Message, Role

CLUE_TOKENS = 64
"""The most tokens a clue may have (PSS, section 2.3)."""

DEFAULT_TRUSTED_ROLES: frozenset[Role] = frozenset({"user", "system"})
"""Whose messages may make targets: the user's, and the application's own.

A system message is written by the application that calls us, so it is as trustworthy as the call itself.
An application that pastes fetched pages into its system message passes ``frozenset({"user"})``. What an
assistant or a tool said may repeat a poisoned page and must not steer retrieval unless the caller says so.
"""

# The cost estimates tokens from above; what remains to CLUE_TOKENS is for words that split badly.
_MAX_WORDS = 20
_PART_WORDS = 8
_MAX_COST = 56
_PIECE = re.compile(r"[A-Za-z]+|[^A-Za-z\s]")


class TargetBuilder(Protocol):
    """Makes clue targets from the messages of one session."""

    @property
    def name(self) -> str:
        """What the manifest of a state records as the source of its targets."""
        ...

    def build(self, messages: Sequence[Message]) -> list[ClueTarget]:
        """Return the targets.

        :param messages: The session in order, oldest first, messages of untrusted roles included.
        :return: Targets in a fixed order; the same messages give the same targets.
        """
        ...


@dataclass(frozen=True)
class ExplicitTargets:
    """Targets the caller made.

    :param targets: The targets, in training order.
    :raises InvalidInput: If an item is no :class:`~pss_integrations.types.ClueTarget` or holds a blank.
    """

    name: str = field(default="explicit", init=False)
    targets: Sequence[ClueTarget]

    def __post_init__(self) -> None:
        object.__setattr__(self, "targets", tuple(_checked(self.targets, "explicit targets")))

    def build(self, messages: Sequence[Message]) -> list[ClueTarget]:
        """Return the caller's targets, whatever the messages say."""
        return list(self.targets)


@dataclass(frozen=True)
class CallableTargets:
    """Targets from a function of the caller, for instance one that asks a language model.

    :param fn: Gets the messages of trusted roles in order and returns targets. What it raises is not caught.
    :param name: What the manifest records.
    :param trusted_roles: Roles whose messages ``fn`` gets to see.
    :raises InvalidInput: If a role is unknown or the name is blank; from :meth:`build`, if ``fn`` returns
        anything but targets.
    """

    fn: Callable[[Sequence[Message]], Iterable[ClueTarget]]
    name: str
    trusted_roles: frozenset[Role] = DEFAULT_TRUSTED_ROLES

    def __post_init__(self) -> None:
        check_roles(self.trusted_roles)
        if not self.name.strip():
            raise InvalidInput("a target builder needs a name that is not blank")

    def build(self, messages: Sequence[Message]) -> list[ClueTarget]:
        """Return what the function makes of the trusted messages, checked."""
        made = self.fn(tuple(message for message in messages if message.role in self.trusted_roles))
        return _checked(made, f"target builder {self.name!r}")


def check_targets(
    targets: Iterable[ClueTarget], count_tokens: Callable[[str], int], limit: int = CLUE_TOKENS
) -> list[ClueTarget]:
    """Check targets against the limits of the reader and drop repetitions.

    :param targets: Targets of any builder.
    :param count_tokens: Number of tokens of a text, special tokens not counted.
    :param limit: The most tokens a clue or a conflicting clue may have.
    :return: The targets in order, each request and clue once.
    :raises InvalidInput: If a clue is longer than ``limit``, or one request has two clues; the text names
        the request. Requests that differ only in case or spacing count as one.
    """
    kept: dict[tuple[str, str], ClueTarget] = {}
    clue_for: dict[str, str] = {}
    for target in targets:
        _check_length(target, count_tokens, limit)
        clue = clue_for.setdefault(folded(target.request), target.clue)
        if clue != target.clue:
            raise InvalidInput(
                f"request {target.request!r} has two clues, {clue!r} and {target.clue!r}: keep one of them"
            )
        kept.setdefault((target.request, target.clue), target)
    return list(kept.values())


def check_roles(roles: Iterable[str]) -> None:
    """Refuse a role that no message can have.

    :raises InvalidInput: If there is one, or a string was given instead of a set.
    """
    if isinstance(roles, str):
        raise InvalidInput(f"trusted_roles must be a set of roles, got the string {roles!r}")
    unknown = sorted(set(roles) - set(ROLES))
    if unknown:
        raise InvalidInput(f"unknown trusted roles {unknown}: use some of {', '.join(ROLES)}")


def latest(targets: Iterable[ClueTarget]) -> list[ClueTarget]:
    """Keep one target per request, the one that was made last."""
    return list({folded(target.request): target for target in targets}.values())


def clue_of(parts: Iterable[str]) -> str:
    """Join parts to a clue that fits a reader's limit.

    A part gives its first 8 words; one that earlier parts already say, or that would make the clue too long,
    is left out whole. The first always stays: if even that is too long, :func:`check_targets` says so.

    :param parts: Names and values, the most important first.
    :return: The clue, at most 20 words; empty if every part is blank.
    """
    clue = ""
    for part in (" ".join(part.split()[:_PART_WORDS]) for part in parts):
        longer = f"{clue} {part}".strip()
        if not clue or (not says(clue, part) and _fits(longer)):
            clue = longer
    return clue


def says(clue: str, part: str) -> bool:
    """Whether the clue holds all words of ``part`` next to each other, in any case."""
    return f" {' '.join(part.split()[:_PART_WORDS])} ".casefold() in f" {clue} ".casefold()


def _fits(clue: str) -> bool:
    return len(clue.split()) <= _MAX_WORDS and _cost(clue) <= _MAX_COST


def _cost(text: str) -> int:
    # Byte-level tokenizers give a digit or a sign one token, another script at most one per byte.
    pieces = _PIECE.findall(text)
    return sum(math.ceil(len(piece) / 3) if piece.isascii() else len(piece.encode()) for piece in pieces)


def folded(request: str) -> str:
    """Requests that give the same here count as one."""
    return " ".join(request.split()).casefold()


def _check_length(target: ClueTarget, count_tokens: Callable[[str], int], limit: int) -> None:
    for what, text in [("clue", target.clue), *(("conflicting clue", other) for other in target.conflicts)]:
        tokens = count_tokens(text)
        if tokens > limit:
            raise InvalidInput(
                f"the {what} for request {target.request!r} has {tokens} tokens: at most {limit} are allowed"
            )


def _checked(targets: object, source: str) -> list[ClueTarget]:
    if isinstance(targets, str) or not isinstance(targets, Iterable):
        raise InvalidInput(f"{source} must be a list of ClueTarget, got {type(targets).__name__}")
    items = list(cast("Iterable[Any]", targets))
    for number, item in enumerate(items):
        if not isinstance(item, ClueTarget):
            raise InvalidInput(f"{source}: item {number} must be a ClueTarget, got {type(item).__name__}")
        _check_texts(item, f"{source}: item {number}")
    return items


def _check_texts(target: ClueTarget, where: str) -> None:
    # A type checker knows these are strings; a language model's output does not.
    conflicts = cast("object", target.conflicts)
    if not isinstance(conflicts, tuple):
        raise InvalidInput(f"{where}: conflicts must be a tuple, got {type(conflicts).__name__}")
    for text in cast("list[object]", [target.request, target.clue, *target.conflicts]):
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(f"{where}: request, clue and conflicts must be text and not blank: {text!r}")
