"""K records in one state: does a question pick the right one? (PSS, section V.3)

Each record has a nickname that only the session knows, its *handle*. The documents speak of project, version,
checkpoint and route, and other documents of the same project differ only in those.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Final

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import wording
from pss_integrations.evaluation.names import Names
from pss_integrations.evaluation.pss320 import Probe
from pss_integrations.types import ClueTarget, Message, Passage, SessionKey

WRITING_REQUESTS: Final = 8
PROBES: Final = 3
DECOYS: Final = 8
"""Passages of a record's own project that are not its own; a quarter of them share its route, a quarter its version."""
OTHER_PROJECTS: Final = 8
PASSAGES_OF_OTHER_PROJECT: Final = 4
_CONFLICTS: Final = 2
_SECOND_MENTIONS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Deployment:
    """What a document names: one version of one project."""

    project: str
    version: str
    checkpoint: str
    route: str

    @property
    def clue(self) -> str:
        """The search clue that finds it."""
        return f"{self.project} {self.version} {self.checkpoint} {self.route}"


@dataclass(frozen=True, slots=True)
class Record:
    """A deployment, and the handle that the session's user calls it by, such as ``"harbour rollout"``."""

    handle: str
    deployment: Deployment

    def write(self, template: str) -> str:
        """Fill a template of the wording file."""
        return template.format(handle=self.handle, **asdict(self.deployment))


@dataclass(frozen=True, slots=True)
class RecordGroup:
    """The records of one session, all of them for one state.

    :param key: The session's key.
    :param records: Its records; no two handles share their first word.
    :param messages: A history that mentions each record once or twice.
    :param targets: Writing requests with the record's clue, and clues of other records as conflicts.
    :param probes: Requests in other words than any writing request; the evidence is the record's passage.
    """

    key: SessionKey
    records: tuple[Record, ...]
    messages: tuple[Message, ...]
    targets: tuple[ClueTarget, ...]
    probes: tuple[Probe, ...]


@dataclass(frozen=True, slots=True)
class KRecords:
    """Groups of records, and the one pool of passages that all of them search: 41 per record."""

    groups: tuple[RecordGroup, ...]
    passages: tuple[Passage, ...]


def generate(k: int = 16, *, groups: int = 1, seed: int, of: int | None = None) -> KRecords:
    """Generate the benchmark; the same arguments give the same content on every machine.

    :param k: Records per session, at most 48.
    :param groups: Sessions; up to about 200 records in all can get names of their own.
    :param seed: Which benchmark.
    :param of: How many records of each session have passages in the pool, ``k`` by default. With the same number the
        pool is the same for every ``k``, and the records of a smaller ``k`` are the first of a larger one.
    :raises InvalidInput: If ``k`` or ``groups`` is below 1 or ``of`` below ``k``, or handles or names run out.
    """
    if k < 1 or groups < 1:
        raise InvalidInput(f"k and groups must be at least 1, got k={k} and groups={groups}")
    if (of := k if of is None else of) < k:
        raise InvalidInput(f"a pool of {of} records per session cannot hold the {k} of a session")
    rng = Random(f"krecords {seed}")
    names = Names(rng)
    drawn = [
        [Record(handle, _draw_deployment(names)) for handle in handles] for handles in _draw_handles(of, groups, rng)
    ]
    deployments = [one for records in drawn for record in records for one in _surround(record.deployment, names)]
    # Ids follow a shuffled order, lest a tie broken by id prefer a record to its decoys.
    rng.shuffle(deployments)
    doc_ids = {one.checkpoint: f"krecords-{seed}-{number:05}" for number, one in enumerate(deployments)}
    return KRecords(
        groups=tuple(
            _make_group(
                SessionKey(f"user-krecords-{seed}-{number}", f"krecords-{seed}-{number}"),
                records[:k],
                doc_ids,
                Random(f"krecords {seed} {number}"),
            )
            for number, records in enumerate(drawn)
        ),
        passages=tuple(_write_passage(doc_ids[one.checkpoint], one, rng) for one in deployments),
    )


