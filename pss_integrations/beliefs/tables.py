"""The tables of a belief store, and how older ones are brought up to date."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    insert,
    inspect,
    select,
    update,
)

from pss_integrations.errors import BeliefStorageError

SCHEMA_VERSION = 1
PENDING_SCRUB = "pending_scrub"
NOTHING_PENDING = "none"

metadata = MetaData()
_Seq = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts only INTEGER up by itself

beliefs = Table(
    "beliefs",
    metadata,
    Column("principal", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("number", _Seq, nullable=False),  # the change that made it: the order of lists
    Column("live", Boolean, nullable=False),
    Column("supersedes", Text),
    Column("contradicts", Text),
    Column("content_key", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index("beliefs_in_order", "principal", "number", unique=True),
    Index("beliefs_live", "principal", "live"),
    Index("beliefs_alike", "principal", "content_key"),
    Index("beliefs_contradicting", "principal", "contradicts"),
)
# A version has one successor at most: chains stay linear whatever the transactions around them do.
Index(
    "beliefs_linear",
    beliefs.c.principal,
    beliefs.c.supersedes,
    unique=True,
    sqlite_where=beliefs.c.supersedes.is_not(None),
    postgresql_where=beliefs.c.supersedes.is_not(None),
)

names = Table(
    "belief_names",
    metadata,
    Column("principal", Text, primary_key=True),
    Column("scope", Text, primary_key=True),
    Column("name_key", Text, primary_key=True),
    Column("belief_id", Text, primary_key=True),
    Column("type", Text, nullable=False),
    Column("canonical", Boolean, nullable=False),
    Index("names_of_a_belief", "principal", "belief_id"),
)
"""Names and aliases of live beliefs, in each of their scopes."""
Index(
    "names_taken_once",
    names.c.principal,
    names.c.scope,
    names.c.type,
    names.c.name_key,
    unique=True,
    sqlite_where=names.c.canonical,
    postgresql_where=names.c.canonical,
)

changes = Table(
    "belief_changes",
    metadata,
    Column("seq", _Seq, primary_key=True, autoincrement=True),
    Column("principal", Text, nullable=False),
    Column("belief_id", Text, nullable=False),
    Column("at", Text, nullable=False),  # ISO 8601 of one width, in UTC: it sorts as text
    Column("verb", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("text_key", Text),
    Column("body", Text),  # none: the belief was erased
    Index("changes_of_a_text", "principal", "text_key"),
    Index("changes_in_order", "principal", "seq"),
    Index("changes_of_a_belief", "principal", "belief_id"),
    sqlite_autoincrement=True,  # a number that was erased is not used again
)

grants = Table(
    "belief_grants",
    metadata,
    Column("team", Text, primary_key=True),
    Column("user", Text, primary_key=True),
    Column("right", Text, nullable=False),
)

meta = Table("belief_meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {}
"""By version: what brings a database of that version to the next one."""


def bring_up_to_date(connection: Connection) -> None:
    """Make the tables, or bring those of an earlier version to this one.

    :raises BeliefStorageError: If they were made by a later version of this package.
    """
    if not inspect(connection).has_table(meta.name):
        metadata.create_all(connection)
        connection.execute(insert(meta).values(key="schema_version", value=str(SCHEMA_VERSION)))
        connection.execute(insert(meta).values(key=PENDING_SCRUB, value=NOTHING_PENDING))
    said = read_meta(connection, "schema_version") or ""
    if not said.isdecimal() or not (version := int(said)):
        raise BeliefStorageError(f"these beliefs have no known schema version: {said!r}")
    if version > SCHEMA_VERSION:
        raise BeliefStorageError(
            f"these beliefs have schema version {version}, this package knows {SCHEMA_VERSION}: update pss-integrations"
        )
    for step in range(version, SCHEMA_VERSION):
        MIGRATIONS[step](connection)
        write_meta(connection, "schema_version", str(step + 1))


def read_meta(connection: Connection, key: str) -> str | None:
    """A value about the database as a whole; ``None`` if it was not written."""
    return connection.execute(select(meta.c.value).where(meta.c.key == key)).scalar()


def write_meta(connection: Connection, key: str, value: str) -> None:
    """Write a value about the database as a whole; all of them are there from the start."""
    connection.execute(update(meta).where(meta.c.key == key).values(value=value))


def expect_scrub(connection: Connection) -> None:
    """Note that text was deleted which still lies in free space; each time in another way, see ``scrub_done``."""
    write_meta(connection, PENDING_SCRUB, uuid.uuid4().hex)


def scrub_done(connection: Connection, pending: str) -> None:
    """Take a note back, unless it is a later one."""
    own = (meta.c.key == PENDING_SCRUB, meta.c.value == pending)
    connection.execute(update(meta).where(*own).values(value=NOTHING_PENDING))
