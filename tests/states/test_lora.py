import json

import peft
import pytest
import torch
import transformers
from safetensors.torch import load_file
from tiny import FAMILIES, tiny_backbone, tiny_model

from pss_integrations.errors import InvalidInput, StateCorrupt, UnsupportedBackbone
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import StateConfig
from pss_integrations.states.layout import layout_of
from pss_integrations.states.lora import LoraBank

IDS = torch.arange(20).reshape(2, 10)


def random_states(bank: LoraBank, count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(bank.layout.numel, generator=generator) * 0.1 for _ in range(count)]


def meta_model(family: str, **shape: int) -> torch.nn.Module:
    config_class, model_class = FAMILIES[family]
    with torch.device("meta"):
        return model_class(config_class(**shape))


_SHAPE = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads")
PAPER_BACKBONES = {
    "qwen2": (44.0, dict(zip(_SHAPE, (3584, 18944, 28, 28, 4), strict=True))),
    "mistral": (40.0, dict(zip(_SHAPE, (4096, 14336, 32, 32, 8), strict=True))),
    "phi3": (24.0, dict(zip(_SHAPE, (3072, 8192, 32, 32, 32), strict=True))),
}


@pytest.mark.parametrize("family", PAPER_BACKBONES)
def test_state_of_the_papers_backbones_has_the_papers_size(family: str) -> None:
    mebibytes, shape = PAPER_BACKBONES[family]
    layout = layout_of(meta_model(family, **shape), StateConfig())
    assert layout.numel * 2 / 2**20 == mebibytes


def test_qwen_state_has_112_tensors() -> None:
    layout = layout_of(meta_model("qwen2", **PAPER_BACKBONES["qwen2"][1]), StateConfig())
    assert (len(layout.projections), len(layout.spans), layout.numel) == (56, 112, 23_068_672)


