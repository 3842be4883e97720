"""Greedy readout of clues (PSS, section 2.4): one prompt a row, each row with the lane of its own state."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import DynamicCache

from pss_integrations.errors import InvalidInput
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.lora import LoraBank

MAX_QUERY_TOKENS = 1024
_TIE = 0.1  # in log-probability: nearer than what BF16 logits of usual size can tell apart


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


def clue_tokens(backbone: Backbone, clue: str) -> list[int]:
    """Tokens that a clue is written as, the end token included."""
    return [*backbone.encode(f" {' '.join(clue.split())}"), backbone.end_token]


@dataclass(slots=True)
class Decoded:
    """Tokens that were generated for a row, with their log-probabilities.

    :param passes: Forward passes that it took, the prefill included.
    """

    tokens: list[int]
    logprobs: list[float]
    finished: bool = False
    passes: int = 0


class Drafter(Protocol):
    """Guesses how a clue goes on; a right guess saves forward passes, a wrong one changes nothing."""

    def __call__(self, tokens: Sequence[int]) -> Sequence[int]:
        """Return the tokens that may follow those generated so far; none if it can't tell."""
        ...


def decode(
    backbone: Backbone,
    bank: LoraBank,
    lanes: Sequence[int],
    prompts: Sequence[Sequence[int]],
    max_tokens: int,
    drafters: Sequence[Drafter] | None = None,
) -> Generator[None, None, list[Decoded]]:
    """Decode greedily, all rows together; yields after each pass so that other work can come between.

    With drafters, a pass verifies what a row's drafter guessed (Leviathan et al., ICML 2023): a guess is kept as far as
    it is what greedy decoding gives. In reduced precision a pass over several tokens rounds in another way than one
    over a single token; where the two best tokens are nearly equal, the last token is read again by itself.

    :param lanes: The lane of each row; -1 is the base model.
    :param prompts: Token ids of each row, not empty.
    :param max_tokens: Most tokens of a clue, the end token included.
    :param drafters: One for each row.
    :returns: One :class:`Decoded` a row.
    """
    which: int | list[int] = lanes[0] if len(set(lanes)) == 1 and lanes[0] >= 0 else list(lanes)
    rows = [_Row(list(prompt)) for prompt in prompts]
    cache = DynamicCache(config=backbone.model.config)
    mask = torch.zeros(len(rows), 0, dtype=torch.long, device=backbone.device)
    tie = _TIE if drafters and backbone.dtype != torch.float32 else 0.0
    while True:
        for row, drafter in zip(rows, drafters or [None] * len(rows), strict=True):
            row.guess(drafter, max_tokens)
        ids, seen = _pad_left([row.chunk for row in rows], backbone)
        mask = torch.cat([mask, seen], dim=1)
        with torch.inference_mode(), bank.use(which):
            logits = _last_logits(backbone.model, ids, mask, cache, keep=1 + max(len(row.draft) for row in rows))
        best = torch.log_softmax(logits.float(), dim=-1).topk(2, dim=-1)
        found = zip(rows, best.indices.tolist(), best.values.tolist(), strict=True)
        rejected = [row.verify(tokens, scores, backbone.end_token, max_tokens, tie) for row, tokens, scores in found]
        mask = _drop(cache, mask, rejected)
        if all(row.done for row in rows):
            return [row.decoded for row in rows]
        yield


def _drop(cache: DynamicCache, mask: Tensor, rejected: Sequence[int]) -> Tensor:
    """Forget the last tokens of each row: what all rows drop leaves the cache, the rest is masked; returns the mask."""
    if shared := min(rejected):
        mask = mask[:, :-shared]
        cache.crop(-shared)
    for row, count in zip(mask, rejected, strict=True):
        if count > shared:
            row[shared - count :] = 0
    return mask


class _Row:
    """One row of a batch: what it reads next, and what it has written."""

    def __init__(self, prompt: list[int]) -> None:
        self.decoded = Decoded([], [])
        self.done = False
        self.chunk = self._unread = prompt
        self.draft: list[int] = []
        self._alone = False

    def guess(self, drafter: Drafter | None, max_tokens: int) -> None:
        """Put together what is read next: the tokens that were not read yet, and a guess of what follows."""
        if self.done:  # the others of the batch go on; whatever it reads is dropped
            self._unread, self.draft = self._unread[-1:], []
        elif drafter is not None and not self._alone:
            room = max_tokens - len(self.decoded.tokens) - 1
            self.draft = list(drafter(self.decoded.tokens))[:room]
        else:
            self.draft = []
        self.chunk = [*self._unread, *self.draft]

    def verify(
        self, tokens: list[list[int]], logprobs: list[list[float]], end: int, max_tokens: int, tie: float
    ) -> int:
        """Take what the model wrote after the chunk's last tokens; returns how many of those were read in vain.

        :param tokens: Best and second-best token after each of the last positions.
        :param logprobs: Their log-probabilities.
        :param tie: Where the two best are nearer than that, a guess is not trusted.
        """
        if self.done:
            return 0
        self.decoded.passes += 1
        first = len(tokens) - 1 - len(self.draft)
        for number, (found, scores) in enumerate(zip(tokens[first:], logprobs[first:], strict=True)):
            if self.draft and scores[0] - scores[1] < tie:
                return self._read_again(number)
            self.decoded.logprobs.append(scores[0])
            if found[0] == end:
                self.decoded.finished = self.done = True
                return 0
            self.decoded.tokens.append(found[0])
            if len(self.decoded.logprobs) == max_tokens:
                self.done = True
                return 0
            if number == len(self.draft) or self.draft[number] != found[0]:
                self._unread, self._alone = [found[0]], False
                return len(self.draft) - number
        raise AssertionError("unreachable: the position after the draft always ends the loop")

    def _read_again(self, number: int) -> int:
        """Read the token before a near-tie by itself; it and what was guessed after it are dropped."""
        self._unread, self._alone = [self.chunk[len(self.chunk) - len(self.draft) + number - 1]], True
        return len(self.draft) - number + 1


def _pad_left(rows: Sequence[Sequence[int]], backbone: Backbone) -> tuple[Tensor, Tensor]:
    """Token ids (rows, T), and which of them are tokens (rows, T)."""
    longest = max(map(len, rows))
    ids = torch.tensor([[0] * (longest - len(row)) + list(row) for row in rows], device=backbone.device)
    seen = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=backbone.device)
    return ids, seen


def _last_logits(model: Any, ids: Tensor, mask: Tensor, cache: DynamicCache, *, keep: int) -> Tensor:
    """Logits (rows, keep, V) after the last positions of token ids (rows, T), for a mask of all that was read."""
    extra: dict[str, Any] = {}
    if not mask.all():  # without gaps the model's own mask is the right one, and faster
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        extra = {"attention_mask": mask, "position_ids": positions[:, -ids.shape[1] :]}
    extra[_cache_argument(type(model))] = cache
    return model(input_ids=ids, use_cache=True, logits_to_keep=keep, **extra).logits


@lru_cache
def _cache_argument(model: type[Any]) -> str:
    """transformers 5.24 renamed it."""
    return "cache" if "cache" in signature(model.forward).parameters else "past_key_values"
