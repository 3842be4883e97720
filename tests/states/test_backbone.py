from pathlib import Path

import pytest
import torch
from tiny import tiny_backbone, tiny_model, tiny_tokenizer

from pss_integrations.errors import InvalidInput
from pss_integrations.states.backbone import Backbone, load_backbone


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PSS_CACHE", str(tmp_path / "cache"))
    tiny_model().bfloat16().save_pretrained(tmp_path / "model")
    tiny_tokenizer().save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_a_model_by_path_has_one_fingerprint_whatever_it_computes_in(saved: Path) -> None:
    loaded = [load_backbone(saved, device="cpu", dtype=dtype) for dtype in ("float32", "bfloat16", "auto")]
    assert len({backbone.fingerprint for backbone in loaded}) == 1
    assert [backbone.dtype for backbone in loaded[:2]] == [torch.float32, torch.bfloat16]
    in_memory = Backbone(tiny_model().bfloat16(), tiny_tokenizer(), name="x")
    assert in_memory.fingerprint == loaded[0].fingerprint


def test_the_fingerprint_is_remembered_and_noticed_when_files_change(saved: Path) -> None:
    first = load_backbone(saved, device="cpu").fingerprint
    assert load_backbone(saved, device="cpu").fingerprint == first
    tiny_model(seed=1).bfloat16().save_pretrained(saved)
    assert load_backbone(saved, device="cpu").fingerprint != first


def test_weights_shape_and_vocabulary_all_enter_the_fingerprint() -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.add_tokens(["<extra>"])
    prints = [
        tiny_backbone().fingerprint,
        tiny_backbone(seed=1).fingerprint,
        tiny_backbone(max_position_embeddings=256).fingerprint,
        Backbone(tiny_model(), tokenizer, name="x").fingerprint,
    ]
    assert len(set(prints)) == 4
    assert tiny_backbone().fingerprint == prints[0]


def test_an_unknown_dtype_or_device_is_refused(saved: Path) -> None:
    with pytest.raises(InvalidInput, match="bfloat16"):
        load_backbone(saved, dtype="int3")
    with pytest.raises(InvalidInput, match="auto, cpu, cuda or mps"):
        load_backbone(saved, device="abacus")


def test_text_survives_encoding() -> None:
    backbone = tiny_backbone()
    for text in ("ckpt-4821", "naïve 数据库 🙂"):
        assert backbone.decode(backbone.encode(text)) == text
        assert backbone.count_tokens(text) == len(text.encode())
