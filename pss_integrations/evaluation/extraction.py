"""How well beliefs are taken from conversations, against dialogues with the beliefs that a reader would keep.

Those of ``dev`` were looked at when the rules were written; those of ``heldout`` were not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from pss_integrations.beliefs.extraction import Extractor
from pss_integrations.beliefs.schema import BeliefType, NewBelief
from pss_integrations.beliefs.scopes import UNIVERSAL
from pss_integrations.errors import InvalidInput
from pss_integrations.types import Message

HALVES: Final = ("dev", "heldout")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nothing|nobody|without|cannot|stop(?:s|ped)?|avoids?|against|neither|nor|former|ended)\b|n['’]t\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Gold:
    """A belief that should be taken from a dialogue.

    :param types: Types that are right.
    :param names: Words of which one has to stand in the canonical name or in an alias.
    :param content: Words that all have to stand in the content.
    :param not_content: Words of which none may.
    :param negative: The content has to hold a negation.
    :param replaces: What was given up for it; not scored.
    :param open: It is an open question.
    """

    types: frozenset[BeliefType]
    names: tuple[str, ...]
    content: tuple[str, ...]
    not_content: tuple[str, ...] = ()
    negative: bool = False
    replaces: tuple[str, ...] = ()
    open: bool = False

    def matches(self, belief: NewBelief) -> bool:
        """Whether a belief says this."""
        types = {"open_question"} if self.open else self.types
        names = " ".join((belief.canonical_name, *belief.aliases))
        return (
            belief.type in types
            and any(_in(name, names) for name in self.names)
            and all(_in(word, belief.content) for word in self.content)
            and not any(_in(word, belief.content) for word in self.not_content)
            and (not self.negative or _NEGATION.search(belief.content) is not None)
        )


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation, and what should be taken from it.

    :param kind: What it tries.
    """

    id: str
    kind: str
    messages: tuple[Message, ...]
    gold: tuple[Gold, ...]
    comment: str = ""


@dataclass(slots=True)
class Counts:
    """How many beliefs were expected, extracted, and both."""

    dialogues: int = 0
    gold: int = 0
    extracted: int = 0
    matched: int = 0
    misses: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def summary(self) -> dict[str, Any]:
        """Counts with precision and recall; either is ``None`` where there is nothing to divide by."""
        return {
            "precision": self.matched / self.extracted if self.extracted else None,
            "recall": self.matched / self.gold if self.gold else None,
            "dialogues": self.dialogues,
            "beliefs": self.gold,
            "extracted": self.extracted,
            "matched": self.matched,
        }


def load_dialogues(path: str | Path) -> tuple[Dialogue, ...]:
    """Load dialogues, one JSON object a line.

    :raises InvalidInput: If the file cannot be read, a line is no dialogue, or there is none.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read as UTF-8 text: {error}") from error
    return _dialogues(lines, str(path))


def evaluate_extraction(path: str | Path | None, extractor: Extractor) -> dict[str, Any]:
    """Extract from dialogues, and compare with what a reader would keep.

    Each extracted belief matches at most one gold belief, and as many are matched as can be.

    :param path: The dialogues; ``None`` is those of the package, of which each half is reported as well.
    :return: ``precision``, ``recall``, ``dialogues``, ``beliefs`` (gold), ``extracted``, ``matched``, ``kinds`` with
        the same for each kind, ``misses``, and ``halves`` for the packaged dialogues.
    :raises InvalidInput: If the dialogues cannot be read.
    """
    if path is not None:
        return _evaluate(load_dialogues(path), extractor)
    halves = {half: _packaged(half) for half in HALVES}
    both = _evaluate([one for dialogues in halves.values() for one in dialogues], extractor)
    reported = {half: _evaluate(dialogues, extractor) for half, dialogues in halves.items()}
    return {**both, "halves": {half: {**one, "misses": len(one["misses"])} for half, one in reported.items()}}


def _packaged(half: str) -> tuple[Dialogue, ...]:
    source = files("pss_integrations.evaluation") / "dialogues" / f"{half}.jsonl"
    return _dialogues(source.read_text(encoding="utf-8").splitlines(), source.name)


_ADAPTER: TypeAdapter[Dialogue] = TypeAdapter(Dialogue)


def _dialogues(lines: Iterable[str], source: str) -> tuple[Dialogue, ...]:
    found: list[Dialogue] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(_ADAPTER.validate_json(line))
            except (ValidationError, ValueError) as error:
                raise InvalidInput(f"{source}, line {number}: no dialogue: {error}") from error
    if not found:
        raise InvalidInput(f"{source} holds no dialogue: one JSON object per line is needed")
    return tuple(found)


def _evaluate(dialogues: Sequence[Dialogue], extractor: Extractor) -> dict[str, Any]:
    total, kinds = Counts(), dict[str, Counts]()
    for dialogue in dialogues:
        beliefs = extractor.extract(dialogue.messages, [UNIVERSAL]).beliefs
        pairs = _paired(beliefs, dialogue.gold)
        for counts in (total, kinds.setdefault(dialogue.kind, Counts())):
            counts.dialogues += 1
            counts.gold += len(dialogue.gold)
            counts.extracted += len(beliefs)
            counts.matched += len(pairs)
        total.misses += _misses(dialogue, beliefs, pairs)
    by_kind = {kind: counts.summary() for kind, counts in sorted(kinds.items())}
    return {**total.summary(), "kinds": by_kind, "misses": total.misses}


def _paired(beliefs: Sequence[NewBelief], gold: Sequence[Gold]) -> dict[int, int]:
    """The largest set of pairs, from gold to belief, by augmenting paths."""
    pairs = dict[int, int]()  # by belief

    def place(wanted: int, seen: set[int]) -> bool:
        for number, belief in enumerate(beliefs):
            if number not in seen and gold[wanted].matches(belief):
                seen.add(number)
                if number not in pairs or place(pairs[number], seen):
                    pairs[number] = wanted
                    return True
        return False

    for wanted in range(len(gold)):
        place(wanted, set())
    return {wanted: number for number, wanted in pairs.items()}


def _misses(dialogue: Dialogue, beliefs: Sequence[NewBelief], pairs: dict[int, int]) -> Iterator[dict[str, Any]]:
    """What was not found, and what was found but should not be."""
    about = {"dialogue": dialogue.id, "kind": dialogue.kind}
    for number, one in enumerate(dialogue.gold):
        if number not in pairs:
            yield {**about, "missing": {"names": [*one.names], "content": [*one.content]}}
    for number, belief in enumerate(beliefs):
        if number not in pairs.values():
            names = [belief.canonical_name, *belief.aliases]
            yield {**about, "extra": {"type": belief.type, "names": names, "content": belief.content}}


def _in(word: str, text: str) -> bool:
    return _folded(word) in _folded(text)


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").split())
