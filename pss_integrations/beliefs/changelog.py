"""The append-only log of the beliefs of one principal, within one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, Row, delete, func, insert, select

from pss_integrations.beliefs.schema import Belief, Change, Verb
from pss_integrations.beliefs.tables import changes
from pss_integrations.text import normalise


class ChangeLog:
    """Reads and writes the log of one principal.

    :param connection: An open transaction.
    :param owner: The principal, as its rows have it.
    """

    def __init__(self, connection: Connection, owner: str) -> None:
        self._connection, self._owner = connection, owner
        self._own = changes.c.principal == owner

    def add(self, belief: Belief, verb: Verb, *, actor: str, at: datetime) -> int:
        """Write an entry; returns its number."""
        entry = {"belief_id": belief.id, "verb": verb, "actor": actor, "body": belief.model_dump_json()}
        row = {"principal": self._owner, "at": stamp(at), "text_key": text_key(belief.content), **entry}
        return self._connection.execute(insert(changes).values(**row).returning(changes.c.seq)).scalar_one()

    def erase(self, ids: Sequence[str], *, actor: str, at: datetime) -> None:
        """Delete all entries about beliefs; what is left says that they were, not what they were."""
        if not ids:
            return
        self.delete(ids)
        row = {"principal": self._owner, "at": stamp(at), "verb": "erase", "actor": actor}
        self._connection.execute(insert(changes), [{**row, "belief_id": one} for one in ids])

    def delete(self, ids: Iterable[str]) -> None:
        """Delete all entries about beliefs."""
        for one in ids:
            self._connection.execute(delete(changes).where(self._own, changes.c.belief_id == one))

    def delete_text(self, key: str) -> None:
        """Delete the entries of whatever belief in which it said a text."""
        self._connection.execute(delete(changes).where(self._own, changes.c.text_key == key))

    def texts(self, ids: Sequence[str]) -> set[str]:
        """Keys of all that beliefs ever said."""
        return {key for one in ids for key in self._scalars(changes.c.text_key, changes.c.belief_id == one) if key}

    def said_by(self, keys: Iterable[str]) -> set[str]:
        """Ids of the beliefs that say or said one of some texts."""
        return {one for key in keys for one in self._scalars(changes.c.belief_id, changes.c.text_key == key)}

    def seq(self) -> int:
        """Number of the last change; 0 if there was none."""
        last = select(func.max(changes.c.seq)).where(self._own)
        return self._connection.execute(last).scalar() or 0

    def changed_since(self, seq: int) -> set[str]:
        """Ids of the beliefs that changed after a number."""
        return {*self._scalars(changes.c.belief_id, changes.c.seq > seq)}

    def entries(self, ids: Sequence[str] | None = None, *, until: datetime | None = None) -> Iterator[Change]:
        """Changes in their order, of all beliefs or of some, up to a time."""
        query = select(changes).where(self._own, changes.c.body.is_not(None))
        if ids is not None:
            query = query.where(changes.c.belief_id.in_(ids))
        if until is not None:
            query = query.where(changes.c.at <= stamp(until))
        yield from map(_change, self._connection.execute(query.order_by(changes.c.seq)))

    def time(self, now: datetime) -> datetime:
        """When a change is made: now, and never before the last one, whatever the clock says."""
        last = select(changes.c.at).where(self._own).order_by(changes.c.seq.desc()).limit(1)
        said = self._connection.execute(last).scalar()
        return max(now, datetime.fromisoformat(said)) if said else now

    def _scalars(self, column: object, condition: object) -> Iterator[str]:
        yield from self._connection.execute(select(column).where(self._own, condition)).scalars()  # type: ignore[call-overload,arg-type]


def stamp(time: datetime) -> str:
    """A time as the log has it."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def text_key(text: str) -> str:
    """The same for texts that differ in spelling only; it does not tell the text."""
    return hashlib.sha256(normalise(text).encode()).hexdigest()


def _change(row: Row[tuple[object, ...]]) -> Change:
    return Change(
        at=datetime.fromisoformat(row.at),
        verb=row.verb,
        actor=row.actor,
        belief=Belief.model_validate_json(row.body),
    )
