"""Runs PrecisionMemBench, and keeps what came out of it with all that it depends on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pss_integrations.beliefs.recall import MAX_BELIEFS, MAX_PINNED, MAX_QUESTIONS
from pss_integrations.evaluation.precisionmembench import Benchmark
from pss_integrations.evaluation.precisionmembench_baselines import (
    Ranking,
    Setting,
    bm25_rankings,
    cosine_rankings,
    fused_rankings,
    tune,
)
from pss_integrations.evaluation.precisionmembench_replay import Asked, replay
from pss_integrations.evaluation.precisionmembench_verdicts import Verdict, judge, summary
from pss_integrations.evaluation.record import installed_versions, run_folder, this_machine
from pss_integrations.protocols import Embedder

Tell = Callable[[str], None]
"""Told what is done next."""

OURS: Final = "beliefs"
_KIND: Final = "precisionmembench"
_TUNING: Final = "k and threshold with the most cases passed, then the highest precision, on these very cases"
_BASELINES: Final = (
    "over names, content and why_it_matters of the beliefs in scope: BM25 as in Lucene; cosine; both, each cut as "
    "tuned, fused by reciprocal rank and cut again"
)


@dataclass(frozen=True, slots=True)
class Method:
    """A way of searching, over every case.

    :param setting: What was tuned; ``None`` if nothing was.
    """

    verdicts: Sequence[Verdict]
    setting: Setting | None = None

    def to_dict(self) -> dict[str, Any]:
        """Its figures and its setting."""
        return {**summary(self.verdicts), "setting": self.setting and asdict(self.setting)}


@dataclass(frozen=True, slots=True)
class BeliefRun:
    """One run.

    :param config: Everything the result depends on.
    :param methods: By name, the belief store first.
    :param not_run: What is published and not run, by name.
    :param turns: Session name to the names of its turns.
    """

    created_at: datetime
    config: Mapping[str, Any]
    methods: Mapping[str, Method]
    not_run: Sequence[str]
    turns: Mapping[str, Sequence[str]]

    def result(self) -> dict[str, Any]:
        """Figures of the belief store, and those of every method under its name, as plain data.

        ``waiting`` would name cases that need what this package does not have yet; ``not_run`` names expectations that
        are not about beliefs.
        """
        return {
            "kind": _KIND,
            **summary(self.methods[OURS].verdicts),
            "waiting": [],
            "not_run": list(self.not_run),
            "methods": {name: method.to_dict() for name, method in self.methods.items()},
            "sessions": {
                session: {name: _by_turn(method, turns) for name, method in self.methods.items()}
                for session, turns in self.turns.items()
            },
        }

    def save(self, directory: Path) -> Path:
        """Write ``<directory>/precisionmembench-<time>/run.json`` and return the folder.

        :raises InvalidInput: If that run is already there: a record is never overwritten.
        """
        folder = run_folder(directory, _KIND, self.created_at)
        record = {
            "format": "pss-precisionmembench-1",
            "created_at": self.created_at.isoformat(),
            "config": self.config,
            "versions": installed_versions(),
            "machine": this_machine(),
            "result": self.result(),
            "cases": {name: [one.to_dict() for one in method.verdicts] for name, method in self.methods.items()},
        }
        (folder / "run.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        return folder


def run_benchmark(benchmark: Benchmark, embedder: Embedder | None, tell: Tell) -> BeliefRun:
    """Ask the belief store everything, then search by similarity among what it held each time.

    :param embedder: For the baselines that compare vectors; ``None`` leaves them out.
    """
    tell("asking the belief store")
    asked = [*replay(benchmark)]
    methods = {OURS: Method([judge(one.case, one.recall) for one in asked])}
    tell("tuning the baselines")
    methods |= _baselines(asked, embedder)
    return BeliefRun(
        created_at=datetime.now(UTC),
        config={
            "data": benchmark.digest,
            "limits": {"max_beliefs": MAX_BELIEFS, "max_pinned": MAX_PINNED, "max_questions": MAX_QUESTIONS},
            "baselines": _BASELINES,
            "tuning": _TUNING,
            "embedder": embedder.name if embedder else None,
        },
        methods=methods,
        not_run=benchmark.not_run(),
        turns={
            session.name: [turn.case(session.name).name for turn in session.turns] for session in benchmark.sessions
        },
    )


def _baselines(asked: Sequence[Asked], embedder: Embedder | None) -> dict[str, Method]:
    words = bm25_rankings(asked)
    found = {"bm25": _tuned(asked, words)}
    if embedder is not None:
        vectors = cosine_rankings(asked, embedder)
        found["minilm"] = _tuned(asked, vectors)
        cut = (_cut(found["bm25"], words), _cut(found["minilm"], vectors))
        found["bm25+minilm"] = _tuned(asked, fused_rankings(*cut))
    return found


def _tuned(asked: Sequence[Asked], rankings: Sequence[Ranking]) -> Method:
    setting, verdicts = tune(asked, rankings)
    return Method(verdicts, setting)


def _cut(method: Method, rankings: Sequence[Ranking]) -> list[Ranking]:
    return [method.setting.cut(ranking) for ranking in rankings] if method.setting else []


def _by_turn(method: Method, turns: Sequence[str]) -> dict[str, list[float | None]]:
    found = {one.name: one for one in method.verdicts}
    return {
        "precision": [found[turn].precision for turn in turns],
        "drift": [found[turn].drift for turn in turns],
    }
