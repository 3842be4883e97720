"""Embeddings of either framework as our :class:`~pss_integrations.protocols.Embedder`; neither is imported."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pss_integrations.errors import InvalidInput
from pss_integrations.protocols import Embedder

_MODEL_FIELDS = ("model_name", "model", "model_id")


def as_embedder(embeddings: Any, *, name: str | None = None) -> Embedder:
    """Return an embedder that embeds as ``embeddings`` does.

    :param embeddings: An embedder of ours, which is returned as it is; a LangChain ``Embeddings``; or a
        LlamaIndex ``BaseEmbedding``.
    :param name: What to call a framework's embeddings. By default the class and the model that they name:
        a saved index is refused to an embedder of another name, so two models must not share one.
    :raises InvalidInput: If it is nothing of the kind, or names no model and ``name`` is not given.
    """
    if _has(embeddings, "embed_documents", "embed_queries"):
        if name is not None:
            raise InvalidInput(f"{type(embeddings).__name__} has a name of its own: leave name out")
        return embeddings
    if _has(embeddings, "embed_documents", "embed_query"):
        return _LangChainEmbedder(embeddings, name or _name_of(embeddings))
    if _has(embeddings, "get_text_embedding_batch", "get_query_embedding"):
        return _LlamaIndexEmbedder(embeddings, name or _name_of(embeddings))
    raise InvalidInput(
        f"{type(embeddings).__name__} embeds nothing: give a TransformerEmbedder, a LangChain Embeddings, "
        "or a LlamaIndex BaseEmbedding"
    )


def _has(embeddings: Any, *methods: str) -> bool:
    return not isinstance(embeddings, type) and all(callable(getattr(embeddings, name, None)) for name in methods)


def _name_of(embeddings: Any) -> str:
    kind = type(embeddings).__name__
    for field in _MODEL_FIELDS:
        model = getattr(embeddings, field, None)
        if isinstance(model, str) and model not in ("", "unknown"):  # LlamaIndex's default is "unknown"
            return f"{kind}:{model}"
    raise InvalidInput(f"{kind} does not say which model it is: use as_embedder(embeddings, name=...)")


class _FrameworkEmbedder(Embedder):
    """A framework's embeddings under our names."""

    def __init__(self, embeddings: Any, name: str) -> None:
        self._embeddings = embeddings
        self._name = name
        self._dimension: int | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimension(self) -> int:
        if self._dimension is None:  # neither framework says it
            self._dimension = len(self._embed_query("dimension"))
        return self._dimension

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self._embed_query(text) for text in texts], dtype=np.float32)

    @abstractmethod
    def _embed_query(self, text: str) -> list[float]: ...


class _LangChainEmbedder(_FrameworkEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array(self._embeddings.embed_documents(list(texts)), dtype=np.float32)

    def _embed_query(self, text: str) -> list[float]:
        return self._embeddings.embed_query(text)


class _LlamaIndexEmbedder(_FrameworkEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array(self._embeddings.get_text_embedding_batch(list(texts)), dtype=np.float32)

    def _embed_query(self, text: str) -> list[float]:
        return self._embeddings.get_query_embedding(text)
