"""Who is asking, and in which session: one value, resolved once, then passed explicitly."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from pss_integrations.errors import IdentityConflict, MissingIdentity
from pss_integrations.types import SessionKey

_CURRENT: ContextVar[SessionKey | None] = ContextVar("pss_session", default=None)


class Unset(Enum):
    """The type of :data:`UNSET`, which is not ``None``: ``user_id=None`` is a real value."""

    UNSET = "UNSET"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True)
class PartialIdentity:
    """What one source says about identity; it may say nothing.

    :param user_id: The user; ``None`` says that the session has no user.
    :param session_id: The session; ``None`` counts as unset, since every session has an id.
    :param source: Name of the source, for the text of an :class:`IdentityConflict`.
    """

    user_id: str | Unset | None = UNSET
    session_id: str | Unset | None = UNSET
    source: str = field(default="an explicit argument", compare=False)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], source: str) -> PartialIdentity:
        """Read ``user_id`` and ``session_id`` where ``values`` holds them."""
        return cls(values.get("user_id", UNSET), values.get("session_id", UNSET), source)


@contextmanager
def pss_session(*, user_id: str | None, session_id: str) -> Generator[SessionKey]:
    """Set the session of everything that runs inside the ``with`` block, tasks included.

    It does not cross ``run_in_executor``, ``Thread`` or a plain ``ThreadPoolExecutor`` by itself:
    run those in ``contextvars.copy_context()``, or pass the ids explicitly.

    :param user_id: The user, or ``None``, which has to be said.
    :param session_id: The session within that user.
    :raises MissingIdentity: If an id is empty.
    :raises InvalidInput: If an id is no usable string.
    """
    key = SessionKey(user_id, session_id)
    token = _CURRENT.set(key)
    try:
        yield key
    finally:
        _CURRENT.reset(token)


def current() -> PartialIdentity:
    """What the enclosing :func:`pss_session` says, if there is one."""
    key = _CURRENT.get()
    if key is None:
        return PartialIdentity(source="pss_session")
    return PartialIdentity(key.user_id, key.session_id, "pss_session")


def resolve(*sources: PartialIdentity) -> SessionKey | None:
    """Put together what the sources say; the later ones only fill what the earlier ones left open.

    :returns: The key, or ``None`` if no source says the user or none says the session: nothing is assumed.
    :raises IdentityConflict: If two sources name different users or different sessions.
    :raises MissingIdentity: If an id is empty.
    :raises InvalidInput: If an id is no usable string.
    """
    user_id = _agreed("user_id", [(one.user_id, one.source) for one in sources])
    session_id = _agreed("session_id", [(one.session_id, one.source) for one in sources if one.session_id is not None])
    if isinstance(user_id, Unset) or isinstance(session_id, Unset) or session_id is None:
        return None
    return SessionKey(user_id, session_id)


def _agreed(name: str, said: list[tuple[str | Unset | None, str]]) -> str | Unset | None:
    known = [(value, source) for value, source in said if value is not UNSET]
    if not known:
        return UNSET
    value, source = known[0]
    for other, other_source in known[1:]:
        if other != value:
            raise IdentityConflict(
                f"{source} and {other_source} name different {name}s: let one say it, or both the same"
            )
    return value


MISSING_IDENTITY: Final = (
    "no complete identity: give user_id (None for a session without a user) and session_id, as arguments, "
    "through the framework's config, or by `with pss_session(user_id=..., session_id=...):`"
)


def require(key: SessionKey | None) -> SessionKey:
    """Return the key of a caller that cannot do without one.

    :raises MissingIdentity: If :func:`resolve` found none.
    """
    if key is None:
        raise MissingIdentity(MISSING_IDENTITY)
    return key
