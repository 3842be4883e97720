"""Sentences, and the summary that is made of the most central ones."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from pss_integrations.text import content_words, identifiers, normalise

SUMMARY_SENTENCES: Final = 6
_END: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\s*\n\s*")


def sentences(text: str) -> Iterator[str]:
    """Cut a text after each sentence and line; what is blank is left out."""
    return filter(None, map(str.strip, _END.split(text)))


def extractive_summary(texts: Sequence[str]) -> str:
    """Return the sentences whose words most of the texts share, at most six, in the order they come in.

    A sentence is judged by its cosine to how many of the texts hold each content word or identifier (Radev et al.,
    Centroid-based summarization of multiple documents, 2004).

    :param texts: What is to be summarised.
    :return: A sentence a line.
    """
    shared = Counter(chain.from_iterable(map(_words, texts)))

    def centrality(sentence: str) -> float:
        words = _words(sentence)
        return sum(shared[word] for word in words) / math.sqrt(len(words) or 1)

    said = [*dict.fromkeys(chain.from_iterable(map(sentences, texts)))]
    central = {*sorted(said, key=centrality, reverse=True)[:SUMMARY_SENTENCES]}
    return "\n".join(sentence for sentence in said if sentence in central)


def _words(text: str) -> set[str]:
    return {*content_words(text), *map(normalise, identifiers(text))}
