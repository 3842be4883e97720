"""Hyperparameters: chosen on some sessions, confirmed on others that share nothing with them (PSS, section D.1).

The best of many variants on few sessions looks better than it is: the paper's screen winner gained 17.50 points and
confirmed at 7.50. So the winner is compared with the baseline once more, on sessions that the choice has not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.analysis import Scores, plain, scores
from pss_integrations.evaluation.families import Comparison
from pss_integrations.evaluation.inspection.variants import Sources, Variant
from pss_integrations.evaluation.pss320_facts import Split
from pss_integrations.evaluation.statistics import holm, paired_difference, sign_flip_test
from pss_integrations.evaluation.subjects import Subject, from_pss320
from pss_integrations.evaluation.suites import POOL, Setup
from pss_integrations.retrieval.index import PassageIndex
from pss_integrations.states.history_targets import HistoryTargets

ARM: Final = "correct/append"
_METRIC: Final = "All-Recall"
_K: Final = 4


@dataclass(frozen=True)
class Cohort:
    """Sessions, and searchers of the pool that they search.

    :param indexes: Searcher name to searcher.
    """

    subjects: Sequence[Subject]
    indexes: Mapping[str, PassageIndex]

    def check_disjoint(self, other: Cohort) -> None:
        """Refuse another cohort that shares a session or a source group.

        :raises InvalidInput: If it does.
        """
        for what in ("session_id", "group"):
            mine, theirs = ({getattr(one, what) for one in cohort.subjects} for cohort in (self, other))
            if shared := sorted(mine & theirs):
                raise InvalidInput(
                    f"what is chosen on a session cannot be confirmed on it: both cohorts have {what} {shared[0]!r}"
                )


def pss320_cohorts(setup: Setup, *, sessions: int, confirm: int, seed: int) -> tuple[Cohort, Cohort]:
    """Take sessions to choose on, and sessions to confirm on, which share neither a name nor a domain with them.

    :param sessions: Of the calibration split of a seed.
    :param confirm: Of the test split of the next seed: the test sessions of this one stay untouched.
    :raises InvalidInput: If there are not so many, or those to confirm on are of one domain, so that nothing can be
        inferred.
    """
    first, second = _cohort(setup, "calibration", sessions, seed), _cohort(setup, "test", confirm, seed + 1)
    if len({one.group for one in second.subjects}) < 2:
        raise InvalidInput(f"the first {confirm} sessions to confirm on are of one domain: take more")
    return first, second


def _cohort(setup: Setup, split: Split, count: int, seed: int) -> Cohort:
    benchmark = pss320.generate(POOL, seed=seed)
    chosen = benchmark.split(split)
    if not 2 <= count <= len(chosen):
        raise InvalidInput(f"the {split} split has {len(chosen)} sessions: take 2 to all of them, not {count}")
    return Cohort(from_pss320(chosen[:count]), setup.index(benchmark.passages))


@dataclass(frozen=True, slots=True)
class Screening:
    """What variants came to on the sessions of the choice.

    :param scores: Variant name to searcher name to All-Recall@4.
    :param winner: The best variant by the mean over searchers; of equals the first.
    """

    scores: Mapping[str, Mapping[str, Scores]]
    winner: str

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {"scores": _plain(self.scores), "winner": self.winner}


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The winner against the baseline on other sessions.

    :param scores: As those of a screening.
    :param comparisons: Searcher name to winner minus baseline, paired by session; p-values are corrected over the
        searchers (Holm).
    :param units: How many source groups change sides independently.
    """

    winner: str
    baseline: str
    scores: Mapping[str, Mapping[str, Scores]]
    comparisons: Mapping[str, Comparison]
    units: int

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**asdict(self), "scores": _plain(self.scores)}


@dataclass(frozen=True)
class Screener:
    """Runs variants, everything but the states being the same.

    :param setup: What a run needs; its own source is not used.
    :param sources: Opens a variant's states.
    """

    setup: Setup
    sources: Sources

    def screen(self, variants: Sequence[Variant], cohort: Cohort) -> Screening:
        """Score variants, and choose.

        :param variants: Different ones by name, at least two; the baseline first, so that it wins a tie.
        :raises InvalidInput: If they are not.
        """
        if len({one.name for one in variants}) < max(2, len(variants)):
            raise InvalidInput(f"a choice is of two or more variants, each with a name of its own: {list(variants)}")
        found = {one.name: self._scores(one, cohort) for one in variants}
        return Screening(found, max(found, key=lambda name: _mean(found[name])))

    def confirm(self, winner: Variant, baseline: Variant, cohort: Cohort, *, screened: Cohort) -> Confirmation:
        """Compare the winner with the baseline on sessions that the choice has not seen.

        :param screened: The sessions of the choice.
        :raises InvalidInput: If the cohorts share a session or a source group, the winner is the baseline, or the
            sessions are of fewer than two groups.
        """
        screened.check_disjoint(cohort)
        if winner.name == baseline.name:
            raise InvalidInput(f"{winner.name!r} won and is the baseline: there is nothing to confirm")
        found = {one.name: self._scores(one, cohort) for one in (winner, baseline)}
        groups = next(iter(found[baseline.name].values())).groups
        pairs = {name: (found[winner.name][name].values, found[baseline.name][name].values) for name in cohort.indexes}
        p_values = {name: sign_flip_test(*pair, groups=groups) for name, pair in pairs.items()}
        adjusted = holm(p_values)
        comparisons = {
            name: Comparison(paired_difference(*pair, groups=groups), p_values[name], adjusted[name])
            for name, pair in pairs.items()
        }
        return Confirmation(winner.name, baseline.name, found, comparisons, len(set(groups)))

    def _scores(self, variant: Variant, cohort: Cohort) -> dict[str, Scores]:
        def tell(what: str, done: int, total: int) -> None:
            self.setup.tell(f"{variant.name}: {what}", done, total)

        with self.sources(variant) as source:
            setup = replace(self.setup, source=source, tell=tell)
            sessions = setup.run(variant.taught(cohort.subjects), cohort.indexes, [ARM], HistoryTargets())
            record = setup.record("screen", sessions, [], [ARM], metric=_METRIC, k=_K, config=variant.to_dict())
        return {name: scores(record, name, ARM) for name in cohort.indexes}


def _plain(found: Mapping[str, Mapping[str, Scores]]) -> dict[str, dict[str, dict[str, float]]]:
    return {
        name: {searcher: plain(one) for searcher, one in by_searcher.items()} for name, by_searcher in found.items()
    }


def _mean(found: Mapping[str, Scores]) -> float:
    return sum(one.mean for one in found.values()) / len(found)
