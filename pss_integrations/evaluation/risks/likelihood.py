"""How likely a text is to a model with a state, and to the same model without one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from pss_integrations.states.backbone import Backbone
from pss_integrations.states.engine import Engine
from pss_integrations.states.reader import clue_tokens, prompt_tokens
from pss_integrations.states.split import SplitModel
from pss_integrations.types import ClueTarget, Message

LANE: Final = 1
_ROWS: Final = 16


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens whose likelihood is asked for, after tokens that are given; neither is empty."""

    given: tuple[int, ...]
    asked: tuple[int, ...]


def message_span(backbone: Backbone, message: Message) -> Span:
    """A message as a compile reads it, by itself, as far as the context reaches; its first token is given."""
    tokens = backbone.encode(f"{message.role}: {message.text.strip()}\n")[: backbone.context_length]
    return Span(tuple(tokens[:1]), tuple(tokens[1:]))


def clue_span(backbone: Backbone, target: ClueTarget) -> Span:
    """A clue, given the prompt of its request."""
    return Span(tuple(prompt_tokens(backbone, target.request)), tuple(clue_tokens(backbone, target.clue)))


@contextmanager
def bound(engine: Engine, vector: Tensor) -> Generator[None]:
    """Bind a state vector (numel,) to :data:`LANE` for as long as the block lasts."""
    engine.bank.bind(LANE, vector)
    try:
        yield
    finally:
        engine.bank.unbind(LANE)


class Likelihoods:
    """Mean log-probabilities of spans, in nats, with whichever state is bound.

    The layers below those that states adapt are run once, as in a compile.
    """

    def __init__(self, engine: Engine, spans: Sequence[Span]) -> None:
        self._engine, self._spans = engine, spans
        self._split = SplitModel(engine.backbone, engine.state.layers)
        with torch.no_grad():
            self._lower = self._split.lower_rows([[*span.given, *span.asked][:-1] for span in spans])

    def under(self, lane: int) -> list[float]:
        """One for each span.

        :param lane: The lane of the state, or :data:`~pss_integrations.states.lora.BASE`.
        """
        order = sorted(range(len(self._spans)), key=lambda at: len(self._lower[at]))
        found = dict[int, float]()
        for at in range(0, len(order), _ROWS):
            chosen = order[at : at + _ROWS]
            found |= zip(chosen, self._batch(lane, chosen), strict=True)
        return [found[at] for at in range(len(order))]

    def _batch(self, lane: int, chosen: Sequence[int]) -> list[float]:
        """Padding stands on the right, where causal attention does not see it."""
        with torch.no_grad(), self._engine.bank.use(lane):
            upper = self._split.upper(pad_sequence([self._lower[at] for at in chosen], batch_first=True))
        return [self._mean(row, self._spans[at]) for row, at in zip(upper, chosen, strict=True)]

    @torch.no_grad()
    def _mean(self, row: Tensor, span: Span) -> float:
        first = len(span.given) - 1
        scores = torch.log_softmax(self._split.logits(row[first : first + len(span.asked)]), dim=-1)
        return scores.gather(1, torch.tensor(span.asked, device=scores.device)[:, None]).mean().item()
