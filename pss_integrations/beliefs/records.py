"""The beliefs of one principal as rows, within one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

from sqlalchemy import Connection, delete, func, insert, select, update

from pss_integrations.beliefs.changelog import ChangeLog
from pss_integrations.beliefs.names import name_key
from pss_integrations.beliefs.principals import Principal
from pss_integrations.beliefs.schema import Belief, Change, Verb
from pss_integrations.beliefs.tables import beliefs, expect_scrub, names
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
        self._own = beliefs.c.principal == self._owner
        self.log = ChangeLog(connection, self._owner)

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
        query = select(beliefs.c.body).where(self._own, beliefs.c.id == belief_id)
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
        query = select(beliefs.c.body).where(self._own).order_by(beliefs.c.number)
        if live is not None:
            query = query.where(beliefs.c.live.is_(live))
        if after is not None:
            query = query.where(beliefs.c.number > self._number(after))
        with self._connection.execute(query.execution_options(yield_per=500)) as rows:
            found = map(Belief.model_validate_json, rows.scalars())
            yield from islice((one for one in found if scopes is None or not set(scopes).isdisjoint(one.scopes)), limit)

    def count(self) -> int:
        """How many live beliefs there are."""
        return self._connection.execute(select(func.count()).where(self._own, beliefs.c.live)).scalar_one()

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
        query = select(beliefs.c.body).where(self._own, beliefs.c.live)
        rows = self._connection.execute(query.where(beliefs.c.content_key == content_key(content))).scalars()
        return sorted(map(Belief.model_validate_json, rows), key=lambda belief: belief.id)

    def challengers(self, belief_id: str) -> list[Belief]:
        """What contradicts a belief and waits for a decision, the oldest first."""
        return [one for one in self._contradicting(belief_id) if one.waiting]

    def _contradicting(self, belief_id: str) -> list[Belief]:
        query = select(beliefs.c.body).where(self._own, beliefs.c.contradicts == belief_id)
        rows = self._connection.execute(query.order_by(beliefs.c.number)).scalars()
        return [*map(Belief.model_validate_json, rows)]

    def contested(self) -> dict[str, tuple[str, ...]]:
        """By belief, the ids of what contradicts it and waits for a decision."""
        query = select(beliefs.c.body).where(self._own, beliefs.c.contradicts.is_not(None))
        rows = map(Belief.model_validate_json, self._connection.execute(query).scalars())
        found = dict[str, tuple[str, ...]]()
        for one in sorted(rows, key=lambda belief: (belief.created_at, belief.id)):
            if one.contradicts and one.waiting:
                found[one.contradicts] = (*found.get(one.contradicts, ()), one.id)
        return found

    def save(self, belief: Belief, verb: Verb, *, actor: str, at: datetime) -> Belief:
        """Write a belief and its entry in the log."""
        self._write(belief, self.log.add(belief, verb, actor=actor, at=at))
        return belief

    def _write(self, belief: Belief, number: int) -> None:
        row = {
            "live": belief.live,
            "supersedes": belief.supersedes,
            "contradicts": belief.contradicts,
            "content_key": content_key(belief.content),
            "body": belief.model_dump_json(),
        }
        own = (self._own, beliefs.c.id == belief.id)
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

    def erase(self, ids: Sequence[str], *, actor: str, at: datetime) -> None:
        """Delete beliefs with all that the log holds of them."""
        self._delete(ids)
        self.log.erase(ids, actor=actor, at=at)
        expect_scrub(self._connection)

    def restore(self, restored: Sequence[Belief], log: Sequence[Change], *, instead_of: Iterable[str]) -> None:
        """Write beliefs and their log as they were once, in the place of others."""
        gone = [*instead_of]
        self._delete(gone)
        self.log.delete(gone)
        numbers = dict[str, int]()
        for one in log:
            seq = self.log.add(one.belief, one.verb, actor=one.actor, at=one.at)
            numbers.setdefault(one.belief.id, seq)
        for belief in restored:
            self._write(belief, numbers[belief.id])

    def _delete(self, ids: Sequence[str]) -> None:
        for one in ids:
            self._connection.execute(delete(beliefs).where(self._own, beliefs.c.id == one))
            own = (names.c.principal == self._owner, names.c.belief_id == one)
            self._connection.execute(delete(names).where(*own))

    # --- what belongs together

    def chain(self, belief_id: str) -> list[Belief]:
        """All versions of what a belief is about, and what contradicted one of them, by id.

        :raises BeliefNotFound: If this principal has none of that id.
        """
        return self._reached(belief_id, ("supersedes", "superseded_by"))

    def related(self, belief_id: str) -> list[Belief]:
        """The same, and from what contradicts something also what it contradicts.

        :raises BeliefNotFound: If this principal has none of that id.
        """
        return self._reached(belief_id, ("supersedes", "superseded_by", "contradicts"))

    def _reached(self, belief_id: str, links: Sequence[str]) -> list[Belief]:
        found, unseen = {belief_id: self.get(belief_id)}, [belief_id]
        while unseen:
            belief = found[unseen.pop()]
            near = (self.find(key) for link in links if (key := getattr(belief, link)))
            linked = (*filter(None, near), *self._contradicting(belief.id))
            new = {one.id: one for one in linked if one.id not in found}
            found |= new
            unseen += new
        return [found[key] for key in sorted(found)]

    def linked_to(self, gone: Sequence[Belief]) -> list[Belief]:
        """Others that say they supersede, are superseded by or contradict one of some, by id."""
        ids = {one.id for one in gone}
        near = (self.find(key) for one in gone for key in (one.supersedes, one.superseded_by) if key)
        found = {one.id: one for one in near if one is not None}
        for one in gone:
            found |= {other.id: other for other in self._contradicting(one.id)}
        return [found[key] for key in sorted(found.keys() - ids)]

    def heirs(self) -> dict[str, str]:
        """By id, what superseded a belief."""
        query = select(beliefs.c.supersedes, beliefs.c.id).where(self._own, beliefs.c.supersedes.is_not(None))
        return {row.supersedes: row.id for row in self._connection.execute(query)}

    def _number(self, belief_id: str) -> int:
        self.get(belief_id)
        number = self._connection.execute(select(beliefs.c.number).where(self._own, beliefs.c.id == belief_id)).scalar()
        if number is None:
            raise BeliefNotFound(f"{self.principal} has no belief {belief_id!r} to go on after")
        return number


def content_key(content: str) -> str:
    """The same for texts of the same words in any order; it does not tell the words."""
    words = " ".join(sorted(tokenize(content))) or normalise(content)
    return hashlib.sha256(words.encode()).hexdigest()
