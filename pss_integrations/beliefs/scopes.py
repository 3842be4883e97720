"""Scopes: hard boundaries between beliefs, matched as exact strings (Tenure, section 4)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator

from pss_integrations.errors import InvalidInput

UNIVERSAL = "user:universal"
"""What holds for a principal everywhere."""

_KINDS = ("user", "domain", "project")
_MAX_SCOPE = 200
_PLACE = re.compile(r"\{([^{}]*)\}")


def check_scope(scope: str) -> str:
    """Return a scope that has the right form, as it is.

    A scope is ``kind:name``: ``user:universal``, ``domain:code/python``, ``project:atlas``. Nothing in it is a pattern,
    and none contains another: ``project:atlas`` does not imply ``user:universal``.

    :raises InvalidInput: If it has another form.
    """
    if not isinstance(scope, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a scope must be a string, got {type(scope).__name__}")
    kind, colon, name = scope.partition(":")
    if kind not in _KINDS or not colon or not name or name != name.strip() or not name.isprintable():
        raise InvalidInput(f"scope {scope!r} is none: write user:universal, domain:x, domain:x/y or project:x")
    if len(scope) > _MAX_SCOPE:
        raise InvalidInput(f"a scope must have at most {_MAX_SCOPE} characters, this one has {len(scope)}")
    if kind == "user" and scope != UNIVERSAL:
        raise InvalidInput(f"scope {scope!r} is none: the only scope of kind 'user' is {UNIVERSAL}")
    return scope


def check_scopes(scopes: Sequence[str]) -> tuple[str, ...]:
    """Return scopes of the right form, each once, in order.

    :raises InvalidInput: If there is none (no scope is not every scope), or one has another form.
    """
    if isinstance(scopes, str) or not isinstance(scopes, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"scopes must be a list of strings, got {scopes!r}")
    if not scopes:
        raise InvalidInput("no scope was given: say which, for no scope is not every scope")
    return tuple(dict.fromkeys(map(check_scope, scopes)))


def places(template: str) -> list[str]:
    """Names of the places of a template."""
    return _PLACE.findall(template)


def fill_scope(template: str, context: Mapping[str, str]) -> str:
    """Fill the places of a template such as ``project:{project}``.

    :param context: Value of each place; a value is put in as it is.
    :raises InvalidInput: If a value is missing or blank, or what comes out is no scope.
    """

    several = len(places(template)) > 1

    def value(place: re.Match[str]) -> str:
        found = context.get(place[1])
        if not isinstance(found, str) or not found.strip():
            raise InvalidInput(f"scope template {template!r} needs a value for {place[1]!r}")
        if several and "/" in found:  # else two contexts could fill it to the same scope
            raise InvalidInput(f"the value of {place[1]!r} must not hold a '/' in scope template {template!r}")
        return found

    return check_scope(_PLACE.sub(value, template))


def check_template(template: str) -> str:
    """Return a scope, or a template of one, that has the right form.

    :raises InvalidInput: If it has another form, whatever is filled in.
    """
    fill_scope(template, dict.fromkeys(places(template), "x"))
    return template


def _valid_scope(scope: str) -> str:
    if "{" in scope or "}" in scope:
        raise InvalidInput(f"scope {scope!r} is a template: fill it first")
    return check_scope(scope)


Scope = Annotated[str, AfterValidator(_valid_scope)]
