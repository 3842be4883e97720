"""What an index names, and how rare its words are: it tells the names in a conversation from noise.

Capitalised spans of a conversation are names, reference numbers, and the openings of sentences alike. What the
searched index itself names is none of the latter. A vocabulary is made of an index's titles and texts alone, never
of which document answers what.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Self

from pss_integrations.errors import InvalidInput
from pss_integrations.protocols import Searcher
from pss_integrations.text import UNSEGMENTED, content_words, identifiers, names, normalise, tokenize
from pss_integrations.types import Passage

_DASH = re.compile(r"(?<!\s)\s+[-\u2013\u2014|/]\s+")
_LETTER = rf"[^\W{UNSEGMENTED}]"
_WORD = re.compile(rf"[{UNSEGMENTED}]|{_LETTER}(?:(?:{_LETTER}|[.'\u2019&@+#-])*(?:{_LETTER}|[+#]))?")
_MARKS = dict.fromkeys(map(ord, "'\u2019"))  # "Hobsons House" is Hobson's House
_LONGEST = 48  # characters of a name in a text; longer ones are addresses and hashes
_RARE_WORD = 0.005  # share of the passages that a title of one word may occur in: "Origins" says nothing
_LEAST_RARITY, _FADING = 2.0, 0.8  # in nats; for each text back
_RARE_PHRASE = 0.01  # the same for a name in a text; below 500 passages, five of them


class Vocabulary(Collection[str]):
    """Names that count, the preferred ones first, and how rare words are.

    :param titles: Names that are preferred: what documents are about.
    :param phrases: Other names, which count where a text holds no title.
    :param frequency: Token to the number of documents that hold it.
    :param documents: Number of documents.
    :raises InvalidInput: If the names are one string.
    """

    def __init__(
        self,
        titles: Iterable[str],
        phrases: Iterable[str] = (),
        *,
        frequency: Mapping[str, int] | None = None,
        documents: int = 0,
    ) -> None:
        if isinstance(titles, str) or isinstance(phrases, str):
            raise InvalidInput("a vocabulary is made of a collection of names, got one string")
        self._titles, self._phrases = _Phrases(titles), _Phrases(phrases)
        self._names = self._titles.phrases | self._phrases.phrases
        self._frequency, self._documents = frequency or {}, documents

    @classmethod
    def from_passages(cls, passages: Iterable[Passage]) -> Self:
        """Make one of what passages are called, of the parts of a title such as ``Name - Section``, and of rare names
        in their texts.

        :param passages: All of an index, or a sample of them.
        """
        known = list(passages)
        frequency = Counter(chain.from_iterable(set(tokenize(f"{one.title}\n{one.text}")) for one in known))
        parts = {part for title in {one.title for one in known} for part in (title, *title_parts(title))}
        elsewhere = _elsewhere(known, frequency)
        said = Counter(chain.from_iterable({*names(one.text), *identifiers(one.text)} for one in known))
        most = max(5, _RARE_PHRASE * len(known))
        return cls(
            (part for part in parts if _is_telling(part, elsewhere, len(known))),
            (
                name
                for name, count in said.items()
                if count <= most and len(name) <= _LONGEST and _is_telling(name, frequency, len(known))
            ),
            frequency=frequency,
            documents=len(known),
        )

    @classmethod
    def sampled(cls, searcher: Searcher, queries: Iterable[str], *, k: int = 20) -> Self:
        """Make one of what a searcher finds for some queries, where its passages cannot be listed.

        :param searcher: Any, also a wrapped retriever of a framework.
        :param queries: Texts like those that will be searched for, such as messages of stored conversations.
        :param k: Hits for each.
        """
        found = {hit.doc_id: hit.passage for query in queries for hit in searcher.search(query, k)}
        return cls.from_passages(found.values())

    def names_in(self, text: str) -> list[str]:
        """Return the titles that a text holds, else the other names, in its own spelling and order, the longest each.

        >>> Vocabulary(["Rosewood Inn", "Rosewood"]).names_in("Is rosewood inn far from Rosewood?")
        ['rosewood inn', 'Rosewood']
        """
        return self._titles.find(text) or self._phrases.find(text)

    def titles_in(self, text: str) -> list[str]:
        """Return the titles alone."""
        return self._titles.find(text)

    def rarity(self, word: str) -> float:
        """Inverse document frequency of a word's first token, at least 0; 0 for one that no document holds."""
        token = next(iter(tokenize(word)), "")
        return self.surprise(token) if token in self._frequency else 0.0

    def surprise(self, token: str) -> float:
        """Inverse document frequency of a token; of one that no document holds, the greatest."""
        count = self._frequency.get(token, 0)
        return math.log(1 + (self._documents - count + 0.5) / (count + 0.5))

    def rare_words(self, texts: Sequence[str], count: int) -> list[str]:
        """Return the rarest content words that documents hold, the rarest first, an earlier text counting less.

        :param texts: In order, the latest last.
        :param count: At most so many words.
        """
        weight: dict[str, float] = {}
        for back, text in enumerate(reversed(texts)):
            for word in content_words(text):
                weight.setdefault(word, self.rarity(word) * _FADING**back)
        rare = [word for word in weight if weight[word] > _LEAST_RARITY]
        return sorted(rare, key=lambda word: -weight[word])[:count]

    def __contains__(self, name: object) -> bool:
        """Whether a name counts, however it is spelled."""
        return isinstance(name, str) and _folded(name) in self._names

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, folded, titles first."""
        return iter(dict.fromkeys((*sorted(self._titles.phrases), *sorted(self._phrases.phrases))))

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self._names)


def title_parts(title: str) -> list[str]:
    """Return the parts of a title such as ``Name - Section``; the title itself if it has but one."""
    return _DASH.split(title)


@dataclass(slots=True)
class _Node:
    """Where some first words of phrases lead."""

    next: dict[str, _Node] = field(default_factory=dict[str, "_Node"])
    is_phrase: bool = False


class _Phrases:
    """Finds the longest phrases of a set in a text, from their first word to their last."""

    def __init__(self, phrases: Iterable[str]) -> None:
        given = {*phrases}
        self.phrases = frozenset(map(_folded, given)) - {""}
        self._root = _Node()
        for phrase in map(_composed, given):
            words, node = [*_WORD.finditer(phrase)], self._root
            for at in range(len(words)):
                node = node.next.setdefault(_step(phrase, words, 0, at), _Node())
            node.is_phrase = bool(words)

    def find(self, text: str) -> list[str]:
        text = _composed(text)
        words, found, start = [*_WORD.finditer(text)], list[str](), 0
        while start < len(words):
            count = self._longest(text, words, start)
            if count:
                found.append(text[words[start].start() : words[start + count - 1].end()])
            start += count or 1
        return found

    def _longest(self, text: str, words: Sequence[re.Match[str]], start: int) -> int:
        """How many of the words, from one on, make up the longest phrase."""
        node, longest = self._root, 0
        for at in range(start, len(words)):
            if (following := node.next.get(_step(text, words, start, at))) is None:
                break
            node = following
            if node.is_phrase:
                longest = at + 1 - start
        return longest


def _composed(text: str) -> str:
    """Fold what only looks different, but for case: accents that are written apart would part words."""
    return unicodedata.normalize("NFKC", text)


def _folded(text: str) -> str:
    return normalise(text).translate(_MARKS)


def _step(text: str, words: Sequence[re.Match[str]], start: int, at: int) -> str:
    """A word of a phrase, folded, with what stands between it and the one before."""
    return _folded(text[words[at].start() if at == start else words[at - 1].end() : words[at].end()])


def _elsewhere(passages: Sequence[Passage], frequency: Mapping[str, int]) -> Mapping[str, int]:
    """Token to the number of passages that hold it, but for those about what it names.

    A hotel called Avalon is named in each of its reviews, and hardly anywhere else. What most passages are about tells
    none of them from another.
    """
    about = Counter(tokens[0] for one in passages if len(tokens := tokenize(title_parts(one.title)[0])) == 1)
    own = {token: count for token, count in about.items() if 2 * count <= len(passages)}
    return {token: count - own.get(token, 0) for token, count in frequency.items()}


def _is_telling(name: str, frequency: Mapping[str, int], documents: int) -> bool:
    """Whether a name tells documents apart; a single word does only if it is rare.

    It is judged without the marks around it, as it is found: ".the" is two sentences without a space.
    """
    name = " ".join(_WORD.findall(name))
    tokens = tokenize(name)
    if not tokens or name.isdigit() or not (content_words(name) or identifiers(name)):
        return False
    return len(name.split()) > 1 or min(frequency.get(token, 0) for token in tokens) < max(2, _RARE_WORD * documents)
