"""Embedders built in code, for tests of what uses one."""

import random
from collections.abc import Callable, Sequence

import numpy as np

from pss_integrations.text import tokenize


class WordEmbedder:
    """Every word has a random direction of its own; a text points where its words do together."""

    def __init__(self, dimension: int = 64, name: str = "words") -> None:
        self.dimension = dimension
        self.name = name
        self.embedded: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        self.embedded += texts
        return np.array([self._embed(text) for text in texts], dtype=np.float32)

    embed_queries = embed_documents

    def _embed(self, text: str) -> np.ndarray:
        directions = [random.Random(token) for token in tokenize(text)]
        return np.array([sum(one.gauss() for one in directions) for _ in range(self.dimension)])


class GivenEmbedder:
    """Says what it is told to say.

    :param embed: Gives a text's vector.
    """

    def __init__(self, embed: Callable[[str], Sequence[float]], dimension: int, name: str = "given") -> None:
        self._embed = embed
        self.dimension = dimension
        self.name = name

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self._embed(text) for text in texts], dtype=np.float32)

    embed_queries = embed_documents
