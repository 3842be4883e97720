"""The evaluations that come with the package: what is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import krecords, pss320
from pss_integrations.evaluation.arms import ARMS, CARD_TOKENS, missing_tool
from pss_integrations.evaluation.controls import Cast, StateSource
from pss_integrations.evaluation.datasets import SessionData
from pss_integrations.evaluation.declared import K16, NEEDS_HISTORY, PSS320_FAMILIES, RECORD_FAMILIES, RECORDED_FAMILIES
from pss_integrations.evaluation.pss320 import Benchmark
from pss_integrations.evaluation.pss320_audit import audit
from pss_integrations.evaluation.pss320_facts import Split
from pss_integrations.evaluation.record import Family, RunRecord, SessionRecord
from pss_integrations.evaluation.routed import EVERYBODY
from pss_integrations.evaluation.runner import Runner, Tell
from pss_integrations.evaluation.subjects import (
    Subject,
    development_subset,
    from_krecords,
    from_pss320,
    from_recorded,
)
from pss_integrations.evaluation.tools import Tools
from pss_integrations.protocols import Embedder
from pss_integrations.retrieval import BM25Index, ChromaIndex
from pss_integrations.retrieval.index import PassageIndex
from pss_integrations.routing import Certificate
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.types import Passage

SearcherFactory = Callable[[Sequence[Passage]], PassageIndex]

POOL: Final = 320
RECORD_COUNTS: Final = (1, 2, 4, 8, 16, 32)
_DEVELOPMENT_SESSIONS: Final[Mapping[str, int]] = {"dstc11": 60}
_QUICK_STATES: Final = ("correct", "matched_wrong", "shuffled", "zero")
_RECORD_STATES: Final = ("correct", "matched_wrong")
_RECORDED_STATES: Final = ("correct", "history_targets", "matched_wrong", "shuffled", "zero")


@dataclass(frozen=True)
class Setup:
    """What every evaluation is run with.

    :param source: Writes and reads the states.
    :param searchers: Searcher name to what makes it of a pool.
    :param about: Searcher name to what the record says of it.
    :param tell: Told what is done, how many sessions are done and how many there are.
    :param query_weight: How much the query weighs against what is appended to it.
    :param tools: What some arms need besides states; those whose tool is missing are left out.
    """

    source: StateSource
    searchers: Mapping[str, SearcherFactory]
    about: Mapping[str, str]
    tell: Tell
    query_weight: float = 1.0
    tools: Tools = field(default_factory=Tools)

    def index(self, passages: Sequence[Passage]) -> dict[str, PassageIndex]:
        """Make every searcher of one pool."""
        self.tell(f"indexing {len(passages)} passages", 0, 1)
        return {name: make(passages) for name, make in self.searchers.items()}

    def run(
        self,
        subjects: Sequence[Subject],
        indexes: Mapping[str, PassageIndex],
        arms: Sequence[str],
        history: HistoryTargets,
        certificates: Mapping[str, Certificate] = MappingProxyType({}),
    ) -> list[SessionRecord]:
        """Run arms, by name, over subjects: those that can be run with the tools there are.

        :param certificates: As for :class:`~pss_integrations.evaluation.runner.Runner`.
        """
        runner = Runner(
            cast=Cast(subjects, self.source, history, self.tools),
            arms=[ARMS[name] for name in self._able(arms)],
            searchers=indexes,
            count_tokens=self.source.count_tokens,
            query_weight=self.query_weight,
            certificates=certificates,
        )
        return runner.run(self.tell)

    def record(
        self,
        kind: str,
        sessions: list[SessionRecord],
        families: Sequence[Family],
        arms: Sequence[str],
        *,
        metric: str,
        k: int,
        focus: str | None = None,
        config: Mapping[str, Any],
    ) -> RunRecord:
        """Put the record of a run together; families are cut to the arms and categories that were run.

        :param arms: Those that :meth:`run` was asked for.
        """
        declared, arms = arms, self._able(arms)
        judged = {None, *(probe.category for session in sessions for probe in session.probes if probe.groups)}
        return RunRecord(
            kind=kind,
            created_at=datetime.now(UTC),
            config={
                **config,
                "query_weight": self.query_weight,
                "card_tokens": CARD_TOKENS,
                "searchers": dict(self.about),
                "tools": self.tools.describe(),
                "arms_left_out": [name for name in declared if name not in arms],
                **self.source.describe(),
            },
            metric=metric,
            k=k,
            focus=focus if focus in judged else None,
            depth=Runner.depth,
            arms=arms,
            searchers=list(self.searchers),
            families=[
                family.model_copy(
                    update={
                        "controls": [name for name in family.controls if name in arms],
                        "left_out": [name for name in family.controls if name not in arms],
                    }
                )
                for family in families
                if family.treatment in arms and family.category in judged and not set(arms).isdisjoint(family.controls)
            ],
            sessions=sessions,
        )

    def _able(self, arms: Sequence[str]) -> list[str]:
        return [name for name in arms if missing_tool(ARMS[name], self.tools) is None]


def run_pss320(setup: Setup, *, sessions: int, split: Split, seed: int, quick: bool) -> RunRecord:
    """Run PSS-320: the first sessions of a split, in the pool of all 320.

    :param quick: Only the correct state and the controls made of it.
    :raises InvalidInput: If the split has fewer sessions, or fewer than two are asked for.
    """
    benchmark = pss320.generate(POOL, seed=seed)
    arms = arms_of(_QUICK_STATES) if quick else list(ARMS)
    subjects = pss320_subjects(benchmark, split, sessions)
    found = setup.run(subjects, setup.index(benchmark.passages), arms, HistoryTargets())
    config = {"seed": seed, "split": split, "sessions": sessions, "pool": POOL, "quick": quick}
    return setup.record("pss320", found, PSS320_FAMILIES, arms, metric="All-Recall", k=4, config=config)


def pss320_subjects(benchmark: Benchmark, split: Split, sessions: int) -> list[Subject]:
    """Take the first sessions of a split, and audit them before anything is compiled.

    :raises InvalidInput: If the split has fewer sessions, fewer than two are asked for, or their targets know the
        probes.
    """
    chosen = benchmark.split(split)[:sessions]
    if not 2 <= sessions <= len(chosen):
        raise InvalidInput(f"the {split} split has {len(benchmark.split(split))} sessions, 2 to all of them can be run")
    subjects = from_pss320(chosen)
    _audit(Benchmark(chosen, benchmark.passages), subjects)
    return subjects


def run_krecords(setup: Setup, *, counts: Sequence[int], groups: int, seed: int) -> RunRecord:
    """Run the K-record benchmark for each K, in one pool; a probe's category says which.

    :param counts: Values of K; a smaller one takes the first records of a larger one.
    :param groups: Sessions per K, at least two: the wrong state of one is that of another.
    :raises InvalidInput: If there are fewer, or more than there are names for.
    """
    if groups < 2:
        raise InvalidInput(f"a wrong state needs a second group: at least 2 groups, got {groups}")
    arms = arms_of(_RECORD_STATES)
    benchmarks = {k: krecords.generate(k, groups=groups, seed=seed, of=max(counts)) for k in sorted(set(counts))}
    indexes = setup.index(benchmarks[max(counts)].passages)
    found = list[SessionRecord]()
    for k, benchmark in benchmarks.items():
        subjects = [_with_category(subject, f"K = {k}") for subject in from_krecords(benchmark)]
        found += setup.run(subjects, indexes, arms, HistoryTargets())
    config = {"seed": seed, "counts": sorted(set(counts)), "groups": groups}
    return setup.record("krecords", found, RECORD_FAMILIES, arms, metric="All-Recall", k=4, focus=K16, config=config)


def run_recorded(
    setup: Setup, data: SessionData, *, sessions: int | None, states: bool, k: int, every_state: bool = True
) -> RunRecord:
    """Run recorded conversations: targets from the messages alone, assistant text trusted.

    :param sessions: A fixed choice of so many sessions, by hash; 60 of DSTC11 and all of others by default.
    :param states: Whether to compile states; without, only the text arms are run, on the probes before a cut too.
    :param k: Cut-off of the primary metric, Recall.
    :param every_state: Also the states without a vocabulary and the deliberately wrong ones.
    """
    guessing = HistoryTargets(trusted_roles=EVERYBODY)
    indexes = setup.index(data.passages)
    vocabulary = next(iter(indexes.values())).vocabulary
    count = sessions or _DEVELOPMENT_SESSIONS.get(data.name, len(data.sessions))
    data = replace(data, sessions=tuple(development_subset(data.sessions, count)))
    subjects = from_recorded(data, replace(guessing, vocabulary=vocabulary), all_probes=not states)
    if len(subjects) < 2:
        raise InvalidInput(f"{data.name} has {len(subjects)} sessions with probes to ask: at least 2 are needed")
    arms = arms_of((_RECORDED_STATES if every_state else ("correct",)) if states else ())
    if not states:  # probes before the cut are asked, too
        arms = [name for name in arms if not ARMS[name].taught]
    found = setup.run(subjects, indexes, arms, guessing)
    digest = sha256("\n".join(map(repr, (*data.sessions, len(data.passages)))).encode()).hexdigest()
    config = {"data": digest, "sessions": len(subjects), "states": states, "trusted_roles": sorted(EVERYBODY)}
    return setup.record(
        data.name, found, RECORDED_FAMILIES, arms, metric="Recall", k=k, focus=NEEDS_HISTORY, config=config
    )


def bm25(passages: Sequence[Passage]) -> PassageIndex:
    """Full-text search."""
    return BM25Index(passages)


def dense(embedder: Embedder) -> SearcherFactory:
    """Dense search over Chroma."""
    return lambda passages: ChromaIndex(passages, embedder)


def _audit(benchmark: Benchmark, subjects: Sequence[Subject]) -> None:
    """Refuse targets that know the probes, before anything is compiled."""
    used = {subject.session_id: subject.targets for subject in subjects}
    if problems := audit(benchmark, {"this run": lambda session: used[session.key.session_id]}):
        raise InvalidInput(f"the audit of what is to be run found {len(problems)} problems, such as: {problems[0]}")


def arms_of(states: Sequence[str]) -> list[str]:
    """Return the names of the arms without a state, and of those that read one of these."""
    has_clue = {name for name, arm in ARMS.items() if arm.state}
    return [
        name
        for name, arm in ARMS.items()
        if (arm.state is None or arm.state in states) and (states or has_clue.isdisjoint(arm.best_of))
    ]


def _with_category(subject: Subject, category: str) -> Subject:
    asked = tuple(replace(one, probe=replace(one.probe, category=category)) for one in subject.asked)
    names = {"session_id": f"{subject.session_id} {category}", "group": f"{subject.group} {category}"}
    return replace(subject, asked=asked, **names)
