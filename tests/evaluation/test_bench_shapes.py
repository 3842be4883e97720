import pytest
import torch
import transformers
from tiny_words import words_tokenizer

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.bench_history import bench_long_history
from pss_integrations.evaluation.bench_shapes import bench_shapes, qwen_7b
from pss_integrations.states.config import StateConfig
from pss_integrations.states.layout import layout_of


def tiny_shape(vocabulary: int) -> transformers.Qwen2Config:
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "vocab_size": vocabulary}
    return transformers.Qwen2Config(**sizes, **heads)


def test_compile_bind_and_read_are_timed_beside_the_paper() -> None:
    tokenizer = words_tokenizer()
    found = bench_shapes(tiny_shape(len(tokenizer)), tokenizer, device="cpu", quick=True, tell=lambda _: None)
    assert (found["layers"], found["targets"], found["device"]) == (2, 28, "cpu")
    assert found["steps"] == 2 + 12 * 4  # passes over the history, and batches of eight targets
    assert (found["paper_compile_seconds"], found["paper_read_seconds"]) == (29.03, 1.341)
    assert all(found[name]["median"] >= 0 for name in ("compile_seconds", "bind_unload_ms", "read_ms"))


@pytest.mark.parametrize(
    ("device", "vocabulary", "message"), [("nonsense", 5000, "no device 'nonsense'"), ("cpu", 99, "room for 99")]
)
def test_what_cannot_be_measured_is_said_before_any_work(device: str, vocabulary: int, message: str) -> None:
    told = list[str]()
    with pytest.raises(InvalidInput, match=message):
        bench_shapes(tiny_shape(vocabulary), words_tokenizer(), device=device, quick=True, tell=told.append)
    assert not told


def test_a_backbone_needs_layers() -> None:
    with pytest.raises(InvalidInput, match="at least 1 layer"):
        qwen_7b(layers=0)


def test_a_state_of_the_paper_s_backbone_has_44_mebibytes() -> None:
    with torch.device("meta"):
        model = transformers.Qwen2ForCausalLM(qwen_7b())
    assert layout_of(model, StateConfig()).numel * 2 / 2**20 == pytest.approx(44.04, abs=0.1)
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(7.616e9, rel=1e-3)


def test_a_long_history_is_compiled_in_windows_that_fit() -> None:
    tokenizer = words_tokenizer()
    shape = tiny_shape(len(tokenizer))
    shape.max_position_embeddings = 256
    found = bench_long_history(shape, tokenizer, tokens=900, tell=lambda _: None)
    assert 700 < found["history_tokens"] <= 900
    assert found["windows"] >= 5
    assert found["peak_gib"] > 0.05
