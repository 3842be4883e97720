"""Why probes are missed: each goes to one class, by rules that a machine can check (PSS, section U).

The paper announces such a taxonomy by hand and reports no labels. Here the rules are mechanical and tried in order:
first whether there is a clue that could help, then whom and what it names, and only then what the search made of it.
They describe what can be observed, which need not be the cause: a router may have searched with its card.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.arms import ARMS
from pss_integrations.evaluation.inspection.knowledge import Knowledge, Known, holds
from pss_integrations.evaluation.metrics import Ranks, hit
from pss_integrations.evaluation.record import ProbeRecord, RunRecord
from pss_integrations.routing.rules import is_usable_clue
from pss_integrations.text import identifiers

_EXAMPLES: Final = 3
_NOTHING: Final = Known("", frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class Miss:
    """A probe that an arm missed: fewer of its evidence groups were among the first k than have room there.

    :param ranks: Of its evidence groups.
    :param left_alone: Whether the arm searched with nothing but the query.
    :param known: What the benchmark knows of it; nothing if it was not asked.
    :param foreign: Names of other sessions that the clue holds.
    """

    session_id: str
    query: str
    category: str
    clue: str
    ranks: Ranks
    k: int
    left_alone: bool
    known: Known
    foreign: frozenset[str]

    @property
    def missing(self) -> frozenset[str]:
        """Names that the gold rewrite holds, and neither the clue nor the query does."""
        texts = (self.clue, self.query)
        return frozenset(name for name in self.known.wanted if not any(holds(text, name) for text in texts))

    @property
    def rivals(self) -> frozenset[str]:
        """Names of its session that the clue holds in the place of wanted ones, or beside them."""
        return frozenset(name for name in self.known.rivals if holds(self.clue, name))

    @property
    def invented(self) -> list[str]:
        """Identifiers of the clue that neither its session nor the query nor the rewrite holds."""
        sources = (*self.known.own, self.query, self.known.rewrite)
        return [name for name in identifiers(self.clue) if not any(holds(source, name) for source in sources)]


@dataclass(frozen=True, slots=True)
class ErrorClass:
    """One class of the taxonomy.

    :param about: What is observed.
    :param applies: Whether a miss is of this class, if it is of none before it.
    """

    name: str
    about: str
    applies: Callable[[Miss], bool]


CLASSES: Final[Sequence[ErrorClass]] = (
    ErrorClass("no_clue", "the state wrote nothing, or there is no state", lambda miss: not miss.clue.strip()),
    ErrorClass(
        "says_nothing",
        "the clue repeats the query, or itself without end",
        lambda miss: not is_usable_clue(miss.clue, miss.query),
    ),
    ErrorClass("left_alone", "there was a clue, and the router did not use it", lambda miss: miss.left_alone),
    ErrorClass("other_session", "the clue has a name of another session", lambda miss: bool(miss.foreign)),
    ErrorClass(
        "invented",
        "the clue has an identifier that nobody said",
        lambda miss: bool(miss.known.own) and bool(miss.invented),
    ),
    ErrorClass(
        "wrong_version",
        "the clue lacks a name that is needed, and has the archived or another record's name",
        lambda miss: bool(miss.missing and miss.rivals),
    ),
    ErrorClass("incomplete", "the clue lacks a name that is needed", lambda miss: bool(miss.missing)),
    ErrorClass(
        "ambiguous",
        "the clue has every name that is needed, and the archived or another record's too",
        lambda miss: bool(miss.rivals),
    ),
    ErrorClass(
        "partly_found",
        "some of the evidence is among the first k, and there was room for more",
        lambda miss: bool(hit(miss.ranks, miss.k)),
    ),
    ErrorClass("low_rank", "all of the evidence was found, below the first k", lambda miss: None not in miss.ranks),
    ErrorClass("not_found", "evidence is not among all that was found", lambda miss: True),
)
"""The classes in the order in which they are tried; the last takes what is left."""


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """The missed probes of one arm by class.

    :param searcher: With which searcher.
    :param arm: Of which arm.
    :param probes: Category to its number of probes with evidence.
    :param misses: Class name to its misses; every class is there.
    :param names_known: Whether it is known which names are right; if not, only the classes without names can occur.
    """

    searcher: str
    arm: str
    probes: Mapping[str, int]
    misses: Mapping[str, Sequence[Miss]]
    names_known: bool

    def counts(self, category: str | None = None) -> dict[str, int]:
        """Class name to number of misses, of all categories or one."""
        return {name: sum(category in (None, miss.category) for miss in misses) for name, misses in self.misses.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: counts, shares of the misses, and the first examples of each class."""
        counts = self.counts()
        missed = sum(counts.values())
        return {
            "searcher": self.searcher,
            "arm": self.arm,
            "names_known": self.names_known,
            "probes": sum(self.probes.values()),
            "missed": missed,
            "classes": {
                one.name: {
                    "about": one.about,
                    "count": counts[one.name],
                    "share": round(counts[one.name] / missed, 4) if missed else None,
                    "examples": [_example(miss) for miss in self.misses[one.name][:_EXAMPLES]],
                }
                for one in CLASSES
            },
            "categories": {
                name: {"probes": probes, "missed": sum(self.counts(name).values()), "classes": self.counts(name)}
                for name, probes in self.probes.items()
            },
        }


