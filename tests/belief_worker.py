"""What other processes do to a store in the tests of concurrency: each function runs in a process of its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Event
from pathlib import Path

from belief_making import ADA, ATLAS, found, new

from pss_integrations.beliefs import BeliefStore

PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(["pss_integrations.beliefs"])

Task = Callable[..., None]


@contextmanager
def running(*tasks: tuple[Task, tuple[object, ...]]) -> Iterator[list[tuple[ForkServerProcess, Connection]]]:
    """Start a process for each task, with a pipe from it; all have ended afterwards."""
    with ExitStack() as stack:
        started: list[tuple[ForkServerProcess, Connection]] = []
        for task, arguments in tasks:
            receiver, sender = PROCESSES.Pipe(duplex=False)
            stack.callback(receiver.close)
            process = PROCESSES.Process(target=task, args=(sender, *arguments))
            process.start()
            sender.close()
            stack.callback(_ended, process)
            started.append((process, receiver))
        yield started


def _ended(process: ForkServerProcess) -> None:
    process.kill()
    process.join()
    process.close()


def received(pipe: Connection) -> list[object]:
    """All that a process says until it ends."""
    said: list[object] = []
    while True:
        try:
            said.append(pipe.recv())
        except (EOFError, OSError):  # the end, or a message cut short by a kill
            return said


def supersede_by_put(pipe: Connection, path: Path, start: int, times: int) -> None:
    """Say something else about one thing, again and again."""
    with BeliefStore(path) as store:
        for n in range(start, start + times):
            pipe.send(store.put(ADA, new("port", f"The port is {n}.")).belief.id)


def put_many(pipe: Connection, path: Path, start: int, times: int) -> None:
    """Put beliefs of different names."""
    with BeliefStore(path) as store:
        for n in range(start, start + times):
            pipe.send(store.put(ADA, new(f"topic{n}x", f"Statement number {n}.")).belief.id)


def put_until_killed(pipe: Connection, path: Path, start: int) -> None:
    """Put, supersede and retract beliefs, and say each id once it was acknowledged."""
    store = BeliefStore(path)
    for n in count(start):
        belief = store.put(ADA, new(f"topic{n}x", f"Statement number {n}.")).belief
        pipe.send((belief.id, "live"))
        pipe.send((store.put(ADA, new(f"topic{n}x", f"Another statement, {n}.")).belief.id, "live"))
        pipe.send((belief.id, "superseded"))


def read_until(pipe: Connection, path: Path, stop: Event) -> None:
    """Count and search until told to stop, and say the counts."""
    with BeliefStore(path) as store:
        counts = [store.count(ADA)]
        while not stop.is_set():
            assert len(found(store, "topic0x")) <= 1
            counts.append(store.count(ADA))
            assert len(store.list(ADA, scopes=[ATLAS], limit=None)) >= counts[-1]
        pipe.send(counts)
