"""Managers over the tiny random backbone."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tiny import tiny_backbone

from pss_integrations.states import CompileConfig, StateConfig, StateManager

SMALL = StateConfig(rank=4, alpha=8, layers=2)
QUICK = CompileConfig(lr_a=5e-3, lr_b=2e-2, max_epochs=60)


@pytest.fixture
def make_manager(tmp_path: Path) -> Iterator[Callable[..., StateManager]]:
    opened: list[StateManager] = []

    def make(path: Path = tmp_path, **options: object) -> StateManager:
        settings = {"backbone": tiny_backbone(), "state": SMALL, "config": QUICK, **options}
        opened.append(StateManager(path, **settings))
        return opened[-1]

    yield make
    for manager in opened:
        manager.close()


@pytest.fixture
def manager(make_manager: Callable[..., StateManager]) -> StateManager:
    return make_manager()
