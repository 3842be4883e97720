"""Memories of mem0, read as beliefs that nobody confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pss_integrations.beliefs.schema import MAX_ALIASES, NewBelief, Provenance
from pss_integrations.beliefs.scopes import check_scopes
from pss_integrations.errors import InvalidInput
from pss_integrations.text import content_words, identifiers, names, normalise

_LIKING = frozenset("prefers prefer likes like loves love hates hate dislikes dislike wants want enjoys avoids".split())
_NAME_WORDS = 5


def read_mem0(data: object, scopes: Sequence[str]) -> list[NewBelief]:
    """Read an export of mem0: a list of memories, or ``{"results": [...]}``.

    Nobody confirmed them, so they are exploratory.

    :param data: Parsed JSON.
    :param scopes: Where they shall hold.
    :raises InvalidInput: If it has another form, or holds memories of more than one user.
    """
    scopes = check_scopes(scopes)
    memories = data.get("results") if isinstance(data, Mapping) else data
    if not isinstance(memories, list) or not all(map(_is_memory, memories)):
        raise InvalidInput("this is no export of mem0: a list of objects with a text under 'memory' is needed")
    users = {str(one.get("user_id")) for one in memories}
    if len(users) > 1:
        raise InvalidInput(f"these are memories of {len(users)} users: split them, and import each under its principal")
    return [*_beliefs(memories, scopes)]


def _is_memory(one: object) -> bool:
    return isinstance(one, Mapping) and isinstance(one.get("memory"), str) and bool(normalise(one["memory"]))


def _beliefs(memories: Sequence[Mapping[str, Any]], scopes: Sequence[str]) -> Iterator[NewBelief]:
    for one in memories:
        text = str(one["memory"])
        words = normalise(text).split()
        yield NewBelief.model_validate(
            {
                "type": "preference" if not _LIKING.isdisjoint(words[:3]) else "entity",
                "canonical_name": ("_".join(content_words(text)[:_NAME_WORDS]) or " ".join(words[:_NAME_WORDS]))[:200],
                "aliases": tuple(dict.fromkeys((*names(text), *identifiers(text))))[:MAX_ALIASES],
                "content": text,
                "scopes": scopes,
                "confidence": 0.5,
                "tentative": True,
                "provenance": Provenance(source="import", turn_id=str(one["id"]) if one.get("id") else None),
            }
        )
