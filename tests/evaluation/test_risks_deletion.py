"""Deletion is proven: no file, no tensor and no cache holds the session, and the look that says so can see."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from small_sessions import small_session
from tiny import tiny_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.risks.deletion import ELSEWHERE, measure_deletion
from pss_integrations.evaluation.risks.scan import factor_of, files_of, holding, tensors_holding
from pss_integrations.states import CompileConfig, StateConfig, StateManager
from pss_integrations.states.lora import LoraBank
from pss_integrations.states.resident import SessionLRU
from pss_integrations.states.store import StateStore

NAMES = ("heron", "crane", "rook")
SEEN = ("readable", "text_in_files", "id_in_files", "state_in_tensors", "clue_in_memory", "state_in_memory")
QUICK = CompileConfig(history_steps=1, max_epochs=3, lr_b=2e-2, max_clue_tokens=48)


def opened(path: Path) -> StateManager:
    return StateManager(path, backbone=tiny_backbone(), state=StateConfig(rank=4, alpha=8, layers=2), config=QUICK)


def measured(home: Path, open_manager: Callable[[Path], StateManager] = opened) -> dict:
    return measure_deletion(open_manager, home, list(map(small_session, NAMES)), lambda what, done, total: None)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def found(home: Path) -> dict:
    return measured(home)


def test_what_was_deleted_is_nowhere_and_was_everywhere_before(found: dict) -> None:
    assert found["sessions"] == 2
    assert {name: found["before"][name] for name in SEEN} == dict.fromkeys(SEEN, 2)
    assert {name: found["after"][name] for name in SEEN} == dict.fromkeys(SEEN, 0)
    assert found["after"]["others_changed"] == 0


def test_what_stays_elsewhere_is_said(found: dict, home: Path) -> None:
    keys = [small_session(name).key for name in NAMES[1:]]
    assert found["left"] == [f"locks/{key.digest}.lock" for key in keys]
    assert all((home / path).read_bytes() == b"" for path in found["left"])
    assert found["after"]["backup_reads"] == 2
    assert found["before"]["belief_in_files"] == found["after"]["belief_stays_until_erased"] == 2
    assert found["after"]["belief_in_files"] == 0
    assert found["after"]["user_in_belief_files"] == 2  # the log says whose beliefs were erased
    assert found["elsewhere"] == ELSEWHERE


def test_without_kept_text_only_ids_were_in_the_files(tmp_path: Path) -> None:
    def textless(path: Path) -> StateManager:
        config = CompileConfig(**{**QUICK.to_dict(), "keep_text": "none"})
        return StateManager(path, backbone=tiny_backbone(), state=StateConfig(rank=4, layers=2), config=config)

    before = measured(tmp_path, textless)["before"]
    assert (before["text_in_files"], before["id_in_files"]) == (0, 2)


@pytest.mark.parametrize(
    ("broken", "name", "seen"),
    [
        (SessionLRU, "forget", {"clue_in_memory", "state_in_memory", "state_in_tensors"}),
        (StateStore, "delete", {"readable", "text_in_files", "id_in_files"}),
        (LoraBank, "unbind", {"state_in_tensors"}),
    ],
)
def test_a_deletion_that_does_nothing_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: type, name: str, seen: set[str]
) -> None:
    monkeypatch.setattr(broken, name, lambda self, place: None)
    after = measured(tmp_path)["after"]
    assert seen <= {what for what, count in after.items() if count}


def test_one_session_is_too_few_and_a_full_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="two or more"):
        measure_deletion(opened, tmp_path, [small_session("heron")], lambda what, done, total: None)
    (tmp_path / "something").write_text("here")
    with pytest.raises(InvalidInput, match="is not empty"):
        measured(tmp_path)


@given(st.text(min_size=3).filter(lambda text: text.strip() and text.isprintable()), st.booleans())
def test_a_text_is_found_as_it_is_and_as_json(text: str, ascii_only: bool) -> None:
    files = {
        "plain": f"before {text} after".encode(),
        "json": json.dumps({"it": text}, ensure_ascii=ascii_only).encode(),
    }
    assert holding(files, [text]) == ["plain", "json"]


def test_a_text_is_found_in_any_case_and_in_names_and_only_there() -> None:
    files = {"a/Heron.txt": b"", "b": b"HERON", "c": b"her on"}
    assert holding(files, ["heron"]) == ["a/Heron.txt", "b"]
    assert holding(files, []) == []


def test_files_are_found_in_every_depth(tmp_path: Path) -> None:
    (tmp_path / "one" / "two").mkdir(parents=True)
    (tmp_path / "one" / "two" / ".hidden").write_bytes(b"x")
    assert files_of(tmp_path) == {"one/two/.hidden": b"x"}
    assert files_of(tmp_path / "none") == {}


def _state(path: Path, b: torch.Tensor) -> Path:
    save_file({"m.lora_A.weight": torch.ones(2, 3, dtype=torch.bfloat16), "m.lora_B.weight": b.bfloat16()}, path)
    return path


def test_a_matrix_is_found_in_other_types_and_within_larger_memory(tmp_path: Path) -> None:
    drawn = torch.randn(16, 8, generator=torch.Generator().manual_seed(11)).bfloat16()
    factor = factor_of(_state(tmp_path / "a.safetensors", drawn))
    assert tensors_holding(factor) == 1
    stack = torch.zeros(3, 16, 8)
    stack[1] = drawn
    assert tensors_holding(factor) == 2
    view = stack[1]
    assert tensors_holding(factor) == 2  # the same memory, looked at twice
    del stack, drawn
    assert tensors_holding(factor) == 1
    view.zero_()
    assert tensors_holding(factor) == 0


def test_a_state_of_zeros_cannot_be_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="zeros alone"):
        factor_of(_state(tmp_path / "a.safetensors", torch.zeros(16, 8)))
