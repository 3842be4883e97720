"""Connections and transactions: SQLite by default, PostgreSQL by its URL."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from pss_integrations.beliefs import tables
from pss_integrations.errors import BeliefStorageError, InvalidInput, MissingExtra

_WRITING = {"writing": True}


class Database:
    """One database of beliefs; safe for several threads and processes.

    :param url: Path of an SQLite file, or a URL as SQLAlchemy reads it.
    :raises InvalidInput: If it is neither, or names a database in memory.
    :raises BeliefStorageError: If it cannot be opened, or was made by a later version of this package.
    """

    def __init__(self, url: str | Path) -> None:
        self.url = _absolute(url)
        self._sqlite = self.url.get_backend_name() == "sqlite"
        # One writer at a time is all that SQLite allows; waiting here is fair, its own waiting is not.
        self._turn = threading.Lock() if self._sqlite else nullcontext()
        self._engine = _engine(self.url)
        self._closed = False
        if self._sqlite:
            _make_private(Path(str(self.url.database)))
            _prepare_sqlite(self._engine)
        with self.writing("schema") as connection:
            tables.bring_up_to_date(connection)
        self.scrub()

    def close(self) -> None:
        """Close all connections; nothing can be read or written any more."""
        self._closed = True
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """A transaction that sees one state of the database."""
        with self._errors(), self._engine.connect() as connection:
            if not self._sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self, key: str) -> Generator[Connection]:
        """A transaction that waits for the earlier ones of the same key, and is kept as a whole or not at all."""
        with self._errors(), self._turn, self._engine.connect() as connection:
            connection = connection.execution_options(**_WRITING)
            with connection.begin():
                if not self._sqlite:
                    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], signed=True)
                    connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": number})
                yield connection

    def scrub(self) -> bool:
        """Rewrite the files so that nothing deleted is left in them; returns whether that is done.

        With ``secure_delete`` alone deleted text stays in the write-ahead log while anybody reads, and may stay in the
        unused part of a page. If the files are in use it is tried again at the next open.
        """
        with self.reading() as connection:
            pending = tables.read_meta(connection, tables.PENDING_SCRUB) or tables.NOTHING_PENDING
        if pending == tables.NOTHING_PENDING:
            return True
        # A server reuses the space when it vacuums: there, what is deleted is gone for readers only.
        if self._sqlite and not self._rewrite():
            return False
        with self.writing("schema") as connection:
            tables.scrub_done(connection, pending)
        return True

    def _rewrite(self) -> bool:
        path = str(self.url.database)
        with self._turn, closing(sqlite3.connect(path, timeout=0.2, isolation_level=None)) as connection:
            try:
                connection.execute("VACUUM")
                (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.OperationalError:  # somebody writes at the moment
                return False
            return not busy

    def after_fork(self) -> None:
        """Leave connections and locks to the process that they come from."""
        self._engine.dispose(close=False)
        self._turn = threading.Lock() if self._sqlite else nullcontext()

    @contextmanager
    def _errors(self) -> Generator[None]:
        if self._closed:
            raise BeliefStorageError("the store of beliefs was closed: open a new one")
        try:
            yield
        except DBAPIError as error:
            raise BeliefStorageError(f"{self.url.render_as_string(hide_password=True)}: {error.orig}") from error


def may_exist(url: str | Path) -> bool:
    """Whether there may be a database: an SQLite file is there, or it is a server's. Opening one would make it."""
    parsed = _absolute(url)
    return parsed.get_backend_name() != "sqlite" or Path(str(parsed.database)).exists()


def _absolute(url: str | Path) -> URL:
    """Read a URL; the path of an SQLite file becomes absolute, so that a later ``chdir`` means nothing."""
    if not isinstance(url, str | Path) or "\0" in str(url):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a path or a database URL is needed, got {url!r}")
    if isinstance(url, Path) or "://" not in url:
        parsed = URL.create("sqlite", database=str(url))
    else:
        try:
            parsed = make_url(url)
        except (ArgumentError, ValueError) as error:
            raise InvalidInput(f"{url!r} is no database URL: use sqlite:///path or postgresql+psycopg://...") from error
    if parsed.get_backend_name() != "sqlite":
        return parsed
    if not parsed.database or parsed.database == ":memory:" or parsed.database.startswith("file:"):
        raise InvalidInput("a database in memory would lose every belief: give the path of a file")
    return parsed.set(database=str(Path(parsed.database).expanduser().resolve()))


def _make_private(path: Path) -> None:
    """Make the file, if it is not there, for nobody else to read; those that SQLite puts beside it get its rights."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT, 0o600))
    except OSError as error:
        raise BeliefStorageError(f"{path} cannot be written: {error}") from error


def _engine(url: URL) -> Engine:
    try:
        return create_engine(url, pool_size=8, max_overflow=56, pool_timeout=60)
    except NoSuchModuleError as error:
        raise InvalidInput(f"{url.drivername!r} is no known database: use sqlite or postgresql+psycopg") from error
    except ModuleNotFoundError as error:
        if url.get_backend_name() == "postgresql":
            raise MissingExtra("postgres", error.name or url.drivername) from error
        raise InvalidInput(f"{url.drivername!r} is not supported: use sqlite or postgresql+psycopg") from error


def _prepare_sqlite(engine: Any) -> None:
    """Let ``BEGIN`` be ours: a transaction that will write must say so before it reads."""

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: object) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.isolation_level = None
        for pragma in ("busy_timeout=60000", "journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
