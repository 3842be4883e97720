"""PSS-320: synthetic technical-project sessions whose follow-ups leave their scope unsaid (PSS, sections B.3 and I.1).

Each session tells, over 20 to 30 messages, how a project moved from one configuration to another. Six probes
then ask about it without naming project, version, checkpoint, route or configuration, so that a search in the
pool of all sessions' passages succeeds only with what the session knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final
from zlib import crc32

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import wording
from pss_integrations.evaluation.names import Names
from pss_integrations.evaluation.pss320_facts import Facts, Split, draw_facts
from pss_integrations.types import Message, Passage, SessionFields, SessionKey

CATEGORIES: Final = (
    "coreference",
    "exact_fact",
    "multi_hop",
    "entity_binding",
    "temporal_revision",
    "global_theme",
    "null",
    "conflict",
)
PROBES_PER_SESSION: Final = 6
UNSUPPORTED: Final = "UNSUPPORTED"


@dataclass(frozen=True, slots=True)
class Probe:
    """A follow-up question, and what a search for it has to find.

    :param query: What the user asks.
    :param evidence: Groups of ``doc_id``: any one of a group serves, and every group is needed. Empty if
        nothing answers the question.
    :param gold_rewrite: The question with its scope named, or :data:`UNSUPPORTED`.
    :param category: One of the benchmark's categories.
    :param answers: What the evidence answers, part by part; no clue target says it.
    """

    query: str
    evidence: tuple[frozenset[str], ...]
    gold_rewrite: str
    category: str
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BenchmarkSession:
    """One session.

    :param key: Its key; every session has a user of its own.
    :param messages: Its history, in order.
    :param fields: What a caller would know of it in structured form.
    :param probes: Questions asked after the last message.
    :param source_group: Sessions of one group share their subject: split by group, never by session.
    :param split: What the session may be used for: choices are made on calibration sessions alone.
    """

    key: SessionKey
    messages: tuple[Message, ...]
    fields: SessionFields
    probes: tuple[Probe, ...]
    source_group: str
    split: Split


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Sessions, and the one pool of passages that all of them search."""

    sessions: tuple[BenchmarkSession, ...]
    passages: tuple[Passage, ...]

    def split(self, name: Split) -> tuple[BenchmarkSession, ...]:
        """The sessions of one split: of 320, 64 for calibration and 256 for the test, without a common group."""
        return tuple(session for session in self.sessions if session.split == name)


def generate(sessions: int = 320, *, seed: int) -> Benchmark:
    """Generate the benchmark; the same arguments give the same content on every machine.

    A smaller benchmark is the beginning of a larger one with the same seed. An even and an odd seed give cohorts that
    share no project, configuration, version, checkpoint, route or person.

    :param sessions: How many sessions; up to about 380 can get names of their own.
    :param seed: Which benchmark.
    :raises InvalidInput: If ``sessions`` is below 1, or so high that names run out.
    """
    if sessions < 1:
        raise InvalidInput(f"a benchmark needs at least 1 session, got {sessions}")
    rng = Random(f"pss320 {seed}")
    names = Names(rng, cohort=seed)
    made: list[BenchmarkSession] = []
    pool: list[Passage] = []
    for index in range(sessions):
        name = f"pss320-{seed}-{index:04}"
        facts = draw_facts(index, names, rng)
        # Each part draws from a source of its own, so that another phrasing in one changes no other.
        histories, documents, questions = (Random(f"{name} {part}") for part in ("history", "passages", "probes"))
        passages = _write_passages(name, facts, documents)
        pool += passages.values()
        made.append(
            BenchmarkSession(
                key=SessionKey(f"user-{name}", name),
                messages=tuple(_write_history(facts, histories)),
                fields=facts.fields,
                probes=tuple(_write_probes(index, passages, facts, questions)),
                source_group=facts.domain,
                split=facts.split,
            )
        )
    return Benchmark(tuple(made), tuple(pool))


def _write_passages(name: str, facts: Facts, rng: Random) -> dict[str, Passage]:
    chosen = {kind: rng.choice(variants) for kind, variants in wording.load("passages").items()}
    return {
        kind: Passage(_doc_id(f"{name}/{kind}"), facts.write(variant["text"]), facts.write(variant["title"]))
        for kind, variant in chosen.items()
    }


def _doc_id(name: str) -> str:
    """A hash goes first, lest ties, which are broken by id, prefer the first sessions."""
    return f"{crc32(name.encode()):08x}/{name}"


def _write_history(facts: Facts, rng: Random) -> Iterator[Message]:
    for beat in _order_beats(rng):
        for role in ("user", "assistant"):
            variants = beat[role]
            template = variants if isinstance(variants, str) else rng.choice(variants)
            yield Message(role, facts.write(template))


def _order_beats(rng: Random) -> list[dict[str, Any]]:
    words = wording.load("history")
    beats = _draw_beats(words["ordered"], rng)
    loose = [*_draw_beats(words["loose"], rng), *rng.sample(words["small_talk"], rng.randint(1, 3))]
    for beat in loose:
        beats.insert(rng.randint(0, len(beats)), beat)
    return [words["opening"], *beats, words["wrap_up"]]


def _draw_beats(beats: list[dict[str, Any]], rng: Random) -> list[dict[str, Any]]:
    return [beat for beat in beats if rng.random() < beat.get("chance", 1.0)]


def _write_probes(index: int, passages: dict[str, Passage], facts: Facts, rng: Random) -> Iterator[Probe]:
    intents: list[dict[str, Any]] = wording.load("probes")["intent"]
    for number in range(index * PROBES_PER_SESSION, (index + 1) * PROBES_PER_SESSION):
        category = CATEGORIES[number % len(CATEGORIES)]
        # Every phrasing of a category is as likely as any other, whichever intent it belongs to.
        phrasings = [(one, phrasing) for one in intents if one["category"] == category for phrasing in one["phrasings"]]
        intent, phrasing = rng.choice(phrasings)
        yield Probe(
            query=facts.write(phrasing),
            evidence=tuple(frozenset(passages[kind].doc_id for kind in group) for group in intent["evidence"]),
            gold_rewrite=facts.write(intent["rewrite"]),
            category=category,
            answers=tuple(facts.write(answer) for answer in intent.get("answers", ())),
        )
