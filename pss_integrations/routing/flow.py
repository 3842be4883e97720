"""A decision as a conversation: it asks for what it needs, and is answered with or without blocking.

So there is one path from a query to documents, whether it is walked by threads or by an event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pss_integrations.errors import InvalidInput
from pss_integrations.protocols import ClueReader
from pss_integrations.routing.wording import Wording
from pss_integrations.types import Route, SessionKey

ResultT = TypeVar("ResultT")
Search = Callable[[Wording, Route], Sequence[Any]]
AsyncSearch = Callable[[Wording, Route], Awaitable[Sequence[Any]]]


@dataclass(frozen=True, slots=True)
class Find:
    """Asks for the documents of a wording."""

    wording: Wording
    route: Route


@dataclass(frozen=True, slots=True)
class Read:
    """Asks for the clue of a session's state."""

    session: SessionKey
    query: str


@dataclass(frozen=True, slots=True)
class Look:
    """Asks for what may have to be read from disk, or from long texts."""

    work: Callable[[], Any]


Flow = Generator[Find | Read | Look, Any, ResultT]


def walk(flow: Flow[ResultT], reader: ClueReader | None, search: Search | None = None) -> ResultT:
    """Answer a flow in the caller's thread; an answer that fails is raised inside it."""

    def answer(asked: Find | Read | Look) -> Any:
        match asked:
            case Find(wording, route):
                return _checked(_given(search)(wording, route))
            case Read(session, query):
                return _given(reader).read(session, query)
            case Look(work):
                return work()

    try:
        asked = next(flow)
        while True:
            try:
                answered = answer(asked)
            except Exception as error:
                asked = flow.throw(error)
            else:
                asked = flow.send(answered)
    except StopIteration as stop:
        return stop.value


async def awalk(flow: Flow[ResultT], reader: ClueReader | None, search: AsyncSearch | None = None) -> ResultT:
    """Do the same without blocking the event loop; cancelled, it asks for nothing more."""

    async def answer(asked: Find | Read | Look) -> Any:
        match asked:
            case Find(wording, route):
                return _checked(await _given(search)(wording, route))
            case Read(session, query):
                return await _given(reader).aread(session, query)
            case Look(work):
                return await asyncio.to_thread(work)

    try:
        asked = next(flow)
        while True:
            try:
                answered = await answer(asked)
            except Exception as error:
                asked = flow.throw(error)
            else:
                asked = flow.send(answered)
    except StopIteration as stop:
        return stop.value
    finally:
        flow.close()


def _checked(found: object) -> Sequence[Any]:
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise InvalidInput(
            f"a search must return a list, an empty one where nothing is found: got {type(found).__name__}"
        )
    return cast("Sequence[Any]", found)


def _given(part: ResultT | None) -> ResultT:
    assert part is not None, "a flow asks only for what it was given"
    return part