@pytest.mark.parametrize("family", FAMILIES)
def test_bank_gives_what_peft_gives(family: str, tmp_path) -> None:
    config = StateConfig(rank=4, alpha=8, layers=2, dtype="float32")
    backbone = tiny_backbone(family)
    bank = LoraBank(backbone.model, config, lanes=2)
    vector = random_states(bank, 1)[0]
    bank.bind(1, vector)
    with torch.no_grad(), bank.use(1):
        ours = backbone.model(IDS).logits

    from pss_integrations.states.config import CompileConfig
    from pss_integrations.states.engine import Engine

    engine = Engine(backbone, config, CompileConfig(), read_lanes=1, resident_bytes=1)
    (tmp_path / "adapter_config.json").write_text(json.dumps(engine.adapter_config()))
    (tmp_path / "adapter_model.safetensors").write_bytes(engine.adapter_file(vector))
    theirs = peft.PeftModel.from_pretrained(tiny_model(family).eval(), tmp_path)
    assert peft.LoraConfig.from_pretrained(tmp_path).r == 4
    with torch.no_grad():
        torch.testing.assert_close(ours, theirs(IDS).logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_use_their_own_lanes_and_no_lane_is_the_base_model(family: str) -> None:
    backbone = tiny_backbone(family)
    with torch.no_grad():
        base = backbone.model(IDS).logits
    bank = LoraBank(backbone.model, StateConfig(rank=4, layers=2), lanes=3)
    for lane, vector in enumerate(random_states(bank, 2), 1):
        bank.bind(lane, vector)
    with torch.no_grad():
        alone = []
        for lane in (1, 2):
            with bank.use(lane):
                alone.append(backbone.model(IDS).logits)
        with bank.use([2, -1]):
            mixed = backbone.model(IDS).logits
        torch.testing.assert_close(mixed[0], alone[1][0], atol=1e-5, rtol=1e-5)
        assert torch.equal(mixed[1], base[1])
        assert not torch.allclose(alone[0], alone[1])
        assert torch.equal(backbone.model(IDS).logits, base)


def test_unbound_lane_is_zero_and_another_thread_meets_the_base_model() -> None:
    from concurrent.futures import ThreadPoolExecutor

    backbone = tiny_backbone()
    bank = LoraBank(backbone.model, StateConfig(rank=4, layers=2), lanes=1)

    def logits() -> torch.Tensor:
        with torch.no_grad():
            return backbone.model(IDS).logits

    base = logits()
    bank.bind(0, random_states(bank, 1)[0])
    with ThreadPoolExecutor(1) as other, bank.use(0):
        assert not torch.equal(logits(), base)
        assert torch.equal(other.submit(logits).result(), base)
    bank.unbind(0)
    assert not bank.vector(0).any()
    assert bank.bound == [False]


def test_segments_add_up() -> None:
    backbone = tiny_backbone()
    single = LoraBank(backbone.model, StateConfig(rank=4, alpha=8, layers=2), lanes=2)
    parts = [{k: m.clone() for k, m in single.layout.matrices(v).items()} for v in random_states(single, 2)]
    outputs = []
    for lane, part in enumerate(parts):
        single.bind(lane, single.layout.vector(part))
    module = backbone.model.get_submodule(single.layout.projections[0].path)
    x = torch.randn(1, 3, module.in_features, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        base = module(x)
        for lane in range(2):
            with single.use(lane):
                outputs.append(module(x) - base)
        single.close()
        config = StateConfig(rank=4, alpha=8, layers=2, segments=2)
        double = LoraBank(backbone.model, config, lanes=1)
        stacked = {k: torch.cat([p[k] for p in parts], dim=0 if ".lora_A." in k else 1) for k in parts[0]}
        double.bind(0, double.layout.vector(stacked))
        with double.use(0):
            torch.testing.assert_close(module(x) - base, outputs[0] + outputs[1], atol=1e-5, rtol=1e-5)
    masks = [double.layout.segment(i, 4) for i in range(2)]
    assert torch.equal(masks[0] ^ masks[1], torch.ones_like(masks[0]))


def test_vector_and_matrices_are_inverse_and_follow_the_file_order(tmp_path) -> None:
    from safetensors.torch import save_file

    bank = LoraBank(tiny_backbone().model, StateConfig(rank=2, layers=1), lanes=1)
    vector = random_states(bank, 1)[0]
    save_file({k: m.contiguous() for k, m in bank.layout.matrices(vector).items()}, tmp_path / "x.safetensors")
    assert (tmp_path / "x.safetensors").read_bytes().endswith(vector.numpy().tobytes())
    assert torch.equal(bank.layout.vector(load_file(tmp_path / "x.safetensors")), vector)


def test_tensors_of_another_model_are_refused() -> None:
    bank = LoraBank(tiny_backbone().model, StateConfig(rank=2, layers=1), lanes=1)
    tensors = dict(bank.layout.matrices(torch.zeros(bank.layout.numel)))
    key = next(iter(tensors))
    with pytest.raises(StateCorrupt, match="shape"):
        bank.layout.vector({**tensors, key: torch.zeros(3, 3)})
    del tensors[key]
    with pytest.raises(StateCorrupt, match=r"q_proj|k_proj|down_proj"):
        bank.layout.vector(tensors)


def test_models_that_cannot_be_adapted_are_refused() -> None:
    with pytest.raises(InvalidInput, match="backbone has 4"):
        layout_of(tiny_model(), StateConfig(layers=5))
    gpt = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=20))
    with pytest.raises(UnsupportedBackbone, match="GPT2LMHeadModel"):
        layout_of(gpt, StateConfig(layers=1))


def test_backbone_without_an_end_token_is_refused() -> None:
    from tiny import tiny_tokenizer

    tokenizer = tiny_tokenizer()
    tokenizer.eos_token = None
    with pytest.raises(UnsupportedBackbone, match="end token"):
        Backbone(tiny_model(), tokenizer, name="endless")
