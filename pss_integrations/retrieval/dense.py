"""Search by meaning: Chroma proposes the nearest passages, exact cosines decide.

Chroma is a disposable index, never the truth: it holds row numbers and vectors, no text and no metadata, and
it is made anew from our own files whenever an index is loaded.
"""

from __future__ import annotations

import uuid
import weakref
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from pss_integrations.errors import InvalidInput, MissingExtra
from pss_integrations.protocols import Embedder
from pss_integrations.retrieval.embedding import as_embedder
from pss_integrations.retrieval.files import IndexFormat
from pss_integrations.retrieval.index import PassageIndex, WeightedTexts, checked_passages, searched_text
from pss_integrations.text import tokenize
from pss_integrations.types import Hit, Passage

try:
    import chromadb
    from chromadb.api import ClientAPI
    from chromadb.api.collection_configuration import CreateHNSWConfiguration
    from chromadb.config import Settings
    from chromadb.errors import ChromaError, NotFoundError
except ImportError as error:
    raise MissingExtra("chroma", error.name or "chromadb") from error

Vectors = NDArray[np.float32]

_VECTORS = "vectors.npy"
# With them the nearest neighbours of pools of up to 5,000 distinct texts were those of a full comparison.
_HNSW = CreateHNSWConfiguration(space="cosine", max_neighbors=32, ef_construction=200, ef_search=5000)
_ROUNDING = 1e-6  # of Chroma's distances: a hit that leads by less may tie with what was not proposed
_FLOATS_PER_REQUEST = 1_000_000  # a server takes 40 MB, and writes a float in up to 20 bytes


