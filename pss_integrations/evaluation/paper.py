"""The paper's own figures beside ours, and what can and can't be compared (PSS, arXiv 2610.33047)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pss_integrations.evaluation.analysis import activation, scores
from pss_integrations.evaluation.record import RunRecord

Ours: TypeAlias = Callable[[RunRecord], float | None]

NOT_COMPARABLE: Final = (
    "The paper writes states with Qwen2.5-7B (44 MiB each), here the default backbone has 135 million parameters "
    "(5 MB each). Its PSS-320 is not published: ours follows its description with names, wording and documents of our "
    "own, and shows explicit identifiers, which full-text search likes. Its dense encoder is BGE-M3, ours is "
    "all-MiniLM-L6-v2. Its guard is calibrated, the one here is a plain rule. What can be compared is the sign and the "
    "order of the effects, not their size."
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the paper.

    :param what: What it measures.
    :param where: Section of the paper.
    :param paper: The figure, from 0 to 1, or a difference.
    :param ours: The same of a record; ``None`` if the record does not hold it.
    """

    what: str
    where: str
    paper: float
    ours: Ours


def _mean(searcher: str, arm: str, category: str | None = None) -> Ours:
    def of(record: RunRecord) -> float | None:
        known = searcher in record.searchers and arm in record.arms
        if category is not None and all(category != probe.category for one in record.sessions for probe in one.probes):
            return None
        return scores(record, searcher, arm, category=category).mean if known else None

    return of


def _gain(searcher: str, arm: str, control: str, category: str | None = None) -> Ours:
    def of(record: RunRecord) -> float | None:
        one, other = _mean(searcher, arm, category)(record), _mean(searcher, control, category)(record)
        return None if one is None or other is None else one - other

    return of


def _null_activation(record: RunRecord) -> float | None:
    if "guarded/append" not in record.arms:
        return None
    return activation(record, "guarded/append", answerable=False, category="null")


_K16 = "K = 16"
FIGURES: Final[Mapping[str, Sequence[Figure]]] = {
    "pss320": (
        Figure("clue alone, All-Recall@4 (here BM25)", "V.1", 0.5008, _mean("bm25", "correct/replace")),
        Figure("the same appended to the query (here BM25)", "V.1", 0.5008, _mean("bm25", "correct/append")),
        Figure("card of 32 tokens, All-Recall@4 (here BM25)", "V.1", 0.3945, _mean("bm25", "card/append")),
        Figure("clue minus card (here BM25)", "V.1", 0.1063, _gain("bm25", "correct/append", "card/append")),
        Figure(
            "clue minus a card with the information of its targets (here BM25)",
            "V.1",
            0.1063,
            _gain("bm25", "correct/append", "target_card/append"),
        ),
        Figure("guarded, All-Recall@4 (here BM25)", "V.1", 0.5063, _mean("bm25", "guarded/append")),
        Figure("dense: raw query, All-Recall@4", "O", 0.1242, _mean("minilm", "raw")),
        Figure("dense: clue alone, All-Recall@4", "O", 0.3391, _mean("minilm", "correct/replace")),
        Figure(
            "history and targets minus targets alone, BM25",
            "3.5",
            0.1018,
            _gain("bm25", "correct/append", "target_only/append"),
        ),
        Figure(
            "history and targets minus targets alone, dense",
            "3.5",
            0.0554,
            _gain("minilm", "correct/append", "target_only/append"),
        ),
        Figure(
            "correct minus matched-wrong (there All-Recall@3 on public sessions, 0.313 to 0.336)",
            "H",
            0.3130,
            _gain("bm25", "correct/append", "matched_wrong/append"),
        ),
        Figure(
            "correct minus shuffled (there All-Recall@3 on public sessions, 0.477 to 0.481)",
            "H",
            0.4771,
            _gain("bm25", "correct/append", "shuffled/append"),
        ),
        Figure(
            "guard: activation on null and off-topic probes (promised: at most 0.05)", "F.3", 0.1786, _null_activation
        ),
    ),
    "krecords": (
        Figure("BM25: clue at K = 16", "V.3", 0.95, _mean("bm25", "correct/replace", _K16)),
        Figure("BM25: clue minus concatenation", "V.3", 0.60, _gain("bm25", "correct/replace", "concatenation", _K16)),
        Figure("BM25: clue minus record-wise RRF", "V.3", 0.55, _gain("bm25", "correct/replace", "record_rrf", _K16)),
        Figure("BM25: wrong group", "V.3", 0.0, _mean("bm25", "matched_wrong/replace", _K16)),
        Figure("dense: clue at K = 16", "V.3", 0.8375, _mean("minilm", "correct/replace", _K16)),
        Figure(
            "dense: clue minus concatenation", "V.3", 0.65, _gain("minilm", "correct/replace", "concatenation", _K16)
        ),
        Figure(
            "dense: clue minus record-wise RRF", "V.3", 0.675, _gain("minilm", "correct/replace", "record_rrf", _K16)
        ),
        Figure("dense: wrong group", "V.3", 0.0125, _mean("minilm", "matched_wrong/replace", _K16)),
    ),
}
"""The paper's figures by kind of run."""
