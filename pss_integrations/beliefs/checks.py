"""What callers pass, checked once before anything is done."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar, get_args

from pss_integrations.beliefs.principals import Principal
from pss_integrations.beliefs.schema import Source
from pss_integrations.errors import InvalidInput
from pss_integrations.text import is_unicode

ValueT = TypeVar("ValueT")
_MOST = 1 << 31


def check_principal(value: object) -> None:
    """Refuse what is no principal.

    :raises InvalidInput: If it is none.
    """
    if not isinstance(value, Principal):
        raise InvalidInput(f"a principal must be made by Principal.user or Principal.team, got {value!r}")


def check_kind(value: object, kind: type[ValueT]) -> None:
    """Refuse what is no value of a kind.

    :raises InvalidInput: If it is none.
    """
    if not isinstance(value, kind):
        raise InvalidInput(f"a {kind.__name__} is needed, got {value!r}")


def check_query(value: object) -> None:
    """Refuse what is no text.

    :raises InvalidInput: If it is none.
    """
    if not isinstance(value, str) or not is_unicode(value):
        raise InvalidInput(f"a query must be a string of whole characters, got {type(value).__name__}")


def check_count(name: str, value: object, *, or_none: bool = True) -> None:
    """Refuse what is no number of things.

    :raises InvalidInput: If it is none.
    """
    if value is None and or_none:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
        raise InvalidInput(
            f"{name} must be a whole number from 0{', or None for all' if or_none else ''}, got {value!r}"
        )


def check_source(value: object) -> None:
    """Refuse what is no source of beliefs.

    :raises InvalidInput: If it is none.
    """
    if value not in get_args(Source):
        raise InvalidInput(f"unknown source {value!r}: use {', '.join(get_args(Source))}")


def check_aliases(values: Sequence[str]) -> tuple[str, ...]:
    """Names to be learned.

    :raises InvalidInput: If they are no list of strings that are not blank.
    """
    given: Any = values
    if not isinstance(given, Sequence) or isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise InvalidInput(f"aliases must be a list of strings, got {values!r}")
    if not all(one.strip() for one in values):
        raise InvalidInput("an alias must not be blank")
    return tuple(" ".join(one.split()) for one in values)


def check_time(name: str, value: object) -> datetime:
    """A time in UTC.

    :raises InvalidInput: If it is none, or has no zone.
    """
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidInput(f"{name} needs a time with its zone, e.g. datetime.now(timezone.utc), got {value!r}")
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(f"{name} is beyond the first or last year: {value!r}") from error
