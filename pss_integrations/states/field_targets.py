"""Clue targets from what a caller knows of a session in structured form (PSS, section 2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice, zip_longest
from typing import TypeVar

from pss_integrations.errors import InvalidInput
from pss_integrations.states.targets import clue_of, latest, says
from pss_integrations.types import ClueTarget, Message, SessionFields

T = TypeVar("T")

# Active and archived pair up line by line and differ in little but the words of time, so that those are what
# a small model learns to tell them apart by. The first lines differ most from each other: few are used.
_ACTIVE = (
    "what setup are we on right now?",
    "Please search with the current configuration, which is active.",
    "is it still running?",
    "latest build, the one we switched to",
    "up-to-date values, which replaced the others",
    "Which release is deployed this week?",
    "The live one: are there any known problems?",
    "look up the snapshot we took over",
    "Could you find the settings we ended up with?",
    "newest deployment, details",
    "does that one hold up under load?",
    "Show me what we rely on these days.",
)
_ARCHIVED = (
    "what setup were we on before we switched?",
    "Please search with the previous configuration, which is archived.",
    "was it more stable back then?",
    "earlier build, the one we switched away from",
    "outdated values, which got replaced",
    "Which release was deployed last year?",
    "The retired one: were there any known problems?",
    "look up the snapshot we abandoned",
    "Could you find the settings we started out with?",
    "former deployment, details",
    "why did we drop that one?",
    "Show me what we used to rely on.",
)
_ACTIVE_FIELD = (
    "which {name} are we on at present?",
    "current {name}",
    "Please tell me the {name} that is live now.",
    "the newest one's {name}?",
    "what's its {name} today",
    "Which {name} is in use?",
    "{name} as of now?",
    "I need the active {name}.",
)
_ARCHIVED_FIELD = (
    "which {name} were we on prior to this?",
    "former {name}",
    "Please tell me the {name} that was superseded.",
    "the old one's {name}?",
    "what was its {name} earlier",
    "Which {name} was in use before?",
    "{name} until the change?",
    "I need the archived {name}.",
)
_CHANGE = (
    "what changed between the two?",
    "old versus new",
    "How does the current one differ from the previous one?",
    "what did we switch from, and to what",
    "Please compare both versions.",
    "difference to the earlier setup?",
    "List what was replaced and what replaced it.",
    "before and after the upgrade",
)
_THEME = (
    "what is all this about?",
    "Please summarise the project so far.",
    "main topic, which component",
    "Which project does it belong to?",
    "give me an overview of our work",
    "The component we talked about: where is it described?",
)
_PAIR = (
    "what's the {name}?",
    "Remind me of the {name}, please.",
    "and the {name} for it",
    "Which {name} did we note down?",
    "{name} again?",
    "Look up the {name} of this one.",
    "do you still have its {name}",
    "I forgot the {name}.",
)
# What a user asks without saying the field's name, by the words such a name is made of.
_PAIR_KINDS = (
    (
        frozenset({"owner", "lead", "maintainer", "author", "contact", "reviewer", "manager", "assignee"}),
        ("who is responsible for it?", "Whom should I ask about this one?", "whose is that", "who runs it?"),
    ),
    (
        frozenset({"date", "day", "deadline", "due", "time", "schedule", "window"}),
        ("when was that?", "On which day is it due?", "what date did we say", "how soon is it?"),
    ),
    (
        frozenset({"place", "location", "site", "region", "city", "room", "zone"}),
        ("where is it?", "In which place does it run?", "where do I find that one", "where was that?"),
    ),
)


@dataclass(frozen=True)
class FieldTargets:
    """Targets from session fields: what is in force, what was before, what changed, pairs and the theme.

    A scope has one clue, ``project component value ...``, and its single fields share it: few distinct clues
    are what a small model learns from few requests, and the whole scope is what tells one record from
    another. A value the clue has no room for gets a clue of its own. The messages are not read.

    :param fields: What is known of the session.
    :param requests_per_clue: Requests for each of the two scopes, at least half of them about the scope as a
        whole, and one per field even if that makes more. What changed and the theme get a third as many,
        each pair of ``fields.other`` a quarter. Nine give 20 to 28 targets for usual fields.
    :raises InvalidInput: If ``requests_per_clue`` is not positive.
    """

    name: str = field(default="fields", init=False)
    fields: SessionFields
    requests_per_clue: int = 9

    def __post_init__(self) -> None:
        if self.requests_per_clue < 1:
            raise InvalidInput(f"requests_per_clue must be at least 1, got {self.requests_per_clue}")

    def build(self, messages: Sequence[Message]) -> list[ClueTarget]:
        """Return the targets, which depend on the fields alone."""
        fields, count = self.fields, self.requests_per_clue
        subject = (fields.project, fields.component or "")
        third = max(1, count // 3)
        # With the leading values in force, a clue that is read for the wrong request still stays in scope.
        placed = (*subject, *islice(fields.active.values(), 2))
        return latest(
            [
                *theme_targets(placed, third),
                *pair_targets(placed, fields.other, max(1, count // 4)),
                *change_targets(subject, fields.active, fields.archived, third),
                *scope_targets(subject, fields.active, fields.archived, count),
            ]
        )


def scope_targets(
    subject: Sequence[str], active: Mapping[str, str], archived: Mapping[str, str], count: int
) -> list[ClueTarget]:
    """Return requests about what is in force and what was before, each the other's conflict.

    :param subject: What both scopes are about, the most important name first; blanks are skipped.
    :param active: Field name to the value in force.
    :param archived: Field name to the value before.
    :param count: Requests per scope.
    """
    if _scope_clue(subject, active) == _scope_clue(subject, archived):
        archived = {}
    return [
        *_one_scope(subject, active, archived, _requests(active, _ACTIVE, _ACTIVE_FIELD, count)),
        *_one_scope(subject, archived, active, _requests(archived, _ARCHIVED, _ARCHIVED_FIELD, count)),
    ]


def change_targets(
    subject: Sequence[str], active: Mapping[str, str], archived: Mapping[str, str], count: int
) -> list[ClueTarget]:
    """Return requests about what changed, whose clue holds the old and new values side by side."""
    changed = [f"{old} {active.get(name, '')}" for name, old in archived.items() if old != active.get(name)]
    clue = clue_of([*subject, *changed])
    return [ClueTarget(request, clue) for request in _CHANGE[:count]] if changed else []


def theme_targets(subject: Sequence[str], count: int) -> list[ClueTarget]:
    """Return requests about the session as a whole, whose clue is the subject alone."""
    clue = clue_of(subject)
    return [ClueTarget(request, clue) for request in _THEME[:count]] if clue else []


def pair_targets(subject: Sequence[str], pairs: Mapping[str, str], count: int) -> list[ClueTarget]:
    """Return requests about name/value pairs without an earlier value, ``count`` for each pair.

    The first pair of a kind (a person, a time, a place) is also asked for without its name: "who ...?".
    """
    unnamed = dict(_PAIR_KINDS)
    targets: list[ClueTarget] = []
    for number, (name, value) in enumerate(pairs.items()):
        kind = next((words for words in unnamed if words & set(_spoken(name).split())), None)
        forms = _alternate(unnamed.pop(kind) if kind else (), _rotated(_PAIR, number))
        clue = clue_of([*subject, _spoken(name), value])
        targets += [ClueTarget(form.format(name=_spoken(name)), clue) for form in forms[:count]]
    return targets


def _one_scope(
    subject: Sequence[str],
    values: Mapping[str, str],
    against: Mapping[str, str],
    requests: Iterable[tuple[str, str | None]],
) -> list[ClueTarget]:
    targets: list[ClueTarget] = []
    for request, name in requests:
        clue, conflict = _scope_clue(subject, values, name), _scope_clue(subject, against, name)
        targets.append(ClueTarget(request, clue, (conflict,) if conflict not in ("", clue) else ()))
    return targets


def _scope_clue(subject: Sequence[str], values: Mapping[str, str], field: str | None = None) -> str:
    """Return the clue of a scope, or of one field that the scope's clue has no room for."""
    whole = clue_of([*subject, *values.values()]) if values else ""
    if field is None or field not in values or says(whole, values[field]):
        return whole
    return clue_of([*subject, _spoken(field), values[field]])


def _requests(
    values: Mapping[str, str], forms: Sequence[str], field_forms: Sequence[str], count: int
) -> list[tuple[str, str | None]]:
    if not values:
        return []
    whole = forms[: max(count - len(values), (count + 1) // 2)]
    single = [(form.format(name=_spoken(name)), name) for form, name in zip(cycle(field_forms), values)]
    return _alternate([(form, None) for form in whole], single)


def _spoken(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).casefold() or name


def _alternate(first: Iterable[T], second: Iterable[T]) -> list[T]:
    return [item for both in zip_longest(first, second) for item in both if item is not None]


def _rotated(forms: Sequence[str], start: int) -> list[str]:
    return [forms[(start + offset) % len(forms)] for offset in range(len(forms))]
