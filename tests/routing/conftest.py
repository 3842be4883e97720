"""A search over fixed lists, and routers around it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pss_integrations.routing import Router
from pss_integrations.routing.wording import Wording
from pss_integrations.types import Hit, Passage, SessionKey


@dataclass(frozen=True)
class Doc:
    id: str
    text: str = ""
    score: float = 0.0


class Index:
    """Returns a fixed list per text, and notes what was searched."""

    def __init__(self, found: dict[str, Any] | None = None, failing: tuple[str, ...] = ()) -> None:
        self.found, self.failing = found or {}, failing
        self.searched: list[tuple[str, str]] = []

    def search(self, wording: Wording, route: str) -> list[Doc]:
        self.searched.append((wording.text, route))
        if route in self.failing:
            raise LookupError(route)
        found = self.found.get(wording.text, ["a", "b", "c"])
        return [Doc(one) if isinstance(one, str) else one for one in found] if isinstance(found, list) else found

    async def asearch(self, wording: Wording, route: str) -> list[Doc]:
        await asyncio.sleep(0)
        return self.search(wording, route)


def make_router(reader: Any, **options: Any) -> Router[Doc]:
    return Router(
        reader,
        hit=lambda doc: Hit(Passage(doc.id, doc.text), doc.score),
        rescore=lambda doc, score: replace(doc, score=score),
        **options,
    )


async def run_router(mode: str, router: Router[Doc], query: str, key: SessionKey | None, index: Index, **rest: Any):
    if mode == "sync":
        return router.route(query, key, index.search, **rest)
    return await router.aroute(query, key, index.asearch, **rest)


@pytest.fixture(scope="session")
def router() -> Callable[..., Router[Doc]]:
    return make_router


@pytest.fixture(scope="session")
def run() -> Callable[..., Any]:
    return run_router


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def make_doc() -> type[Doc]:
    return Doc


@pytest.fixture(scope="session")
def make_index() -> type[Index]:
    return Index
