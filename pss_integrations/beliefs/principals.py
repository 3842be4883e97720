"""Whose beliefs they are: a user's or a team's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from pss_integrations.errors import InvalidInput, MissingIdentity
from pss_integrations.text import is_unicode

PrincipalKind = Literal["user", "team"]
Right = Literal["read", "write", "admin"]

RIGHTS: tuple[str, ...] = get_args(Right)
"""Each holds those before it."""
MAX_ID = 200


@dataclass(frozen=True, slots=True)
class Principal:
    """An owner of beliefs. Two are the same only if kind and id are, character by character.

    :param kind: ``"user"`` or ``"team"``.
    :param id: The id within its kind; never trimmed, folded or read as a pattern.
    :raises MissingIdentity: If the id is missing or blank.
    :raises InvalidInput: If the id is no string, has blanks around it or holds a NUL.
    """

    kind: PrincipalKind
    id: str

    def __post_init__(self) -> None:
        if self.kind not in get_args(PrincipalKind):
            raise InvalidInput(f"unknown kind of principal {self.kind!r}: use 'user' or 'team'")
        if self.id is None or self.id == "":  # pyright: ignore[reportUnnecessaryComparison]
            raise MissingIdentity(f"the id of a {self.kind} is missing: give a non-empty string")
        if not isinstance(self.id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"the id of a {self.kind} must be a string, got {type(self.id).__name__}")
        if self.id != self.id.strip() or "\0" in self.id or not is_unicode(self.id):
            raise InvalidInput(f"the id {self.id!r} has blanks around it, or holds a NUL or half a character")
        if len(self.id) > MAX_ID:
            raise InvalidInput(f"the id of a {self.kind} must have at most {MAX_ID} characters, has {len(self.id)}")

    @classmethod
    def user(cls, user_id: str) -> Principal:
        """A user."""
        return cls("user", user_id)

    @classmethod
    def team(cls, team_id: str) -> Principal:
        """A team; what a user may do with its beliefs is granted in the store."""
        return cls("team", team_id)

    @classmethod
    def parse(cls, text: str) -> Principal:
        """Read ``user:ada`` or ``team:core``.

        :raises InvalidInput: If the text has another form.
        """
        kind, colon, name = str(text).partition(":")
        if not colon or kind not in get_args(PrincipalKind):
            raise InvalidInput(f"principal {text!r} is none: write user:ada or team:core")
        return cls("user" if kind == "user" else "team", name)

    def __str__(self) -> str:
        """``kind:id``, as :meth:`parse` reads it; injective, since no kind holds a colon."""
        return f"{self.kind}:{self.id}"
