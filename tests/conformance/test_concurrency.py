"""Many sessions at once, by threads, tasks and processes, through manager and faces: nothing leaks, or is left."""

import asyncio
import gc
import random
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from itertools import cycle, islice, product
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
import torch
from belief_worker import running
from state_making import KITS, MORE, NAMES, key_of, open_manager, targets_of
from state_stories import WEIGHTS, Driver, World, by_tasks, by_threads, steps_done
from state_worker import change
from tiny import MESSAGES, tiny_backbone

from pss_integrations.beliefs import BeliefMemory, BeliefStore, Principal
from pss_integrations.errors import StateNotFound
from pss_integrations.states import StateInfo, StateManager
from pss_integrations.states.resident import SessionLRU
from pss_integrations.states.store import StateStore
from pss_integrations.types import Clue, Message

pytestmark = pytest.mark.timeout(300)
IDS = torch.arange(12).reshape(1, 12)
STEPS = 25  # of each of eight sessions


@pytest.fixture
def no_thread_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture
def manager(no_thread_left: None, tmp_path: Path) -> Iterator[StateManager]:
    with open_manager(tmp_path) as manager:
        yield manager


def assert_nothing_left(manager: StateManager) -> None:
    """No state is bound, the model is the base model bit by bit, and nothing is queued."""
    manager.prune(max_bytes=1 << 60)  # its turn comes when all that was cancelled has ended
    engine = manager._worker.loaded
    assert engine is not None
    assert not any(engine.bank.bound)
    assert not any(engine.bank.vector(lane).any() for lane in range(len(engine.bank.bound)))
    with torch.no_grad():
        assert torch.equal(engine.backbone.model(IDS).logits, tiny_backbone().model(IDS).logits)
    scheduler = manager._scheduler
    assert not [*scheduler._urgent, *scheduler._background, *manager._worker._reads._line, *manager._compiling]


def in_threads(drivers: list[Driver]) -> None:
    with ThreadPoolExecutor(len(drivers)) as pool:
        list(pool.map(lambda driver: asyncio.run(driver.go(STEPS)), drivers))


def in_tasks(drivers: list[Driver]) -> None:
    async def all_at_once() -> None:
        await asyncio.gather(*(driver.go(STEPS) for driver in drivers))

    asyncio.run(all_at_once())


@pytest.mark.parametrize("mode", ["threads", "tasks"])
def test_sessions_side_by_side_meet_nothing_of_each_other(manager: StateManager, mode: str) -> None:
    run, call = (in_threads, by_threads) if mode == "threads" else (in_tasks, by_tasks)
    world = World(manager, call)
    drivers = world.drivers(seed=11)
    run(drivers)
    world.check_clues()
    done = steps_done(drivers)
    assert (sum(done.values()), min(done.values()) > 0) == (200, True), done
    assert set(done) == set(WEIGHTS)
    assert all(world.had[name] for name in NAMES)
    assert world.read
    assert_nothing_left(manager)


# --- the event loop


