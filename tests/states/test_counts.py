"""Bounds on what a compile and a read may cost, in passes and token positions: these do not depend on the machine."""

import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tiny import MESSAGES, TARGETS, tiny_backbone

from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig, StateConfig
from pss_integrations.states.engine import Engine
from pss_integrations.states.manager import StateManager
from pss_integrations.states.rows import rows_of
from pss_integrations.states.steps import finish
from pss_integrations.types import Message, SessionKey

STATE = StateConfig(rank=4, alpha=8, layers=2)
CONFIG = CompileConfig(lr_a=5e-3, lr_b=2e-2, max_epochs=60)
KEYS = [SessionKey("ada", f"s{i}") for i in range(8)]


@dataclass
class Count:
    """Passes through one layer, and the token positions of all of them, padding included."""

    passes: int = 0
    positions: int = 0


@contextmanager
def counted(backbone: Backbone, layer: int) -> Generator[Count]:
    count = Count()

    def note(_: object, args: tuple, kwargs: dict) -> None:
        hidden = args[0] if args else kwargs["hidden_states"]
        count.passes += 1
        count.positions += hidden.shape[0] * hidden.shape[1]

    handle = backbone.model.model.layers[layer].register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield count
    finally:
        handle.remove()


@pytest.fixture
def backbone() -> Backbone:
    return tiny_backbone()


def test_frozen_layers_run_once_a_text_and_adapted_ones_once_a_step(backbone: Backbone) -> None:
    config = replace(CONFIG, max_epochs=9, min_epochs=9, margin=1e9)
    engine = Engine(backbone, STATE, config, read_lanes=1, resident_bytes=1)
    tokens = sum(len(row.inputs) for row in rows_of(backbone, TARGETS))
    history = sum(len(backbone.encode(f"{m.role}: {m.text}\n")) for m in MESSAGES)
    with counted(backbone, 0) as frozen, counted(backbone, -1) as adapted:
        result = finish(engine.compile(MESSAGES, TARGETS))
    assert frozen.positions <= 1.1 * (tokens + history) + 300  # one pass to record what the layers are given
    assert frozen.passes <= 3
    assert adapted.passes <= result.steps + 1


def test_a_confirmation_is_one_pass_over_all_targets(backbone: Backbone) -> None:
    engine = Engine(backbone, STATE, CONFIG, read_lanes=1, resident_bytes=1)
    events = list[str]()
    with counted(backbone, -1) as adapted:
        result = finish(engine.compile([], TARGETS, progress=lambda event: events.append(event.stage)))
    assert result.confirmed
    assert adapted.passes <= result.steps + events.count("confirm") + 1


@pytest.fixture
def manager(backbone: Backbone, tmp_path: Path) -> Generator[StateManager]:
    with StateManager(tmp_path, backbone=backbone, state=STATE, config=CONFIG) as made:
        yield made


def test_a_read_of_a_taught_clue_is_one_pass_and_a_repeated_one_none(manager: StateManager, backbone: Backbone) -> None:
    manager.compile(KEYS[0], MESSAGES, targets=TARGETS)
    for expected in (1, 0):
        with counted(backbone, -1) as count:
            assert manager.read(KEYS[0], "now?").text == "Heron kit-9"
        assert count.passes == expected


def test_what_a_read_costs_does_not_depend_on_the_history(manager: StateManager, backbone: Backbone) -> None:
    costs = list[int]()
    for key, messages in ((KEYS[0], MESSAGES), (KEYS[1], MESSAGES * 4)):
        manager.compile(key, messages, targets=TARGETS)
        with counted(backbone, 0) as count:
            manager.read(key, "now?")
        costs.append(count.positions)
    assert costs[0] == costs[1]


def test_waiting_readers_share_their_passes(manager: StateManager, backbone: Backbone) -> None:
    for key in KEYS:
        manager.compile(key, MESSAGES, targets=TARGETS)
    held, opened = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        held.set()
        assert opened.wait(10)

    more = [*MESSAGES, Message("user", "thanks")]
    with counted(backbone, -1) as count, ThreadPoolExecutor(1 + len(KEYS)) as pool:
        compiling = pool.submit(manager.recompile, KEYS[0], more, targets=[], progress=hold)
        assert held.wait(10)
        before = count.passes
        futures = [manager._submit_read([(key, "before?")]) for key in KEYS]
        opened.set()
        assert [future.result(10)[0].text for future in futures] == ["Heron kit-7"] * len(KEYS)
        assert count.passes - before <= 3
        compiling.result(10)
    with counted(backbone, -1) as count:
        manager.read_batch([(key, "and before that?") for key in KEYS])
    assert count.passes <= CONFIG.max_clue_tokens
