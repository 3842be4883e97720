"""What a record says: means over sessions with intervals, and the declared comparisons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import metrics
from pss_integrations.evaluation.families import FamilyResult, compare
from pss_integrations.evaluation.metrics import Ranks, Result
from pss_integrations.evaluation.record import Family, ProbeRecord, RunRecord
from pss_integrations.evaluation.statistics import Interval, mean_interval

TITLE_HIT: Final = "Title hit"
METRICS: Final[Mapping[str, Callable[[Sequence[Ranks], int], list[float]]]] = {
    "All-Recall": lambda ranks, k: [metrics.all_recall(one, k) for one in ranks],
    "Recall": lambda ranks, k: [metrics.recall(one, k) for one in ranks],
    "Hit": lambda ranks, k: [metrics.hit(one, k) for one in ranks],
    "nDCG": lambda ranks, k: metrics.ndcg_at_k(list(map(_as_result, ranks)), k),
    "MRR": lambda ranks, k: metrics.reciprocal_rank(list(map(_as_result, ranks))),
    TITLE_HIT: lambda ranks, k: [metrics.hit(one, k) for one in ranks],
}
"""Metrics of many probes from the ranks of their evidence groups, by name. MRR looks at all that was found; for a title
hit any document serves that has the title of one that is evidence: another review of the same hotel."""


@dataclass(frozen=True, slots=True)
class Scores:
    """One value per session: its mean over the probes with evidence.

    :param groups: The source group of each of the sessions.
    :param probes: Number of probes.
    """

    values: tuple[float, ...]
    groups: tuple[str, ...]
    probes: int

    @property
    def mean(self) -> float:
        """Mean over sessions."""
        return sum(self.values) / len(self.values)

    def interval(self) -> Interval | None:
        """The mean with its interval, source groups drawn as a whole; ``None`` if there is but one group."""
        return mean_interval(self.values, groups=self.groups) if len(set(self.groups)) > 1 else None


def scores(
    record: RunRecord,
    searcher: str,
    arm: str,
    *,
    metric: str | None = None,
    k: int | None = None,
    category: str | None = None,
) -> Scores:
    """Score an arm.

    :param metric: A key of :data:`METRICS`; the record's primary metric by default.
    :param k: Cut-off; the record's by default.
    :param category: Only probes of this category.
    :raises InvalidInput: If the record holds no such searcher, arm or metric, or no probe has evidence.
    """
    _check_known("searcher", searcher, record.searchers)
    _check_known("arm", arm, record.arms)
    _check_known("metric", name := metric or record.metric, METRICS)
    probes = [
        (number, probe)
        for number, session in enumerate(record.sessions)
        for probe in session.probes
        if probe.groups and category in (None, probe.category) and (name != TITLE_HIT or probe.titles)
    ]
    if not probes:
        raise InvalidInput(f"no probe of category {category!r} has evidence" if category else "no probe has evidence")
    ranks = [[one.titles[searcher][arm]] if name == TITLE_HIT else one.ranks[searcher][arm] for _, one in probes]
    judged = METRICS[name](ranks, k or record.k)
    of_session = defaultdict[int, list[float]](list)
    for (number, _), value in zip(probes, judged, strict=True):
        of_session[number].append(value)
    return Scores(
        tuple(sum(values) / len(values) for values in of_session.values()),
        tuple(record.sessions[number].group for number in of_session),
        len(probes),
    )


class Activated(NamedTuple):
    """How many there are of some texts, and for how many of them an arm searched with more than the query."""

    activated: int
    texts: int


def family_result(record: RunRecord, searcher: str, family: Family) -> FamilyResult | None:
    """Compare a family's treatment with its controls, on the primary metric; ``None`` if there is but one group."""
    found = {
        arm: scores(record, searcher, arm, category=family.category) for arm in (family.treatment, *family.controls)
    }
    values, groups = {arm: one.values for arm, one in found.items()}, found[family.treatment].groups
    return compare(values, family.treatment, family.controls, groups=groups) if len(set(groups)) > 1 else None


