"""Packed weights are an invisible copy: the same products, and nothing left on the model."""

import pytest
import torch
from tiny import tiny_backbone
from torch import nn

from pss_integrations.states import packed
from pss_integrations.states.packed import PackedLinears

needs_bf16 = pytest.mark.skipif(
    not (torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()),
    reason="PyTorch multiplies no BF16 on this CPU",
)


def _layers(dtype: torch.dtype) -> nn.Module:
    torch.manual_seed(0)
    return nn.ModuleList([nn.Linear(96, 64), nn.Linear(64, 96, bias=False)]).to(dtype).requires_grad_(False)


@needs_bf16
@pytest.mark.parametrize("rows", [1, 7, 300])
def test_products_round_as_before(rows: int) -> None:
    layers = _layers(torch.bfloat16)
    x = torch.randn(2, rows, 96, dtype=torch.bfloat16)
    plain = layers[1](layers[0](x))
    with torch.inference_mode(), PackedLinears(layers).use():
        assert "forward" in layers[0].__dict__
        torch.testing.assert_close(layers[1](layers[0](x)), plain, rtol=0, atol=0)


@needs_bf16
def test_gradients_still_flow_inside() -> None:
    layers = _layers(torch.bfloat16)
    x = torch.randn(3, 96, dtype=torch.bfloat16, requires_grad=True)
    with PackedLinears(layers).use():
        layers[0](x).float().sum().backward()
    assert x.grad is not None
    assert x.grad.abs().sum() > 0


@needs_bf16
def test_nothing_is_left_on_the_model_after_an_error() -> None:
    layers = _layers(torch.bfloat16)
    with pytest.raises(ZeroDivisionError), PackedLinears(layers).use():
        raise ZeroDivisionError
    assert all("forward" not in layer.__dict__ for layer in layers)


@pytest.mark.parametrize("case", ["float32", "large"])
def test_others_are_left_alone(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if case == "large":
        monkeypatch.setattr(packed, "_MOST_BYTES", 96)
    layers = _layers(torch.float32 if case == "float32" else torch.bfloat16)
    with PackedLinears(layers).use():
        assert all("forward" not in layer.__dict__ for layer in layers)


def test_a_backbone_packs_once() -> None:
    backbone = tiny_backbone()
    assert backbone.packed is backbone.packed
