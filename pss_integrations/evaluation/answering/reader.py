"""Who answers: any callable that takes a question and passages; by default the backbone, with every state unloaded.

The state shapes what is searched for, never what is answered (PSS, section 2.4). The default reader therefore refuses
to run while any lane of the bank holds a state. Only for the ablation of section P.2 a state is bound, on purpose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final, Protocol, runtime_checkable

import torch

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.source import WrittenState
from pss_integrations.retrieval.index import searched_text
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.lora import BASE, LoraBank
from pss_integrations.states.reader import decode
from pss_integrations.states.steps import finish
from pss_integrations.types import Passage

BATCH: Final = 8
"""Most answers that are read at once."""
_EXAMPLE: Final = (  # without one the default backbone answers in sentences, which F1 and EM count as wrong
    "Passages:\n[1] Kestrel handbook\nThe pump of Kestrel holds 40 litres and is cleaned by Ada Moss every second day."
    "\n\nQuestion: How much does the pump of Kestrel hold, and who cleans it?\nShort answer: 40 litres, Ada Moss\n\n"
)
_DIGESTED: Final = "What the base model makes of this line must not change."


@dataclass(frozen=True, slots=True)
class Request:
    """A question, and the passages that it is to be answered from, best first."""

    question: str
    passages: tuple[Passage, ...]


class Reader(Protocol):
    """Answers a question from passages: a function around a caller's LLM will do."""

    def __call__(self, question: str, passages: Sequence[Passage], /) -> str:
        """Return the answer, as short as possible."""
        ...


@runtime_checkable
class BatchReader(Reader, Protocol):
    """Answers several questions at once in less time."""

    def read_batch(self, requests: Sequence[Request]) -> Sequence[str]:
        """Return an answer for each, in order."""
        ...


@runtime_checkable
class StateReader(BatchReader, Protocol):
    """Can also answer with a state in force, which nobody should do but to see what it changes."""

    def with_state(self, state: Any) -> Reader:
        """Return the same reader under a state of the evaluation's source."""
        ...

    def base_digest(self) -> str:
        """Hash what the model makes of a fixed text without a state: while it stays, no state has left a trace."""
        ...


class BaseReader:
    """The backbone as a reader: greedy decoding of the base model, one line at most.

    :param backbone: The model.
    :param bank: The bank beside it, in which no lane may hold a state.
    :param max_tokens: Most tokens of an answer.
    :param max_prompt: Most tokens of a prompt, of which passages and question get equal shares; what is longer than its
        share is cut at its end.
    """

    def __init__(self, backbone: Backbone, bank: LoraBank, *, max_tokens: int = 32, max_prompt: int = 2048) -> None:
        self._backbone, self._bank = _OneLine(backbone), bank
        self._max_tokens = max_tokens
        self._max_prompt = min(max_prompt, backbone.context_length - max_tokens)

    def __call__(self, question: str, passages: Sequence[Passage], /) -> str:
        """Answer a question.

        :raises InvalidInput: If a lane of the bank holds a state, or the prompt has no room for so many passages.
        """
        return self.read_batch([Request(question, tuple(passages))])[0]

    def read_batch(self, requests: Sequence[Request]) -> list[str]:
        """Answer several questions; each answer is what it would be by itself."""
        self.check_unloaded()
        return self.decode(requests, BASE)

    def with_state(self, state: WrittenState) -> BoundReader:
        """Return a reader that differs in nothing but the state in force."""
        return BoundReader(self, self._bank, state)

    def check_unloaded(self) -> None:
        """Refuse a bank that holds a state.

        :raises InvalidInput: If a lane is bound.
        """
        if bound := [lane for lane, is_bound in enumerate(self._bank.bound) if is_bound]:
            raise InvalidInput(f"lanes {bound} of the bank hold a state: unbind them before an answer is read")

    @torch.inference_mode()
    def base_digest(self) -> str:
        """Hash the logits of a fixed text, with the model as it runs outside of every lane."""
        ids = torch.tensor([self._backbone.encode(_DIGESTED)], device=self._backbone.device)
        logits = self._backbone.model(input_ids=ids, use_cache=False).logits
        return hashlib.sha256(logits.cpu().contiguous().view(torch.uint8).numpy().tobytes()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return what its answers depend on besides question and passages."""
        return {
            "backbone": self._backbone.name,
            "fingerprint": self._backbone.fingerprint,
            "dtype": str(self._backbone.dtype).removeprefix("torch."),
            "device": str(self._backbone.device),
            "libraries": {name: version(name) for name in ("torch", "transformers")},
            "example": _EXAMPLE,
            "max_tokens": self._max_tokens,
            "max_prompt": self._max_prompt,
        }

    def decode(self, requests: Sequence[Request], lane: int) -> list[str]:
        """Answer with one lane of the bank, or the base model, for every request."""
        answers = list[str]()
        for at in range(0, len(requests), BATCH):
            prompts = [self.prompt(request) for request in requests[at : at + BATCH]]
            lanes = [lane] * len(prompts)
            rows = finish(decode(self._backbone, self._bank, lanes, prompts, self._max_tokens))
            answers += [self._backbone.decode(row.tokens) for row in rows]
        return answers

    def prompt(self, request: Request) -> list[int]:
        """Tokens of the prompt: an example, the numbered passages and the question.

        :raises InvalidInput: If there is no room for so many passages.
        """
        encode = self._backbone.encode
        texts = [f"[{number}] {searched_text(passage)}" for number, passage in enumerate(request.passages, start=1)]
        begin, gap, ask, end = map(encode, (f"{_EXAMPLE}Passages:\n", "\n\n", "Question:", "\nShort answer:"))
        room = self._max_prompt - len(begin) - len(gap) * len(texts) - len(ask) - len(end)
        share = room // (len(texts) + 1)
        if share < 1:
            raise InvalidInput(
                f"a prompt of {self._max_prompt} tokens has no room for {len(texts)} passages: give fewer"
            )
        read = [token for text in texts for token in (*encode(text)[:share], *gap)]
        return [*begin, *read, *ask, *encode(f" {' '.join(request.question.split())}")[:share], *end]


@dataclass(frozen=True, slots=True)
class BoundReader:
    """A reader under a state, which is bound for the time of a batch.

    :param reader: The reader without it.
    :param bank: Its bank.
    :param state: The state.
    """

    reader: BaseReader
    bank: LoraBank
    state: WrittenState

    def __call__(self, question: str, passages: Sequence[Passage], /) -> str:
        """Answer a question."""
        return self.read_batch([Request(question, tuple(passages))])[0]

    def read_batch(self, requests: Sequence[Request]) -> list[str]:
        """Answer several questions under the state."""
        self.reader.check_unloaded()
        try:
            self.bank.bind(0, self.state.vector)
            return self.reader.decode(requests, 0)
        finally:
            self.bank.unbind(0)


class _OneLine(Backbone):
    """A loaded backbone that is done when its line is, as a short answer is."""

    def __init__(self, loaded: Backbone) -> None:
        super().__init__(loaded.model, loaded.tokenizer, name=loaded.name, fingerprint=loaded.fingerprint)
        self.packed = loaded.packed

    @property
    def end_token(self) -> int:
        """Id of the token that ends a line."""
        return self.encode("\n")[-1]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens up to the model's own end token, and of one line."""
        end = super().end_token
        text = super().decode(tokens[: tokens.index(end)] if end in tokens else tokens)
        return next(iter(text.strip().splitlines()), "").strip()
