"""The plain PEFT training loop that the compiler is held against: same rows, batches, loss and optimiser.

It pads to the longest row of a batch, runs the whole model and takes all logits, as a loop written with PEFT's own
documentation would.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from torch import Tensor

from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.reader import clue_tokens, prompt_tokens
from pss_integrations.types import ClueTarget

_IGNORED = -100


@contextmanager
def quiet_peft() -> Generator[None]:
    """Keep a warning to ourselves that nobody here can mend: peft asks transformers by a name that changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@dataclass(frozen=True, slots=True)
class PeftRun:
    """What the loop gives.

    :param tensors: Adapter by PEFT key.
    :param seconds: Time of all steps.
    :param steps: How many there were.
    """

    tensors: Mapping[str, Tensor]
    seconds: float
    steps: int


class PeftLoop:
    """Trains clue targets with PEFT; conflicts are left out.

    :param backbone: A backbone of its own: PEFT changes the model it wraps.
    :param adapter_config: Arguments of ``peft.LoraConfig``.
    """

    def __init__(self, backbone: Backbone, adapter_config: Mapping[str, Any]) -> None:
        options: dict[str, Any] = {**adapter_config, "inference_mode": False, "base_model_name_or_path": None}
        lora = LoraConfig(**options)
        self._backbone = backbone
        with quiet_peft():
            self.model: Any = get_peft_model(backbone.model, lora, autocast_adapter_dtype=False)
        self._parameters: dict[str, Tensor] = {
            name.replace(".default.", "."): p for name, p in self.model.named_parameters() if p.requires_grad
        }

    def put(self, tensors: Mapping[str, Tensor]) -> None:
        """Put an adapter, by PEFT key, into the model."""
        for key, parameter in self._parameters.items():
            parameter.data.copy_(tensors[key])

    def run(
        self, start: Mapping[str, Tensor], targets: Sequence[ClueTarget], config: CompileConfig, *, epochs: int
    ) -> PeftRun:
        """Train for some epochs.

        :param start: Adapter by PEFT key to start from.
        """
        self.put(start)
        adam, warm = self._optimizer(config)
        rows = [(prompt_tokens(self._backbone, t.request), clue_tokens(self._backbone, t.clue)) for t in targets]
        shuffle = torch.Generator().manual_seed(config.seed)
        steps, begun = 0, time.perf_counter()
        for _ in range(epochs):
            for chosen in torch.randperm(len(rows), generator=shuffle).split(config.batch_size):
                ids, mask, labels = _padded([rows[i] for i in chosen.tolist()], self._backbone)
                logits = self.model(input_ids=ids, attention_mask=mask, use_cache=False).logits
                F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), ignore_index=_IGNORED).backward()
                torch.nn.utils.clip_grad_norm_(self._parameters.values(), config.max_grad_norm)
                adam.step()
                warm.step()
                adam.zero_grad(set_to_none=False)
                steps += 1
        seconds = time.perf_counter() - begun
        return PeftRun({key: p.detach().clone() for key, p in self._parameters.items()}, seconds, steps)

    def _optimizer(self, config: CompileConfig) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LambdaLR]:
        groups = [
            {"params": [p for key, p in self._parameters.items() if f".lora_{side}." in key], "lr": rate}
            for side, rate in (("A", config.lr_a), ("B", config.lr_b))
        ]
        adam = torch.optim.AdamW(groups, weight_decay=0.0, fused=True)
        return adam, torch.optim.lr_scheduler.LambdaLR(adam, lambda step: min(1.0, (step + 1) / max(1, config.warmup)))


class PeftReader:
    """Reads one state with PEFT and ``generate``, greedily, as their own documentation would.

    :param backbone: A backbone of its own: PEFT changes the model it wraps.
    :param adapter_config: Arguments of ``peft.LoraConfig``.
    :param tensors: The state by PEFT key.
    """

    def __init__(self, backbone: Backbone, adapter_config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        loop = PeftLoop(backbone, adapter_config)
        loop.put(tensors)
        self._backbone, self._model = backbone, loop.model.eval()

    @torch.inference_mode()
    def read(self, query: str, max_tokens: int) -> list[int]:
        """Return the tokens of a clue, without the end token."""
        ids = torch.tensor([prompt_tokens(self._backbone, query)], device=self._backbone.device)
        end = self._backbone.end_token
        with quiet_peft():
            found = self._model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=max_tokens,
                do_sample=False,
                eos_token_id=end,
                pad_token_id=end,
            )
        tokens: list[int] = found[0, ids.shape[1] :].tolist()
        return tokens[:-1] if tokens[-1] == end else tokens


def _padded(rows: Sequence[tuple[list[int], list[int]]], backbone: Backbone) -> tuple[Tensor, Tensor, Tensor]:
    """Token ids, attention mask and labels, each (rows, T)."""
    longest = max(len(prompt) + len(clue) - 1 for prompt, clue in rows)
    ids, mask, labels = list[list[int]](), list[list[int]](), list[list[int]]()
    for prompt, clue in rows:
        inputs = prompt + clue[:-1]
        padding = longest - len(inputs)
        ids.append(inputs + [0] * padding)
        mask.append([1] * len(inputs) + [0] * padding)
        labels.append([_IGNORED] * (len(prompt) - 1) + clue + [_IGNORED] * padding)
    place = backbone.device
    return torch.tensor(ids, device=place), torch.tensor(mask, device=place), torch.tensor(labels, device=place)
