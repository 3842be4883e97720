"""What a benchmark knows of a record's probes: gold rewrites, and which names are right. No arm has seen it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import krecords, pss320
from pss_integrations.evaluation.datasets import SessionData
from pss_integrations.evaluation.record import RunRecord
from pss_integrations.evaluation.suites import POOL
from pss_integrations.text import identifiers, names
from pss_integrations.types import SessionFields

_Key: TypeAlias = tuple[str, str]
_COUNT: Final = re.compile(r"K = (\d+)")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one probe.

    :param rewrite: Its gold rewrite; blank if the data has none.
    :param own: All names of its session.
    :param wanted: Those of them that the rewrite holds.
    :param rivals: Those of them that stand where a wanted one does: the archived version where the one in force is
        asked for, or the names of another record.
    """

    rewrite: str
    own: frozenset[str]
    wanted: frozenset[str]
    rivals: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known of all probes.

    :param probes: Session id and query to what is known.
    :param names: The names of all sessions, those that were not asked too; none if they are not known.
    """

    probes: Mapping[_Key, Known]
    names: frozenset[str] = field(default=frozenset())

    @property
    def rewrites(self) -> dict[_Key, str]:
        """Session id and query to gold rewrite."""
        return {key: known.rewrite for key, known in self.probes.items()}

    def of(self, session_id: str, query: str) -> Known:
        """Return what is known of a probe.

        :raises InvalidInput: If nothing is: the record is of another benchmark.
        """
        try:
            return self.probes[session_id, query]
        except KeyError:
            raise InvalidInput(f"nothing is known of {query!r} in session {session_id}: is it the same data?") from None


def knowledge_of(record: RunRecord, data: SessionData | None = None) -> Knowledge:
    """Make the benchmark of a record again, and say what it knows.

    :param data: The recorded conversations of the run, where it is no benchmark that can be made again.
    :raises InvalidInput: If it is none, and no data is given.
    """
    name, *rest = record.sessions[0].session_id.split("-")
    if name == "pss320" and len(rest) == 2:
        return _of_pss320(int(rest[0]))
    if name == "krecords":
        return _of_krecords(record)
    if data is None:
        raise InvalidInput(f"{record.kind} cannot be generated again: give the data that it was run on")
    return _of_recorded(data)


def holds(text: str, name: str) -> bool:
    """Whether a text has a name in it, whole and in whatever case: ``v1.2`` is not in ``v1.2.3``."""
    if name.casefold() not in text.casefold():  # thousands of names are looked for, few of them are there
        return False
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", text, re.IGNORECASE) is not None


def _of_pss320(seed: int) -> Knowledge:
    sessions = pss320.generate(POOL, seed=seed).sessions
    probes = {
        (session.key.session_id, probe.query): _of_fields(probe.gold_rewrite, session.fields)
        for session in sessions
        for probe in session.probes
    }
    return Knowledge(probes, frozenset[str]().union(*(_names(session.fields) for session in sessions)))


def _of_fields(rewrite: str, fields: SessionFields) -> Known:
    pairs = [(fields.active[name], fields.archived[name]) for name in fields.active.keys() & fields.archived.keys()]
    rivals = (
        other
        for one, two in pairs
        for asked, other in ((one, two), (two, one))
        if holds(rewrite, asked) and not holds(rewrite, other)
    )
    return _known(rewrite, _names(fields), rivals)


def _names(fields: SessionFields) -> frozenset[str]:
    values = (*fields.active.values(), *fields.archived.values(), *fields.other.values())
    return frozenset({fields.project, *values, *([fields.component] if fields.component else [])})


def _of_krecords(record: RunRecord) -> Knowledge:
    counts = sorted({int(match[1]) for one in record.sessions if (match := _COUNT.search(one.session_id))})
    seed, groups = int(record.config["seed"]), int(record.config["groups"])
    probes = dict[_Key, Known]()
    everything = set[str]()
    for count in counts:
        for group in krecords.generate(count, groups=groups, seed=seed, of=max(counts)).groups:
            own = {name for one in group.records for name in _parts(one.deployment)}
            everything |= own
            for probe in group.probes:
                known = _known(probe.gold_rewrite, own, (name for name in own if not holds(probe.gold_rewrite, name)))
                probes[f"{group.key.session_id} K = {count}", probe.query] = known
    return Knowledge(probes, frozenset(everything))


def _parts(deployment: krecords.Deployment) -> tuple[str, ...]:
    return (deployment.project, deployment.version, deployment.checkpoint, deployment.route)


def _of_recorded(data: SessionData) -> Knowledge:
    """Names are what looks like one in the messages before a probe; which of them are rivals is not known."""
    probes = dict[_Key, Known]()
    for session in data.sessions:
        said = [frozenset({*names(message.text), *identifiers(message.text)}) for message in session.messages]
        for probe in session.probes:
            own = frozenset[str]().union(*said[: probe.turn_index])
            probes[session.session_id, probe.query] = _known(probe.gold_rewrite or "", own)
    return Knowledge(probes)


def _known(rewrite: str, own: Iterable[str], rivals: Iterable[str] = ()) -> Known:
    held = frozenset(own)
    return Known(rewrite, held, frozenset(name for name in held if holds(rewrite, name)), frozenset(rivals))
