"""What a backbone without any state makes of a query: a passage, or the questions in it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar, Final

from pss_integrations.evaluation.peft_reference import generate
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.reader import MAX_QUERY_TOKENS

MAX_QUESTIONS: Final = 4


@dataclass(frozen=True)
class _Prompt:
    """A prompt that a backbone goes on from, greedily; a query of more than 1,024 tokens is cut.

    :param backbone: The frozen model; what is bound to it for others is not seen.
    """

    backbone: Backbone
    _TEXT: ClassVar[str]
    _TOKENS: ClassVar[int]

    @property
    def name(self) -> str:
        """The backbone, and a hash of its fingerprint and the prompt."""
        content = f"{self.backbone.fingerprint}\n{self._TOKENS}\n{self._TEXT}"
        return f"{self.backbone.name} {sha256(content.encode()).hexdigest()[:16]}"

    def _written(self, query: str) -> str:
        """What follows the prompt, up to the first blank line."""
        backbone = self.backbone
        before, after = map(backbone.encode, self._TEXT.split("{query}"))
        room = backbone.context_length - len(before) - len(after) - self._TOKENS
        asked = backbone.encode(" ".join(query.split()))[: min(MAX_QUERY_TOKENS, room)]
        (tokens,) = generate(backbone.model, backbone, [[*before, *asked, *after]], self._TOKENS)
        return backbone.decode(tokens).strip().partition("\n\n")[0]


class PassageWriter(_Prompt):
    """Makes up a passage of at most 64 tokens that could answer a query, for ``HydeIndex``."""

    _TEXT = (
        "Question: When was the old mill built?\n"
        "Passage: The old mill was built in 1874 by two brothers, after the first one had burnt down.\n\n"
        "Question: How warm must the seedlings be kept?\n"
        "Passage: Seedlings are kept at 20 degrees until they have four leaves. A cooler place makes them sturdy, "
        "but they grow late.\n\n"
        "Question: {query}\nPassage:"
    )
    _TOKENS = 64

    def __call__(self, query: str) -> str:
        """Write the passage."""
        return self._written(query).partition("\n")[0]


class QuestionSplitter(_Prompt):
    """Splits a query into at most four questions, for ``DecomposedIndex``."""

    _TEXT = (
        "Each request is split into the questions that have to be looked up for it, one a line.\n\n"
        "Request: When was the old mill built, and who looks after it today?\n"
        "- When was the old mill built?\n- Who looks after the old mill today?\n\n"
        "Request: {query}\n-"
    )
    _TOKENS = 64

    def __call__(self, query: str) -> list[str]:
        """Write the questions; a line that does not end as one is left out."""
        lines = (line.lstrip("-* ").strip() for line in self._written(query).splitlines())
        return [*dict.fromkeys(line for line in lines if line.endswith("?"))][:MAX_QUESTIONS]
