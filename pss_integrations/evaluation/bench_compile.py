"""Compiles against a plain PEFT loop: time of a step, and time until every target is reproduced and confirmed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pss_integrations.evaluation import krecords, pss320
from pss_integrations.evaluation.bench import (
    SEED,
    Load,
    Tell,
    Timing,
    new_engine,
    ratios,
    session_targets,
    timed,
)
from pss_integrations.evaluation.peft_reference import PeftLoop
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.optimizer import initial_vector
from pss_integrations.states.steps import finish
from pss_integrations.types import ClueTarget, Message

RATES: Final = (5e-4, 1e-3, 2e-3)
_TARGETS: Final = 20
_NEW: Final = 3
_RATIOS: Final = {"ours": "ratio_vs_peft", "ours_without_conflicts": "ratio_vs_peft_without_conflicts"}


def bench_compile(load: Load, *, quick: bool, tell: Tell, rates: Sequence[float] = RATES) -> dict[str, Any]:
    """Compile steps and whole compiles beside a plain PEFT loop.

    :param load: Loads the backbone; called twice.
    :param quick: Fewer repeats, and no 16-record state.
    :param rates: Learning rates of the plain loop, one for A and B as PEFT's examples have it; the best one counts.
    :return: ``ratio_vs_peft`` is that of a step. ``time_to_confirmed`` has ratios of whole compiles to the plain loop
        at the fastest of the rates that confirmed in every repeat. The plain loop knows no conflicting clues, so ours
        is timed with and without them; its adapters are in the backbone's dtype, which is its fastest way.
    """
    session = pss320.generate(1, seed=SEED).sessions[0]
    targets = session_targets(session)
    race = _Race(load, tell, rates)
    result = race.steps(targets, repeats=2 if quick else 5)
    few = race.to_confirmed("session", session.messages, targets[:_TARGETS], repeats=1 if quick else 3)
    result["time_to_confirmed"] = {"session": few}
    tell(f"one session of {len(targets)} targets")
    result["session"] = race.whole(session.messages, targets)
    tell(f"{_NEW} new targets after {len(targets) - _NEW}")
    result["recompile"] = race.recompile(session.messages, targets)
    if not quick:
        group = krecords.generate(16, seed=SEED).groups[0]
        result["time_to_confirmed"]["records_16"] = race.to_confirmed("16 records", group.messages, group.targets)
        tell(f"16 records, {len(group.targets)} targets")
        result["records_16"] = race.whole(group.messages, group.targets)
    return result


@dataclass(frozen=True, slots=True)
class Finished:
    """How a compile ended.

    :param seconds: Time until then.
    :param steps: Optimiser steps until then.
    :param confirmed: Whether every target was reproduced by decoding.
    """

    seconds: float
    steps: int
    confirmed: bool


class _Race:
    """Our compiles and a plain loop, each with a backbone of its own."""

    def __init__(self, load: Load, tell: Tell, rates: Sequence[float]) -> None:
        self._load, self._tell, self._rates = load, tell, rates
        self._backbone = load()
        engine = new_engine(self._backbone, CompileConfig())
        self._layout = engine.bank.layout
        self._adapter_config = engine.adapter_config()
        engine.close()
        self._loop = PeftLoop(load(), self._adapter_config)

    def steps(self, targets: Sequence[ClueTarget], *, repeats: int) -> dict[str, Any]:
        """Two epochs of each in turn, without conflicts, adapters in the backbone's dtype; a first round warms up."""
        plain = [ClueTarget(target.request, target.clue) for target in targets]
        config = replace(CompileConfig(), history_steps=0, max_epochs=2, min_epochs=2, margin=1e9)
        engine, loop = new_engine(self._backbone, config), self._loop
        start = self._layout.matrices(initial_vector(self._layout, config.seed))
        ours, theirs = list[float](), list[float]()
        for repeat in range(repeats + 1):
            self._tell(f"compile steps against PEFT, {repeat} of {repeats}")
            for run, into in (
                (finish(engine.compile([], plain)), ours),
                (loop.run(start, plain, config, epochs=2), theirs),
            ):
                into.append(1000 * run.seconds / run.steps)
        engine.close()
        step, peft_step = Timing(tuple(ours[1:])), Timing(tuple(theirs[1:]))
        return {
            **ratios("ratio_vs_peft", peft_step, step),
            "step_ms": step.to_dict(),
            "peft_step_ms": peft_step.to_dict(),
            "dtype": str(self._backbone.dtype).removeprefix("torch."),
            "batch_size": config.batch_size,
        }

    def to_confirmed(
        self, name: str, messages: Sequence[Message], targets: Sequence[ClueTarget], *, repeats: int = 1
    ) -> dict[str, Any]:
        """Both to the end: each repeat has a start and an order of batches of its own, the same for both sides."""
        ways: dict[str, Callable[[CompileConfig], Finished]] = {
            "ours": lambda config: self._ours(messages, targets, config),
            "ours_without_conflicts": lambda config: self._ours(messages, targets, replace(config, conflict_weight=0)),
        }
        for rate in self._rates:
            ways[f"peft_{rate:g}"] = lambda config, rate=rate: self._peft(
                messages, targets, replace(config, lr_a=rate, lr_b=rate)
            )
        runs: dict[str, list[Finished]] = {way: [] for way in ways}
        for repeat in range(repeats):
            for way, run in ways.items():
                self._tell(f"{name}, {len(targets)} targets to the end: {way}, {repeat + 1} of {repeats}")
                runs[way].append(run(replace(CompileConfig(), seed=repeat)))
        return {"targets": len(targets), **compared(runs)}

    def whole(self, messages: Sequence[Message], targets: Sequence[ClueTarget]) -> dict[str, Any]:
        """One compile as configured by default."""
        engine = new_engine(self._backbone, CompileConfig())
        result = finish(engine.compile(messages, targets))
        engine.close()
        return {
            "seconds": round(result.seconds, 1),
            "targets": result.targets,
            "reproduced": result.reproduced,
            "confirmed": result.confirmed,
            "steps": result.steps,
            "history_tokens": result.history_tokens,
        }

    def recompile(self, messages: Sequence[Message], targets: Sequence[ClueTarget]) -> dict[str, Any]:
        """Two messages and three targets more, from the state of what came before; and all of it afresh."""
        new, known = targets[:_NEW], targets[_NEW:]
        engine = new_engine(self._backbone, CompileConfig())
        before = finish(engine.compile(messages[:-2], known))
        again = finish(
            engine.compile(
                messages,
                [*new, *known],
                start=before.vector,
                known_messages=len(messages) - 2,
                known_targets=len(known),
            )
        )
        afresh = finish(engine.compile(messages, [*new, *known]))
        engine.close()
        return {
            "new_targets": len(new),
            "known_targets": len(known),
            "ratio_vs_afresh": round(afresh.seconds / again.seconds, 2),
            "seconds": round(again.seconds, 1),
            "afresh_seconds": round(afresh.seconds, 1),
            "steps": again.steps,
            "afresh_steps": afresh.steps,
            "confirmed": [before.confirmed, again.confirmed, afresh.confirmed],
        }

    def _ours(self, messages: Sequence[Message], targets: Sequence[ClueTarget], config: CompileConfig) -> Finished:
        engine = new_engine(self._backbone, config)
        result, seconds = timed(lambda: finish(engine.compile(messages, targets)))
        engine.close()
        return Finished(seconds, result.steps, result.confirmed)

    def _peft(self, messages: Sequence[Message], targets: Sequence[ClueTarget], config: CompileConfig) -> Finished:
        start = self._layout.matrices(initial_vector(self._layout, config.seed))
        run = self._loop.run_until_confirmed(start, messages, targets, config)
        return Finished(run.seconds, run.steps, run.confirmed)


def compared(runs: Mapping[str, Sequence[Finished]]) -> dict[str, Any]:
    """Hold our ways against the plain loops.

    :param runs: By way: ``"ours"``, ``"ours_without_conflicts"``, and ``"peft_..."`` for each learning rate.
    :return: Ratios to the fastest plain loop that confirmed in every run, ``None`` if one side did not; then every way.
    """
    times = {way: Timing(tuple(run.seconds for run in each)) for way, each in runs.items()}
    confirmed = {way for way, each in runs.items() if all(run.confirmed for run in each)}
    best = min((way for way in confirmed if way.startswith("peft_")), key=lambda way: times[way].median, default=None)
    result: dict[str, Any] = {"best": best}
    for way, name in _RATIOS.items():
        result |= ratios(name, times[best], times[way]) if best and way in confirmed else {name: None}
    for way, each in runs.items():
        result[way] = {
            "seconds": times[way].to_dict(),
            "steps": statistics.median(run.steps for run in each),
            "confirmed": way in confirmed,
        }
    return result
