"""Compiles in the background: when, how many at once, and what is told of them."""

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pss_integrations.errors import InvalidInput, ManagerClosed, StateNotFound
from pss_integrations.identity import current, pss_session
from pss_integrations.states import BackgroundCompiler, GrowthPolicy, StateManager, StateUpdate
from pss_integrations.types import Message, SessionKey

ADA, BOB = SessionKey("ada", "s"), SessionKey("bob", "s")
EACH = GrowthPolicy(min_messages=1)


def session(count: int) -> list[Message]:
    return [Message("user", f"note {number}") for number in range(count)]


class FakeManager:
    """Compiles nothing, in as long as the test wants; a session's state is how many messages it has."""

    def __init__(self, *, is_held: bool = False) -> None:
        self.states: dict[SessionKey, int] = {}
        self.begun: list[tuple[SessionKey, int]] = []
        self.running: list[SessionKey] = []
        self.overlapped = False
        self.error: Exception | None = None
        self.outcome: Any = "compiled"
        self.seen: list[object] = []
        self.changed = threading.Condition()
        self.is_held = is_held
        self.released = 0

    def messages_behind(self, key: SessionKey, messages: Sequence[Message]) -> int:
        if key not in self.states:
            raise StateNotFound("none")
        return len(messages) - self.states[key]

    def update(self, key: SessionKey, messages: Sequence[Message], **options: object) -> StateUpdate:
        with self.changed:
            self.overlapped |= key in self.running
            self.running.append(key)
            self.begun.append((key, len(messages)))
            self.seen.append((current().user_id, options))
            self.changed.notify_all()
            self.changed.wait_for(lambda: not self.is_held or self.released > 0)
            self.released -= self.is_held
            self.running.remove(key)
            if self.error:
                raise self.error
            if self.outcome == "compiled":
                self.states[key] = len(messages)
            return StateUpdate(key, self.outcome, 0)

    def release(self, count: int = 1) -> None:
        with self.changed:
            self.released += count
            self.changed.notify_all()

    def wait_for_compiles(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.begun) >= count, timeout=60)


@pytest.fixture
def fake() -> FakeManager:
    return FakeManager()


@pytest.fixture
def held() -> FakeManager:
    return FakeManager(is_held=True)


@pytest.fixture
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., BackgroundCompiler]]:
    opened: list[tuple[FakeManager, BackgroundCompiler]] = []

    def make(manager: FakeManager, *args: Any, **options: Any) -> BackgroundCompiler:
        opened.append((manager, BackgroundCompiler(manager, *args, **options)))
        return opened[-1][1]

    yield make
    for manager, compiler in opened:
        manager.release(1000)
        compiler.close()


def test_a_session_is_compiled_once_it_has_grown_enough(fake: FakeManager, make: Callable[..., Any]) -> None:
    compiler = make(fake)
    assert compiler.status(ADA).state == "unseen"
    assert (compiler.observe(ADA, session(7)).state, compiler.status(ADA).behind) == ("waiting", 7)
    assert fake.begun == []
    compiler.observe(ADA, session(8))
    assert compiler.flush(ADA)
    assert fake.begun == [(ADA, 8)]
    status = compiler.status(ADA)
    assert (status.state, status.behind, status.update, status.error) == (
        "current",
        0,
        StateUpdate(ADA, "compiled", 0),
        None,
    )
    assert compiler.observe(ADA, session(15)).state == "waiting"  # 7 came since
    compiler.observe(ADA, session(16))
    fake.wait_for_compiles(2)


def test_tokens_are_enough_too(fake: FakeManager, make: Callable[..., Any]) -> None:
    compiler = make(fake, GrowthPolicy(min_tokens=7))
    assert compiler.observe(ADA, session(3)).state == "waiting"  # two words each
    compiler.observe(ADA, session(4))
    fake.wait_for_compiles(1)
    by_letters = make(fake, GrowthPolicy(min_tokens=7, count_tokens=len))
    by_letters.observe(BOB, session(2))
    fake.wait_for_compiles(2)


def test_messages_without_a_text_do_not_count(fake: FakeManager, make: Callable[..., Any]) -> None:
    assert make(fake).observe(ADA, [*session(7), Message("assistant", " ")]).state == "waiting"


