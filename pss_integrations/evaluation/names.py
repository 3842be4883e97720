"""Invented names for generated benchmarks; within one benchmark no name is drawn twice."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final
from zlib import crc32

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import wording

_TRIES: Final = 1000


class Names:
    """Draws names that have not been drawn before from the same instance.

    Versions, checkpoints and routes have a fixed shape, so that none is the beginning of another.

    :param rng: Source of every draw: the same state of it gives the same names.
    :param cohort: Even and odd cohorts share no name; ``None`` draws from all names.
    """

    def __init__(self, rng: Random, cohort: int | None = None) -> None:
        self._rng = rng
        self._half = None if cohort is None else cohort % 2
        self._drawn: set[str] = set()
        self._parts: dict[str, list[str]] = wording.load("names")

    def project(self) -> str:
        """A project such as ``"Valorin Dremath"``; two projects share no word."""
        return f"{self._fresh(self._word)} {self._fresh(self._word)}"

    def configuration(self) -> str:
        """A configuration such as ``"cobalt-heron"``."""
        return self._fresh(lambda: f"{self._pick('shades')}-{self._pick('birds')}")

    def version(self) -> str:
        """A version such as ``"v3.14.1"``."""
        return self._fresh(lambda: "v{}.{}.{}".format(*map(self._rng.randrange, (1, 0, 0), (10, 100, 10))))

    def checkpoint(self) -> str:
        """A checkpoint such as ``"ckpt-4821"``."""
        return self._fresh(lambda: f"ckpt-{self._rng.randrange(1000, 10_000)}")

    def route(self) -> str:
        """A route such as ``"eu-west-2/blue"``."""
        return self._fresh(
            lambda: (
                f"{self._pick('regions')}-{self._pick('quarters')}-{self._rng.randrange(1, 7)}/{self._pick('lanes')}"
            )
        )

    def person(self) -> str:
        """A person such as ``"Ines Halvorsen"``."""
        return self._fresh(lambda: f"{self._pick('first_names')} {self._pick('last_names')}")

    def date(self) -> str:
        """A date such as ``"12 March 2024"``; dates may be the same."""
        return f"{self._rng.randrange(1, 29)} {self._pick('months')} {self._rng.randrange(2022, 2026)}"

    def _word(self) -> str:
        parts = ("onsets", "first_vowels", "middles", "second_vowels", "endings")
        return "".join(map(self._pick, parts)).capitalize()

    def _pick(self, part: str) -> str:
        return self._rng.choice(self._parts[part])

    def _fresh(self, draw: Callable[[], str]) -> str:
        for _ in range(_TRIES):
            name = draw()
            if name not in self._drawn and self._half in (None, crc32(name.encode()) % 2):
                self._drawn.add(name)
                return name
        raise InvalidInput("no unused names are left: generate fewer sessions or records")
