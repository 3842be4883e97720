"""Greedy readout of clues (PSS, section 2.4): one prompt a row, each row with the lane of its own state."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from pss_integrations.errors import InvalidInput
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.lora import LoraBank

MAX_QUERY_TOKENS = 1024


def prompt_for(request: str) -> str:
    """The prompt that states are written and read with; short, since its length is paid at every step."""
    return f"Request: {' '.join(request.split())}\nSearch clue:"


def prompt_tokens(backbone: Backbone, request: str) -> list[int]:
    """Tokens of the prompt.

    :raises InvalidInput: If the request is longer than 1,024 tokens: whatever it is, it is no follow-up
        that leaves its scope unsaid.
    """
    tokens = backbone.encode(prompt_for(request))
    if len(tokens) > min(MAX_QUERY_TOKENS, backbone.context_length // 2):
        raise InvalidInput(f"the query has {len(tokens)} tokens; at most {MAX_QUERY_TOKENS} can be read")
    return tokens


@dataclass(slots=True)
class Decoded:
    """Tokens that were generated for a row, with their log-probabilities."""

    tokens: list[int]
    logprobs: list[float]
    finished: bool = False


def decode(
    backbone: Backbone,
    bank: LoraBank,
    lanes: Sequence[int],
    prompts: Sequence[Sequence[int]],
    max_tokens: int,
) -> Generator[None, None, list[Decoded]]:
    """Decode greedily, all rows together; yields after each token so that other work can come between.

    :param lanes: The lane of each row; -1 is the base model.
    :param prompts: Token ids of each row, not empty.
    :returns: One :class:`Decoded` a row.
    """
    rows = [Decoded([], []) for _ in prompts]
    which: int | list[int] = lanes[0] if len(set(lanes)) == 1 and lanes[0] >= 0 else list(lanes)
    ids, mask = _pad_left(prompts, backbone)
    cache = DynamicCache(config=backbone.model.config)
    for _ in range(max_tokens):
        with torch.inference_mode(), bank.use(which):
            logits = _last_logits(backbone.model, ids, mask, cache)
        logprobs, tokens = torch.log_softmax(logits.float(), dim=-1).max(dim=-1)
        for row, token, logprob in zip(rows, tokens.tolist(), logprobs.tolist(), strict=True):
            if not row.finished:
                row.logprobs.append(logprob)
                row.finished = token == backbone.end_token
                if not row.finished:
                    row.tokens.append(token)
        if all(row.finished for row in rows):
            break
        ids = tokens[:, None]
        if mask is not None:
            mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
        yield
    return rows


def _pad_left(prompts: Sequence[Sequence[int]], backbone: Backbone) -> tuple[Tensor, Tensor | None]:
    """Token ids (rows, T) and the attention mask (rows, T), which rows of one length do not need."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(p)) + list(p) for p in prompts], device=backbone.device)
    if all(len(p) == longest for p in prompts):
        return ids, None
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts], device=backbone.device)
    return ids, mask


def _last_logits(model: Any, ids: Tensor, mask: Tensor | None, cache: DynamicCache) -> Tensor:
    """Logits (rows, V) after the last position."""
    extra: dict[str, Any] = {}
    if mask is not None:
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        extra = {"attention_mask": mask, "position_ids": positions[:, -ids.shape[1] :]}
    extra[_cache_argument(type(model))] = cache
    return model(input_ids=ids, use_cache=True, logits_to_keep=1, **extra).logits[:, -1]


@lru_cache
def _cache_argument(model: type[Any]) -> str:
    """transformers 5.24 renamed it."""
    return "cache" if "cache" in signature(model.forward).parameters else "past_key_values"
