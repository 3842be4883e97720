"""Text baselines that rewrite the question before it is searched for (PSS, sections V.2 to V.5).

The backbone rewrites without any state, by one instruction, from four things: the whole history, nothing, the bank of
records, and one text that was read from the state once. The records go before the question as examples of rewriting,
which is the form that a small model makes most of. What does not fit the context is left out from the front.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final, TypeVar

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.controls import Cast, Made
from pss_integrations.evaluation.selectors import bank
from pss_integrations.evaluation.tools import Chat, Generator
from pss_integrations.types import Message

T = TypeVar("T")

INSTRUCTION: Final = (
    "You rewrite the last question of a conversation as a search query that can be understood without it: name the "
    "project, version and setting that it means. Answer with the query alone."
)
FIXED_QUERY: Final = "What is this session about?"
"""What the fixed readout asks of a state, whatever the user asks."""


def rewrite_history(cast: Cast, number: int) -> Made:
    """Rewritten from all messages before the question."""
    asked = [(one.history, one.probe.query) for one in cast.subjects[number].asked]
    return _rewritten(cast.tools.generator, asked, _after_conversation)


def rewrite_base(cast: Cast, number: int) -> Made:
    """Rewritten by the same instruction from the question alone."""
    asked = [((), one.probe.query) for one in cast.subjects[number].asked]
    return _rewritten(cast.tools.generator, asked, _after_conversation)


def rewrite_bank(cast: Cast, number: int) -> Made:
    """Rewritten from the records, each with the first request it was written for."""
    subject = cast.subjects[number]
    records = [(requests[0], clue) for clue, requests in bank(subject.targets).items()]
    return _rewritten(cast.tools.generator, [(records, asked.probe.query) for asked in subject.asked], _after_records)


def rewrite_readout(cast: Cast, number: int) -> Made:
    """Rewritten from the fixed readout: does the text of a state do what the state does?"""
    asked = cast.subjects[number].asked
    records = [(FIXED_QUERY, text)] if (text := _read_once(cast, number)) else []
    return _rewritten(cast.tools.generator, [(records, one.probe.query) for one in asked], _after_records)


def fixed_readout(cast: Cast, number: int) -> Made:
    """One clue of the right state for every question, which tells a readout by the question from a constant."""
    return Made((_read_once(cast, number),) * len(cast.subjects[number].asked))


def external(cast: Cast, number: int) -> Made:
    """Rewritten by the caller's own rewriter.

    :raises InvalidInput: If it returns anything but a string.
    """
    rewrite = cast.tools.external
    assert rewrite is not None
    texts = tuple(rewrite(asked.history, asked.probe.query) for asked in cast.subjects[number].asked)
    for text in texts:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]: it is not ours
            raise InvalidInput(f"an external rewriter must return a string, got {type(text).__name__}")
    return Made(texts)


def _read_once(cast: Cast, number: int) -> str:
    """Apart from the other reads, whose batches are kept by what is in them."""
    state = cast.correct(number)
    return "" if state is None else cast.source.read([(state, [FIXED_QUERY])])[0][0].text


def _rewritten(
    generator: Generator | None, asked: Sequence[tuple[Sequence[T], str]], chat: Callable[[Sequence[T], str], Chat]
) -> Made:
    """Rewrite each question from the last of its items that fit."""
    assert generator is not None
    left_out = [_too_many(generator, items, query, chat) for items, query in asked]
    chats = [chat(items[cut:], query) for (items, query), cut in zip(asked, left_out, strict=True)]
    clues = generator.generate(chats)
    record = {
        "left_out": sum(left_out),
        "prompt_tokens": sum(clue.prompt_tokens for clue in clues),
        "generated_tokens": sum(clue.generated_tokens for clue in clues),
    }
    return Made(tuple(clue.text for clue in clues), record)


def _too_many(generator: Generator, items: Sequence[T], query: str, chat: Callable[[Sequence[T], str], Chat]) -> int:
    """The least number of items that must go, from the front, for the rest to fit."""
    return bisect_left(range(len(items)), True, key=lambda cut: generator.fits(chat(items[cut:], query)))


def _after_conversation(said: Sequence[Message], query: str) -> Chat:
    lines = "".join(f"{message.role}: {message.text.strip()}\n" for message in said)
    before = f"Conversation:\n{lines}\n" if lines else ""
    return Message("system", INSTRUCTION), Message("user", f"{before}{_question(query)}")


def _after_records(records: Sequence[tuple[str, str]], query: str) -> Chat:
    examples = chain.from_iterable(
        (Message("user", _question(request)), Message("assistant", clue)) for request, clue in records
    )
    return Message("system", INSTRUCTION), *examples, Message("user", _question(query))


def _question(query: str) -> str:
    return f"Question: {' '.join(query.split())}"
