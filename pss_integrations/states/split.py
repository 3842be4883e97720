"""A backbone in two parts: the frozen layers, run once per text, and the adapted ones, run at every step.

LoRA sits on the last layers, so what enters the first of them never changes while a state is written. Causal
attention makes padding on the right harmless, so rows are cached at their own length and padded only to the longest
of a batch.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from pss_integrations.errors import UnsupportedBackbone
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.layout import decoder_layers

_SELF_CHECK_TOLERANCE = 0.05  # of the logits' norm: BF16 rounding is below, a layer called wrongly far above
# Up to here attention written out is several times faster to train through on a CPU than the fused kernels
# (0.7 ms against 4.2 ms for 8 rows of 35 tokens); its memory grows with the square of the length.
_EAGER_LENGTH = 256


class _Reached(Exception):
    def __init__(self, hidden: Tensor) -> None:
        self.hidden = hidden


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What the model passes to each upper layer (positions, masks), at one length."""

    length: int
    arguments: list[dict[str, Any]]

    def cut(self, length: int) -> list[dict[str, Any]]:
        """The same at a shorter length."""
        return [{name: self._cut(value, length) for name, value in one.items()} for one in self.arguments]

    def _cut(self, value: Any, length: int) -> Any:
        if isinstance(value, tuple):
            return tuple(self._cut(part, length) for part in value)
        if isinstance(value, Tensor):
            for dim, size in enumerate(value.shape):
                if size == self.length:
                    value = value.narrow(dim, 0, length)
        return value


class SplitModel:
    """Runs the lower and the upper part of a backbone apart; no cache, no grown context.

    :param backbone: The frozen model.
    :param layers: How many of the last decoder layers form the upper part.
    :raises UnsupportedBackbone: If the two parts do not give what the whole model gives.
    """

    def __init__(self, backbone: Backbone, layers: int) -> None:
        self._backbone = backbone
        self._decoder: Any = backbone.model.model
        self._attention: str = backbone.model.config._attn_implementation
        self._upper: list[nn.Module] = list(decoder_layers(backbone.model))[-layers:]
        self.head: nn.Linear = backbone.model.lm_head
        self.norm: nn.Module = self._decoder.norm
        self._recorded: dict[str, _Recorded] = {}
        self._check()

    @torch.no_grad()
    def lower(self, ids: Tensor) -> Tensor:
        """Hidden states (rows, T, D) that enter the first adapted layer, for token ids (rows, T)."""

        def jump(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            raise _Reached(args[0] if args else kwargs["hidden_states"])

        handle = self._upper[0].register_forward_pre_hook(jump, with_kwargs=True)
        try:
            self._decoder(input_ids=ids, use_cache=False)
        except _Reached as reached:
            return reached.hidden
        finally:
            handle.remove()
        raise UnsupportedBackbone(f"{self._backbone.name} does not run its decoder layers in order")

    def lower_rows(self, rows: Sequence[Sequence[int]], batch_size: int = 16) -> list[Tensor]:
        """The same for rows of different lengths: one (T_i, D) each."""
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        hidden = dict[int, Tensor]()
        for at in range(0, len(order), batch_size):
            chosen = order[at : at + batch_size]
            ids = pad_sequence([torch.tensor(rows[i]) for i in chosen], batch_first=True)
            for i, row in zip(chosen, self.lower(ids.to(self._backbone.device)), strict=True):
                hidden[i] = row[: len(rows[i])].clone()
        return [hidden[i] for i in range(len(rows))]

    def upper(self, hidden: Tensor) -> Tensor:
        """Hidden states (rows, T, D) after the adapted layers, for what entered them; differentiable."""
        length = hidden.shape[1]
        attention = "eager" if length <= _EAGER_LENGTH else self._attention
        with self._attending(attention):
            recorded = self._recorded.get(attention)
            if recorded is None or length > recorded.length:
                recorded = self._recorded[attention] = self._record(length)
            for layer, arguments in zip(self._upper, recorded.cut(length), strict=True):
                output = layer(hidden, **arguments)
                hidden = output[0] if isinstance(output, tuple) else output
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """FP32 logits (..., V) for the last hidden states (..., D); call it at supervised positions only."""
        return self.head(self.norm(hidden)).float()

    @contextmanager
    def _attending(self, attention: str) -> Generator[None]:
        config = self._backbone.model.config
        config._attn_implementation = attention
        try:
            yield
        finally:
            config._attn_implementation = self._attention

    @torch.no_grad()
    def _record(self, length: int) -> _Recorded:
        """Record what the model passes to each upper layer besides the hidden states.

        At an odd length, so that every dimension of that size is time (no head or hidden size is odd) and can be cut.
        """
        length = min(max(length, _EAGER_LENGTH), self._backbone.context_length) | 1
        seen = list[dict[str, Any]]()

        def record(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            seen.append({name: value for name, value in kwargs.items() if name != "hidden_states"})

        handles = [layer.register_forward_pre_hook(record, with_kwargs=True) for layer in self._upper]
        ids = torch.zeros(1, length, dtype=torch.long, device=self._backbone.device)
        try:
            self._decoder(input_ids=ids, use_cache=False)
        finally:
            for handle in handles:
                handle.remove()
        return _Recorded(length, seen)

    @torch.no_grad()
    def _check(self) -> None:
        ids = torch.arange(12, device=self._backbone.device).reshape(2, 6)
        whole = self._backbone.model(ids, use_cache=False).logits.float()
        parts = self.logits(self.upper(self.lower(ids)))
        if (whole - parts).norm() > _SELF_CHECK_TOLERANCE * whole.norm():
            raise UnsupportedBackbone(f"{self._backbone.name}: running the last layers apart changes the result")
