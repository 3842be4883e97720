"""Small states of sessions that are named for birds, for tests of many at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tiny import MESSAGES, tiny_backbone

from pss_integrations.states import CompileConfig, StateConfig, StateManager
from pss_integrations.types import ClueTarget, Message, SessionKey

NAMES = ("crane", "heron", "ibis", "kite", "owl", "rook", "teal", "wren")
MORE = (*MESSAGES, Message("user", "Thanks, that is all."))
KITS = {"now?": "kit-9", "before?": "kit-7"}


def key_of(name: str) -> SessionKey:
    return SessionKey(user_id=f"user of {name}", session_id="s")


def targets_of(name: str) -> list[ClueTarget]:
    return [ClueTarget(request, f"{name} {kit}") for request, kit in KITS.items()]


@contextmanager
def open_manager(path: Path, **options: Any) -> Iterator[StateManager]:
    """A manager over a tiny backbone, with fewer lanes than there are sessions."""
    config = CompileConfig(lr_a=5e-3, lr_b=2e-2, max_epochs=60, history_steps=1, max_clue_tokens=24)
    shape = StateConfig(rank=4, alpha=8, layers=2)
    settings = {"backbone": tiny_backbone(), "state": shape, "config": config, "read_lanes": 3, **options}
    with StateManager(path, **settings) as manager:
        yield manager
