"""Generated beliefs and queries for measurements, and a loader that writes a million of them in a few minutes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from random import Random
from typing import Any, Final

from sqlalchemy import func, insert, select

from pss_integrations.beliefs import UNIVERSAL, Belief, NewBelief, Principal
from pss_integrations.beliefs.changelog import stamp, text_key
from pss_integrations.beliefs.database import Database
from pss_integrations.beliefs.names import name_key
from pss_integrations.beliefs.records import content_key
from pss_integrations.beliefs.schema import BeliefType
from pss_integrations.beliefs.tables import beliefs as belief_rows
from pss_integrations.beliefs.tables import changes as change_rows
from pss_integrations.beliefs.tables import names as name_rows
from pss_integrations.evaluation import wording
from pss_integrations.evaluation.names import Names
from pss_integrations.text import FUNCTION_WORDS

SCOPES: Final = (UNIVERSAL, "domain:code", "domain:code/python", "project:atlas")
MADE_AT: Final = datetime(2026, 1, 5, 9, tzinfo=UTC)

_TYPES: Final[tuple[BeliefType, ...]] = ("entity", "preference", "decision", "open_question")
_KINDS: Final = ("service", "gateway", "importer", "scheduler", "dashboard", "archive")
_ROLES: Final = ("keeps the sessions", "sends the invoices", "resizes the pictures", "checks the uploads")
_PLACES: Final = ("in one region", "behind the proxy", "on spot machines", "with a nightly copy")
_TALK: Final = (
    *sorted(FUNCTION_WORDS),
    *"meeting customers slower graph since deployment yesterday colleague review notice budget".split(),
    *"morning question release numbers strange alternative migration reading weekend cheaper".split(),
)
_BATCH: Final = 10_000


def make_beliefs(count: int, *, seed: int) -> list[NewBelief]:
    """Invent beliefs; no two have a name in common, and a smaller number gives the first ones of a larger.

    :raises InvalidInput: If there are no more names, which is beyond 30,000.
    """
    rng = Random(seed)
    names = Names(rng)
    return [_belief(rng, number, names.project()) for number in range(count)]


def make_queries(count: int, known: Sequence[NewBelief], *, seed: int) -> list[str]:
    """Invent what users write: 5 to 60 words of talk with up to three names among them, one of five misspelled."""
    rng = Random(seed)
    return [_query(rng, known) for _ in range(count)]


def stored(new: NewBelief, belief_id: str, at: datetime) -> Belief:
    """A belief as it is when a user has just put it."""
    return Belief(
        **dict(new),
        id=belief_id,
        epistemic_status="exploratory" if new.type == "open_question" else "active",
        confirmed=True,
        created_at=at,
        updated_at=at,
        last_reinforced_at=at,
    )


def load(database: Database, principal: Principal, held: Iterable[Belief]) -> None:
    """Write live beliefs as if each had been put by its principal when it was made.

    :param held: Their canonical names are not checked to be free; the database refuses those that are taken.
    """
    left = iter(held)
    while batch := [*islice(left, _BATCH)]:
        with database.writing(str(principal)) as connection:
            last = connection.execute(select(func.max(change_rows.c.seq))).scalar() or 0
            numbered = [*enumerate(batch, last + 1)]
            owner = str(principal)
            connection.execute(insert(change_rows), [_change(owner, *one) for one in numbered])
            connection.execute(insert(belief_rows), [_row(owner, *one) for one in numbered])
            connection.execute(insert(name_rows), [row for _, one in numbered for row in _names(owner, one)])


def _belief(rng: Random, number: int, name: str) -> NewBelief:
    parts = wording.load("names")
    first, second = name.split()
    aliases = (
        f"{second} {rng.choice(_KINDS)}",
        f"{rng.choice(parts['shades'])} {rng.choice(parts['birds'])} {first}",
        f"{first[0]}{second[0]}-{10_000 + number}",
    )
    return NewBelief(
        type=_TYPES[number % len(_TYPES)],
        canonical_name=name if number % 2 else name.lower().replace(" ", "_"),
        aliases=aliases[: rng.randrange(1, 4)],
        content=f"{name} {rng.choice(_ROLES)} {rng.choice(_PLACES)}.",
        why_it_matters=None if number % 3 else f"Suggest nothing but {first}.",
        scopes=(SCOPES[number // len(_TYPES) % len(SCOPES)],),
    )


def _query(rng: Random, known: Sequence[NewBelief]) -> str:
    words = [rng.choice(_TALK) for _ in range(rng.randint(5, 60))]
    for _ in range(rng.randrange(4)):
        one = rng.choice(known)
        name = rng.choice((one.canonical_name, *one.aliases)).replace("_", " ")
        words.insert(rng.randrange(len(words) + 1), _misspelled(rng, name) if rng.random() < 0.2 else name)
    return " ".join(words)


def _misspelled(rng: Random, name: str) -> str:
    at = rng.randrange(2, len(name))
    return name[:at] + name[at + 1 :]


def _change(owner: str, seq: int, belief: Belief) -> dict[str, Any]:
    return {
        "seq": seq,
        "principal": owner,
        "belief_id": belief.id,
        "at": stamp(belief.created_at),
        "verb": "put",
        "actor": owner,
        "text_key": text_key(belief.content),
        "body": belief.model_dump_json(),
    }


def _row(owner: str, number: int, belief: Belief) -> dict[str, Any]:
    return {
        "principal": owner,
        "id": belief.id,
        "number": number,
        "live": True,
        "content_key": content_key(belief.content),
        "body": belief.model_dump_json(),
    }


def _names(owner: str, belief: Belief) -> Iterator[dict[str, Any]]:
    canonical = name_key(belief.canonical_name)
    for key in {canonical, *map(name_key, belief.aliases)}:
        for scope in belief.scopes:
            yield {
                "principal": owner,
                "scope": scope,
                "name_key": key,
                "belief_id": belief.id,
                "type": belief.type,
                "canonical": key == canonical,
            }
