"""Reads what a model wrote: lists of JSON objects, each of which may be broken by itself."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError

from pss_integrations.beliefs.extraction.observation import Answer
from pss_integrations.beliefs.names import name_key
from pss_integrations.beliefs.schema import MAX_ALIASES, MIN_CONFIDENCE, NewBelief, Provenance
from pss_integrations.text import normalise

_UNSTATED = 0.5  # confidence in what no user said, where the model gives none
_FIELDS = (
    "type canonical_name content aliases replaces why_it_matters valid_from confidence subtype participants "
    "relation_type".split()
)
_DECODER = json.JSONDecoder()
_LOG = logging.getLogger(__name__)


def read_lists(text: str, keys: Sequence[str]) -> dict[str, list[Any]]:
    """Read the lists that a model wrote under some keys, whatever stands around them.

    Trailing commas and missing closing brackets are mended; an item that is broken beyond that is skipped, and the
    others are read. A bare list is that of the first key.
    """
    heads = [*re.finditer(rf'(?<!\\)"({"|".join(keys)})"\s*:\s*(?=\[)', text)]
    if not heads:
        return {keys[0]: _items(text[text.find("[") :])} if "[" in text else {}
    ends = [*(head.start() for head in heads[1:]), len(text)]
    found = dict[str, list[Any]]()
    for head, end in zip(heads, ends, strict=True):
        found.setdefault(head[1], []).extend(_items(text[head.end() : end]))
    return found


def belief_of(item: Any, scopes: Sequence[str], provenance: Provenance, **defaults: Any) -> NewBelief | None:
    """Make a belief of an item; of one that cannot be kept the reason is logged.

    :param defaults: Fields for which the item gives no value.
    :return: ``None`` if the item is no belief, or the model is too unsure of it.
    """
    if not isinstance(item, Mapping):
        return _skip("it is no JSON object")
    given = cast("Mapping[str, Any]", item)
    if provenance.source != "user":
        defaults = {"confidence": _UNSTATED, **defaults}
    fields = {**defaults, **{key: given[key] for key in _FIELDS if given.get(key) is not None}}
    if isinstance(fields.get("aliases"), list):
        fields["aliases"] = fields["aliases"][:MAX_ALIASES]
    if provenance.source == "user":  # it counts as confirmed: no user wrote what a model makes of it to be done
        fields.pop("why_it_matters", None)
    try:
        belief = NewBelief.model_validate({**fields, "scopes": scopes, "provenance": provenance})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        return _skip(f"{'.'.join(map(str, first['loc'])) or 'item'}: {first['msg']}")
    if belief.confidence < MIN_CONFIDENCE:
        return _skip(f"confidence {belief.confidence} is below {MIN_CONFIDENCE}")
    return belief


def distinct(beliefs: Iterable[NewBelief | None]) -> tuple[NewBelief, ...]:
    """Leave out what was skipped; of several beliefs of one type and name the last stays, for it is the latest."""
    kept = dict[tuple[str, str], NewBelief]()
    for belief in beliefs:
        if belief is not None:
            key = belief.type, name_key(belief.canonical_name)
            kept.pop(key, None)
            kept[key] = belief
    return tuple(kept.values())


def answers_of(items: Iterable[Any], beliefs: Iterable[NewBelief]) -> Iterator[Answer]:
    """Read what was answered: names of questions, or objects with ``canonical_name`` and the ``answer``'s name."""
    by_name = {name_key(belief.canonical_name): belief for belief in beliefs if belief.type != "open_question"}
    for item in items:
        match item:
            case str(question) if question.strip():
                yield Answer(question)
            case {"canonical_name": str(question), "answer": str(answer)} if question.strip():
                yield Answer(question, by_name.get(name_key(answer)))
            case {"canonical_name": str(question)} if question.strip():
                yield Answer(question)
            case _:
                _skip("it names no question")


def is_said(item: Any, texts: Iterable[str]) -> bool:
    """Whether a name or an alias of an item stands in one of the texts: a model may claim what nobody said."""
    if not isinstance(item, Mapping):
        return False
    given = cast("Mapping[str, Any]", item)
    aliases = given.get("aliases")
    named = [given.get("canonical_name"), *(cast("list[Any]", aliases) if isinstance(aliases, list) else [])]
    keys = {f" {name_key(name)} " for name in named if isinstance(name, str) and normalise(name)}
    return any(key in f" {name_key(text)} " for key in keys for text in texts)


def _skip(reason: str) -> None:
    _LOG.warning("an item of a model's answer was skipped: %s", reason)


def _items(text: str) -> list[Any]:
    """Items of the list that the text begins with."""
    mended = _mended(text)
    try:
        return list(_DECODER.raw_decode(mended)[0])
    except ValueError:
        return [*_objects(mended)]


def _objects(text: str) -> Iterator[Any]:
    """Read each object that can be read; they are flat, so that the next brace after a broken one begins another."""
    at = text.find("{")
    while at >= 0:
        try:
            item, end = _DECODER.raw_decode(text, at)
            yield item
        except ValueError as error:
            _skip(f"it is no JSON: {error}")
            end = at + 1
        at = text.find("{", end)


_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[\]}])|[\[\]{}]', re.DOTALL)
_CLOSING = {"[": "]", "{": "}"}


def _mended(text: str) -> str:
    """Leave out trailing commas, and close what is open at the end; what follows the list is cut off."""
    open_brackets: list[str] = []
    kept: list[str] = []
    at = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        kept.append(text[at : found.start()])
        at = found.end()
        if found[0] == ",":
            continue
        kept.append(found[0])
        if found[0] in _CLOSING:
            open_brackets.append(_CLOSING[found[0]])
        elif open_brackets and found[0] == open_brackets[-1]:
            open_brackets.pop()
            if not open_brackets:
                return "".join(kept)
    rest = text[at:].rstrip().rstrip(",")
    return "".join([*kept, rest, *reversed(open_brackets)])
