"""Greedy answers of the backbone to chats, without any state; what all of them begin with is read once."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final

import torch
from jinja2 import TemplateError
from torch import Tensor
from transformers import DynamicCache

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.tools import Chat
from pss_integrations.states.backbone import Backbone
from pss_integrations.types import Clue, Message

NEW_TOKENS: Final = 24
_ROWS = 8  # each holds keys and values of all that it has read


def chat_tokens(backbone: Backbone, chat: Chat) -> list[int]:
    """Tokens of a chat as the backbone's template has it, or as plain text if it has none."""
    tokenizer = backbone.tokenizer
    if not tokenizer.chat_template:
        return backbone.encode(_plain(chat))
    try:
        return _templated(tokenizer, chat)
    except TemplateError:  # some templates know no system message
        system, first, *others = chat
        return _templated(tokenizer, (Message(first.role, f"{system.text}\n\n{first.text}"), *others))


def fits(backbone: Backbone, chat: Chat) -> bool:
    """Whether a chat and an answer fit the backbone's context."""
    return len(chat_tokens(backbone, chat)) + NEW_TOKENS <= backbone.context_length


def _templated(tokenizer: Any, chat: Sequence[Message]) -> list[int]:
    turns = [{"role": message.role, "content": message.text} for message in chat]
    return tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=True, return_dict=False)


def _plain(chat: Chat) -> str:
    system, *turns = chat
    said = "".join(f"{one.text}\nSearch query:" if one.role == "user" else f" {one.text}\n\n" for one in turns)
    return f"{system.text}\n\n{said}"


@torch.inference_mode()
def answer(backbone: Backbone, chats: Sequence[Chat]) -> list[Clue]:
    """Answer each chat in one line of at most 24 tokens.

    In reduced precision an answer can depend on which others are written with it, as far as two tokens are nearly
    equally likely.

    :return: The answers, of no state.
    :raises InvalidInput: If a chat does not fit the context.
    """
    prompts = [chat_tokens(backbone, chat) for chat in chats]
    if (longest := max(map(len, prompts), default=0)) + NEW_TOKENS > backbone.context_length:
        raise InvalidInput(
            f"a prompt has {longest} tokens and {NEW_TOKENS} are to follow, but {backbone.name} has a context of "
            f"{backbone.context_length}: use a backbone with a longer one"
        )
    shared = _shared(prompts)
    cache = DynamicCache(config=backbone.model.config)
    answers = list[Clue]()
    with backbone.packed.use():
        if shared:
            _read(backbone, cache, torch.tensor([prompts[0][:shared]]), torch.ones(1, shared, dtype=torch.long))
        for at in range(0, len(prompts), _ROWS):
            answers += _go_on(backbone, cache, shared, prompts[at : at + _ROWS])
    return answers


def _shared(prompts: Sequence[list[int]]) -> int:
    """How many tokens all prompts begin with; the last one of each is its own."""
    alike = takewhile(lambda column: len({*column}) == 1, zip(*(prompt[:-1] for prompt in prompts), strict=False))
    return sum(1 for _ in alike)


def _go_on(backbone: Backbone, shared_cache: DynamicCache, shared: int, prompts: Sequence[list[int]]) -> list[Clue]:
    """Write rows of one batch, which have read so many tokens already."""
    cache = copy.deepcopy(shared_cache)
    if shared:
        cache.batch_repeat_interleave(len(prompts))
    rows = [_Row(backbone, len(prompt)) for prompt in prompts]
    unread = [prompt[shared:] for prompt in prompts]
    longest = max(map(len, unread))
    ids = torch.tensor([[0] * (longest - len(row)) + row for row in unread])
    seen = torch.tensor([[1] * shared + [0] * (longest - len(row)) + [1] * len(row) for row in unread])
    for _ in range(NEW_TOKENS):
        scores = backbone.model.lm_head(_read(backbone, cache, ids, seen)).float()  # (rows, V)
        logprobs, ids = torch.log_softmax(scores, dim=-1).cpu().max(dim=-1, keepdim=True)  # (rows, 1)
        for row, token, logprob in zip(rows, ids[:, 0].tolist(), logprobs[:, 0].tolist(), strict=True):
            row.write(token, logprob)
        if all(row.done for row in rows):
            break
        seen = torch.cat([seen, torch.ones(len(rows), 1, dtype=torch.long)], dim=1)
    return [row.clue() for row in rows]


def _read(backbone: Backbone, cache: DynamicCache, ids: Tensor, seen: Tensor) -> Tensor:
    """Read token ids (rows, T) after what the cache holds.

    :param seen: Which of all tokens (rows, before + T) count.
    :return: Hidden states of the last token (rows, D).
    """
    places = (seen.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
    inputs = (tensor.to(backbone.device) for tensor in (ids, seen, places))
    # By position: transformers 5.24 gave the cache another name.
    return backbone.model.model(*inputs, cache, use_cache=True).last_hidden_state[:, -1]


class _Row:
    """One answer; it ends with the end token, or with its first line."""

    def __init__(self, backbone: Backbone, prompt_tokens: int) -> None:
        self._backbone, self._prompt_tokens = backbone, prompt_tokens
        self._tokens, self._logprobs = list[int](), list[float]()
        self.done = False

    def write(self, token: int, logprob: float) -> None:
        """Add a token, unless it is done."""
        if not self.done:
            self._tokens.append(token)
            self._logprobs.append(logprob)
            self.done = token == self._backbone.end_token or "\n" in self._text().lstrip()

    def clue(self) -> Clue:
        """Return what was written."""
        text = self._text().strip().partition("\n")[0].strip()
        return Clue(text, tuple(self._logprobs), self._prompt_tokens, state_id="", finished=self.done)

    def _text(self) -> str:
        return self._backbone.decode(self._tokens)
