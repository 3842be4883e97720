"""Greedy readout of clues (PSS, section 2.4): one prompt a row, each row with the lane of its own state."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from pss_integrations.errors import InvalidInput
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.context import Best, Context
from pss_integrations.states.draft_tree import DraftTree
from pss_integrations.states.lora import LoraBank

MAX_QUERY_TOKENS = 1024
_TIE = 0.3  # in logits: nearer than what passes of different shapes can tell apart in BF16, where steps are 0.125
_DRAFT_TOKENS = 40  # a pass over so many tokens takes less than twice as long as one over a single token


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

    def __call__(self, tokens: Sequence[int]) -> Sequence[Sequence[int]]:
        """Return what may follow the tokens generated so far, the likeliest first; nothing if it can't tell."""
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
    it is what greedy decoding gives. In reduced precision passes of different shapes round in different ways. Where the
    two best tokens are nearly equal, the choice is therefore made by a pass over all that the row has read and written,
    by itself: so it depends neither on guesses nor on the rest of the batch.

    :param lanes: The lane of each row; -1 is the base model.
    :param prompts: Token ids of each row, not empty.
    :param max_tokens: Most tokens of a clue, the end token included.
    :param drafters: One for each row.
    :returns: One :class:`Decoded` a row.
    """
    rows = [_Row(list(prompt)) for prompt in prompts]
    context = Context(backbone, bank, lanes)
    tie = _TIE if backbone.dtype != torch.float32 else 0.0

    def alone(lane: int) -> Callable[[Sequence[int]], Best]:
        return lambda tokens: Context(backbone, bank, [lane]).read([tokens], [DraftTree()])[0][0]

    while True:
        for row, drafter in zip(rows, drafters or [None] * len(rows), strict=True):
            row.guess(drafter, max_tokens, _DRAFT_TOKENS // len(rows), context.room - max_tokens)
        found = context.read([row.unread for row in rows], [row.draft for row in rows])
        for row, lane, best in zip(rows, lanes, found, strict=True):
            row.verify(best, alone(lane), tie, backbone.end_token, max_tokens)
        context.keep([row.accepted for row in rows])
        if all(row.done for row in rows):
            return [row.decoded for row in rows]
        yield


class _Row:
    """One row of a batch: what it reads next, and what it has written."""

    def __init__(self, prompt: list[int]) -> None:
        self._prompt = prompt
        self.decoded = Decoded([], [])
        self.done = False
        self.unread = prompt
        self.draft = DraftTree()
        self.accepted: Sequence[int] = ()

    def guess(self, drafter: Drafter | None, max_tokens: int, size: int, room: int) -> None:
        """Guess what follows the tokens that are read next.

        :param size: The likeliest guess is taken in full, others up to so many tokens in all.
        :param room: More tokens than that are never taken.
        """
        if self.done or drafter is None:  # if it is done the others of the batch go on; whatever it reads is dropped
            self.draft = DraftTree()
        else:
            branches = drafter(self.decoded.tokens)
            depth = max_tokens - len(self.decoded.tokens) - 1
            first = max((min(depth, len(branch)) for branch in branches[:1]), default=0)
            self.draft = DraftTree(branches, depth=depth, size=min(max(size, first), room - len(self.unread)))

    def verify(
        self, best: Sequence[Best], alone: Callable[[Sequence[int]], Best], tie: float, end: int, max_tokens: int
    ) -> None:
        """Take what the model wrote, as far as guesses hold and one token further.

        :param best: What comes after the unread tokens, and after each token of the draft.
        :param alone: What comes after tokens that are read by themselves.
        :param tie: Where the two best tokens are nearer than that, they are.
        """
        accepted, node = list[int](), -1
        self.decoded.passes += not self.done
        while not self.done:
            choice = best[node + 1]
            if choice.lead < tie:
                choice = alone([*self._prompt, *self.decoded.tokens])
                self.decoded.passes += 1
            self._write(choice, end, max_tokens)
            self.unread = [choice.token]
            child = self.draft.child(node, choice.token)
            if child is None:
                break
            accepted.append(node := child)
        self.accepted = accepted

    def _write(self, choice: Best, end: int, max_tokens: int) -> None:
        self.decoded.logprobs.append(choice.logprob)
        self.decoded.finished = choice.token == end
        if not self.decoded.finished:
            self.decoded.tokens.append(choice.token)
        self.done = self.decoded.finished or len(self.decoded.logprobs) == max_tokens