def _draw_handles(k: int, groups: int, rng: Random) -> Iterator[list[str]]:
    words = wording.load("krecords")
    places, events = words["places"], words["events"]
    if k > len(places) or groups > len(events):
        raise InvalidInput(f"at most {len(places)} records and {len(events)} groups have handles: ask for fewer")
    orders = {place: rng.sample(events, groups) for place in places}
    for group in range(groups):
        yield [f"{place} {orders[place][group]}" for place in rng.sample(places, k)]


def _draw_deployment(names: Names) -> Deployment:
    return Deployment(names.project(), names.version(), names.checkpoint(), names.route())


def _surround(own: Deployment, names: Names) -> Iterator[Deployment]:
    """A record's deployment with its decoys and with other projects; each has a checkpoint of its own."""
    yield own
    for number in range(DECOYS):
        version = own.version if number % 4 == 0 else names.version()
        route = own.route if number % 4 == 1 else names.route()
        yield Deployment(own.project, version, names.checkpoint(), route)
    for _ in range(OTHER_PROJECTS):
        project, route = names.project(), names.route()
        for _ in range(PASSAGES_OF_OTHER_PROJECT):
            yield Deployment(project, names.version(), names.checkpoint(), route)


def _write_passage(doc_id: str, deployment: Deployment, rng: Random) -> Passage:
    template = rng.choice(wording.load("krecords")["passage"])
    title, text = (template[part].format(**asdict(deployment)) for part in ("title", "text"))
    return Passage(doc_id, text, title)


def _make_group(key: SessionKey, records: list[Record], doc_ids: dict[str, str], rng: Random) -> RecordGroup:
    return RecordGroup(
        key=key,
        records=tuple(records),
        messages=tuple(_write_history(records, rng)),
        targets=tuple(target for record in records for target in _write_targets(record, records, rng)),
        probes=tuple(
            probe for record in records for probe in _write_probes(record, doc_ids[record.deployment.checkpoint], rng)
        ),
    )


def _write_targets(record: Record, records: list[Record], rng: Random) -> Iterator[ClueTarget]:
    others = [other.deployment.clue for other in records if other != record]
    for template in rng.sample(wording.load("krecords")["writing"], WRITING_REQUESTS):
        conflicts = tuple(rng.sample(others, min(_CONFLICTS, len(others))))
        yield ClueTarget(record.write(template), record.deployment.clue, conflicts)


def _write_probes(record: Record, doc_id: str, rng: Random) -> Iterator[Probe]:
    for template in rng.sample(wording.load("krecords")["probes"], PROBES):
        yield Probe(record.write(template), (frozenset({doc_id}),), record.deployment.clue, "record")


def _write_history(records: list[Record], rng: Random) -> Iterator[Message]:
    words = wording.load("krecords")
    yield from _exchange(words["opening"]["user"], words["opening"]["assistant"])
    for record, part in _order_mentions(records, rng):
        yield from _exchange(record.write(rng.choice(words[part])), record.write(rng.choice(words["assistant"])))
        if rng.random() < 0.1:
            small_talk: dict[str, Any] = rng.choice(wording.load("history")["small_talk"])
            yield from _exchange(small_talk["user"], small_talk["assistant"])
    yield from _exchange(words["wrap_up"]["user"], words["wrap_up"]["assistant"])


def _exchange(user: str, assistant: str) -> Iterator[Message]:
    yield Message("user", user)
    yield Message("assistant", assistant)


def _order_mentions(records: list[Record], rng: Random) -> list[tuple[Record, str]]:
    mentions: list[tuple[Record, str]] = []
    for record in rng.sample(records, len(records)):
        if rng.random() < _SECOND_MENTIONS:
            place = rng.randint(0, len(mentions))
            mentions.insert(place, (record, "first_half"))
            mentions.insert(rng.randint(place + 1, len(mentions)), (record, "second_half"))
        else:
            mentions.append((record, "whole"))
    return mentions
