import os
import threading
from collections.abc import Generator, Sequence

import pytest

from pss_integrations.errors import ManagerClosed, StateError
from pss_integrations.states.scheduler import Scheduler


class Gate:
    """Holds the first step of some work until it is opened."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()

    def hold(self) -> None:
        self.reached.set()
        assert self.opened.wait(10)


def steps(log: list[str], name: str, count: int, *, gate: Gate | None = None) -> Generator[None, None, str]:
    try:
        for i in range(count):
            log.append(f"{name}{i}")
            if gate is not None:
                gate.hold()
            yield
        return name
    finally:
        log.append(f"{name} closed")


def test_urgent_work_goes_before_the_next_background_step() -> None:
    scheduler, log, gate = Scheduler(), list[str](), Gate()
    slow = scheduler.submit(steps(log, "b", 2, gate=gate), urgent=False)
    assert gate.reached.wait(10)
    quick = scheduler.submit(steps(log, "u", 2), urgent=True)
    gate.opened.set()
    assert (scheduler.wait(quick), scheduler.wait(slow)) == ("u", "b")
    assert log == ["b0", "u0", "u1", "u closed", "b1", "b closed"]
    scheduler.close()


def test_urgent_work_without_end_does_not_stop_the_background() -> None:
    scheduler, log, gate = Scheduler(), list[str](), Gate()
    slow = scheduler.submit(steps(log, "b", 3, gate=gate), urgent=False)
    assert gate.reached.wait(10)
    many = [scheduler.submit(steps(log, "u", 50), urgent=True) for _ in range(5)]
    gate.opened.set()
    for future in (*many, slow):
        scheduler.wait(future)
    last = max(at for at, entry in enumerate(log) if entry.startswith("u"))
    assert log.index("b2") < last
    scheduler.close()


class Sum:
    """A step that notes with which others it ran."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def fits(self, others: Sequence["Sum"]) -> bool:
        return len(others) < 2

    def run(self, others: Sequence["Sum"] = ()) -> None:
        self.log.append("+".join(step.name for step in (self, *others)))
        if "broken" in self.log[-1]:
            raise RuntimeError("broken step")


def joint(name: str, count: int, log: list[str], gate: Gate | None = None) -> Generator[Sum | None, None, str]:
    if gate is not None:
        gate.hold()
    for _ in range(count):
        yield Sum(name, log)
    return name


def test_steps_of_several_items_are_run_together_as_far_as_they_fit() -> None:
    scheduler, log, gate = Scheduler(at_once=4), list[str](), Gate()
    first = scheduler.submit(joint("a", 1, log, gate), urgent=False)
    rest = [scheduler.submit(joint(name, count, log), urgent=False) for name, count in (("b", 2), ("c", 3))]
    gate.opened.set()
    assert [scheduler.wait(future) for future in (first, *rest)] == ["a", "b", "c"]
    assert sum(entry.split("+").count("c") for entry in log) == 3
    assert max(len(entry.split("+")) for entry in log) == 2
    assert log[-1] == "c"
    scheduler.close()


def test_when_a_joint_step_fails_each_item_tries_by_itself() -> None:
    scheduler, log, gate = Scheduler(at_once=2), list[str](), Gate()
    works = [joint("fine", 1, log, gate), joint("broken", 1, log)]
    futures = [scheduler.submit(work, urgent=False) for work in works]
    gate.opened.set()
    assert scheduler.wait(futures[0]) == "fine"
    with pytest.raises(RuntimeError, match="broken step"):
        scheduler.wait(futures[1])
    assert log == ["fine+broken", "fine", "broken"]
    scheduler.close()


def test_cancelled_work_runs_its_finally_and_nothing_more() -> None:
    scheduler, log, gate = Scheduler(), list[str](), Gate()
    running = scheduler.submit(steps(log, "x", 100, gate=gate), urgent=False)
    waiting = scheduler.submit(steps(log, "y", 1), urgent=False)
    assert gate.reached.wait(10)
    waiting.cancel()
    running.cancel()
    gate.opened.set()
    scheduler.wait(scheduler.submit(steps(log, "z", 1), urgent=False))
    assert log == ["x0", "x closed", "z0", "z closed"]
    scheduler.close()


def test_an_error_belongs_to_its_own_caller() -> None:
    scheduler, log = Scheduler(), list[str]()

    def broken() -> Generator[None, None, None]:
        yield
        raise RuntimeError("broken step")

    bad, good = scheduler.submit(broken(), urgent=True), scheduler.submit(steps(log, "g", 2), urgent=True)
    with pytest.raises(RuntimeError, match="broken step"):
        scheduler.wait(bad)
    assert scheduler.wait(good) == "g"
    scheduler.close()


def test_closing_cancels_and_refuses() -> None:
    scheduler, log, gate = Scheduler(), list[str](), Gate()
    running = scheduler.submit(steps(log, "r", 100, gate=gate), urgent=False)
    assert gate.reached.wait(10)
    running.add_done_callback(lambda _: gate.opened.set())
    scheduler.close()
    with pytest.raises(ManagerClosed):
        scheduler.wait(running)
    with pytest.raises(ManagerClosed):
        scheduler.submit(steps(log, "late", 1), urgent=False)
    scheduler.close()


def test_waiting_inside_the_thread_is_an_error_and_no_deadlock() -> None:
    scheduler, log = Scheduler(), list[str]()

    def inner() -> Generator[None, None, str]:
        yield
        return scheduler.wait(scheduler.submit(steps(log, "i", 1), urgent=True))

    with pytest.raises(StateError, match="progress callback"):
        scheduler.wait(scheduler.submit(inner(), urgent=False))
    scheduler.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
@pytest.mark.parametrize("used", [True, False])
def test_a_forked_process_is_told_to_make_a_manager_of_its_own(used: bool) -> None:
    scheduler = Scheduler()
    if used:
        scheduler.wait(scheduler.submit(steps([], "u", 1), urgent=True))
    child = os.fork()
    if child == 0:
        try:
            said = scheduler.wait(scheduler.submit(steps([], "u", 1), urgent=True))
        except StateError as error:
            said = str(error)
        scheduler.close()
        os._exit(0 if ("in each process" in said) == used else 1)
    assert os.waitpid(child, 0)[1] == 0
    scheduler.close()
