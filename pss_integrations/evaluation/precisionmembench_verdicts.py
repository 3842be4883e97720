"""What a recall got right of what PrecisionMemBench expects of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from pss_integrations.beliefs import Belief
from pss_integrations.beliefs.recall import Recall
from pss_integrations.evaluation.precisionmembench import Case, Persona, Tier


@dataclass(frozen=True, slots=True)
class Verdict:
    """One recall, judged.

    :param differences: What is not as expected, for people; none if the case is passed.
    :param returned: Ids of the relevant tier, best first.
    :param gold: The ids it should consist of; ``None`` where that is not said.
    :param noise: How many of the relevant and pinned beliefs are noise, and how many there are; ``None`` where no
        noise is named.
    """

    name: str
    category: str
    differences: tuple[str, ...]
    returned: tuple[str, ...]
    gold: frozenset[str] | None
    noise: tuple[int, int] | None

    @property
    def passed(self) -> bool:
        """Whether all is as expected."""
        return not self.differences

    @property
    def precision(self) -> float | None:
        """Share of what is returned that is gold; 0 if nothing is where there is gold, ``None`` where there is none."""
        if self.gold is None or not (self.gold or self.returned):
            return None
        return len(self.gold.intersection(self.returned)) / len(self.returned) if self.returned else 0.0

    @property
    def recall(self) -> float | None:
        """Share of the gold that is returned; ``None`` without gold."""
        return len(self.gold.intersection(self.returned)) / len(self.gold) if self.gold else None

    @property
    def drift(self) -> float | None:
        """Share of noise in what is relevant or pinned; ``None`` where no noise is named."""
        return None if self.noise is None else self.noise[0] / max(self.noise[1], 1)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "name": self.name,
            "category": self.category,
            "passed": self.passed,
            "differences": list(self.differences),
            "returned": list(self.returned),
            "gold": None if self.gold is None else sorted(self.gold),
            "precision": self.precision,
            "recall": self.recall,
            "drift": self.drift,
        }


def judge(case: Case, recall: Recall) -> Verdict:
    """Hold a recall against what a case expects."""
    noise = case.expect.noise_check
    surfaced = _ids((*recall.relevant, *recall.pinned))
    return Verdict(
        name=case.name,
        category=case.category,
        differences=tuple(_differences(case, recall)),
        returned=tuple(one.id for one in recall.relevant),
        gold=case.expect.relevant_beliefs.should_only_include,
        noise=(len(noise.must_not_surface & surfaced), len(surfaced)) if noise else None,
    )


def summary(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Counts and means of many verdicts, as plain data.

    ``undefined_precision`` counts the cases left out of the mean: nothing should come, and nothing did.
    ``nothing_returned`` counts those with gold for which nothing came; they are in the mean as 0.
    """
    judged = [one for one in verdicts if one.gold is not None]
    return {
        "passed": sum(one.passed for one in verdicts),
        "cases": len(verdicts),
        "mean_precision": _mean([one.precision for one in judged]),
        "mean_recall": _mean([one.recall for one in judged]),
        "undefined_precision": sum(one.precision is None for one in judged),
        "nothing_returned": sum(bool(one.gold) and not one.returned for one in judged),
        "drift": _mean([one.drift for one in verdicts]),
        "failed": {one.name: list(one.differences) for one in verdicts if not one.passed},
        "categories": {
            category: {
                "passed": sum(one.passed for one in verdicts if one.category == category),
                "cases": sum(one.category == category for one in verdicts),
            }
            for category in dict.fromkeys(one.category for one in verdicts)
        },
    }


def _differences(case: Case, recall: Recall) -> Iterator[str]:
    expect, pinned, relevant = case.expect, _ids(recall.pinned), _ids(recall.relevant)
    yield from _of_tier("relevantBeliefs", expect.relevant_beliefs, relevant)
    yield from _of_tier("relevantBeliefs.pinnedFacts", expect.relevant_beliefs.pinned_facts, pinned)
    yield from _of_tier("pinnedFacts", expect.pinned_facts, pinned)
    yield from _of_tier("openQuestions", expect.open_questions, _ids(recall.open_questions))
    yield from _of_persona(expect.persona_prelude, "\n".join(one.content for one in recall.persona))
    if expect.noise_check:
        yield from _named("noiseCheck: surfaced", expect.noise_check.must_not_surface & (relevant | pinned))


def _of_tier(name: str, tier: Tier, found: frozenset[str]) -> Iterator[str]:
    wanted = tier.must_include | (tier.should_only_include or frozenset())
    yield from _named(f"{name}: missing", wanted - found)
    yield from _named(f"{name}: must not hold", tier.must_exclude & found)
    if tier.should_only_include is not None:
        yield from _named(f"{name}: too many", found - tier.should_only_include)


def _of_persona(expected: Persona, text: str) -> Iterator[str]:
    folded = text.casefold()
    if expected.non_empty is not None and expected.non_empty != bool(text):
        yield f"personaPrelude: {'empty' if expected.non_empty else 'not empty'}"
    yield from _named("personaPrelude: missing", [one for one in expected.contains if one.casefold() not in folded])
    held = [one for one in expected.must_not_contain if one.casefold() in folded]
    yield from _named("personaPrelude: must not hold", held)


def _named(what: str, names: Collection[str]) -> Iterator[str]:
    if names:
        yield f"{what} {', '.join(sorted(names))}"


def _ids(beliefs: Sequence[Belief]) -> frozenset[str]:
    return frozenset(one.id for one in beliefs)


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return round(fmean(defined), 4) if defined else None