def classify(miss: Miss) -> str:
    """Name the one class of a miss."""
    return next(one.name for one in CLASSES if one.applies(miss))


def taxonomy(record: RunRecord, searcher: str, arm: str, knowledge: Knowledge | None = None) -> Taxonomy:
    """Put every probe that an arm missed at the record's cut-off into its class.

    :param arm: One that reads a state.
    :param knowledge: What the benchmark knows; without it names are not looked at.
    :raises InvalidInput: If the record has no such searcher or arm, the arm reads no state, no probe has evidence, or
        the knowledge is of other data.
    """
    state = _state_of(record, searcher, arm)
    asked = [(session.session_id, probe) for session in record.sessions for probe in session.probes if probe.groups]
    if not asked:
        raise InvalidInput(f"no probe of this run of {record.kind} has evidence, so none can be missed")
    misses: dict[str, list[Miss]] = {one.name: [] for one in CLASSES}
    for session_id, probe in asked:
        ranks = probe.ranks[searcher][arm]
        if sum(rank is not None and rank <= record.k for rank in ranks) < min(record.k, len(ranks)):
            miss = _miss(session_id, probe, ranks, record.k, knowledge, (state, arm))
            misses[classify(miss)].append(miss)
    return Taxonomy(searcher, arm, Counter(probe.category for _, probe in asked), misses, knowledge is not None)


def _state_of(record: RunRecord, searcher: str, arm: str) -> str:
    state = ARMS[arm].text or ARMS[arm].state if arm in ARMS else None
    if searcher not in record.searchers or arm not in record.arms or state is None:
        with_state = [name for name in record.arms if name in ARMS and ARMS[name].state]
        raise InvalidInput(
            f"no clue of {arm!r} with {searcher!r} to inspect: use one of {', '.join(record.searchers)} and of "
            f"{', '.join(with_state) or 'no arm, for none of this record reads a state'}"
        )
    return state


def _miss(
    session_id: str, probe: ProbeRecord, ranks: Ranks, k: int, knowledge: Knowledge | None, read: tuple[str, str]
) -> Miss:
    state, arm = read
    known = knowledge.of(session_id, probe.query) if knowledge else _NOTHING
    clue = probe.clues.get(state, "")
    elsewhere = knowledge.names - known.own if knowledge else frozenset[str]()
    return Miss(
        session_id=session_id,
        query=probe.query,
        category=probe.category,
        clue=clue,
        ranks=ranks,
        k=k,
        left_alone=arm in probe.left_alone,
        known=known,
        foreign=frozenset(name for name in elsewhere if holds(clue, name)),
    )


def _example(miss: Miss) -> dict[str, Any]:
    return {
        "session_id": miss.session_id,
        "category": miss.category,
        "query": miss.query,
        "clue": miss.clue,
        "rewrite": miss.known.rewrite,
        "missing": sorted(miss.missing),
        "foreign": sorted(miss.foreign),
        "ranks": list(miss.ranks),
    }
