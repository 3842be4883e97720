"""The guard on PSS-320: calibrated on one cohort of sessions, then tested on another in the same index.

The paper's frozen guard let 17.86 % of its nulls through where 5 % was promised (PSS, section 4.6). Here the sessions,
the requests and the texts of the test are none of those that the certificate was made of.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import islice
from typing import Any, Final

from pss_integrations.errors import InvalidInput, StateNotFound
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.controls import StateSource
from pss_integrations.evaluation.pss320 import UNSUPPORTED, BenchmarkSession, Probe
from pss_integrations.evaluation.record import Family, RunRecord
from pss_integrations.evaluation.routed import ENGINE, cards
from pss_integrations.evaluation.runner import Runner
from pss_integrations.evaluation.subjects import Asked, Subject, from_pss320
from pss_integrations.evaluation.suites import POOL, Setup
from pss_integrations.retrieval.index import PassageIndex
from pss_integrations.routing.calibration import Calibration, calibrate
from pss_integrations.routing.probes import NAMED_ELSEWHERE, AskedSession, is_named, said_in, spelled_out
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.types import ROUTES, Clue, Message, SessionKey
from pss_integrations.vocabulary import Vocabulary

GUARD_ARMS: Final = (
    "raw", "card", "clue", "guarded", "guarded_matched_wrong", "guarded_shuffled", "oracle_route"
)  # fmt: skip
NULL: Final = "null, "
"""Begins the category of each text of the test that a session does not answer."""
_NULLS = 5  # of each kind, for a session
_FAMILIES: Final = (
    Family(question="What does the guard give up?", treatment="guarded", controls=["clue", "card", "raw"]),
    Family(
        question="Does it see a wrong state?",
        treatment="guarded",
        controls=["guarded_matched_wrong", "guarded_shuffled"],
    ),
)


@dataclass(frozen=True)
class CohortReader:
    """Reads the states of a cohort, each of which is written when it is first read.

    :param source: Writes and reads.
    :param subjects: Whose states these are.
    """

    source: StateSource
    subjects: Mapping[SessionKey, Subject]
    _known: dict[tuple[SessionKey, str], Clue] = field(default_factory=dict[tuple[SessionKey, str], Clue])

    def has_state(self, key: SessionKey) -> bool:
        """Whether the session is one of the cohort."""
        return key in self.subjects

    def read(self, key: SessionKey, query: str) -> Clue:
        """Read a clue."""
        return self.read_batch([(key, query)])[0]

    async def aread(self, key: SessionKey, query: str) -> Clue:
        """Read a clue."""
        return self.read(key, query)

    def read_batch(self, requests: Iterable[tuple[SessionKey, str]]) -> list[Clue]:
        """Read many, each once."""
        wanted = [*requests]
        queries = dict[SessionKey, list[str]]()
        for key, query in dict.fromkeys(wanted):
            if (key, query) not in self._known:
                queries.setdefault(key, []).append(query)
        read = self.source.read([(self._state(key), some) for key, some in queries.items()])
        for (key, some), clues in zip(queries.items(), read, strict=True):
            self._known.update({(key, query): clue for query, clue in zip(some, clues, strict=True)})
        return [self._known[one] for one in wanted]

    def messages_behind(self, key: SessionKey, messages: Sequence[Message]) -> int:
        """Messages that came after those compiled; none were taken away."""
        return max(0, len(messages) - len(self.subjects[key].messages))

    def engine_of(self, key: SessionKey) -> str:
        """Return the same for every session."""
        return ENGINE

    def _state(self, key: SessionKey) -> Any:
        if key not in self.subjects:
            raise StateNotFound(f"{key} is not of this cohort")
        subject = self.subjects[key]
        return self.source.compile(subject.messages, subject.targets)


def run_guard(setup: Setup, *, cohort: int, sessions: int, skip: int, seed: int) -> tuple[RunRecord, Calibration]:
    """Calibrate on sessions of the next seed, and run test sessions of this one, in the pool of both.

    :param setup: With one searcher: a certificate holds for one.
    :param cohort: Sessions to calibrate on.
    :param sessions: Test sessions.
    :param skip: Test sessions before them, which were looked at before.
    :return: The record, and what came of the calibration.
    :raises InvalidInput: If there are not so many sessions, several searchers, or too few sessions to promise anything.
    """
    if len(setup.searchers) != 1:
        raise InvalidInput(f"a certificate holds for one searcher: give one, not {len(setup.searchers)}")
    benchmark, other = pss320.generate(POOL, seed=seed), pss320.generate(POOL, seed=seed + 1)
    tested = benchmark.split("test")
    chosen, taken = tested[skip : skip + sessions], other.sessions[:cohort]
    if len(chosen) < max(2, sessions) or len(taken) < cohort:
        raise InvalidInput(
            f"there are {len(tested)} test sessions and {POOL} to calibrate on, not {skip} + {sessions} and {cohort}"
        )
    indexes = setup.index([*other.passages, *benchmark.passages])
    (name, index), *_ = indexes.items()
    made = calibrate_on(setup, index, taken)
    if made.certificate is None:
        raise InvalidInput(f"{cohort} sessions are too few for this promise: missing are {dict(made.missing)}")
    subjects = with_nulls(from_pss320(chosen), chosen, tested[skip + sessions :], index.vocabulary)
    found = setup.run(subjects, indexes, GUARD_ARMS, HistoryTargets(), {name: made.certificate})
    config = {
        "seed": seed,
        "sessions": sessions,
        "skipped": skip,
        "cohort": cohort,
        "retained_in_calibration": round(made.retained, 4),
        "certificate": made.certificate.model_dump(mode="json"),
    }
    return setup.record("guard", found, _FAMILIES, GUARD_ARMS, metric="All-Recall", k=4, config=config), made


def calibrate_on(setup: Setup, index: PassageIndex, sessions: Sequence[BenchmarkSession]) -> Calibration:
    """Calibrate the router of the arms on sessions, as ``pssi calibrate`` does."""
    subjects = from_pss320(sessions)
    reader = CohortReader(setup.source, {one.key: subject for one, subject in zip(sessions, subjects, strict=True)})
    return calibrate(
        [(session.key, session.messages) for session in sessions],
        index,
        reader,
        k=Runner.depth,
        taught=lambda key: [target.request for target in reader.subjects[key].targets],
        progress=lambda done, total: setup.tell("calibrating", done, total),
        routes=ROUTES,
        cards=cards(index.vocabulary, setup.source.count_tokens),
    )


def with_nulls(
    subjects: Sequence[Subject],
    sessions: Sequence[BenchmarkSession],
    others: Sequence[BenchmarkSession],
    vocabulary: Vocabulary,
) -> list[Subject]:
    """Ask of each subject texts that it does not answer, too: five of each kind, none of which any other gets.

    :param subjects: Of the sessions, in their order.
    :param others: Whose requests stand for those of another session.
    """
    texts = {kind: iter(given) for kind, given in packaged_nulls().items()}
    builder = HistoryTargets(vocabulary=vocabulary)
    spelled = [found for one in others if (found := spelled_out(AskedSession.of(one.key, one.messages, builder)))]
    asked = list[Subject]()
    for subject, session in zip(subjects, sessions, strict=True):
        given = {kind: [*islice(left, _NULLS)] for kind, left in texts.items()}
        given[NAMED_ELSEWHERE] = _requests_of_others(session, spelled)
        nulls = [_null(session, kind, text) for kind, some in given.items() for text in some]
        asked.append(replace(subject, asked=(*subject.asked, *nulls)))
    return asked


def packaged_nulls() -> dict[str, list[str]]:
    """Return texts of the kinds that calibration asks, none of which it asks."""
    return json.loads(files("pss_integrations.evaluation").joinpath("nulls.json").read_text(encoding="utf-8"))


def _requests_of_others(session: BenchmarkSession, spelled: list[tuple[str, str]]) -> list[str]:
    """Take the first that name what this session never said."""
    said = said_in(session.messages)
    taken = [*islice((both for both in spelled if not is_named(both[1], said)), _NULLS)]
    for both in taken:
        spelled.remove(both)
    return [query for query, _ in taken]


def _null(session: BenchmarkSession, kind: str, text: str) -> Asked:
    return Asked(Probe(text, (), UNSUPPORTED, NULL + kind.replace("_", " ")), session.messages)
