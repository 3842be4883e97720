"""How right an answer is: token F1 and exact match, on texts normalised as for SQuAD (Rajpurkar et al., 2016).

A *reference* says what has to be answered, part by part: ``("23 attempts", "94.2 percent")``. Of several references any
one serves, so the best is taken. Both measures want short answers: a sentence around the right words is not exact.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final, TypeAlias

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.pss320 import Probe
from pss_integrations.text import normalise

References: TypeAlias = Sequence[Sequence[str]]
"""What would be right: references, each a sequence of parts that are all needed."""

RIGHT_F1: Final = 0.8
"""An answer with at least this F1 is right. Of two values with their units, one of them wrong, three of four tokens are
shared, an F1 of 0.75; of a single value with the wrong number one of two, 0.5. Neither may pass."""

_ARTICLES: Final = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """How right one answer is.

    :param f1: Token F1, from 0 to 1.
    :param exact: Whether it says the reference and nothing else.
    """

    f1: float
    exact: bool

    @property
    def right(self) -> bool:
        """Whether it counts as right: an F1 of at least :data:`RIGHT_F1`, which an exact answer always has."""
        return self.f1 >= RIGHT_F1


def score(answer: str, references: References) -> AnswerScore:
    """Score an answer by :func:`token_f1` and :func:`exact_match`."""
    return AnswerScore(token_f1(answer, references), exact_match(answer, references))


def token_f1(answer: str, references: References) -> float:
    """Harmonic mean of precision and recall over tokens, counted as often as they occur; the best over the references.

    All parts of a reference are taken together, in whatever order they are said; an exact answer has 1, though it may
    say ``and`` between them.

    :raises InvalidInput: If there is no reference, or one has no part.
    """
    if exact_match(answer, references):
        return 1.0
    said = normalise_answer(answer).split()
    return max(_f1(said, normalise_answer(" ".join(parts)).split()) for parts in references)


def exact_match(answer: str, references: References) -> bool:
    """Whether an answer is, once normalised, all parts of a reference, in any order, with or without ``and`` between.

    :raises InvalidInput: As :func:`token_f1`.
    """
    _check(references)
    said = normalise_answer(answer)
    return any(
        said in (" ".join(order), " and ".join(order))
        for parts in references
        for order in permutations(filter(None, map(normalise_answer, parts)))
    )


def normalise_answer(text: str) -> str:
    """Fold case, Unicode and white space, and drop punctuation and articles, as SQuAD's own script does for ASCII."""
    plain = "".join(char for char in normalise(text) if not _is_punctuation(char))
    return " ".join(_ARTICLES.sub(" ", plain).split())


def as_parts(probe: Probe) -> References:
    """One reference: the probe's answers are its parts, all of which are needed, as in PSS-320."""
    return (probe.answers,)


def as_alternatives(probe: Probe) -> References:
    """A reference of each of the probe's answers: any one of them serves, as in published question-answering sets."""
    return tuple((answer,) for answer in probe.answers)


def _f1(said: Sequence[str], wanted: Sequence[str]) -> float:
    if not said or not wanted:
        return float(said == wanted)
    shared = (Counter(said) & Counter(wanted)).total()
    return 2 * shared / (len(said) + len(wanted))


def _is_punctuation(char: str) -> bool:
    return char in string.punctuation or unicodedata.category(char).startswith("P")


def _check(references: References) -> None:
    if not references or not all(references):
        raise InvalidInput(f"an answer needs at least one reference, and each at least one part, got {references!r}")
