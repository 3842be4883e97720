"""Bringing many stored sessions up to date."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest

from pss_integrations.errors import InvalidInput, ManagerClosed, StateError, WeightsNotFetched
from pss_integrations.states import CallableTargets, CompileConfig, StateManager, StateUpdate
from pss_integrations.states.update import OUTCOMES
from pss_integrations.types import ClueTarget, Message, SessionKey

BRIEF = CompileConfig(history_steps=1, max_epochs=1)
MakeManager = Callable[..., StateManager]
Session = tuple[SessionKey, Sequence[Message]]


def key_of(number: int) -> SessionKey:
    return SessionKey("ada", f"s{number}")


def session(number: int, length: int = 1) -> Session:
    said = [Message("user", f"Crane {number} has kit-{number}.{place}") for place in range(length)]
    return key_of(number), said


def targets(messages: Sequence[Message]) -> list[ClueTarget]:
    """One for each session, but for those that are about nothing or are a trap."""
    if "trap" in messages[0].text:
        raise RuntimeError("the builder broke")
    return [ClueTarget("kit?", messages[-1].text[:20])] if "kit" in messages[0].text else []


MINE = CallableTargets(targets, "mine")


@pytest.fixture
def quick(make_manager: MakeManager) -> StateManager:
    return make_manager(config=BRIEF, compile_lanes=2)


def counts_of(**counts: int) -> dict[str, int]:
    return {outcome: counts.get(outcome, 0) for outcome in OUTCOMES}


def test_every_session_is_brought_up_to_date(quick: StateManager) -> None:
    quick.compile(*session(0), targets=[])
    quick.compile(*session(1), targets=[])
    told: list[tuple[int, int | None, StateUpdate]] = []
    source = [session(0), session(1, 2), session(2), (key_of(3), [Message("user", "hello")]), (key_of(4), [])]
    report = quick.sync(source, targets=MINE, progress=lambda *event: told.append(event))
    assert report.counts == counts_of(current=1, recompiled=1, compiled=1, no_targets=2)
    assert (report.failures, report.sessions) == ((), 5)
    assert sorted(event[0] for event in told) == [1, 2, 3, 4, 5]
    assert {event[1] for event in told} == {5}
    outcomes = {update.key.session_id: update.outcome for *_, update in told}
    assert outcomes == {"s0": "current", "s1": "recompiled", "s2": "compiled", "s3": "no_targets", "s4": "no_targets"}
    assert [quick.info(key_of(number)).messages for number in range(3)] == [1, 2, 1]


def test_a_second_run_goes_on_where_the_first_was_interrupted(quick: StateManager, make_manager: MakeManager) -> None:
    def interrupted() -> Iterator[Session]:
        yield from map(session, range(6))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick.sync(interrupted(), targets=MINE)
    done = len(quick.list())
    assert done >= 2  # at most four were under way
    quick.close()
    again = make_manager(config=BRIEF)
    report = again.sync(map(session, range(6)), targets=MINE)
    assert report.counts == counts_of(current=done, compiled=6 - done)
    again._worker.close()
    again._worker._load = lambda: pytest.fail("the model was loaded")
    assert again.sync(map(session, range(6)), targets=MINE).counts == counts_of(current=6)


def test_the_source_is_read_no_faster_than_its_sessions_are_done(quick: StateManager) -> None:
    read = list[int]()
    ahead = list[int]()

    def source() -> Iterator[Session]:
        for number in range(12):
            read.append(number)
            yield session(number)

    def note(done: int, total: int | None, _: StateUpdate) -> None:
        assert total is None
        ahead.append(len(read) - done)

    quick.sync(source(), targets=MINE, progress=note)
    assert max(ahead) <= 4  # twice the lanes


def test_sessions_are_compiled_in_joint_steps(quick: StateManager) -> None:
    quick.sync([session(0)], targets=[])
    engine = quick._worker.loaded
    assert engine is not None
    bound = list[int]()
    bind = engine.bank.bind

    def watch(lane: int, vector: Any) -> None:
        bind(lane, vector)
        bound.append(sum(engine.bank.bound))

    engine.bank.bind = watch
    quick.sync(map(session, range(1, 5)), targets=[])
    assert max(bound) == 2


def test_one_bad_session_does_not_stop_the_others(quick: StateManager) -> None:
    trap: Session = (key_of(9), [Message("user", "trap")])
    broken: Any = (key_of(8), ["no message"])
    report = quick.sync([session(0), trap, broken, session(1)], targets=MINE)
    assert report.counts == counts_of(compiled=2)
    assert [(key, type(error), str(error)[:17]) for key, error in report.failures] == [
        (key_of(9), RuntimeError, "the builder broke"),
        (key_of(8), InvalidInput, "messages must be "),
    ]
    with pytest.raises(RuntimeError, match="the builder broke"):
        quick.sync([trap, session(2)], targets=MINE, on_error="raise")
    assert not quick.has_state(key_of(2))


def test_an_error_of_a_compile_is_a_sessions_own(quick: StateManager) -> None:
    too_long = CallableTargets(lambda messages: [ClueTarget("kit?", messages[0].text * 9)], "long")
    assert quick.sync([session(0)], targets=too_long).failures[0][0] == key_of(0)
    with pytest.raises(InvalidInput, match="at most"):
        quick.sync([session(0)], targets=too_long, on_error="raise")


def test_a_session_that_comes_twice_is_updated_twice(quick: StateManager) -> None:
    report = quick.sync([session(0), session(0, 2), session(0, 3)], targets=MINE)
    assert report.counts == counts_of(compiled=1, recompiled=2)
    assert quick.info(key_of(0)).messages == 3


def test_sessions_that_diverged_are_kept_if_that_is_asked_for(quick: StateManager) -> None:
    quick.compile(*session(0), targets=[])
    changed = [(key_of(0), [Message("user", "kit-5 is new")])]
    assert quick.sync(changed, targets=MINE, on_diverged="keep").counts == counts_of(diverged=1)
    assert quick.sync(changed, targets=MINE).counts == counts_of(compiled=1)


def test_what_no_session_would_be_spared_is_raised(make_manager: MakeManager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSS_CACHE", str(make_manager().path / "cache"))
    with pytest.raises(WeightsNotFetched):
        make_manager(backbone=None).sync(map(session, range(3)), targets=MINE)
    closed = make_manager()
    closed.close()
    with pytest.raises(ManagerClosed):
        closed.sync([session(0)], targets=MINE)


def test_bad_input_is_refused(manager: StateManager) -> None:
    anything: Any = manager
    for source, options, what in [
        ([(None, [])], {}, "SessionKey"),
        (["chat"], {}, "pairs of SessionKey"),
        ([], {"on_error": "ignore"}, "'skip' or 'raise'"),
        ([], {"on_diverged": "drop"}, "'compile' or 'keep'"),
    ]:
        with pytest.raises(InvalidInput, match=what):
            anything.sync(source, **options)
    assert manager.sync([]).sessions == 0


def test_a_progress_callback_of_a_compile_cannot_sync(manager: StateManager) -> None:
    errors = list[Exception]()

    def again(_: object) -> None:
        try:
            manager.sync([session(1)])
        except StateError as error:
            errors.append(error)

    manager.compile(*session(0), targets=[], progress=again)
    assert errors


@pytest.mark.parametrize("is_async", [True, False])
async def test_the_async_twin_takes_sources_of_both_kinds(quick: StateManager, is_async: bool) -> None:
    threads = set[threading.Thread]()

    def plain() -> Iterator[Session]:
        for number in range(5):
            threads.add(threading.current_thread())
            yield session(number)

    async def lazy() -> AsyncIterator[Session]:
        for number in range(5):
            await asyncio.sleep(0)
            yield session(number)

    quick.compile(*session(0), targets=[])
    told = list[int]()
    source = lazy() if is_async else plain()
    report = await quick.async_sync(source, targets=MINE, progress=lambda done, *_: told.append(done))
    assert report.counts == counts_of(current=1, compiled=4)
    assert sorted(told) == [1, 2, 3, 4, 5]
    assert threading.current_thread() not in threads
    trap: Session = (key_of(9), [Message("user", "trap")])
    assert (await quick.async_sync([trap], targets=MINE)).failures[0][0] == key_of(9)


async def test_cancelling_the_async_twin_leaves_nothing_under_way(quick: StateManager) -> None:
    begun = asyncio.Event()

    async def source() -> AsyncIterator[Session]:
        yield session(0, 40)
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(quick.async_sync(source(), targets=MINE))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert quick.update(*session(1), targets=MINE).outcome == "compiled"
    assert not any(quick._worker.engine().bank.bound)
    assert quick._compiling == set()
