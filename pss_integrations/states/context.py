"""What the rows of a batch have read: keys and values, and which of them count."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from pss_integrations.states.backbone import Backbone
from pss_integrations.states.draft_tree import DraftTree
from pss_integrations.states.lora import LoraBank

_ROWS = 128  # positions whose logits are held at once


@dataclass(frozen=True, slots=True)
class Best:
    """The likeliest next token.

    :param lead: Its lead over the second-best one, in logits.
    """

    token: int
    logprob: float
    lead: float


class Context:
    """Reads tokens after those that were read before, one lane a row.

    :param lanes: The lane of each row; -1 is the base model.
    """

    def __init__(self, backbone: Backbone, bank: LoraBank, lanes: Sequence[int]) -> None:
        self._backbone, self._bank = backbone, bank
        self._lanes = lanes[0] if len(set(lanes)) == 1 else list(lanes)
        self._cache = DynamicCache(config=backbone.model.config)
        self._counts = torch.zeros(len(lanes), 0, dtype=torch.long)  # which columns of the cache a row looks at
        self._drafts: Sequence[DraftTree] = ()
        self._window: int | None = getattr(backbone.model.config, "sliding_window", None)

    @property
    def room(self) -> int:
        """How many more columns a sliding window has; what leaves it cannot be taken back, so no draft may do that."""
        return sys.maxsize if self._window is None else self._window - self._counts.shape[1]

    def read(self, unread: Sequence[Sequence[int]], drafts: Sequence[DraftTree]) -> list[list[Best]]:
        """Read tokens, and behind them a draft whose tokens may be taken back.

        :param unread: Token ids of each row, not empty.
        :returns: For each row what comes after its unread tokens, and after each token of its draft.
        """
        self._drafts = drafts
        chunks = [[*tokens, *draft.tokens] for tokens, draft in zip(unread, drafts, strict=True)]
        longest = max(map(len, chunks))
        ids = torch.tensor([[0] * (longest - len(chunk)) + chunk for chunk in chunks])
        seen = torch.tensor([[0] * (longest - len(chunk)) + [1] * len(chunk) for chunk in chunks])
        before = self._counts.sum(dim=1).tolist()
        self._counts = torch.cat([self._counts, seen], dim=1)
        with torch.inference_mode(), self._backbone.packed.use(), self._bank.use(self._lanes):
            hidden = self._hidden(ids, self._masks(before, unread, longest))
            ends = [row[-1 - len(draft) :] for row, draft in zip(hidden, drafts, strict=True)]
            best = iter(self._best(torch.cat(ends)))
            return [list(islice(best, len(end))) for end in ends]

    def keep(self, accepted: Sequence[Sequence[int]]) -> None:
        """Take back the tokens of each row's draft, but for those at the given places."""
        for counts, draft, places in zip(self._counts, self._drafts, accepted, strict=True):
            if len(draft):
                counts[-len(draft) :] = 0
                counts[[place - len(draft) for place in places]] = 1
        used = self._counts.any(dim=0).nonzero()
        if unused := self._counts.shape[1] - 1 - int(used[-1]):
            self._cache.crop(-unused)
            self._counts = self._counts[:, :-unused]

    def _masks(self, before: Sequence[int], unread: Sequence[Sequence[int]], longest: int) -> dict[str, Tensor]:
        """What the model has to be told; nothing if it is what it takes for granted, which is faster."""
        branching = any(draft.branches for draft in self._drafts)
        if not branching and bool(self._counts.all()):
            return {}
        positions = [
            [*range(past, past + len(tokens)), *(past + len(tokens) + depth for depth in draft.depths)]
            for past, tokens, draft in zip(before, unread, self._drafts, strict=True)
        ]
        ids = torch.tensor([[0] * (longest - len(row)) + row for row in positions])
        mask = self._tree_mask(longest) if branching else self._counts
        return {"attention_mask": mask.to(self._backbone.device), "position_ids": ids.to(self._backbone.device)}

    def _tree_mask(self, longest: int) -> Tensor:
        """What is added to attention scores (rows, 1, T, all that was read): a token of a draft sees its own branch."""
        rows, total = self._counts.shape
        visible = torch.ones(longest, total).tril(total - longest).bool().repeat(rows, 1, 1)
        for row, draft in zip(visible, self._drafts, strict=True):
            if len(draft):
                row[-len(draft) :, -len(draft) :] = draft.visible()
        visible &= self._counts.bool()[:, None]
        dtype = self._backbone.dtype
        return torch.zeros(rows, 1, longest, total, dtype=dtype).masked_fill_(~visible[:, None], torch.finfo(dtype).min)

    def _hidden(self, ids: Tensor, masks: dict[str, Tensor]) -> Tensor:
        """Last hidden states (rows, T, D) of token ids (rows, T)."""
        model = self._backbone.model
        cache: dict[str, Any] = {_cache_argument(type(model.model)): self._cache}
        ids = ids.to(self._backbone.device)
        return model.model(input_ids=ids, use_cache=True, **cache, **masks).last_hidden_state

    def _best(self, hidden: Tensor) -> Generator[Best]:
        """What is likeliest after each of N positions, for their last hidden states (N, D) in one piece.

        Of a slice of a batch, which is not in one piece, the product with the head copies the whole head first.
        """
        for part in hidden.split(_ROWS):
            scores = torch.log_softmax(self._backbone.model.lm_head(part).float(), dim=-1)
            values, tokens = scores.topk(2, dim=-1)
            for token, (first, second) in zip(tokens[:, 0].tolist(), values.tolist(), strict=True):
                yield Best(token, first, first - second)


@lru_cache
def _cache_argument(model: type[Any]) -> str:
    """transformers 5.24 renamed it."""
    return "cache" if "cache" in signature(model.forward).parameters else "past_key_values"
