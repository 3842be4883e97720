"""Reads that wait are read together: the first in line takes the others along, and nobody waits for more to come."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pss_integrations.errors import StateCorrupt
from pss_integrations.states.config import READ_ROWS
from pss_integrations.states.scheduler import Work
from pss_integrations.types import Clue, SessionKey

Question = tuple[SessionKey, str]


@dataclass(slots=True, eq=False)
class _Asked:
    questions: Sequence[Question]
    clues: Sequence[Clue] | None = None
    wanted: bool = True


class Reads:
    """Gathers what is asked while the model is busy.

    :param read: Reads questions in as few passes as fit.
    :param check: Raises if questions cannot be read; then they spoil nobody else's.
    """

    def __init__(
        self, read: Callable[[Sequence[Question]], Work[list[Clue]]], check: Callable[[Sequence[Question]], None]
    ) -> None:
        self._read, self._check = read, check
        self._line = deque[_Asked]()

    def ask(self, questions: Sequence[Question]) -> Work[Sequence[Clue]]:
        """Queue questions; the work that is returned reads them, unless other work did so before."""
        asked = _Asked(questions)
        work = self._answer(asked)
        next(work)  # from here on closing it takes the questions back
        self._line.append(asked)
        return work

    def _answer(self, own: _Asked) -> Work[Sequence[Clue]]:
        gathered = [own]
        try:
            yield
            if own.clues is None:
                self._check(own.questions)
                gathered += self._gather(own)
                try:
                    yield from self._read_all(gathered)
                except Exception as error:  # in whichever session it was: the others must not suffer for it
                    # and another process may have deleted a state, or pruned it, after it was looked up
                    if len(gathered) == 1 and not isinstance(error, StateCorrupt):
                        raise
                    del gathered[1:]
                    yield from self._read_all(gathered)
            assert own.clues is not None
            return own.clues
        finally:  # if this one was cancelled, the next in line takes the others along
            own.wanted = False
            with suppress(ValueError):  # only what failed or was cancelled is in line still
                self._line.remove(own)
            self._line.extendleft(asked for asked in reversed(gathered) if asked.wanted and asked.clues is None)

    def _gather(self, own: _Asked) -> list[_Asked]:
        """The next questions in line, as far as one batch has room beside the own ones."""
        gathered, room = list[_Asked](), READ_ROWS - len(own.questions)
        while self._line:
            first = self._line[0]
            if first is not own and first.wanted and self._readable(first):
                room -= len(first.questions)
                if room < 0:
                    break
                gathered.append(first)
            self._line.popleft()
        return gathered

    def _readable(self, asked: _Asked) -> bool:
        try:
            self._check(asked.questions)
        except Exception:  # which it will meet again when its own turn comes
            return False
        return True

    def _read_all(self, gathered: Sequence[_Asked]) -> Work[None]:
        clues = iter((yield from self._read([question for asked in gathered for question in asked.questions])))
        for asked in gathered:
            asked.clues = [next(clues) for _ in asked.questions]
