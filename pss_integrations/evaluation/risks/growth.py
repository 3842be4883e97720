"""Growth: a session that arrives in parts, brought up to date at each, against one compile of the whole; and back.

What a state should say is what it was taught: the clue targets that its manifest keeps. After a step some are new, some
were taught before and still hold, and some requests mean something else than before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.bench import timed
from pss_integrations.evaluation.pss320 import BenchmarkSession
from pss_integrations.evaluation.risks.deletion import OpenManager
from pss_integrations.evaluation.risks.shares import estimated_share
from pss_integrations.evaluation.runner import Tell
from pss_integrations.states.manager import StateManager
from pss_integrations.states.manifest import StateInfo
from pss_integrations.types import Clue, SessionKey

PARTS: Final = 3
_OUTCOMES: Final = ("new", "old", "changed", "stale")


@dataclass(frozen=True, slots=True)
class Grown:
    """A session's state after some of its messages.

    :param messages: How many of them there were.
    :param outcome: What the update did.
    :param seconds: How long that took.
    :param taught: Request to clue, as the manifest keeps them.
    :param clues: What the state wrote for these requests, in order.
    """

    messages: int
    outcome: str
    state_id: str
    seconds: float
    taught: Mapping[str, str]
    clues: tuple[Clue, ...]

    def outcomes(self, before: Mapping[str, str]) -> dict[str, list[bool]]:
        """Whether clues are right, by what was taught before this step.

        :return: Of the requests that are ``new``, of the ``old`` ones whose clue is what it was, and of those whose
            clue ``changed``; ``stale``: whether the former clue came for the latter.
        """
        found: dict[str, list[bool]] = {kind: [] for kind in _OUTCOMES}
        for (request, clue), written in zip(self.taught.items(), self.clues, strict=True):
            found[_kind(clue, before.get(request))].append(written.text == clue)
            if request in before and before[request] != clue:
                found["stale"].append(written.text == before[request])
        return found


@dataclass(frozen=True, slots=True)
class History:
    """What became of one session.

    :param steps: One for each part; ``None`` as long as nothing was said that a follow-up could refer to.
    :param whole: All messages at once.
    :param by_growth: What the last step's state wrote for the requests of ``whole``.
    """

    steps: tuple[Grown | None, ...]
    whole: Grown
    by_growth: tuple[Clue, ...]

    def outcomes(self, part: int) -> dict[str, list[bool]]:
        """:meth:`Grown.outcomes` of a part; nothing where it left no state."""
        step, before = self.steps[part], self.steps[part - 1] if part else None
        return step.outcomes(before.taught if before else {}) if step else {kind: [] for kind in _OUTCOMES}

    def recall(self, clues: Sequence[Clue]) -> list[bool]:
        """Whether clues are those of the whole's targets."""
        return [written.text == clue for written, clue in zip(clues, self.whole.taught.values(), strict=True)]


def measure_growth(
    open_manager: OpenManager, home: Path, sessions: Sequence[BenchmarkSession], tell: Tell, *, parts: int = PARTS
) -> dict[str, Any]:
    """Let sessions grow part by part, targets parsed from their messages; then go back, with an empty memory.

    :param home: Where the managers keep their states.
    :param parts: In how many parts, of about equal size, the messages arrive; two or more.
    :return: ``steps``: for each part the outcomes, mean seconds, and the shares of :meth:`Grown.outcomes`. ``whole``:
        the targets of one compile of all messages, read from its state (``compiled``) and from the one that grew.
        ``rollback``: how many earlier ``states`` there were, how many were ``current`` again, how many gave the
        ``same_text`` for every request, and how many the ``same`` log-probabilities, to the last bit.
    :raises InvalidInput: If there are fewer than two parts, or the manager keeps no targets to ask for.
    """
    if parts < 2:
        raise InvalidInput(f"a session that grows comes in two parts or more, got {parts}")
    histories, backs = list[History](), list[Counter[str]]()
    for number, session in enumerate(sessions):
        tell("letting sessions grow", number, len(sessions))
        with open_manager(home) as manager:
            if manager.config.keep_text == "none":
                raise InvalidInput("states without text keep no targets to ask for: use keep_text='targets'")
            histories.append(_grow(manager, session, parts))
        with open_manager(home) as afresh:  # what was read before is in no memory of it
            backs.append(_go_back(afresh, session.key, histories[-1].steps))
    return {
        "parts": parts,
        "steps": [_step(sessions, histories, number) for number in range(parts)],
        "whole": _whole(sessions, histories),
        "rollback": {name: sum(back[name] for back in backs) for name in ("states", "current", "same_text", "same")},
    }


def _grow(manager: StateManager, session: BenchmarkSession, parts: int) -> History:
    steps = list[Grown | None]()
    for part in range(1, parts + 1):
        messages = session.messages[: len(session.messages) * part // parts]
        update, seconds = timed(lambda messages=messages: manager.update(session.key, messages))
        steps.append(_grown(manager, update.info, update.outcome, seconds) if update.info else None)
    key = SessionKey(session.key.user_id, f"{session.key.session_id} as a whole")
    info, seconds = timed(lambda: manager.compile(key, session.messages))
    whole = _grown(manager, info, "compiled", seconds)
    return History(tuple(steps), whole, tuple(manager.read_batch([(session.key, one) for one in whole.taught])))


def _grown(manager: StateManager, info: StateInfo, outcome: str, seconds: float) -> Grown:
    taught = {request: " ".join(clue.split()) for request, clue, _ in info.targets.kept}
    clues = manager.read_batch([(info.key, request) for request in taught])
    return Grown(info.messages, outcome, info.state_id, seconds, taught, tuple(clues))


def _go_back(manager: StateManager, key: SessionKey, steps: Sequence[Grown | None]) -> Counter[str]:
    """Roll back to each earlier state, the latest first, and count what is as it was."""
    found, latest = Counter[str](), manager.info(key).state_id
    earlier = {step.state_id: step for step in reversed(steps) if step and step.state_id != latest}
    for state_id, step in earlier.items():
        manager.rollback(key, state_id)
        again = _grown(manager, manager.info(key), step.outcome, step.seconds)
        found["states"] += 1
        found["current"] += (again.state_id, again.taught) == (state_id, step.taught)
        found["same_text"] += [one.text for one in again.clues] == [one.text for one in step.clues]
        found["same"] += again.clues == step.clues
    return found


def _kind(clue: str, before: str | None) -> str:
    if before is None:
        return "new"
    return "old" if clue == before else "changed"


def _step(sessions: Sequence[BenchmarkSession], histories: Sequence[History], part: int) -> dict[str, Any]:
    reached = [step for history in histories if (step := history.steps[part])]
    outcomes = [history.outcomes(part) for history in histories]
    return {
        "outcomes": dict(Counter(step.outcome for step in reached)),
        "messages": round(fmean(step.messages for step in reached), 1) if reached else None,
        "seconds": round(fmean(step.seconds for step in reached), 2) if reached else None,
        **{kind: estimated_share([one[kind] for one in outcomes], sessions) for kind in _OUTCOMES},
    }


def _whole(sessions: Sequence[BenchmarkSession], histories: Sequence[History]) -> dict[str, Any]:
    grown = [sum(step.seconds for step in history.steps if step) for history in histories]
    return {
        "compiled": estimated_share([one.recall(one.whole.clues) for one in histories], sessions),
        "grown": estimated_share([one.recall(one.by_growth) for one in histories], sessions),
        "compiled_seconds": round(fmean(one.whole.seconds for one in histories), 2),
        "grown_seconds": round(fmean(grown), 2),
    }
