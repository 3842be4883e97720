"""What every evaluation runs on, whatever the benchmark: sessions with their targets, and probes asked in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from pss_integrations.evaluation.datasets import RecordedSession, SessionData
from pss_integrations.evaluation.krecords import KRecords
from pss_integrations.evaluation.pss320 import BenchmarkSession, Probe
from pss_integrations.states.field_targets import FieldTargets
from pss_integrations.states.targets import TargetBuilder
from pss_integrations.types import ClueTarget, Message


@dataclass(frozen=True, slots=True)
class Asked:
    """A probe with all messages that came before it, of which a state knows those before the compile."""

    probe: Probe
    history: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """One session under evaluation.

    :param session_id: Unique in its evaluation.
    :param group: Sessions of one group are resampled together.
    :param messages: What the state is compiled from.
    :param targets: The clue targets of the correct state; none leaves the session without a state.
    :param asked: The probes.
    :param partner: Position of the session whose state serves as the matched wrong one.
    """

    session_id: str
    group: str
    messages: tuple[Message, ...]
    targets: tuple[ClueTarget, ...]
    asked: tuple[Asked, ...]
    partner: int

    @property
    def records(self) -> tuple[str, ...]:
        """The distinct clues of its targets: what a text memory of the same information would hold."""
        return tuple(dict.fromkeys(target.clue for target in self.targets))


def from_pss320(sessions: Sequence[BenchmarkSession]) -> list[Subject]:
    """Make subjects of generated sessions; each one's partner is the next, mostly of the same domain."""
    return [
        Subject(
            session_id=session.key.session_id,
            group=session.source_group,
            messages=session.messages,
            targets=tuple(FieldTargets(session.fields).build(session.messages)),
            asked=tuple(Asked(probe, session.messages) for probe in session.probes),
            partner=(number + 1) % len(sessions),
        )
        for number, session in enumerate(sessions)
    ]


def from_krecords(benchmark: KRecords) -> list[Subject]:
    """Make subjects of groups of records; the partner is the next group."""
    return [
        Subject(
            session_id=group.key.session_id,
            group=group.key.session_id,
            messages=group.messages,
            targets=group.targets,
            asked=tuple(Asked(probe, group.messages) for probe in group.probes),
            partner=(number + 1) % len(benchmark.groups),
        )
        for number, group in enumerate(benchmark.groups)
    ]


def from_recorded(data: SessionData, targets: TargetBuilder, *, all_probes: bool = False) -> list[Subject]:
    """Make subjects of recorded conversations; the partner is the session nearest in length, of another group.

    :param targets: Makes the clue targets of the messages before the cut.
    :param all_probes: Also ask the probes before the cut, where there is no state; sessions without any probe
        left are dropped.
    """
    kept = [
        (session, probes)
        for session in data.sessions
        if (probes := session.probes if all_probes else session.probes_with_state)
    ]
    return [
        Subject(
            session_id=session.session_id,
            group=session.group,
            messages=session.compiled,
            targets=tuple(targets.build(session.compiled)),
            asked=tuple(
                Asked(
                    Probe(
                        query=probe.query,
                        evidence=tuple(frozenset({doc_id}) for doc_id in sorted(probe.gold_doc_ids)),
                        gold_rewrite=probe.gold_rewrite or probe.query,
                        category=_category(probe.needs_history),
                    ),
                    session.messages[: probe.turn_index],
                )
                for probe in probes
            ),
            partner=partner,
        )
        for (session, probes), partner in zip(kept, _nearest([session for session, _ in kept]), strict=True)
    ]


def development_subset(sessions: Sequence[RecordedSession], count: int) -> list[RecordedSession]:
    """A fixed choice of sessions: those whose ids hash lowest, whatever the order they come in."""
    return sorted(sessions, key=lambda session: sha256(session.session_id.encode()).hexdigest())[:count]


def _category(needs_history: bool | None) -> str:
    return {True: "needs history", False: "stands alone", None: "unknown"}[needs_history]


def _nearest(sessions: Sequence[RecordedSession]) -> list[int]:
    """For each session the position of the one nearest in length, of another group where there is one."""

    def distance(position: int, other: int) -> tuple[bool, int, int]:
        one, two = sessions[position], sessions[other]
        return one.group == two.group, abs(len(one.compiled) - len(two.compiled)), other

    everywhere = range(len(sessions))
    return [
        min((other for other in everywhere if other != position), key=partial(distance, position), default=position)
        for position in everywhere
    ]
