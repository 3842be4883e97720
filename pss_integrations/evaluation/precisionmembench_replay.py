"""Asks a real belief store the questions of PrecisionMemBench, and lets it learn what the sessions teach."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pss_integrations.beliefs import Belief, BeliefStore, Change, Principal
from pss_integrations.beliefs.recall import MAX_BELIEFS, Recall
from pss_integrations.beliefs.transfer import line_of
from pss_integrations.evaluation.precisionmembench import USER, Benchmark, Case, Turn


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was asked.

    :param beliefs: The user's live beliefs at that time, in all scopes.
    :param max_beliefs: The most that may be pinned or relevant.
    :param recall: What the store recalled.
    """

    case: Case
    beliefs: tuple[Belief, ...]
    max_beliefs: int
    recall: Recall


def replay(benchmark: Benchmark) -> Iterator[Asked]:
    """Ask every case, then every turn of every session, in a store of its own each."""
    with _filled(benchmark) as store:
        for case in benchmark.cases:
            yield _ask(store, case)
    for session in benchmark.sessions:
        with _filled(benchmark) as store:
            for turn in session.turns:
                yield _ask(store, turn.case(session.name))
                _learn(store, turn)


@contextmanager
def _filled(benchmark: Benchmark) -> Generator[BeliefStore]:
    with TemporaryDirectory() as folder, BeliefStore(Path(folder) / "beliefs.db") as store:
        for principal in dict.fromkeys(owner for owner, _ in benchmark.beliefs):
            _put_as_they_are(store, principal, [one for owner, one in benchmark.beliefs if owner == principal])
        yield store


def _put_as_they_are(store: BeliefStore, principal: Principal, beliefs: Sequence[Belief]) -> None:
    """Import beliefs, so that what is past stays past."""
    header = store.export(principal)[0]
    logs = ((one, Change(at=one.created_at, verb="put", actor=str(principal), belief=one)) for one in beliefs)
    store.import_lines(principal, [header, *(line_of(one, (put,)) for one, put in logs)])


def _ask(store: BeliefStore, case: Case) -> Asked:
    limit = MAX_BELIEFS if case.budget.max_beliefs is None else case.budget.max_beliefs
    return Asked(
        case=case,
        beliefs=tuple(store.list(USER, limit=None)),
        max_beliefs=limit,
        recall=store.recall(USER, case.scopes, case.query, max_beliefs=limit),
    )


def _learn(store: BeliefStore, turn: Turn) -> None:
    if turn.created is not None:
        principal, belief = turn.created
        _put_as_they_are(store, principal, [belief])
    if turn.updated is not None:
        store.reinforce(USER, turn.updated.belief_id, aliases=turn.updated.add_aliases)
