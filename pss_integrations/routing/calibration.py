"""Calibrates the guard on stored sessions and the index that is searched, without a label.

A request has to find what it finds together with its clue. Nulls are texts that a session does not answer, one of
each kind a session, and requests of other sessions. An action model is fitted over both, each session scored by a
model that never saw it, and the threshold is set on the nulls of each kind by
:mod:`~pss_integrations.routing.learn_then_test`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import fsum
from typing import Unpack

import numpy as np

from pss_integrations.errors import InvalidInput
from pss_integrations.protocols import BatchClueReader, ClueReader, Searcher
from pss_integrations.retrieval.fusion import check_positive_int
from pss_integrations.routing.action_model import ActionModel, cross_fitted_scores, fit
from pss_integrations.routing.certificate import BUILT_IN, Binding, Certificate, NullCount
from pss_integrations.routing.features import TOP
from pss_integrations.routing.learn_then_test import nulls_needed, threshold
from pss_integrations.routing.probes import (
    NAMED_ELSEWHERE,
    POSITIVE,
    AskedSession,
    content_of,
    name_of,
    named_elsewhere,
    packaged_nulls,
    shuffled_nulls,
)
from pss_integrations.routing.router import Candidate, Router, RouterOptions
from pss_integrations.routing.searching import find, router_options
from pss_integrations.routing.wording import PLANS, Wording
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.states.targets import TargetBuilder
from pss_integrations.types import Hit, Message, Route, SessionKey

LEAST_GAINS = 20
"""In so many sessions has something to be gained before an action model is fitted."""
_TARGETS = 64  # built of a session, to take the requests from
_AHEAD = 32  # requests are read at once
_UNSUPPORTED = 5  # per cent of the requests that gain and may still count as unsupported

Sessions = Iterable[tuple[SessionKey | None, Sequence[Message]]]
Progress = Callable[[int, int], None]
"""Gets the number of sessions that were asked, and that of all."""


@dataclass(frozen=True, slots=True)
class ScoredProbe:
    """A request, and what became of it.

    :param kind: ``"positive"``, or the kind of null.
    :param session: What tells its session from the others.
    :param score: Of its best candidate, by a model that saw nothing of the session.
    :param gain: Share of what had to be found that this candidate found and the raw search did not; 0 for a null.
    """

    kind: str
    session: str
    score: float
    gain: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """What came of it.

    :param certificate: For the guard; ``None`` where there was too little to promise anything.
    :param probes: What was asked and scored; nothing without a certificate.
    :param sessions: Kind of null to the number of sessions that were asked one, and ``"positive"`` to that of those
        in which something was gained.
    :param missing: The same to the number that is missing, where it is.
    :param missing_texts: Kind of null to the number of texts that are missing, where there are too few however many
        sessions are given.
    :param skipped: Sessions without a state, where states are read, without anything to ask, or given before.
    """

    certificate: Certificate | None
    probes: tuple[ScoredProbe, ...]
    sessions: Mapping[str, int]
    missing: Mapping[str, int]
    missing_texts: Mapping[str, int]
    skipped: int

    @property
    def retained(self) -> float:
        """Share of the unguarded gain that the guard lets through; 0 if it lets nothing through."""
        limit = self.certificate.threshold if self.certificate else None
        return 0.0 if limit is None else self.retained_from(limit)

    def retained_from(self, limit: float) -> float:
        """The same for another threshold; 0 if nothing was gained."""
        positives = [probe for probe in self.probes if probe.kind == POSITIVE]
        unguarded = fsum(probe.gain for probe in positives)
        return fsum(probe.gain for probe in positives if probe.score >= limit) / unguarded if unguarded > 0 else 0.0

    def activated_from(self, limit: float) -> dict[str, float]:
        """Kind of null to the share of them that a threshold lets through."""
        return {kind: _reaching(scores, limit) / len(scores) for kind, scores in _null_scores(self.probes).items()}


def calibrate(
    sessions: Sessions,
    searcher: Searcher,
    reader: ClueReader | None = None,
    *,
    k: int = 4,
    builder: TargetBuilder | None = None,
    taught: Callable[[SessionKey], Collection[str]] | None = None,
    nulls: Mapping[str, Iterable[str]] | None = None,
    max_activation: float = 0.05,
    confidence: float = 0.95,
    progress: Progress | None = None,
    **options: Unpack[RouterOptions],
) -> Calibration:
    """Make the certificate of a router with these options, for this index and the engine of the states.

    :param sessions: Stored ones, such as the guard will meet.
    :param searcher: What is searched; a retriever of a framework in its face's ``RetrieverSearcher``.
    :param reader: Reads their states; ``None`` calibrates the routes raw and card.
    :param k: Hits of each search, as many as where the router is to be used: the guard looks at no more than these.
    :param builder: Says what a request means; ``HistoryTargets`` with the vocabulary by default.
    :param taught: Returns the requests that a session's state was compiled with; others are preferred.
    :param nulls: Kind to texts that hardly any session answers; :func:`packaged_nulls` by default.
    :param max_activation: Share of the nulls of each kind that may activate, at most.
    :param confidence: How sure that has to be, for each kind.
    :param options: Those of :class:`Router`; the router that uses the certificate needs the same ones. What kind of
        index it is, what it names and its ``index_id`` are known of our own ones.
    :raises InvalidInput: If ``k`` is no positive int, an option is wrong, nothing says the ``index_id``, or the states
        were compiled by different engines.
    """
    check_positive_int("k", k)
    options = router_options(searcher, options)
    needed = nulls_needed(0, max_activation, confidence)
    if not (index_id := options.get("index_id")):
        raise InvalidInput("a certificate is bound to an index: give index_id, which tells it from every other one")
    router = Router[Hit](reader, hit=_itself, rescore=_unscored, **{**options, "certificate": BUILT_IN})
    texts = shuffled_nulls(packaged_nulls() if nulls is None else nulls)
    missing_texts = {kind: needed - len(given) for kind, given in texts.items() if len(given) < needed}
    total = [*sessions]
    reads = reader if "pss" in options.get("routes", ("pss",)) else None
    usable = _usable(total, reads)
    engine = _engine_of(reads, [key for key, _ in usable if key])
    builder = builder or HistoryTargets(vocabulary=options.get("vocabulary"), max_targets=_TARGETS)
    plan = PLANS[options.get("kind", "unknown")]
    fixed = options.get("query_weight")
    asking = _Asking(
        router,
        lambda wording, _: find(searcher, wording, k),
        weigh=lambda clue: fixed or plan.weight("pss", clue),
        read_ahead=reads.read_batch if isinstance(reads, BatchClueReader) else _nothing,
    )
    for done, (key, messages) in enumerate(usable, start=1):
        asking.ask_session(AskedSession.of(key, messages, builder, taught(key) if taught and key else ()), texts)
        if progress:
            progress(done, len(usable))
    asking.ask_of_others([*named_elsewhere(asking.sessions)])
    counts = _counts(asking.asked, texts)
    needs = {kind: LEAST_GAINS if kind == POSITIVE else needed for kind in counts}
    missing = {kind: needs[kind] - count for kind, count in counts.items() if count < needs[kind]}
    skipped = len(total) - len(asking.sessions)
    if missing:
        return Calibration(None, (), counts, missing, missing_texts, skipped)
    promise = _Promise(Binding(index_id=index_id, engine=engine, settings=router.settings), max_activation, confidence)
    return Calibration(*_certified(asking.asked, promise), counts, {}, {}, skipped)


@dataclass(frozen=True, slots=True)
class _Asked:
    kind: str
    session: str
    candidates: Sequence[Candidate[Hit]]
    gains: Sequence[float]


@dataclass(slots=True)
class _Asking:
    """Asks sessions, and keeps what had a candidate: anything else never activates, and tells nothing."""

    router: Router[Hit]
    search: Callable[[Wording, Route], list[Hit]]
    weigh: Callable[[str], float]
    read_ahead: Callable[[Sequence[tuple[SessionKey, str]]], object]
    sessions: list[AskedSession] = field(default_factory=list[AskedSession])
    asked: list[_Asked] = field(default_factory=list[_Asked])

    def ask_session(self, session: AskedSession, texts: Mapping[str, list[str]]) -> None:
        """Ask its own requests, and one null of each kind that no other session was asked."""
        if not session.requests:
            return
        self.sessions.append(session)
        queries = [*(own.query for own in session.requests), *(left[-1] for left in texts.values() if left)]
        self._read_ahead((session, query) for query in queries)
        for own in session.requests:
            self.ask(POSITIVE, session, own.query, own.clue, own.messages)
        for kind, left in texts.items():
            if left and self.ask(kind, session, left[-1]):
                left.pop()

    def ask_of_others(self, requests: Sequence[tuple[AskedSession, str]]) -> None:
        """Ask sessions the requests of others."""
        for some in (requests[at : at + _AHEAD] for at in range(0, len(requests), _AHEAD)):
            self._read_ahead(some)
            for session, query in some:
                self.ask(NAMED_ELSEWHERE, session, query)

    def ask(
        self,
        kind: str,
        session: AskedSession,
        query: str,
        clue: str = "",
        messages: Sequence[Message] | None = None,
    ) -> bool:
        """Ask, and return whether there was a candidate."""
        history = session.messages if messages is None else messages
        raw, candidates = self.router.observe(query, session.key, self.search, messages=history)
        if candidates:
            wanted = self._ids(self.search(Wording(query, clue, self.weigh(clue)), "pss")) if clue else set[str]()
            missed = wanted - self._ids(raw)
            gains = [
                (len(missed & found) - len((wanted - missed) - found)) / len(wanted) if wanted else 0.0
                for found in (self._ids(one.documents) for one in candidates)
            ]
            self.asked.append(_Asked(kind, session.name, candidates, gains))
        return bool(candidates)

    def _read_ahead(self, requests: Iterable[tuple[AskedSession, str]]) -> None:
        self.read_ahead([(session.key, query) for session, query in requests if session.key])

    @staticmethod
    def _ids(hits: Sequence[Hit]) -> set[str]:
        return {hit.doc_id for hit in hits[:TOP]}


@dataclass(frozen=True, slots=True)
class _Promise:
    binding: Binding
    max_activation: float
    confidence: float


def _certified(asked: Sequence[_Asked], promise: _Promise) -> tuple[Certificate, tuple[ScoredProbe, ...]]:
    model, probes = _fitted(asked)
    scores = _null_scores(probes)
    found = threshold(scores, promise.max_activation, promise.confidence)
    certificate = Certificate(
        weights=model.weights,
        bias=model.bias,
        threshold=found,
        unsupported_below=_least_support(asked),
        binding=promise.binding,
        max_activation=promise.max_activation,
        confidence=promise.confidence,
        nulls={
            kind: NullCount(sessions=len(one), activated=0 if found is None else _reaching(one, found))
            for kind, one in scores.items()
        },
        created_at=datetime.now(UTC),
    )
    return certificate, probes


def _fitted(asked: Sequence[_Asked]) -> tuple[ActionModel, tuple[ScoredProbe, ...]]:
    """Fit on all sessions, and score each probe by a model that saw nothing of its session."""
    rows = [candidate.features for one in asked for candidate in one.candidates]
    gained = [gain > 0 for one in asked for gain in one.gains]
    scores = iter(cross_fitted_scores(rows, gained, [one.session for one in asked for _ in one.candidates]))
    probes = tuple(
        ScoredProbe(one.kind, one.session, *max((float(next(scores)), gain) for gain in one.gains)) for one in asked
    )
    return fit(rows, gained), probes


def _least_support(asked: Sequence[_Asked]) -> float:
    pairs = (
        (one.features.support, gain) for each in asked for one, gain in zip(each.candidates, each.gains, strict=True)
    )
    return float(np.percentile([support for support, gain in pairs if gain > 0], _UNSUPPORTED))


def _null_scores(probes: Iterable[ScoredProbe]) -> dict[str, list[float]]:
    by_kind: dict[str, list[float]] = {}
    for probe in probes:
        if probe.kind != POSITIVE:
            by_kind.setdefault(probe.kind, []).append(probe.score)
    return by_kind


def _reaching(scores: Iterable[float], limit: float) -> int:
    return sum(score >= limit for score in scores)


def _counts(asked: Iterable[_Asked], kinds: Iterable[str]) -> dict[str, int]:
    counted = Counter(one.kind for one in asked if one.kind != POSITIVE)
    gained = {one.session for one in asked if any(gain > 0 for gain in one.gains)}
    return {POSITIVE: len(gained), **{kind: counted[kind] for kind in (*kinds, NAMED_ELSEWHERE)}}


def _usable(sessions: Sessions, reader: ClueReader | None) -> list[tuple[SessionKey | None, Sequence[Message]]]:
    """Return each conversation once, in an order of chance, those with a state where one is read.

    Copies under several keys are no independent sessions, and one would be scored by a model that saw the other.
    """
    given = {name_of(key, messages): (key, messages) for key, messages in sessions}
    once: dict[str, tuple[SessionKey | None, Sequence[Message]]] = {}
    for key, messages in (given[name] for name in sorted(given)):
        if reader is None or (key is not None and reader.has_state(key)):
            once.setdefault(content_of(messages), (key, messages))
    return [*once.values()]


def _engine_of(reader: ClueReader | None, keys: Iterable[SessionKey]) -> str | None:
    engines = {reader.engine_of(key) for key in keys} if reader else set[str]()
    if len(engines) > 1:
        raise InvalidInput(
            f"the states were compiled with {len(engines)} backbones or configurations: a certificate holds for one; "
            "calibrate on the sessions of one"
        )
    return next(iter(engines), None)


def _nothing(requests: Sequence[tuple[SessionKey, str]]) -> None:
    """A reader that reads one by one gains nothing by reading ahead."""


def _itself(hit: Hit) -> Hit:
    return hit


def _unscored(hit: Hit, score: float) -> Hit:
    return hit
