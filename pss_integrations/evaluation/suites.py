"""The evaluations that come with the package: what is run, and which comparisons are declared before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import krecords, pss320
from pss_integrations.evaluation.arms import ARMS, TEXT_ARMS
from pss_integrations.evaluation.controls import Cast, StateSource
from pss_integrations.evaluation.datasets import SessionData
from pss_integrations.evaluation.pss320_facts import Split
from pss_integrations.evaluation.record import Family, RunRecord, SessionRecord
from pss_integrations.evaluation.runner import Runner, Tell
from pss_integrations.evaluation.subjects import (
    Subject,
    development_subset,
    from_krecords,
    from_pss320,
    from_recorded,
)
from pss_integrations.protocols import Embedder, ExpandingSearcher
from pss_integrations.retrieval import BM25Index, ChromaIndex
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.types import Passage, Role

SearcherFactory = Callable[[Sequence[Passage]], ExpandingSearcher]

POOL: Final = 320
RECORD_COUNTS: Final = (1, 2, 4, 8, 16, 32)
_MOST_RECORDS: Final = 192
_QUICK_STATES: Final = ("correct", "matched_wrong", "shuffled", "zero")
_EVERYBODY: Final[frozenset[Role]] = frozenset({"user", "system", "assistant"})

_CAUSAL = "Does the right state help, more than none, a text card, a wrong or a shuffled state?"
PSS320_FAMILIES: Final = (
    Family(
        question=_CAUSAL,
        treatment="correct/append",
        controls=["raw", "card/append", "matched_wrong/append", "shuffled/append"],
    ),
    Family(
        question="Does what the state learned come from both stages?",
        treatment="correct/append",
        controls=["zero/append", "target_only/append", "history_only/append"],
    ),
    Family(
        question="Does the order of the messages matter, where targets are parsed from them?",
        treatment="history_targets/append",
        controls=["reordered/append"],
    ),
    Family(
        question="Is it better than other uses of the same text?",
        treatment="correct/append",
        controls=["card/replace", "card/rrf", "full_history", "user_history", "concatenation", "record_rrf"],
    ),
    Family(
        question="Does the composition matter?",
        treatment="correct/append",
        controls=["correct/replace", "correct/rrf", "guarded/append"],
    ),
)
RECORD_FAMILIES: Final = (
    Family(
        question="Does a question pick its record out of sixteen?",
        treatment="correct/replace",
        controls=["raw", "concatenation", "record_rrf", "matched_wrong/replace", "shuffled/replace"],
        category="K = 16",
    ),
)
RECORDED_FAMILIES: Final = (
    Family(
        question=_CAUSAL,
        treatment="correct/append",
        controls=["raw", "card/append", "matched_wrong/append", "shuffled/append"],
        category="needs history",
    ),
)


@dataclass(frozen=True)
class Setup:
    """What every evaluation is run with.

    :param source: Writes and reads the states.
    :param searchers: Searcher name to what makes it of a pool.
    :param tell: Told what is done, how many sessions are done and how many there are.
    :param query_weight: How much the query weighs against what is appended to it.
    """

    source: StateSource
    searchers: Mapping[str, SearcherFactory]
    tell: Tell
    query_weight: float = 1.0

    def run(
        self, subjects: Sequence[Subject], passages: Sequence[Passage], arms: Sequence[str], history: HistoryTargets
    ) -> list[SessionRecord]:
        """Run arms, by name, over subjects."""
        self.tell(f"indexing {len(passages)} passages", 0, len(subjects))
        runner = Runner(
            cast=Cast(subjects, self.source, history),
            arms=[ARMS[name] for name in arms],
            searchers={name: make(passages) for name, make in self.searchers.items()},
            count_tokens=self.source.count_tokens,
            query_weight=self.query_weight,
        )
        return runner.run(self.tell)

    def record(
        self, kind: str, sessions: list[SessionRecord], families: Sequence[Family], arms: Sequence[str], **rest: Any
    ) -> RunRecord:
        """Put the record of a run together; families are cut to the arms and categories that were run."""
        asked = {None, *(probe.category for session in sessions for probe in session.probes)}
        known = [
            family.model_copy(update={"controls": controls})
            for family in families
            if family.treatment in arms and family.category in asked
            if (controls := [name for name in family.controls if name in arms])
        ]
        metric, k, config = rest.pop("metric"), rest.pop("k"), rest
        return RunRecord(
            kind=kind,
            created_at=datetime.now(UTC),
            config={
                **config,
                "query_weight": self.query_weight,
                **self.source.describe(),
            },
            metric=metric,
            k=k,
            depth=Runner.depth,
            arms=list(arms),
            searchers=list(self.searchers),
            families=known,
            sessions=sessions,
        )


def run_pss320(setup: Setup, *, sessions: int, split: Split, seed: int, quick: bool) -> RunRecord:
    """Run PSS-320: the first sessions of a split, in the pool of all 320.

    :param quick: Only the correct state and the controls made of it.
    :raises InvalidInput: If the split has fewer sessions, or fewer than two are asked for.
    """
    benchmark = pss320.generate(POOL, seed=seed)
    chosen = benchmark.split(split)[:sessions]
    if not 2 <= sessions <= len(chosen):
        raise InvalidInput(f"the {split} split has {len(benchmark.split(split))} sessions, 2 to all of them can be run")
    arms = _quick_arms() if quick else list(ARMS)
    found = setup.run(from_pss320(chosen), benchmark.passages, arms, HistoryTargets())
    return setup.record(
        "pss320", found, PSS320_FAMILIES, arms, metric="All-Recall", k=4, seed=seed, split=split, pool=POOL, quick=quick
    )


def run_krecords(setup: Setup, *, counts: Sequence[int], groups: int, seed: int) -> RunRecord:
    """Run the K-record benchmark for each K; a probe's category says which.

    :param groups: Sessions per K, at least two: the wrong state of one is that of another. Large K get fewer, as
        many as there are names for.
    :raises InvalidInput: If there are fewer.
    """
    if groups < 2:
        raise InvalidInput(f"a wrong state needs a second group: at least 2 groups, got {groups}")
    arms = [name for name in _quick_arms() if not name.startswith("guarded")]
    found = list[SessionRecord]()
    for k in counts:
        benchmark = krecords.generate(k, groups=max(2, min(groups, _MOST_RECORDS // k)), seed=seed)
        subjects = [_with_category(subject, f"K = {k}") for subject in from_krecords(benchmark)]
        found += setup.run(subjects, benchmark.passages, arms, HistoryTargets())
    return setup.record(
        "krecords",
        found,
        RECORD_FAMILIES,
        arms,
        metric="All-Recall",
        k=4,
        seed=seed,
        counts=list(counts),
        groups=groups,
    )


def run_recorded(setup: Setup, data: SessionData, *, sessions: int | None, states: bool, k: int) -> RunRecord:
    """Run recorded conversations: targets from the messages alone, assistant text trusted.

    :param sessions: A fixed choice of so many sessions, by hash; all by default.
    :param states: Whether to compile states; without, only the text arms are run.
    :param k: Cut-off of the primary metric, Recall.
    """
    builder = HistoryTargets(trusted_roles=_EVERYBODY)
    if sessions is not None:
        data = replace(data, sessions=tuple(development_subset(data.sessions, sessions)))
    subjects = from_recorded(data, builder, all_probes=not states)
    if len(subjects) < 2:
        raise InvalidInput(f"{data.name} has {len(subjects)} sessions with probes to ask: at least 2 are needed")
    arms = _quick_arms() if states else list(TEXT_ARMS)
    found = setup.run(subjects, data.passages, arms, builder)
    return setup.record(
        data.name, found, RECORDED_FAMILIES, arms, metric="Recall", k=k, trusted_roles=sorted(_EVERYBODY)
    )


def bm25(passages: Sequence[Passage]) -> ExpandingSearcher:
    """Full-text search."""
    return BM25Index(passages)


def dense(embedder: Embedder) -> SearcherFactory:
    """Dense search over Chroma."""
    return lambda passages: ChromaIndex(passages, embedder)


def _quick_arms() -> list[str]:
    return [name for name, arm in ARMS.items() if arm.state is None or arm.state in _QUICK_STATES]


def _with_category(subject: Subject, category: str) -> Subject:
    asked = tuple(replace(one, probe=replace(one.probe, category=category)) for one in subject.asked)
    return replace(subject, asked=asked, session_id=f"{subject.session_id} {category}")
