"""Drafts of a clue: the clues that a state was taught, the likeliest first (facts of speculative decoding: reader)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pss_integrations.text import tokenize

_CONTEXT = 3  # tokens that have to agree before a clue's middle serves as a guess


@dataclass(frozen=True, slots=True)
class Taught:
    """One distinct clue.

    :param tokens: What it is written as, without the end token.
    :param requests: The words of each request that it was taught for.
    """

    tokens: tuple[int, ...]
    requests: tuple[frozenset[str], ...]


def taught_clues(pairs: Sequence[tuple[str, str]], tokens_of: Callable[[str], list[int]]) -> tuple[Taught, ...]:
    """Gather the distinct clues of (request, clue) pairs, in their order.

    :param tokens_of: What a clue is written as, without the end token.
    """
    requests = dict[str, list[frozenset[str]]]()
    for request, clue in pairs:
        requests.setdefault(clue, []).append(frozenset(tokenize(request)))
    return tuple(Taught(tuple(tokens_of(clue)), tuple(words)) for clue, words in requests.items())


class Drafts:
    """Guesses how a clue for one query goes on.

    :param taught: The state's clues.
    :param query: Clues whose requests share most words with it come first.
    """

    def __init__(self, taught: Sequence[Taught], query: str) -> None:
        words = frozenset(tokenize(query))
        self._ranked = [one.tokens for one in sorted(taught, key=lambda one: -_likeness(one, words))]

    def __call__(self, tokens: Sequence[int]) -> Sequence[Sequence[int]]:
        """Go on as the clues that begin with the tokens; else as those that hold the last of them."""
        at = len(tokens)
        begun = [clue[at:] for clue in self._ranked if clue[:at] == tuple(tokens)]
        return begun or [rest for clue in self._ranked for rest in _after(clue, tuple(tokens[-_CONTEXT:]))]


def _after(clue: Sequence[int], last: Sequence[int]) -> list[Sequence[int]]:
    """What follows the first place at which a clue holds these tokens."""
    ends = range(_CONTEXT, len(clue))
    return [clue[end:] for end in ends if tuple(clue[end - _CONTEXT : end]) == tuple(last)][:1]


def _likeness(one: Taught, words: frozenset[str]) -> float:
    """The greatest overlap with a request (Jaccard), and a little for being taught often."""
    nearest = max((len(words & asked) / len(words | asked) if words | asked else 0.0) for asked in one.requests)
    return nearest + 1e-3 * len(one.requests)
