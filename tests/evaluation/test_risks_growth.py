"""A session that grows part by part, on a tiny backbone and in real files; going back is proven exactly."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_sessions import small_session
from tiny_words import words_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.risks.growth import Grown, measure_growth
from pss_integrations.states import CompileConfig, StateConfig, StateManager
from pss_integrations.states.store import StateStore
from pss_integrations.types import Clue, Message

SESSIONS = [small_session("heron"), small_session("crane")]
LEARNING = CompileConfig(history_steps=1, lr_a=5e-3, lr_b=2e-2, max_epochs=40, max_clue_tokens=32)


def opened(path: Path, **config: object) -> StateManager:
    shape = StateConfig(rank=8, alpha=16, layers=4)
    chosen = CompileConfig(**{**LEARNING.to_dict(), **config})
    return StateManager(path, backbone=words_backbone(), state=shape, config=chosen)


def ignore(what: str, done: int, total: int) -> None:
    """Progress is for people."""


def test_growing_then_going_back(tmp_path: Path) -> None:
    found = measure_growth(opened, tmp_path, SESSIONS, ignore, parts=2)
    first, second = found["steps"]
    assert first["outcomes"] == {"compiled": 2}
    assert second["outcomes"] == {"recompiled": 2}
    assert (first["messages"], second["messages"]) == (3, 6)
    assert first["old"] is first["changed"] is first["stale"] is None
    assert first["new"]["mean"] >= 0.9
    assert second["new"]["items"] > 0
    assert second["changed"]["items"] == second["stale"]["items"]
    assert found["whole"]["compiled"]["mean"] >= 0.9
    assert found["whole"]["compiled"]["items"] == found["whole"]["grown"]["items"]
    assert found["rollback"] == {"states": 2, "current": 2, "same_text": 2, "same": 2}


def test_a_rollback_that_leaves_the_state_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StateStore, "use", lambda self, info: None)
    back = measure_growth(lambda path: opened(path, max_epochs=4), tmp_path, SESSIONS[:1], ignore, parts=2)["rollback"]
    assert (back["states"], back["current"], back["same"]) == (1, 0, 0)


def test_a_part_in_which_nothing_is_said_leaves_no_state(tmp_path: Path) -> None:
    silent = replace(SESSIONS[0], messages=(Message("assistant", "Hello."),) * 6 + SESSIONS[0].messages)
    found = measure_growth(lambda path: opened(path, max_epochs=2), tmp_path, [silent], ignore, parts=2)
    assert found["steps"][0]["outcomes"] == {}
    assert found["steps"][0]["new"] is None
    assert found["steps"][1]["outcomes"] == {"compiled": 1}
    assert found["rollback"]["states"] == 0


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="two parts or more"):
        measure_growth(opened, tmp_path, SESSIONS, ignore, parts=1)
    with pytest.raises(InvalidInput, match="keep_text='targets'"):
        measure_growth(lambda path: opened(path, keep_text="none"), tmp_path, SESSIONS, ignore)


CLUES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["Heron 1", "Heron 2", "Heron 3"]), max_size=6)


@given(CLUES, CLUES, CLUES)
def test_each_request_is_new_or_old_or_changed_and_only_what_changed_can_be_stale(
    before: dict[str, str], taught: dict[str, str], written: dict[str, str]
) -> None:
    clues = tuple(Clue(written.get(request, "nothing"), (), 1, "s", finished=True) for request in taught)
    found = Grown(1, "recompiled", "s", 0.0, taught, clues).outcomes(before)
    assert sum(len(found[kind]) for kind in ("new", "old", "changed")) == len(taught)
    assert sum(map(sum, found.values())) - sum(found["stale"]) == sum(
        written.get(request) == clue for request, clue in taught.items()
    )
    assert len(found["stale"]) == len(found["changed"])
    assert not any(right and stale for right, stale in zip(found["changed"], found["stale"], strict=True))
