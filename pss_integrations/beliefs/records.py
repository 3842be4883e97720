"""The beliefs of one principal as rows, within one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from pss_integrations.beliefs.names import name_key
from pss_integrations.beliefs.principals import Principal
from pss_integrations.beliefs.schema import Belief, Change, Verb
from pss_integrations.beliefs.tables import beliefs, changes, expect_scrub, names
from pss_integrations.errors import BeliefNotFound, InvalidInput
from pss_integrations.text import normalise, tokenize


class Records:
    """Reads and writes the rows of one principal.

    :param connection: An open transaction.
    :param principal: Whose beliefs they are; nothing of anybody else is touched.
    """

    def __init__(self, connection: Connection, principal: Principal) -> None:
        self._connection, self.principal = connection, principal
        self._owner = str(principal)

    def get(self, belief_id: str) -> Belief:
        """A belief by id, whatever its status.

        :raises BeliefNotFound: If this principal has none of that id.
        """
        if not isinstance(belief_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"the id of a belief must be a string, got {belief_id!r}")
        if "\0" in belief_id or (belief := self.find(belief_id)) is None:
            raise BeliefNotFound(f"{self.principal} has no belief {belief_id!r}")
        return belief

    def find(self, belief_id: str) -> Belief | None:
        """A belief by id, if there is one."""
        query = select(beliefs.c.body).where(beliefs.c.principal == self._owner, beliefs.c.id == belief_id)
        body = self._connection.execute(query).scalar()
        return None if body is None else Belief.model_validate_json(body)

    def page(
        self, *, live: bool | None, scopes: Sequence[str] | None, after: str | None, limit: int | None
    ) -> Iterator[Belief]:
        """Beliefs in the order in which they were made.

        :param live: Only current ones, or only past ones.
        :param scopes: Only those in one of these scopes.
        :param after: Only those made after this one.
        """
        query = select(beliefs.c.body).where(beliefs.c.principal == self._owner).order_by(beliefs.c.number)
        if live is not None:
            query = query.where(beliefs.c.live.is_(live))
        if after is not None:
            query = query.where(beliefs.c.number > self._number(after))
        with self._connection.execute(query.execution_options(yield_per=500)) as rows:
            found = map(Belief.model_validate_json, rows.scalars())
            yield from islice((one for one in found if scopes is None or not set(scopes).isdisjoint(one.scopes)), limit)

    def count(self) -> int:
        """How many live beliefs there are."""
        return self._connection.execute(
            select(func.count()).where(beliefs.c.principal == self._owner, beliefs.c.live)
        ).scalar_one()

    def named(self, name: str, scopes: Iterable[str], kind: str, *, canonical: bool) -> list[Belief]:
        """Live beliefs of a type that have a name, or an alias, in one of the scopes."""
        found = self._connection.execute(
            select(names.c.belief_id)
            .where(names.c.principal == self._owner, names.c.scope.in_([*scopes]), names.c.type == kind)
            .where(names.c.name_key == name_key(name), names.c.canonical.is_(canonical))
        ).scalars()
        return [self.get(belief_id) for belief_id in sorted(set(found))]

    def alike(self, content: str) -> list[Belief]:
        """Live beliefs that say the same words, in whatever order and spelling."""
        query = select(beliefs.c.body).where(beliefs.c.principal == self._owner, beliefs.c.live)
        rows = self._connection.execute(query.where(beliefs.c.content_key == content_key(content))).scalars()
        return sorted(map(Belief.model_validate_json, rows), key=lambda belief: belief.id)

    def challengers(self, belief_id: str) -> list[Belief]:
        """What contradicts a belief and waits for a decision, the oldest first."""
        return [one for one in self._contradicting(belief_id) if one.waiting]

    def _contradicting(self, belief_id: str) -> list[Belief]:
        query = select(beliefs.c.body).where(beliefs.c.principal == self._owner, beliefs.c.contradicts == belief_id)
        rows = self._connection.execute(query.order_by(beliefs.c.number)).scalars()
        return [*map(Belief.model_validate_json, rows)]

    def contested(self) -> dict[str, tuple[str, ...]]:
        """By belief, the ids of what contradicts it and waits for a decision."""
        query = select(beliefs.c.body).where(beliefs.c.principal == self._owner, beliefs.c.contradicts.is_not(None))
        rows = map(Belief.model_validate_json, self._connection.execute(query).scalars())
        found = dict[str, tuple[str, ...]]()
        for one in sorted(rows, key=lambda belief: (belief.created_at, belief.id)):
            if one.contradicts and one.waiting:
                found[one.contradicts] = (*found.get(one.contradicts, ()), one.id)
        return found

    def save(self, belief: Belief, verb: Verb, *, actor: str, at: datetime) -> Belief:
        """Write a belief and its entry in the log."""
        seq = self._log(belief.id, verb, actor, at, belief.model_dump_json())
        self._write(belief, seq)
        return belief

    def _write(self, belief: Belief, number: int) -> None:
        row = {
            "live": belief.live,
            "supersedes": belief.supersedes,
            "contradicts": belief.contradicts,
            "content_key": content_key(belief.content),
            "body": belief.model_dump_json(),
        }
        own = (beliefs.c.principal == self._owner, beliefs.c.id == belief.id)
        if not self._connection.execute(update(beliefs).where(*own).values(**row)).rowcount:
            self._connection.execute(insert(beliefs).values(principal=self._owner, id=belief.id, number=number, **row))
        self._connection.execute(delete(names).where(names.c.principal == self._owner, names.c.belief_id == belief.id))
        if belief.live:
            self._connection.execute(insert(names), [*self._names(belief)])

    def _names(self, belief: Belief) -> Iterator[dict[str, object]]:
        canonical = name_key(belief.canonical_name)
        for key in {canonical, *map(name_key, belief.aliases)}:
            for scope in belief.scopes:
                yield {
                    "principal": self._owner,
                    "scope": scope,
                    "name_key": key,
                    "belief_id": belief.id,
                    "type": belief.type,
                    "canonical": key == canonical,
                }

    def delete(self, ids: Iterable[str], *, actor: str, at: datetime) -> None:
        """Delete beliefs with all that the log holds of them; what is left says that they were, not what they were."""
        for belief_id in ids:
            self._delete(belief_id)
            self._log(belief_id, "erase", actor, at, None)
        expect_scrub(self._connection)

    def restore(self, beliefs_in: Sequence[Belief], log: Sequence[Change]) -> None:
        """Write beliefs and their log as they were once, in the place of those of the same ids."""
        for belief in beliefs_in:
            self._delete(belief.id)
        numbers = dict[str, int]()
        for one in log:
            seq = self._log(one.belief.id, one.verb, one.actor, one.at, one.belief.model_dump_json())
            numbers.setdefault(one.belief.id, seq)
        for belief in beliefs_in:
            self._write(belief, numbers[belief.id])

    def _delete(self, belief_id: str) -> None:
        self._connection.execute(delete(beliefs).where(beliefs.c.principal == self._owner, beliefs.c.id == belief_id))
        for table in (names, changes):
            own = (table.c.principal == self._owner, table.c.belief_id == belief_id)
            self._connection.execute(delete(table).where(*own))

    def chain(self, belief_id: str) -> list[Belief]:
        """All versions of what a belief is about, with those that contradicted one of them, by id.

        :raises BeliefNotFound: If this principal has none of that id.
        """
        found, unseen = {belief_id: self.get(belief_id)}, [belief_id]
        while unseen:
            belief = found[unseen.pop()]
            near = filter(None, (belief.supersedes, belief.superseded_by, belief.contradicts))
            linked = [*(one for key in near if (one := self.find(key))), *self._contradicting(belief.id)]
            new = {one.id: one for one in linked if one.id not in found}
            found |= new
            unseen += new
        return [found[key] for key in sorted(found)]

    def same_text(self, belief: Belief) -> list[str]:
        """Ids of beliefs that say or said the same, in whatever scope and status."""
        query = select(beliefs.c.id).where(beliefs.c.principal == self._owner)
        found = query.where(beliefs.c.content_key == content_key(belief.content)).order_by(beliefs.c.number)
        return [*self._connection.execute(found).scalars()]

    def linked_to(self, ids: Iterable[str]) -> list[Belief]:
        """Beliefs that say they supersede, are superseded by or contradict one of some, in order."""
        wanted = set(ids)
        return [
            one
            for one in self.page(live=None, scopes=None, after=None, limit=None)
            if not wanted.isdisjoint((one.supersedes, one.superseded_by, one.contradicts))
        ]

    # --- the log

    def seq(self) -> int:
        """Number of the last change; 0 if there was none."""
        return (
            self._connection.execute(select(func.max(changes.c.seq)).where(changes.c.principal == self._owner)).scalar()
            or 0
        )

    def changed_since(self, seq: int) -> dict[str, Belief | None]:
        """By id, what the beliefs that changed after a number are now; ``None`` for those that were erased."""
        changed = select(changes.c.belief_id).where(changes.c.principal == self._owner, changes.c.seq > seq)
        ids = {*self._connection.execute(changed).scalars()}
        return {belief_id: self.find(belief_id) for belief_id in sorted(ids)}

    def log(self, ids: Sequence[str] | None = None, *, until: datetime | None = None) -> Iterator[Change]:
        """Changes in their order, of all beliefs or of some, up to a time."""
        query = select(changes).where(changes.c.principal == self._owner, changes.c.body.is_not(None))
        if ids is not None:
            query = query.where(changes.c.belief_id.in_(ids))
        if until is not None:
            query = query.where(changes.c.at <= stamp(until))
        yield from map(_change, self._connection.execute(query.order_by(changes.c.seq)))

    def time(self, now: datetime) -> datetime:
        """When a change is made: now, and never before the last one, whatever the clock says."""
        own = select(changes.c.at).where(changes.c.principal == self._owner)
        last = self._connection.execute(own.order_by(changes.c.seq.desc()).limit(1)).scalar()
        return max(now, datetime.fromisoformat(last)) if last else now

    def _log(self, belief_id: str, verb: str, actor: str, at: datetime, body: str | None) -> int:
        entry = {"principal": self._owner, "belief_id": belief_id, "verb": verb, "actor": actor, "body": body}
        return self._connection.execute(
            insert(changes).values(at=stamp(at), **entry).returning(changes.c.seq)
        ).scalar_one()

    def _number(self, belief_id: str) -> int:
        self.get(belief_id)
        number = self._connection.execute(
            select(beliefs.c.number).where(beliefs.c.principal == self._owner, beliefs.c.id == belief_id)
        ).scalar()
        if number is None:
            raise BeliefNotFound(f"{self.principal} has no belief {belief_id!r} to go on after")
        return number


def _change(row: Row[tuple[object, ...]]) -> Change:
    return Change(
        at=datetime.fromisoformat(row.at),
        verb=row.verb,
        actor=row.actor,
        belief=Belief.model_validate_json(row.body),
    )


def stamp(time: datetime) -> str:
    """A time as the log has it."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def content_key(content: str) -> str:
    """The same for texts of the same words in any order; it does not tell the words."""
    words = " ".join(sorted(tokenize(content))) or normalise(content)
    return hashlib.sha256(words.encode()).hexdigest()
