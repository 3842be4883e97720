"""Checks of the construction of PSS-320 (PSS, section I.3): what would make its scores mean less than they say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from pss_integrations.evaluation.pss320 import UNSUPPORTED, Benchmark, BenchmarkSession, Probe
from pss_integrations.states.field_targets import FieldTargets
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.text import normalise
from pss_integrations.types import ClueTarget, SessionFields

_MOST_SHARED = 0.01

Targets = Callable[[BenchmarkSession], Sequence[ClueTarget]]

TARGETS: Mapping[str, Targets] = {
    "fields": lambda session: FieldTargets(session.fields).build(session.messages),
    "history": lambda session: HistoryTargets().build(session.messages),
}
"""How the evaluated states get their clue targets, by name."""


def audit(benchmark: Benchmark, targets: Mapping[str, Targets] = TARGETS) -> list[str]:
    """Check the construction; returns one line per problem, none if all is well.

    Checked: ids are unique; sessions share no name and no word of a project; the splits share no source group and
    no surface (a name, a component, a person); no probe names its scope or the component; evidence exists and, all
    groups together, holds every name that the gold rewrite uses and every answer, at least two of the names (or all)
    in each passage and an answer in each group; only null and conflict probes have no evidence; no clue target holds
    an answer or the id of a document, none asks what a probe asks, and the two share little wording.

    :param targets: How clue targets are made, by name.
    """
    texts = {passage.doc_id: f"{passage.title}\n{passage.text}" for passage in benchmark.passages}
    problems = [
        *_repeated("passage id", (passage.doc_id for passage in benchmark.passages)),
        *_repeated("session key", (session.key.digest for session in benchmark.sessions)),
        *_repeated("name", (name for session in benchmark.sessions for name in _names(session.fields))),
        *_repeated(
            "project word", (word for session in benchmark.sessions for word in session.fields.project.lower().split())
        ),
        *_shared_by_splits(benchmark),
    ]
    asked = {normalise(probe.query) for session in benchmark.sessions for probe in session.probes}
    doc_ids = [normalise(doc_id) for doc_id in texts]
    for session in benchmark.sessions:
        where = session.key.session_id
        secret = [*doc_ids, *(normalise(answer) for probe in session.probes for answer in probe.answers)]
        for probe in session.probes:
            found = [*_probe_problems(probe, session.fields, texts), *_answer_problems(probe, texts)]
            problems += [f"{where}, {probe.query!r}: {problem}" for problem in found]
        for name, build in targets.items():
            leaks = _leaks(build(session), secret, asked)
            problems += [f"{where}, targets from {name}: {leak}" for leak in leaks]
    for name, shares in overlap(benchmark, targets).items():
        if shares["4-grams"] > _MOST_SHARED:
            problems.append(
                f"targets from {name}: {shares['4-grams']:.1%} of the probes' 4-grams are in their requests"
            )
    return problems


def overlap(benchmark: Benchmark, targets: Mapping[str, Targets] = TARGETS) -> dict[str, dict[str, float]]:
    """How much of the probes' wording the writing requests share.

    :return: Per builder and n from 2 to 4 (``"2-grams"``), the share of the probes' distinct word n-grams that also
        occur in a request, from 0 to 1; names and numbers are part of it.
    """
    queries = [probe.query for session in benchmark.sessions for probe in session.probes]
    shares = dict[str, dict[str, float]]()
    for name, build in targets.items():
        requests = [target.request for session in benchmark.sessions for target in build(session)]
        shares[name] = {}
        for n in (2, 3, 4):
            asked, written = _ngrams(queries, n), _ngrams(requests, n)
            shares[name][f"{n}-grams"] = round(len(asked & written) / max(1, len(asked)), 4)
    return shares


def _ngrams(texts: Iterable[str], n: int) -> set[tuple[str, ...]]:
    words = [re.findall(r"\w+", text.casefold()) for text in texts]
    return {tuple(one[at : at + n]) for one in words for at in range(len(one) - n + 1)}


def _repeated(what: str, values: Iterable[str]) -> list[str]:
    return [f"{what} {value!r} occurs {count} times" for value, count in Counter(values).items() if count > 1]


def _names(fields: SessionFields) -> list[str]:
    return [fields.project, *fields.active.values(), *fields.archived.values()]


def _shared_by_splits(benchmark: Benchmark) -> Iterator[str]:
    surfaces = dict[str, set[str]]()
    for session in benchmark.sessions:
        fields = session.fields
        people = [value for name, value in fields.other.items() if name != "date"]  # anybody may share a date
        surfaces.setdefault(session.split, set()).update(
            [session.source_group, fields.component or "", *fields.project.split(), *_names(fields), *people]
        )
    for one, other in combinations(surfaces, 2):
        for surface in sorted(surfaces[one] & surfaces[other]):
            yield f"{surface!r} occurs in both splits, {one} and {other}"


def _probe_problems(probe: Probe, fields: SessionFields, texts: Mapping[str, str]) -> Iterator[str]:
    scope = [*_names(fields), *fields.project.split(), *([fields.component] if fields.component else [])]
    for name in scope:
        if re.search(rf"\b{re.escape(name)}\b", probe.query, re.IGNORECASE):
            yield f"names {name!r}"
    if bool(probe.evidence) == (probe.gold_rewrite == UNSUPPORTED):
        yield f"has {len(probe.evidence)} evidence groups and the gold rewrite {probe.gold_rewrite!r}"
    needed = [name for name in _names(fields) if name in probe.gold_rewrite]
    gold = [doc_id for group in probe.evidence for doc_id in group]
    for doc_id in gold:
        if doc_id not in texts:
            yield f"evidence {doc_id!r} is not in the pool"
        elif sum(name in texts[doc_id] for name in needed) < min(2, len(needed)):
            yield f"evidence {doc_id!r} holds too few of {needed}"
    for name in needed:
        if not any(name in texts.get(doc_id, "") for doc_id in gold):
            yield f"no evidence holds {name!r} of the gold rewrite"


def _answer_problems(probe: Probe, texts: Mapping[str, str]) -> Iterator[str]:
    if bool(probe.evidence) != bool(probe.answers):
        yield f"has {len(probe.evidence)} evidence groups and {len(probe.answers)} answers"
    for group in probe.evidence:
        if not all(any(answer in texts.get(doc_id, "") for answer in probe.answers) for doc_id in group):
            yield f"evidence {sorted(group)} holds no answer"
    for answer in probe.answers:
        if not any(answer in texts.get(doc_id, "") for group in probe.evidence for doc_id in group):
            yield f"no evidence holds the answer {answer!r}"


def _leaks(targets: Sequence[ClueTarget], secret: Sequence[str], asked: set[str]) -> Iterator[str]:
    requests = [normalise(one.request) for one in targets]
    yield from _held(asked, requests, "the request {!r} holds the probe {!r}")
    texts = [normalise(text) for one in targets for text in (one.clue, *one.conflicts)]
    yield from _held(secret, [*requests, *texts], "{!r} holds {!r}")


def _held(needles: Iterable[str], texts: Sequence[str], problem: str) -> Iterator[str]:
    together = "\n".join(texts)
    for needle in needles:
        if needle in together:
            yield from (problem.format(text, needle) for text in texts if needle in text)
