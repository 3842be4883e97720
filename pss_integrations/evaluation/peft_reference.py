"""The plain PEFT loop and reader that ours are held against: same rows, batches, loss and optimiser.

The loop pads to the longest row of a batch, runs the whole model and takes all logits, as one written with PEFT's own
documentation would. Conflicts are left out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from torch import Tensor

from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.history import history_windows
from pss_integrations.states.reader import clue_tokens, prompt_tokens
from pss_integrations.types import ClueTarget, Message

_IGNORED: Final = -100
_Row = tuple[list[int], list[int]]  # what is read, and what has to follow


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
    :param seconds: Time of all steps, and of checking what they led to.
    :param steps: How many there were.
    :param confirmed: Whether ``generate`` gave every clue; false if it was not asked.
    """

    tensors: Mapping[str, Tensor]
    seconds: float
    steps: int
    confirmed: bool = False


class PeftLoop:
    """Trains with PEFT.

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
        """Train clue targets for some epochs.

        :param start: Adapter by PEFT key to start from.
        """
        self.put(start)
        begun = time.perf_counter()
        rows, stage = self._rows(targets), _Stage(self.model, self._parameters, config)
        shuffle = torch.Generator().manual_seed(config.seed)
        for _ in range(epochs):
            for batch in _shuffled(rows, config.batch_size, shuffle):
                stage.step(*_padded(batch, self._backbone))
        return self._result(begun, stage.steps)

    def run_until_confirmed(
        self,
        start: Mapping[str, Tensor],
        messages: Sequence[Message],
        targets: Sequence[ClueTarget],
        config: CompileConfig,
    ) -> PeftRun:
        """Train the history, then the clue targets until ``generate`` gives every one of them.

        It is asked after each epoch in which every token of every clue was the likeliest; the loop ends after
        ``max_epochs`` at the latest.

        :param start: Adapter by PEFT key to start from.
        """
        self.put(start)
        begun = time.perf_counter()
        steps = self._train_history(messages, config)
        rows, stage = self._rows(targets), _Stage(self.model, self._parameters, config)
        shuffle = torch.Generator().manual_seed(config.seed)
        for _ in range(config.max_epochs):
            right = True
            for batch in _shuffled(rows, config.batch_size, shuffle):
                ids, mask, labels = _padded(batch, self._backbone)
                right &= _all_likeliest(stage.step(ids, mask, labels), labels)
            if right and self._generates(rows):
                return self._result(begun, steps + stage.steps, confirmed=True)
        return self._result(begun, steps + stage.steps)

    def _train_history(self, messages: Sequence[Message], config: CompileConfig) -> int:
        """Language modelling on the history; returns the steps taken."""
        stage = _Stage(self.model, self._parameters, config)
        windows = history_windows(self._backbone, messages, length=config.history_window)
        for _ in range(config.history_steps):
            for window in windows:
                tokens, first = list(window.tokens), max(window.past, 1)
                stage.step(*_padded([(tokens[:first], tokens[first:])], self._backbone))
        return stage.steps

    def _rows(self, targets: Sequence[ClueTarget]) -> list[_Row]:
        return [(prompt_tokens(self._backbone, t.request), clue_tokens(self._backbone, t.clue)) for t in targets]

    def _generates(self, rows: Sequence[_Row]) -> bool:
        prompts, clues = [prompt for prompt, _ in rows], [clue for _, clue in rows]
        return generate(self.model, self._backbone, prompts, max(map(len, clues))) == clues

    def _result(self, begun: float, steps: int, *, confirmed: bool = False) -> PeftRun:
        seconds = time.perf_counter() - begun
        return PeftRun({key: p.detach().clone() for key, p in self._parameters.items()}, seconds, steps, confirmed)


class _Stage:
    """A stage of training, with an optimiser and a warm-up of its own."""

    def __init__(self, model: Any, parameters: Mapping[str, Tensor], config: CompileConfig) -> None:
        self._model, self._parameters, self._max_norm = model, list(parameters.values()), config.max_grad_norm
        groups = [
            {"params": [p for key, p in parameters.items() if f".lora_{side}." in key], "lr": rate}
            for side, rate in (("A", config.lr_a), ("B", config.lr_b))
        ]
        self._adam = torch.optim.AdamW(groups, weight_decay=0.0, fused=True)
        self._warm = torch.optim.lr_scheduler.LambdaLR(
            self._adam, lambda step: min(1.0, (step + 1) / max(1, config.warmup))
        )
        self.steps = 0

    def step(self, ids: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
        """Take a step; returns the logits (rows, T, V) before it."""
        logits = self._model(input_ids=ids, attention_mask=mask, use_cache=False).logits
        F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), ignore_index=_IGNORED).backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, self._max_norm)
        self._adam.step()
        self._warm.step()
        self._adam.zero_grad(set_to_none=False)
        self.steps += 1
        return logits.detach()


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

    def read(self, query: str, max_tokens: int) -> list[int]:
        """Return the tokens of a clue, without the end token."""
        (tokens,) = generate(self._model, self._backbone, [prompt_tokens(self._backbone, query)], max_tokens)
        return tokens[:-1] if tokens[-1] == self._backbone.end_token else tokens


@torch.inference_mode()
def generate(model: Any, backbone: Backbone, prompts: Sequence[list[int]], max_tokens: int) -> list[list[int]]:
    """Generate greedily with transformers' ``generate``, all prompts in one batch, padded on the left.

    :param model: The backbone's model, or PEFT's around it.
    :returns: New tokens of each row, up to the end token, which is included.
    """
    longest, end = max(map(len, prompts)), backbone.end_token
    ids = torch.tensor([[end] * (longest - len(prompt)) + prompt for prompt in prompts], device=backbone.device)
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts], device=backbone.device)
    options: dict[str, Any] = {"do_sample": False, "eos_token_id": end, "pad_token_id": end}
    with quiet_peft():
        found = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=max_tokens, **options)
    rows: list[list[int]] = found[:, longest:].tolist()
    return [row[: row.index(end) + 1] if end in row else row for row in rows]


def _shuffled(rows: Sequence[_Row], size: int, shuffle: torch.Generator) -> Generator[list[_Row]]:
    """All rows in random order, in batches."""
    for chosen in torch.randperm(len(rows), generator=shuffle).split(size):
        yield [rows[i] for i in chosen.tolist()]


def _all_likeliest(logits: Tensor, labels: Tensor) -> bool:
    """Whether every label (rows, T) that counts has the greatest logit."""
    counts = labels != _IGNORED
    return bool((logits[counts].argmax(dim=-1) == labels[counts]).all())


def _padded(rows: Sequence[_Row], backbone: Backbone) -> tuple[Tensor, Tensor, Tensor]:
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