def test_newer_messages_replace_what_waits(held: FakeManager, make: Callable[..., Any]) -> None:
    compiler = make(held, EACH)
    compiler.observe(ADA, session(1))
    held.wait_for_compiles(1)
    for count in (2, 3, 4):
        assert compiler.observe(ADA, session(count)).state == "compiling"
    compiler.observe(BOB, session(1))
    assert compiler.observe(BOB, session(2)).state == "queued"
    held.release(3)
    assert compiler.flush()
    assert sorted(held.begun, key=lambda one: one[0].user_id or "") == [(ADA, 1), (ADA, 4), (BOB, 2)]


def test_what_came_during_a_compile_waits_until_it_is_enough(held: FakeManager, make: Callable[..., Any]) -> None:
    compiler = make(held)
    compiler.observe(ADA, session(8))
    held.wait_for_compiles(1)
    compiler.observe(ADA, session(15))
    held.release()
    compiler._work.close()
    assert (compiler.status(ADA).state, compiler.status(ADA).behind) == ("waiting", 7)
    held.release()
    assert compiler.flush(ADA)
    assert held.begun == [(ADA, 8), (ADA, 15)]


def test_sessions_are_compiled_side_by_side(held: FakeManager, make: Callable[..., Any]) -> None:
    compiler = make(held, EACH, threads=2)
    compiler.observe(ADA, session(1))
    compiler.observe(BOB, session(1))
    held.wait_for_compiles(2)
    assert not compiler.flush(timeout=0)
    held.release(2)
    assert compiler.flush()


def test_flush_waits_for_one_session_or_for_all(held: FakeManager, make: Callable[..., Any]) -> None:
    compiler = make(held, threads=2)
    compiler.observe(ADA, session(1))
    compiler.observe(BOB, session(1))
    assert not compiler.flush(ADA, timeout=0)
    held.wait_for_compiles(1)
    assert held.begun == [(ADA, 1)]
    held.release()
    assert compiler.flush(ADA)
    assert compiler.status(BOB).state == "waiting"
    held.release()
    assert compiler.flush()
    assert compiler.flush()  # with nothing to do
    assert len(held.begun) == 2


async def test_aflush_lets_the_loop_run(held: FakeManager, make: Callable[..., Any]) -> None:
    compiler = make(held)
    await compiler.aobserve(ADA, session(1))
    assert not await compiler.aflush(ADA, timeout=0)
    flush = asyncio.create_task(compiler.aflush(ADA))
    held.wait_for_compiles(1)
    held.release()
    assert await flush
    assert compiler.status(ADA).state == "current"
    held.error = RuntimeError("no")
    held.release()
    compiler.observe(ADA, session(2))
    with pytest.raises(RuntimeError, match="no"):
        await compiler.aflush(ADA)


async def test_cancelling_a_flush_cancels_no_compile(held: FakeManager, make: Callable[..., Any]) -> None:
    compiler = make(held)
    compiler.observe(ADA, session(1))
    flush = asyncio.create_task(compiler.aflush())
    await asyncio.sleep(0)
    flush.cancel()
    with suppress(asyncio.CancelledError):
        await flush
    held.release()
    assert compiler.flush()
    assert held.begun == [(ADA, 1)]