class Watch:
    """Notes what a thread does with files, while it is on."""

    EVENTS = ("open", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.scandir", "sqlite3.connect")

    def __init__(self) -> None:
        self.thread, self.seen = 0, list[tuple[str, object]]()
        sys.addaudithook(self._note)  # for ever: there is no way to take one back

    def _note(self, event: str, args: tuple[object, ...]) -> None:
        if event in self.EVENTS and threading.get_ident() == self.thread:
            self.seen.append((event, *args[:1]))

    @contextmanager
    def on(self) -> Iterator[None]:
        self.thread = threading.get_ident()
        try:
            yield
        finally:
            self.thread = 0


async def test_async_calls_touch_no_file_in_the_event_loop(tmp_path: Path) -> None:
    watch = Watch()
    with open_manager(tmp_path / "states") as manager, BeliefStore(tmp_path / "beliefs.db") as store:
        driver = Driver(World(manager, by_tasks), "owl", random.Random(3))
        memory = BeliefMemory(store, scopes=["project:atlas"])
        said, user = [Message("user", "We decided to use Valkey as our cache.")], Principal.user("ada")

        async def everything() -> None:
            steps = ["compile", "read", "recompile", *(step for step in WEIGHTS if step.startswith("re")), "roll_back"]
            for step in [*steps, "cancel_a_read", "delete", "read"]:
                await getattr(driver, step)()
            await manager.aupdate(driver.key, MESSAGES, targets=targets_of("owl"))
            await manager.ainfo(driver.key)
            assert len(await manager.alist()) == 1
            await manager.aprune(max_bytes=0)
            await memory.aobserve(user, said, {})
            await memory.aflush()
            assert (await memory.arecall(user, "how large is our cache?", {})).text

        await everything()  # what is imported at first use is imported
        with watch.on():
            await everything()
            assert watch.seen == []
            (tmp_path / "here").touch()
        assert [event for event, _ in watch.seen] == ["open"]
        memory.close()


# --- two processes


@pytest.mark.parametrize("seeds", [(1,), (2, 3)], ids=["one changes", "two change"])
def test_what_is_read_while_other_processes_change_it_is_whole(
    no_thread_left: None, tmp_path: Path, seeds: tuple[int, ...]
) -> None:
    clues, said = set[tuple[str, Clue]](), list[Any]()
    tasks = [(change, (tmp_path, seed, 20)) for seed in seeds]
    with open_manager(tmp_path, resident_bytes=0) as manager, running(*tasks) as others:
        manager._worker.engine()._clues = SessionLRU(1)  # else a state would be read from its file but once
        pipes = [pipe for _, pipe in others]
        while pipes:
            for name, query in product(NAMES[:3], KITS):
                with suppress(StateNotFound):
                    clues.add((name, manager.read(key_of(name), query)))
            for pipe in wait(pipes, timeout=0.01):
                try:
                    said.append(pipe.recv())
                except EOFError:
                    pipes.remove(pipe)
        assert said.count("done") == len(seeds)  # and no error ended any of them
        assert_nothing_left(manager)
    assert {(name, clue.state_id) for name, clue in clues} <= {one for one in said if one != "done"}
    assert all(clue.text in {f"{name} {kit}" for kit in KITS.values()} for name, clue in clues)
    assert clues


class Overtaken:
    """Finds the adapter of a state just after another process did something."""

    def __init__(self, store: StateStore, act: Callable[[StateStore], object]) -> None:
        self.adapter, self.other, self.act = store.adapter, StateStore(store.root), act

    def __call__(self, info: StateInfo) -> Path:
        self.act(self.other)
        return self.adapter(info)


def test_a_state_that_is_deleted_before_it_is_loaded_is_not_found(tmp_path: Path) -> None:
    with open_manager(tmp_path) as manager:
        manager.compile(key_of("owl"), MESSAGES, targets=targets_of("owl"))
    with open_manager(tmp_path) as manager:
        manager._store.adapter = Overtaken(manager._store, lambda other: other.delete(key_of("owl")))
        with pytest.raises(StateNotFound):
            manager.read(key_of("owl"), "now?")


def test_where_a_state_is_pruned_before_it_is_loaded_its_successor_is_read(tmp_path: Path) -> None:
    with open_manager(tmp_path) as manager:
        old = manager.compile(key_of("owl"), MESSAGES, targets=targets_of("owl"))
        new = manager.recompile(key_of("owl"), MORE, targets=targets_of("owl"))
        manager.rollback(key_of("owl"))

    def prune(other: StateStore) -> None:
        other.use(new)
        other.remove(old)

    with open_manager(tmp_path) as manager:
        manager._store.adapter = Overtaken(manager._store, prune)
        assert manager.read(key_of("owl"), "now?").state_id == new.state_id


# --- memory


def grown(work: Callable[[], object]) -> int:
    """By how many objects there are more after some work."""
    gc.collect()
    before = len(gc.get_objects())
    work()
    gc.collect()
    return len(gc.get_objects()) - before


def test_a_thousand_reads_leave_nothing_behind(tmp_path: Path) -> None:
    with open_manager(tmp_path, resident_bytes=0) as manager:
        for name in NAMES[:3]:
            manager.compile(key_of(name), MESSAGES, targets=targets_of(name))
        engine = manager._worker.engine()
        engine._clues = SessionLRU[Clue](1)  # else only the first reads would be any work
        questions = cycle(product(NAMES[:4], KITS))

        def read(times: int) -> None:
            for name, query in islice(questions, times):
                with suppress(StateNotFound):  # of the fourth, each time
                    manager.read(key_of(name), query)

        read(40)
        assert grown(lambda: read(1000)) < 100
        assert (len(engine._resident), len(engine._clues)) == (1, 1)
        assert_nothing_left(manager)


def test_faces_that_are_made_for_one_call_leave_nothing_in_the_context(tmp_path: Path) -> None:
    """A context keeps each of its variables for ever, and that of a thread lives as long as the thread."""
    with open_manager(tmp_path) as manager:

        def ask() -> list[ref[object]]:
            world = World(manager, by_threads)
            owner = {"user_id": "ada", "session_id": "s"}
            config = {"configurable": owner}
            assert world.langchain_transformer.invoke("now?", config) == "now?"
            assert world.llama_index_transformer.run("now?", owner).query_str == "now?"
            world.langchain_retriever.invoke("now?", config)
            world.llama_index_retriever.bind(**owner).retrieve("now?")
            return [ref(world.langchain_transformer), ref(world.langchain_retriever), ref(world.llama_index_retriever)]

        ask()
        before, made = len(copy_context()), [one for _ in range(5) for one in ask()]
        gc.collect()
        assert len(copy_context()) == before
        assert not any(one() for one in made)
