"""What the measurements share: repeated times, ratios of things measured side by side in one run, and what is read."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, TypeVar

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.engine import Engine
from pss_integrations.states.field_targets import FieldTargets
from pss_integrations.types import ClueTarget, Message

ResultT = TypeVar("ResultT")
Tell = Callable[[str], None]
"""Told what is measured next."""
Load = Callable[[], Backbone]
"""Loads a backbone of its own at each call, since PEFT changes the model that it wraps."""

SEED: Final = 7
SESSIONS: Final = 8
CLUE_TOKENS: Final = 24


@dataclass(frozen=True, slots=True)
class Timing:
    """Repeated measurements, in one unit."""

    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of the runs."""
        return statistics.median(self.runs)

    def to_dict(self) -> dict[str, float]:
        """Median, least and most."""
        return {"median": round(self.median, 2), "min": round(min(self.runs), 2), "max": round(max(self.runs), 2)}


def timed(work: Callable[[], ResultT]) -> tuple[ResultT, float]:
    """Do something; returns its result and the seconds it took."""
    begun = time.perf_counter()
    return work(), time.perf_counter() - begun


def compare(
    one: Callable[[], object], other: Callable[[], object], repeats: int, *, warm_up: bool = True
) -> tuple[Timing, Timing]:
    """Time two things in turn, in milliseconds.

    :param warm_up: Whether a first round of each does not count.
    """
    rounds = [[1000 * timed(work)[1] for work in (one, other)] for _ in range(repeats + warm_up)]
    first, second = zip(*rounds[warm_up:], strict=True)
    return Timing(first), Timing(second)


def ratios(name: str, slow: Timing, fast: Timing) -> dict[str, Any]:
    """How many times as long the one takes, run by run: the median under a name, least and most under ``*_spread``."""
    each = [s / f for s, f in zip(slow.runs, fast.runs, strict=True)]
    return {
        name: round(statistics.median(each), 2),
        f"{name}_spread": [round(min(each), 2), round(max(each), 2)],
    }


def new_engine(backbone: Backbone, config: CompileConfig, state: StateConfig | None = None) -> Engine:
    """An engine, of the default shape if nothing else is said, with a lane for each of eight sessions."""
    return Engine(backbone, state or StateConfig(), config, read_lanes=SESSIONS, resident_bytes=0)


class Endless(Backbone):
    """A loaded backbone that never ends a clue, so that every read generates the same number of tokens."""

    def __init__(self, loaded: Backbone) -> None:
        super().__init__(loaded.model, loaded.tokenizer, name=loaded.name, fingerprint=loaded.fingerprint)

    @property
    def end_token(self) -> int:
        """No token has this id."""
        return -1


def session_targets(session: pss320.BenchmarkSession) -> list[ClueTarget]:
    """The clue targets of a session: 28 of most."""
    return FieldTargets(session.fields).build(session.messages)


def history(backbone: Backbone, tokens: int, sessions: Sequence[pss320.BenchmarkSession]) -> tuple[Message, ...]:
    """Pretend that sessions were had one after another, the first one last; returns the last messages that fit.

    :param tokens: At most so many tokens, as a compile counts them.
    :raises InvalidInput: If the sessions together are shorter.
    """
    kept, used = list[Message](), 0
    for message in chain.from_iterable(reversed(session.messages) for session in sessions):
        used += history_tokens(backbone, [message])
        if used > tokens:
            return tuple(reversed(kept))
        kept.append(message)
    raise InvalidInput(f"{len(sessions)} sessions have {used} tokens together, {tokens} were asked for: give more")


def history_tokens(backbone: Backbone, messages: Sequence[Message]) -> int:
    """Tokens of messages, as a compile counts them."""
    return sum(backbone.count_tokens(f"{message.role}: {message.text.strip()}\n") for message in messages)