def test_an_error_is_logged_told_and_raised_by_flush(
    fake: FakeManager, make: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    told: list[tuple[SessionKey, Exception]] = []

    def tell(key: SessionKey, error: Exception) -> None:
        told.append((key, error))
        raise ValueError("in on_error")

    compiler = make(fake, on_error=tell)
    fake.error = RuntimeError("disk is full")
    compiler.observe(ADA, session(1))
    with pytest.raises(RuntimeError, match="disk is full"):
        compiler.flush(ADA)
    assert compiler.status(ADA).state == "failed"
    assert told == [(ADA, fake.error)]
    assert compiler.status(ADA).error is fake.error
    assert [record.getMessage() for record in caplog.records] == ["a session could not be compiled", "on_error raised"]
    assert compiler.flush(BOB)  # it is not his

    fake.error = None
    assert compiler.flush()  # tried again
    assert (compiler.status(ADA).state, compiler.status(ADA).error) == ("current", None)


def test_a_failure_is_not_tried_again_at_every_turn(
    fake: FakeManager, make: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    compiler = make(fake)
    fake.error = RuntimeError("no")
    compiler.observe(ADA, session(8))
    with suppress(RuntimeError):
        compiler.flush()
    tries = len(fake.begun)
    assert compiler.observe(ADA, session(9)).state == "failed"
    fake.error = None
    compiler.observe(ADA, session(16))
    fake.wait_for_compiles(tries + 1)
    assert compiler.flush()
    assert fake.begun[tries:] == [(ADA, 16)]


def test_what_gives_no_targets_waits_for_more(fake: FakeManager, make: Callable[..., Any]) -> None:
    compiler = make(fake)
    fake.outcome = "no_targets"
    compiler.observe(ADA, session(8))
    compiler.flush()
    status = compiler.status(ADA)
    assert (status.state, status.behind) == ("waiting", 8)
    assert status.update is not None
    assert status.update.outcome == "no_targets"
    assert compiler.observe(ADA, session(9)).state == "waiting"
    compiler.observe(ADA, session(16))
    fake.wait_for_compiles(2)


def test_a_compile_runs_in_the_context_of_who_observed(fake: FakeManager, make: Callable[..., Any]) -> None:
    compiler = make(fake, targets=[], on_diverged="keep")
    with pss_session(user_id="ada", session_id="s"):
        compiler.observe(ADA, session(8))
    compiler.flush()
    assert fake.seen == [("ada", {"targets": [], "on_diverged": "keep"})]


class Clock:
    """Time that only the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float | None] = []
        self.condition: threading.Condition | None = None
        self.waiting = threading.Semaphore(0)

    def __call__(self) -> float:
        return self.now

    def wait(self, condition: threading.Condition, timeout: float | None) -> None:
        self.condition = condition
        self.waits.append(timeout)
        self.waiting.release()
        condition.wait()

    def await_wait(self) -> None:
        assert self.waiting.acquire(timeout=60)

    def pass_seconds(self, seconds: float) -> None:
        assert self.condition is not None
        with self.condition:
            self.now += seconds
            self.condition.notify()
        self.await_wait()


def test_an_idle_session_is_compiled(fake: FakeManager, make: Callable[..., Any]) -> None:
    clock = Clock()
    compiler = make(fake, GrowthPolicy(idle_seconds=30), clock=clock, wait=clock.wait)
    assert compiler.observe(ADA, session(1)).state == "waiting"
    clock.await_wait()
    clock.pass_seconds(20)
    compiler.observe(ADA, session(2))  # it goes on
    clock.pass_seconds(20)
    assert fake.begun == []
    clock.pass_seconds(10)
    assert compiler.flush()
    assert fake.begun == [(ADA, 2)]
    assert clock.waits == [30, 10, 10, None]
    compiler.observe(ADA, session(3))
    clock.await_wait()
    clock.pass_seconds(30)
    fake.wait_for_compiles(2)


def test_nothing_runs_before_something_is_observed(fake: FakeManager, make: Callable[..., Any]) -> None:
    before = threading.active_count()
    compiler = make(fake, GrowthPolicy(idle_seconds=1))
    assert compiler.flush()
    assert threading.active_count() == before


def test_close_finishes_what_is_queued_and_no_more(held: FakeManager) -> None:
    with BackgroundCompiler(held, GrowthPolicy(min_messages=2, idle_seconds=3600)) as compiler:
        compiler.observe(ADA, session(2))
        held.wait_for_compiles(1)
        compiler.observe(ADA, session(4))
        compiler.observe(BOB, session(1))
        held.release(2)
    assert held.begun == [(ADA, 2), (ADA, 4)]
    with pytest.raises(ManagerClosed, match="make a new one"):
        compiler.observe(BOB, session(2))
    with pytest.raises(ManagerClosed):
        compiler.flush()


def test_sessions_that_are_settled_are_not_remembered_for_ever(
    fake: FakeManager, make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pss_integrations.states.growth._SETTLED", 2)
    compiler = make(fake, EACH)
    keys = [SessionKey(None, f"{number}") for number in range(4)]
    for key in keys:
        compiler.observe(key, session(1))
        compiler.flush(key)
    assert [compiler.status(key).state for key in keys] == ["unseen", "unseen", "current", "current"]
    assert compiler.observe(keys[0], session(1)).state == "current"


def _observe_in_child(compiler: BackgroundCompiler, manager: FakeManager, pipe: Any) -> None:
    pipe.send(compiler.status(ADA).state)
    manager.is_held = False
    manager.running.clear()
    compiler.observe(BOB, session(1))
    pipe.send((compiler.flush(), compiler.status(BOB).state))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_starts_fresh(held: FakeManager, make: Callable[..., Any]) -> None:
    compiler = make(held, EACH)
    compiler.observe(ADA, session(1))
    held.wait_for_compiles(1)
    ours, theirs = multiprocessing.Pipe()
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=_observe_in_child, args=(compiler, held, theirs))
    child.start()
    assert ours.poll(60)
    assert ours.recv() == "unseen"
    assert ours.poll(60)
    assert ours.recv() == (True, "current")
    child.join()


@pytest.mark.parametrize(
    "policy", [{"min_messages": 0}, {"min_tokens": 0}, {"idle_seconds": 0}, {"idle_seconds": float("nan")}]
)
def test_a_policy_that_cannot_be_kept_is_refused(policy: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(policy))):
        GrowthPolicy(**policy)


def test_bad_input_is_refused_before_anything(fake: FakeManager, make: Callable[..., Any]) -> None:
    compiler: Any = make(fake, EACH)
    with pytest.raises(InvalidInput, match="SessionKey"):
        compiler.observe("ada", session(1))
    with pytest.raises(InvalidInput, match="Message values"):
        compiler.observe(ADA, ["hello"])
    with pytest.raises(InvalidInput, match="SessionKey"):
        compiler.flush("ada")
    with pytest.raises(InvalidInput, match="threads"):
        BackgroundCompiler(fake, threads=0)
    with pytest.raises(InvalidInput, match="on_diverged"):
        BackgroundCompiler(fake, on_diverged="drop")  # type: ignore[arg-type]
    assert compiler.status(ADA).state == "unseen"
    assert fake.begun == []


def test_a_state_manager_is_an_updater(manager: StateManager) -> None:
    with BackgroundCompiler(manager, GrowthPolicy(min_messages=2), targets=[]) as compiler:
        compiler.observe(ADA, session(2))
        assert compiler.flush()
        assert compiler.status(ADA).update == StateUpdate(
            ADA, "compiled", 2, manager.info(ADA), "nothing was compiled before"
        )
        assert compiler.observe(ADA, session(2)).state == "current"


class Interleavings(RuleBasedStateMachine):
    """Observes and ends of compiles in any order, with two sessions and two threads."""

    def __init__(self) -> None:
        super().__init__()
        self.manager = FakeManager(is_held=True)
        self.compiler = BackgroundCompiler(self.manager, GrowthPolicy(min_messages=2), threads=2)
        self.observed: dict[SessionKey, int] = {}
        self.shown: set[tuple[SessionKey, int]] = set()

    @rule(key=st.sampled_from([ADA, BOB]), more=st.integers(0, 3))
    def observe(self, key: SessionKey, more: int) -> None:
        count = self.observed[key] = max(1, self.observed.get(key, 0) + more)
        self.shown.add((key, count))
        assert self.compiler.observe(key, session(count)).behind <= count

    @rule()
    def finish(self) -> None:
        self.manager.release()

    @rule(fails=st.booleans())
    def fail(self, fails: bool) -> None:
        self.manager.error = RuntimeError("no") if fails else None

    @invariant()
    def one_at_a_time(self) -> None:
        assert not self.manager.overlapped
        assert self.shown >= {*self.manager.begun}

    def teardown(self) -> None:
        self.manager.error = None
        self.manager.release(1000)
        with suppress(RuntimeError):  # of a compile that was under way
            self.compiler.flush()
        assert self.compiler.flush()
        assert self.manager.states == self.observed
        assert {self.compiler.status(key).state for key in self.observed} <= {"current"}
        self.compiler.close()


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)
