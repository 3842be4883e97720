"""Every kind of searcher as a fixture: ``kind`` is an index of ours, ``any_kind`` also a retriever wrapped as one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from chroma_server import chroma_server
from searchers import INDEXES, WRAPPED, Kind, index_kind


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of a Chroma server, which is only started where a test asks for it."""
    with chroma_server(tmp_path_factory.mktemp("chroma") / "server") as client:
        yield client


@contextmanager
def made(request: pytest.FixtureRequest, factory: pytest.TempPathFactory) -> Iterator[Kind]:
    if request.param in WRAPPED:
        yield WRAPPED[request.param]
    else:
        with index_kind(request.param, factory.mktemp("saved"), lambda: request.getfixturevalue("server")) as kind:
            yield kind


@pytest.fixture(params=INDEXES)
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kind]:
    with made(request, tmp_path_factory) as kind:
        yield kind


@pytest.fixture(params=[*INDEXES, *WRAPPED])
def any_kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kind]:
    with made(request, tmp_path_factory) as kind:
        yield kind
