"""Time of a compile against the length of the history, the number of targets, and the number of sessions at once."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from typing import Any

from pss_integrations.evaluation import krecords, pss320
from pss_integrations.evaluation.bench import (
    SEED,
    Load,
    Tell,
    Timing,
    compare,
    history,
    new_engine,
    ratios,
    session_targets,
    timed,
)
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.compiler import CompileResult
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.manager import StateManager
from pss_integrations.states.steps import finish
from pss_integrations.types import ClueTarget, Message

_TARGETS = 20
_RECORDS = 5


def bench_curves(load: Load, *, quick: bool, tell: Tell) -> dict[str, Any]:
    """Compile until confirmed, over and over.

    :param load: Loads the backbone; called once.
    :param quick: One run of each, two points a curve, and at most 4 sessions at once.
    :return: ``history`` and ``targets``: a point for each size. ``several_sessions``: how many times as long the
        sessions take one after another as together, ``"16x5"`` for 16 of 5 targets each; ``sessions`` has the times.
    """
    backbone, repeats = load(), 1 if quick else 3
    _compile(backbone, [], krecords.generate(1, seed=SEED).groups[0].targets)  # warms up
    points: dict[str, Any] = {
        "history": _by_history(backbone, (250, 1000) if quick else (250, 500, 1000, 2000, 4000), repeats, tell),
        "targets": _by_targets(backbone, (5, 20) if quick else (5, 10, 20, 40), repeats, tell),
    }
    sizes = ((1, 5), (4, 5)) if quick else ((1, 5), (4, 5), (16, 5), (4, _TARGETS))
    sessions = [_several(backbone, count, targets, repeats, tell) for count, targets in sizes]
    several = {f"{one['sessions']}x{one['targets']}": one["ratio"] for one in sessions if one["sessions"] > 1}
    return {"several_sessions": several, **points, "sessions": sessions}


def _by_history(backbone: Backbone, lengths: Sequence[int], repeats: int, tell: Tell) -> list[dict[str, Any]]:
    sessions = pss320.generate(16, seed=SEED).sessions
    targets = session_targets(sessions[0])[:_TARGETS]
    points = list[dict[str, Any]]()
    for length in lengths:
        tell(f"a history of {length} tokens, {len(targets)} targets")
        points.append(_point(backbone, history(backbone, length, sessions), targets, repeats))
    return points


def _by_targets(backbone: Backbone, counts: Sequence[int], repeats: int, tell: Tell) -> list[dict[str, Any]]:
    """The first target of each record comes first, then the second of each: few targets hold as many clues as many."""
    group = krecords.generate(_RECORDS, seed=SEED).groups[0]
    each = krecords.WRITING_REQUESTS
    targets = [group.targets[record * each + number] for number in range(each) for record in range(_RECORDS)]
    points = list[dict[str, Any]]()
    for count in counts:
        tell(f"{count} targets")
        points.append(_point(backbone, group.messages, targets[:count], repeats))
    return points


def _point(
    backbone: Backbone, messages: Sequence[Message], targets: Sequence[ClueTarget], repeats: int
) -> dict[str, Any]:
    runs = [timed(lambda: _compile(backbone, messages, targets)) for _ in range(repeats)]
    result = runs[0][0]
    return {
        "history_tokens": result.history_tokens,
        "targets": result.targets,
        "seconds": Timing(tuple(seconds for _, seconds in runs)).to_dict(),
        "steps": result.steps,
        "confirmed": result.confirmed,
    }


def _compile(backbone: Backbone, messages: Sequence[Message], targets: Sequence[ClueTarget]) -> CompileResult:
    engine = new_engine(backbone, CompileConfig())
    try:
        return finish(engine.compile(messages, targets))
    finally:
        engine.close()


def _several(backbone: Backbone, count: int, targets: int, repeats: int, tell: Tell) -> dict[str, Any]:
    """Sessions that are submitted together, beside the same ones one after another."""
    sessions = pss320.generate(count, seed=SEED).sessions
    work = [(one.key, one.messages, session_targets(one)[:targets]) for one in sessions]
    tell(f"{count} sessions of {targets} targets, together and one after another")
    with tempfile.TemporaryDirectory() as home, StateManager(home, backbone=backbone) as manager:

        async def gather() -> None:
            await asyncio.gather(*(manager.acompile(key, said, targets=taught) for key, said, taught in work))

        def apart() -> None:
            for key, said, taught in work:
                manager.compile(key, said, targets=taught)

        one_by_one, together = compare(apart, lambda: asyncio.run(gather()), repeats, warm_up=False)
        written = [manager.info(key).write for key, _, _ in work]  # the last ones were written together
    return {
        "sessions": count,
        "targets": targets,
        **ratios("ratio", one_by_one, together),
        "together_ms": together.to_dict(),
        "one_after_another_ms": one_by_one.to_dict(),
        "confirmed": sum(write.confirmed for write in written),
    }
