"""The card: what a session is about in at most 32 tokens, made without a model. The cheap baseline for a clue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol, runtime_checkable

from pss_integrations.retrieval.fusion import check_positive_int
from pss_integrations.states.focus import labels_in, named_last, said_last
from pss_integrations.states.targets import DEFAULT_TRUSTED_ROLES, check_roles
from pss_integrations.text import identifiers, names
from pss_integrations.types import Message, Role
from pss_integrations.vocabulary import Vocabulary

_NAMES_GUESSED = 3  # the last ones, where no vocabulary tells names from noise
_WORDS_WITHOUT_TOKENIZER = 12
_CHARS_WITHOUT_TOKENIZER = 200  # a word may be of any length


@dataclass(frozen=True, slots=True)
class Card:
    """What a session is about at its latest.

    :param names: Its topic, and what was named last.
    :param words: Rare words of what the user said last.
    """

    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Names and words in one line; blank if there are none."""
        return " ".join((*self.names, *self.words))


@runtime_checkable
class CardBuilder(Protocol):
    """Makes cards; give the router one of your own to replace :class:`SessionCards`."""

    def build(self, messages: Sequence[Message], words: int) -> Card:
        """Return the card of a session.

        :param messages: All that are known, the live ones included, in order.
        :param words: At most so many rare words, which help a search for words, and hardly one by meaning.
        """
        ...


@dataclass(frozen=True, slots=True)
class SessionCards:
    """Cards of the topic that messages label, the name that was said last, and rare words of the user.

    :param vocabulary: The searched index's. Without one, names are guessed from capitals, and there are no rare words.
    :param count_tokens: Counts a text's tokens; without it a card has at most 12 words of 200 characters in all.
    :param max_tokens: The most tokens of a card; what no longer fits is left out, words before names.
    :param trusted_roles: Roles whose messages make cards. A page that a tool fetched, or an answer that quotes it,
        would otherwise say what is searched for.
    :raises InvalidInput: If ``max_tokens`` is no positive int, or a role is unknown.
    """

    vocabulary: Vocabulary | None = None
    count_tokens: Callable[[str], int] | None = None
    max_tokens: int = 32
    trusted_roles: frozenset[Role] = DEFAULT_TRUSTED_ROLES

    def __post_init__(self) -> None:
        check_positive_int("max_tokens", self.max_tokens)
        check_roles(self.trusted_roles)

    def build(self, messages: Sequence[Message], words: int) -> Card:
        """See :meth:`CardBuilder.build`."""
        trusted = [message for message in messages if message.role in self.trusted_roles]
        named, kept, found = self._names(trusted), list[str](), list[str]()
        known = {word.casefold() for name in named for word in name.split()}
        rare = self.vocabulary.rare_words(said_last(trusted), words) if self.vocabulary is not None else []
        for name in named:
            if self._fits([*kept, name]):
                kept.append(name)
        for word in rare:
            if word not in known and self._fits([*kept, *found, word]):
                found.append(word)
        return Card(tuple(kept), tuple(found))

    def _names(self, messages: Sequence[Message]) -> list[str]:
        if self.vocabulary is not None:
            return _once(named_last(messages, self.vocabulary))
        said = ([*names(one.text), *identifiers(one.text)] for one in reversed(messages) if one.role != "system")
        last = _once(chain.from_iterable(reversed(found) for found in said))[:_NAMES_GUESSED]
        return _once([*labels_in(one.text for one in messages), *last])

    def _fits(self, parts: Iterable[str]) -> bool:
        text = " ".join(parts)
        if self.count_tokens is None:
            return len(text) <= _CHARS_WITHOUT_TOKENIZER and len(text.split()) <= _WORDS_WITHOUT_TOKENIZER
        return self.count_tokens(text) <= self.max_tokens


def _once(parts: Iterable[str]) -> list[str]:
    """Each part once, however it is spelled, where it came first."""
    first: dict[str, str] = {}
    for part in parts:
        first.setdefault(part.casefold(), part)
    return list(first.values())
