"""Weights in the layout that the CPU's matrix products want.

PyTorch rearranges BF16 weights for oneDNN in each product. Where few tokens are read at once that takes as long as the
product itself, so they are kept rearranged. The product and its rounding are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

_MOST_BYTES = 1 << 30  # they are a second copy


class PackedLinears:
    """Copies of a model's linear layers, used by passes without gradients inside :meth:`use`.

    There are none unless the model lies on a CPU in BF16, takes at most 1 GiB and PyTorch was built with oneDNN.

    :param model: The frozen model.
    """

    def __init__(self, model: nn.Module) -> None:
        linears = [module for module in model.modules() if type(module) is nn.Linear]
        fits = sum(linear.weight.nbytes for linear in linears) <= _MOST_BYTES
        self._forwards = [(linear, _packed(linear)) for linear in linears if fits and _can_pack(linear.weight)]

    @contextmanager
    def use(self) -> Generator[None]:
        """Let the model's passes use the copies."""
        for linear, forward in self._forwards:
            linear.__dict__["forward"] = forward  # nn.Module.__setattr__ takes as long as a small product
        try:
            yield
        finally:
            for linear, _ in self._forwards:
                linear.__dict__.pop("forward", None)


def _can_pack(weight: Tensor) -> bool:
    return (
        weight.device.type == "cpu"
        and weight.dtype == torch.bfloat16
        and torch.backends.mkldnn.is_available()
        and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )


def _packed(linear: nn.Linear) -> Callable[[Tensor], Tensor]:
    with torch.no_grad():
        weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), 1)
    multiply = torch.ops.mkldnn._linear_pointwise

    def forward(x: Tensor) -> Tensor:
        if torch.is_grad_enabled():  # a pass of another thread: the product has no gradient
            return nn.Linear.forward(linear, x)
        return multiply(x, weight, linear.bias, "none", [], "")

    return forward