def summary(record: RunRecord) -> dict[str, Any]:
    """The primary metric of every arm in the category in focus, and every declared family, as plain data."""
    return {
        "kind": record.kind,
        "metric": f"{record.metric}@{record.k}",
        "focus": record.focus,
        "sessions": len(record.sessions),
        "arms": {
            searcher: {arm: plain(scores(record, searcher, arm, category=record.focus)) for arm in record.arms}
            for searcher in record.searchers
        },
        "families": [
            {"question": family.question, "searcher": searcher, **result.to_dict()}
            for family in record.families
            for searcher in record.searchers
            if (result := family_result(record, searcher, family))
        ],
        "categories": {
            searcher: {
                name: {arm: round(scores(record, searcher, arm, category=name).mean, 4) for arm in record.arms}
                for name in categories(record)
            }
            for searcher in record.searchers
        },
        "activated": {
            arm: {kind: activations(record, arm, kind)._asdict() for kind in nulls(record)}
            for arm in record.arms
            if arm.startswith("guarded")
        },
    }


def categories(record: RunRecord) -> list[str]:
    """Categories with evidence, in the order of their first probe."""
    return list(dict.fromkeys(probe.category for probe in _probes(record) if probe.groups))


def activations(record: RunRecord, arm: str, category: str | None = None, *, answerable: bool = False) -> Activated:
    """Count the probes for which an arm searched with more than the query.

    :param category: Only probes of this category.
    :param answerable: Those with evidence; those without by default.
    """
    asked = [
        probe for probe in _probes(record) if bool(probe.groups) == answerable and category in (None, probe.category)
    ]
    return Activated(sum(arm not in probe.left_alone for probe in asked), len(asked))


def activation(record: RunRecord, arm: str, *, answerable: bool, category: str | None = None) -> float | None:
    """Share of the probes that :func:`activations` counts; ``None`` if there is no such probe."""
    found = activations(record, arm, category, answerable=answerable)
    return found.activated / found.texts if found.texts else None


def has_titles(record: RunRecord, category: str | None) -> bool:
    """Whether documents share titles, so that title hits say something."""
    return any(probe.titles for probe in _probes(record) if probe.groups and category in (None, probe.category))


def nulls(record: RunRecord) -> list[str]:
    """Categories without evidence, in the order of their first probe."""
    return list(dict.fromkeys(probe.category for probe in _probes(record) if not probe.groups))


def retained_recall(raw: float, unguarded: float, guarded: float) -> float | None:
    """Share of the unguarded arm's gain over raw that the guarded arm keeps; ``None`` if there is no gain."""
    return (guarded - raw) / (unguarded - raw) if unguarded > raw else None


def _probes(record: RunRecord) -> list[ProbeRecord]:
    return [probe for session in record.sessions for probe in session.probes]


def plain(one: Scores) -> dict[str, float]:
    """Return mean, interval and numbers as plain data."""
    interval = one.interval()
    bounds = {"low": round(interval.low, 4), "high": round(interval.high, 4)} if interval else {}
    return {"mean": round(one.mean, 4), **bounds, "sessions": len(one.values), "probes": one.probes}


def _as_result(ranks: Ranks) -> Result:
    """A ranking in which each evidence group is one document at its rank: nDCG and MRR then count groups."""
    group_at = {rank: f"group {number}" for number, rank in enumerate(ranks) if rank is not None}
    ranking = [group_at.get(rank, f"other {rank}") for rank in range(1, max(group_at, default=0) + 1)]
    return ranking, [{f"group {number}"} for number in range(len(ranks))]


def _check_known(what: str, name: str, known: Sequence[str] | Mapping[str, object]) -> None:
    if name not in known:
        raise InvalidInput(f"unknown {what} {name!r}: use one of {', '.join(known)}")
