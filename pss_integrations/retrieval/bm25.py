"""Full-text search over passages: BM25 in Lucene's form, on our own tokens."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

import bm25s
import numpy as np

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval.fusion import check_positive_int, is_amount
from pss_integrations.text import tokenize
from pss_integrations.types import Hit, Passage

_FORMAT = "pss-bm25-1"  # count up when files or tokens change: an index only fits queries tokenized its way
_MANIFEST = "manifest.json"
_PASSAGES = "passages.json"


class BM25Index:
    """Passages that can be searched by words; the searched text is title and text together.

    It never changes once built, and any number of threads may search it. What it finds depends on the set
    of passages, not on their order. Every term adds its score (there is no AND, no query syntax, and no stop
    words); a term that the query repeats counts as often as it is repeated.

    :param passages: What can be found; any number, also none.
    :param k1: How fast repetitions of a term saturate, at least 0; Lucene's default.
    :param b: How much a passage's length counts, from 0 to 1; Lucene's default.
    :raises InvalidInput: If an item is no passage of strings, two passages share a ``doc_id``, or ``k1`` or
        ``b`` is out of range.
    """

    def __init__(self, passages: Iterable[Passage], *, k1: float = 1.2, b: float = 0.75) -> None:
        _check_parameters(k1, b)
        self._passages = _checked_passages(passages)
        self._terms = _score_terms(self._passages, k1, b)

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self._passages)

    def search(self, query: str, k: int) -> list[Hit]:
        """Find passages that share a term with the query.

        :param query: Any text; blank or punctuation alone finds nothing.
        :param k: The most hits to return, a positive int; it may exceed the number of passages.
        :return: Hits with scores above 0, best first, ties by ``doc_id``.
        :raises InvalidInput: If the query is no string or ``k`` no positive int.
        """
        _check_query(query)
        check_positive_int("k", k)
        # Sorted, so that word order cannot change how a sum of floats rounds.
        terms = sorted(self._terms.get_tokens_ids(tokenize(query))) if self._terms else []
        if not self._terms or not terms:
            return []
        scores = self._terms.get_scores_from_ids(terms)
        matched = np.flatnonzero(scores > 0)
        # Passages lie in order of doc_id, which a stable sort keeps among equal scores.
        best = matched[np.argsort(-scores[matched], kind="stable")[:k]]
        return [Hit(self._passages[row], float(scores[row])) for row in best]

    def search_batch(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search once per query.

        :return: One list of hits per query, in order.
        :raises InvalidInput: As :meth:`search`, or if ``queries`` is itself a string.
        """
        if isinstance(queries, str):
            raise InvalidInput("queries must be a list of strings, got one string")
        return [self.search(query, k) for query in queries]

    async def asearch(self, query: str, k: int) -> list[Hit]:
        """Search in a worker thread, so that the event loop goes on. See :meth:`search`."""
        return await asyncio.to_thread(self.search, query, k)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the index to a directory, which is complete whenever it is there.

        :param path: A directory that does not exist yet, is empty, or holds an index, which is replaced.
        :raises InvalidInput: If something else is there, or a passage's metadata cannot be kept as JSON.
        """
        target = Path(path)
        _check_replaceable(target)
        records = [_to_record(passage) for passage in self._passages]
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as scratch:
            built = Path(scratch, "new")
            built.mkdir()
            _write_json(built / _PASSAGES, records)
            if self._terms:
                self._terms.save(built, show_progress=False)
            _write_json(built / _MANIFEST, {"format": _FORMAT, "files": _digests(built)})
            _replace(target, built, aside=Path(scratch, "old"))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> BM25Index:
        """Read an index that :meth:`save` wrote; it finds what the saved one found, with the same scores.

        :raises InvalidInput: If the directory is missing, holds something else, or a file in it was
            truncated, altered or mixed in from another index.
        """
        source = Path(path)
        files = _read_manifest(source)
        if not files.items() <= _digests(source).items():
            raise InvalidInput(f"the index at {source} is incomplete or was altered: build and save it again")
        index = cls.__new__(cls)
        index._passages = [_from_record(record) for record in _read_json(source / _PASSAGES)]
        index._terms = bm25s.BM25.load(source, show_progress=False) if len(files) > 1 else None
        return index


def _check_parameters(k1: float, b: float) -> None:
    if not is_amount(k1):
        raise InvalidInput(f"k1 must be a finite number of at least 0, got {k1!r}")
    if not (is_amount(b) and b <= 1):
        raise InvalidInput(f"b must be a number from 0 to 1, got {b!r}")


def _check_query(query: object) -> None:
    if not isinstance(query, str):
        raise InvalidInput(f"query must be a string, got {type(query).__name__}")


def _checked_passages(passages: Iterable[Passage]) -> list[Passage]:
    by_id: dict[str, Passage] = {}
    for passage in passages:
        _check_passage(passage)
        if passage.doc_id in by_id:
            raise InvalidInput(f"two passages have the doc_id {passage.doc_id!r}: each needs one of its own")
        by_id[passage.doc_id] = passage
    return [by_id[doc_id] for doc_id in sorted(by_id)]


def _check_passage(passage: object) -> None:
    if not isinstance(passage, Passage):
        raise InvalidInput(f"an index is made of Passage values, got {type(passage).__name__}")
    texts: list[Any] = [passage.doc_id, passage.title, passage.text]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInput(f"doc_id, title and text of passage {passage.doc_id!r} must be strings")


def _score_terms(passages: list[Passage], k1: float, b: float) -> bm25s.BM25 | None:
    """Return the score of each term in each passage; ``None`` without any term, which bm25s cannot hold."""
    vocabulary: dict[str, int] = {}
    rows = [
        [vocabulary.setdefault(token, len(vocabulary)) for token in tokenize(f"{passage.title}\n{passage.text}")]
        for passage in passages
    ]
    if not vocabulary:
        return None
    terms = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy")
    terms.index((rows, vocabulary), create_empty_token=False, show_progress=False)
    return terms


# -- files ---------------------------------------------------------------------------------------------------


def _to_record(passage: Passage) -> list[Any]:
    metadata = dict(passage.metadata)
    try:
        is_kept = json.loads(json.dumps(metadata)) == metadata
    except (TypeError, ValueError):
        is_kept = False
    if not is_kept:
        raise InvalidInput(f"metadata of passage {passage.doc_id!r} must be plain JSON to be saved")
    return [passage.doc_id, passage.text, passage.title, metadata]


def _from_record(record: list[Any]) -> Passage:
    doc_id, text, title, metadata = record
    return Passage(doc_id, text, title, metadata)


def _digests(directory: Path) -> dict[str, str]:
    files = sorted(file for file in directory.iterdir() if file.name != _MANIFEST)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _read_manifest(directory: Path) -> dict[str, str]:
    try:
        manifest = _read_json(directory / _MANIFEST)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{directory} holds no BM25 index: {type(error).__name__}") from error
    manifest = cast("dict[str, Any]", manifest) if isinstance(manifest, dict) else {}
    if manifest.get("format") != _FORMAT or _PASSAGES not in manifest.get("files", {}):
        raise InvalidInput(f"{directory} holds no BM25 index of format {_FORMAT}: build and save it again")
    return manifest["files"]


def _replace(target: Path, built: Path, aside: Path) -> None:
    if target.exists():
        target.rename(aside)
    try:
        built.rename(target)
    except OSError:
        if aside.exists():
            aside.rename(target)
        raise


def _check_replaceable(target: Path) -> None:
    is_free = not target.exists() or (target.is_dir() and not any(target.iterdir()))
    if not is_free:
        _read_manifest(target)
