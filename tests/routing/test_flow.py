import asyncio
import threading
from typing import Any

import pytest

from pss_integrations.errors import InvalidInput
from pss_integrations.routing.flow import Find, Flow, Look, Read, awalk, walk
from pss_integrations.routing.wording import Wording
from pss_integrations.types import SessionKey

ADA = SessionKey("ada", "s")
WORDING = Wording("query")


def everything() -> Flow[tuple[Any, ...]]:
    found = yield Find(WORDING, "raw")
    clue = yield Read(ADA, "query")
    looked = yield Look(threading.current_thread)
    return found, clue.text, looked


def recovering() -> Flow[str]:
    try:
        yield Find(WORDING, "pss")
    except LookupError as error:
        found = yield Find(WORDING, "raw")
        return f"{error.args[0]} {found}"
    raise AssertionError


def find(wording: Wording, route: str) -> list[str]:
    if route != "raw":
        raise LookupError(route)
    return [wording.text]


async def afind(wording: Wording, route: str) -> list[str]:
    await asyncio.sleep(0)
    return find(wording, route)


async def walked(mode: str, flow: Flow[Any], reader: Any = None, search: Any = None) -> Any:
    if mode == "sync":
        return walk(flow, reader, search or find)
    return await awalk(flow, reader, search or afind)


async def test_each_request_is_answered(make_reader, mode: str) -> None:
    reader = make_reader({ADA: "clue"})
    found, clue, thread = await walked(mode, everything(), reader)
    assert (found, clue) == (["query"], "clue")
    assert (thread is threading.main_thread()) is (mode == "sync")  # the disk is not read in the event loop
    assert reader.calls == [("read" if mode == "sync" else "aread", ADA, "query")]


async def test_an_answer_that_fails_is_raised_inside(mode: str) -> None:
    assert await walked(mode, recovering()) == "pss ['query']"


async def test_what_the_flow_does_not_catch_comes_out(mode: str) -> None:
    def failing() -> Flow[None]:
        yield Find(WORDING, "card")

    with pytest.raises(LookupError, match="card"):
        await walked(mode, failing())


async def test_a_flow_may_ask_for_nothing(mode: str) -> None:
    def silent() -> Flow[int]:
        return 3
        yield

    assert await walked(mode, silent()) == 3


@pytest.mark.parametrize("found", [None, "text", 1, {"a": 1}, iter([])])
async def test_what_a_search_returns_must_be_a_list(mode: str, found: object) -> None:
    async def asearch(*_: object) -> object:
        return found

    search = asearch if mode == "async" else lambda *_: found
    with pytest.raises(InvalidInput, match=f"got {type(found).__name__}"):
        await walked(mode, everything(), None, search)


async def test_a_cancelled_flow_is_closed_and_asks_for_nothing_more() -> None:
    steps: list[str] = []

    def flow() -> Flow[None]:
        try:
            yield Find(WORDING, "raw")
        except Exception:
            steps.append("caught")
        finally:
            steps.append("closed")

    async def forever(*_: object) -> list[str]:
        steps.append("asked")
        return await asyncio.Future()

    task = asyncio.create_task(awalk(flow(), None, forever))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["asked", "closed"]
