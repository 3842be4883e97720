"""What another process does to the states of a store: each function runs in a process of its own."""

import random
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from state_making import MORE, NAMES, key_of, open_manager, targets_of
from tiny import MESSAGES

from pss_integrations.errors import CompileInProgress, StateNotFound
from pss_integrations.states import StateManager


def change(pipe: Connection, path: Path, seed: int, steps: int) -> None:
    """Change the states of three sessions at random, and say which states there were; all else that fails ends it."""
    numbers = random.Random(seed)
    with open_manager(path) as manager:
        for _ in range(steps):
            name = numbers.choice(NAMES[:3])
            step = numbers.choice([_compile, _compile, _recompile, _roll_back, _prune, _delete])
            with suppress(CompileInProgress, StateNotFound):
                step(manager, name)
            with suppress(StateNotFound):
                pipe.send((name, manager.info(key_of(name)).state_id))
    pipe.send("done")


def _compile(manager: StateManager, name: str) -> None:
    manager.compile(key_of(name), MESSAGES, targets=targets_of(name))


def _recompile(manager: StateManager, name: str) -> None:
    manager.recompile(key_of(name), MORE, targets=targets_of(name))


def _roll_back(manager: StateManager, name: str) -> None:
    manager.rollback(key_of(name))


def _prune(manager: StateManager, name: str) -> None:
    manager.prune(max_bytes=2 * manager.info(key_of(name)).adapter_bytes)


def _delete(manager: StateManager, name: str) -> None:
    manager.delete(key_of(name))
