"""The values that pass between the parts: frozen, compared by content, checked when made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Generic, Literal, NoReturn, TypeVar, get_args

from pss_integrations.errors import InvalidInput, MissingIdentity

Role = Literal["user", "assistant", "system", "tool"]
Route = Literal["raw", "card", "pss"]
Composition = Literal["replace", "append", "rrf"]
SearcherKind = Literal["lexical", "dense", "unknown"]
"""What a searcher compares: words, meaning, or whatever it is."""

ROLES: tuple[str, ...] = get_args(Role)
COMPOSITIONS: tuple[str, ...] = get_args(Composition)
ROUTES: tuple[Route, ...] = get_args(Route)
DocumentT = TypeVar("DocumentT")


class _Nothing(Mapping[str, Any]):
    """A mapping that holds nothing and, unlike a ``mappingproxy``, can be pickled and copied."""

    __slots__ = ()

    def __getitem__(self, key: object) -> NoReturn:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"


@dataclass(frozen=True)
class SessionKey:
    """Whose session it is. Two keys are the same only if both parts are.

    Ids are data, never paths: ``"../x"`` is a legal id, and files are named by :attr:`digest`.

    :param user_id: The user, or ``None`` for a session without a user, which has to be said.
    :param session_id: The session within that user.
    :raises MissingIdentity: If ``session_id`` is ``None`` or empty, or ``user_id`` is empty.
    :raises InvalidInput: If an id is no string, holds a NUL, or cannot be encoded as UTF-8.
    """

    user_id: str | None
    session_id: str

    def __post_init__(self) -> None:
        if self.user_id is not None:
            _check_id("user_id", self.user_id)
        _check_id("session_id", self.session_id)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of both ids, 64 hex digits; injective: ``("a", "b:c")`` and ``("a:b", "c")`` differ."""
        return hashlib.sha256(json.dumps([self.user_id, self.session_id]).encode()).hexdigest()


def _check_id(name: str, value: object) -> None:
    if value is None or value == "":
        raise MissingIdentity(f"{name} is missing: give a non-empty string")
    if "\0" in _check_text(name, value):
        raise InvalidInput(f"{name} holds a NUL character")


def _check_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, got {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{name} cannot be encoded as UTF-8: {error.reason}") from error
    return value


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a session.

    :param role: ``"user"``, ``"assistant"``, ``"system"`` or ``"tool"``.
    :param text: What was said.
    :param id: The caller's own id of the message, if there is one.
    :param created_at: When it was said, if known.
    :raises InvalidInput: If the role is unknown or the text is no string.
    """

    role: Role
    text: str
    id: str | None = None
    created_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InvalidInput(f"unknown role {self.role!r}: use one of {', '.join(ROLES)}")
        _check_text(f"text of a {self.role} message", self.text)


@dataclass(frozen=True, slots=True)
class ClueTarget:
    """Write-time supervision: what a request means in this session (PSS, section 2.3).

    :param request: An underspecified request, as a user would write it.
    :param clue: The search clue it should give.
    :param conflicts: Clues of the same type that it must not give: archived or superseded ones.
    :raises InvalidInput: If request or clue is blank, or the clue is one of its own conflicts.
    """

    request: str
    clue: str
    conflicts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.request.strip():
            raise InvalidInput("a clue target needs a request that is not blank")
        if not self.clue.strip():
            raise InvalidInput(f"the clue for request {self.request!r} is blank")
        if self.clue in self.conflicts:
            raise InvalidInput(f"clue {self.clue!r} is listed among its own conflicts")


@dataclass(frozen=True, slots=True)
class Clue:
    """What a state wrote for a query.

    :param text: The clue, stripped.
    :param logprobs: Log-probability of each generated token, the end token included.
    :param prompt_tokens: Tokens that were read.
    :param state_id: Content hash of the state that wrote it.
    :param finished: Whether the end token came before the token limit.
    """

    text: str
    logprobs: tuple[float, ...]
    prompt_tokens: int
    state_id: str
    finished: bool

    @property
    def generated_tokens(self) -> int:
        """Number of generated tokens, the end token included."""
        return len(self.logprobs)

    @property
    def mean_logprob(self) -> float:
        """Mean log-probability per token; 0.0 for an empty clue."""
        return sum(self.logprobs) / len(self.logprobs) if self.logprobs else 0.0


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that can be found.

    :param doc_id: Unique within its index.
    :param text: What is searched and returned.
    :param title: Searched together with the text.
    :param metadata: Anything else; carried, never searched.
    """

    doc_id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=_Nothing, hash=False)


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found; a higher score is better."""

    passage: Passage
    score: float

    @property
    def doc_id(self) -> str:
        """The passage's id."""
        return self.passage.doc_id


@dataclass(frozen=True, slots=True)
class SessionFields:
    """What a caller knows of a session in structured form, from which clue targets can be built.

    Field names are the caller's own words: ``configuration``, ``version``, ``checkpoint``, ``owner``.

    :param project: What the session is about.
    :param active: Field name to the value in force.
    :param archived: Field name to the value that was in force before, where there was one.
    :param component: The part of the project that is worked on.
    :param other: Name/value pairs that have no earlier value.
    :raises InvalidInput: If the project, a name or a value is blank, or no field is given at all.
    """

    project: str
    active: Mapping[str, str] = field(default_factory=_Nothing, hash=False)
    archived: Mapping[str, str] = field(default_factory=_Nothing, hash=False)
    component: str | None = None
    other: Mapping[str, str] = field(default_factory=_Nothing, hash=False)

    def __post_init__(self) -> None:
        if not self.project.strip():
            raise InvalidInput("session fields need a project that is not blank")
        pairs = [*self.active.items(), *self.archived.items(), *self.other.items()]
        if not pairs and not self.component:
            raise InvalidInput("session fields need a component or at least one name/value pair")
        for name, value in pairs:
            if not name.strip() or not value.strip():
                raise InvalidInput(f"field {name!r} with value {value!r}: neither may be blank")


@dataclass(frozen=True, slots=True)
class Routed(Generic[DocumentT]):
    """What the router returned, and why.

    :param passages: The framework's own documents, best first.
    :param route: ``"raw"``, ``"card"`` or ``"pss"``; any but ``raw`` is an activation.
    :param reason: A short fixed word for why, e.g. ``"self_contained"``; never text of a query or clue.
    :param composition: How card or clue met the query; ``None`` on the raw route.
    :param features: What the guard saw of the best candidate, by name; of the query alone where there was none.
    :param clue: The clue that was read, also when it was then not used; ``None`` if none was.
    :param card: The card that was made, also when it was then not used; blank if none was.
    :param calibrated: Whether the guard's certificate was calibrated for what was searched.
    :param supported: Whether what was found holds what the query asks for; ``None`` where no candidate was tried.
    :param messages_behind: Messages since the last compile; ``None`` where that is not known.
    """

    passages: tuple[DocumentT, ...]
    route: Route
    reason: str
    composition: Composition | None = None
    features: Mapping[str, float] = field(default_factory=_Nothing, hash=False)
    clue: Clue | None = None
    card: str = ""
    calibrated: bool = False
    supported: bool | None = None
    messages_behind: int | None = None