class ChromaIndex(PassageIndex):
    """Passages that can be searched by meaning; a hit's score is the cosine of its vector with the query's.

    Every passage with a token has a cosine, so a search finds ``k`` passages where there are so many. Up to
    5,000 distinct texts the result is that of comparing with every vector; beyond, that of Chroma's graph.
    :meth:`search_expanded` searches with ``query_weight * embed(query) + embed(added)``.

    Close it, or use it in a ``with`` block, to free what Chroma holds; an index that is dropped is closed.
    No two indexes share a collection.

    :param passages: What can be found; any number, also none.
    :param embedder: A :class:`~pss_integrations.retrieval.TransformerEmbedder`, a LangChain ``Embeddings``, a
        LlamaIndex ``BaseEmbedding``, or whatever :func:`~pss_integrations.retrieval.as_embedder` returned.
    :param path: Directory in which Chroma keeps its files; by default a temporary one, deleted on closing.
    :param client: A Chroma client to use instead, such as ``chromadb.HttpClient()`` for a server; it is not closed.
    :raises InvalidInput: If an item is no passage of strings, two passages share a ``doc_id``, the embedder is
        none or gives vectors that cannot be compared, or Chroma cannot open ``path``.
    """

    kind = "dense"
    _format = IndexFormat("dense index", "pss-dense-1")

    def __init__(
        self,
        passages: Iterable[Passage],
        embedder: Any,
        *,
        path: str | PathLike[str] | None = None,
        client: ClientAPI | None = None,
    ) -> None:
        self._passages = checked_passages(passages)
        self._embedder = as_embedder(embedder)
        self._vectors = _embed_passages(self._passages, self._embedder)
        self._open(path, client)

    def save(self, path: str | PathLike[str]) -> None:
        """Write passages and vectors to a directory. See :meth:`PassageIndex.save`."""
        self._format.save(path, self._passages, self._save_vectors, self._parameters)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        embedder: Any,
        *,
        chroma_path: str | PathLike[str] | None = None,
        client: ClientAPI | None = None,
    ) -> ChromaIndex:
        """Read an index that :meth:`save` wrote, embedding nothing; it finds what the saved one found.

        :param path: Where it was saved.
        :param embedder: The embedder that it was built with; it embeds the queries.
        :param chroma_path: The ``path`` of the constructor.
        :param client: As in the constructor.
        :raises InvalidInput: If the directory is missing, holds something else, was built with another
            embedder, or a file in it was truncated, altered or mixed in from another index.
        """
        index = cls.__new__(cls)
        index._passages, manifest = cls._format.load(path)
        index._embedder = as_embedder(embedder)
        index._vectors = np.load(Path(path, _VECTORS), allow_pickle=False)
        built_with = (manifest.get("embedder"), index._vectors.shape[1])
        given = (index._embedder.name, index._embedder.dimension)
        if built_with != given:
            raise InvalidInput(
                f"the index at {path} was built with the embedder {built_with[0]!r} of dimension {built_with[1]}, "
                f"not with {given[0]!r} of dimension {given[1]}: load it with its own, or build it again"
            )
        index._open(chroma_path, client)
        return index

    def close(self) -> None:
        """Free what Chroma holds of this index; closing twice does nothing more."""
        self._release()

    def __enter__(self) -> Self:
        """Return the index."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the index."""
        self.close()

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled.

        :raises InvalidInput: Always.
        """
        raise InvalidInput("Chroma's client cannot be pickled: save the index, and load it where it is needed")

    @property
    def _parameters(self) -> Mapping[str, Any]:
        return {"embedder": self._embedder.name, "dimension": self._embedder.dimension}

    def _save_vectors(self, directory: Path) -> None:
        np.save(directory / _VECTORS, self._vectors, allow_pickle=False)

    def _open(self, path: str | PathLike[str] | None, client: ClientAPI | None) -> None:
        with ExitStack() as resources:
            client = _client(path, client, resources)
            name = f"pss-{uuid.uuid4().hex}"
            # No embedding function: Chroma's own would be downloaded.
            self._collection = client.create_collection(name, embedding_function=None, configuration={"hnsw": _HNSW})
            resources.callback(_delete, client, name)
            self._groups = _equal_rows(self._vectors)
            self._fill(client.get_max_batch_size())
            self._release = weakref.finalize(self, resources.pop_all().close)

    def _fill(self, max_batch_size: int) -> None:
        heads = np.array([rows[0] for rows in self._groups], dtype=int)
        size = max(1, min(max_batch_size, _FLOATS_PER_REQUEST // self._embedder.dimension))
        for start in range(0, len(heads), size):
            batch = range(start, min(start + size, len(heads)))
            self._collection.add(ids=[str(group) for group in batch], embeddings=self._vectors[heads[batch]])

    def _find(self, requests: Sequence[WeightedTexts], k: int) -> list[list[Hit]]:
        if not self._release.alive:
            raise InvalidInput("the index was closed: build or load it again")
        directions = self._directions(requests)
        asked: list[int] = np.flatnonzero(directions.any(axis=1)).tolist() if self._groups else []
        found: list[list[Hit]] = [[] for _ in requests]
        amount = min(len(self._groups), 2 * k + 50)
        while asked:
            unsure = list[int]()
            for number, rows in zip(asked, self._propose(directions[asked], amount), strict=True):
                found[number], lead = self._best(directions[number], rows, k)
                if lead < _ROUNDING and amount < len(self._groups):
                    unsure.append(number)
            asked, amount = unsure, min(len(self._groups), 4 * amount)
        return found

    def _directions(self, requests: Sequence[WeightedTexts]) -> Vectors:
        """One row of length 1 per request, or of zeros where a request says nothing."""
        texts = sorted({text for texts in requests for text, _ in texts if tokenize(text)})
        vectors = dict(zip(texts, _embedded(texts, self._embedder.embed_queries, self._embedder), strict=True))
        sums = np.zeros((len(requests), self._embedder.dimension))
        for row, weighted in enumerate(requests):
            for text, weight in weighted:
                sums[row] += weight * vectors.get(text, 0.0)
        return _unit(sums)

    def _propose(self, directions: Vectors, amount: int) -> list[list[int]]:
        """Rows of the passages of the nearest groups, per direction."""
        answer = self._collection.query(query_embeddings=directions, n_results=amount, include=[])
        # Fewer than asked for: some of its graph cannot be reached, so nothing less than all will do.
        everything = range(len(self._groups))
        proposed = [[int(group) for group in ids] if len(ids) == amount else everything for ids in answer["ids"]]
        return [sorted(row for group in groups for row in self._groups[group]) for groups in proposed]

    def _best(self, direction: Vectors, rows: list[int], k: int) -> tuple[list[Hit], float]:
        """The best hits, and the lead of the last one over the last row that was proposed."""
        # Not a matrix product, which would round a row by where it stands.
        cosines = (self._vectors[rows].astype(np.float64) * direction).sum(axis=1).clip(-1, 1)
        best = np.argsort(-cosines, kind="stable")[:k]
        hits = [Hit(self._passages[rows[at]], float(cosines[at])) for at in best]
        return hits, hits[-1].score - float(cosines.min())


def _client(path: str | PathLike[str] | None, client: object, resources: ExitStack) -> ClientAPI:
    """Return a Chroma client; what has to be freed after it goes to ``resources``."""
    if client is not None:
        if path is not None:
            raise InvalidInput("a Chroma client was given, which has a place of its own: leave the path out")
        if not isinstance(client, ClientAPI):
            raise InvalidInput(f"client must be a synchronous Chroma client, got {type(client).__name__}")
        return client
    # Not chromadb.EphemeralClient: all of a process share one memory, and one setting.
    place = path if path is not None else resources.enter_context(TemporaryDirectory(prefix="pss-chroma-"))
    try:
        own: Any = chromadb.PersistentClient(Path(place).resolve(), Settings(anonymized_telemetry=False))
    except (ChromaError, ValueError) as error:
        raise InvalidInput(f"Chroma cannot open {place}: {error}") from error
    resources.callback(own.close)
    return own


def _delete(client: ClientAPI, name: str) -> None:
    with suppress(NotFoundError):
        client.delete_collection(name)


def _embed_passages(passages: Sequence[Passage], embedder: Embedder) -> Vectors:
    """One row of length 1 per passage, of zeros for one without a token; the same for the same text."""
    texts = [searched_text(passage) for passage in passages]
    # Sorted, so that the order of the passages cannot change how batches are made up, and so how vectors round.
    distinct = sorted({text for text in texts if tokenize(text)})
    vectors = dict(zip(distinct, _embedded(distinct, embedder.embed_documents, embedder), strict=True))
    found = np.zeros((len(texts), embedder.dimension), dtype=np.float32)
    for row, text in enumerate(texts):
        found[row] = vectors.get(text, 0.0)
    return found


def _embedded(texts: list[str], embed: Any, embedder: Embedder) -> Vectors:
    """Embed texts to length 1; what comes back is checked, for it may be anybody's."""
    if not texts:
        return np.zeros((0, embedder.dimension), dtype=np.float32)
    vectors = np.asarray(embed(texts), dtype=np.float32)
    if vectors.shape != (len(texts), embedder.dimension):
        raise InvalidInput(
            f"{embedder.name} must give {len(texts)} vectors of dimension {embedder.dimension}, got {vectors.shape}"
        )
    if not np.isfinite(vectors).all():
        raise InvalidInput(f"{embedder.name} gave a vector that is not finite")
    return _unit(vectors)


def _unit(vectors: NDArray[Any]) -> Vectors:
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros(vectors.shape), where=lengths > 0).astype(np.float32)


def _equal_rows(vectors: Vectors) -> list[list[int]]:
    """Group the rows that are equal; rows of zeros point nowhere, and are left out.

    Chroma gets one vector of each group: of many equal ones it would return any, and its graph falls apart.
    """
    groups: defaultdict[bytes, list[int]] = defaultdict(list)
    for row in np.flatnonzero(vectors.any(axis=1)):
        groups[vectors[row].tobytes()].append(int(row))
    return list(groups.values())
