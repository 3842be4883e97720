"""Searches by similarity, with all around them as it is around the search of beliefs.

They rank the same live beliefs of the same user in the same scopes, over all their text, and what they find goes
through the same relations, tiers and limits. Their cut-offs are chosen on the very cases that they are judged by, which
flatters them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pss_integrations.beliefs import Belief, BeliefHit
from pss_integrations.beliefs.recall import recall
from pss_integrations.evaluation.precisionmembench_replay import Asked
from pss_integrations.evaluation.precisionmembench_verdicts import Verdict, judge
from pss_integrations.protocols import Embedder
from pss_integrations.retrieval import BM25Index, reciprocal_rank_fusion
from pss_integrations.types import Passage

Ranking = Sequence[tuple[Belief, float]]
"""Beliefs with scores, best first."""

_NOW: Final = datetime.max.replace(tzinfo=UTC)  # no published belief says until when it holds


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a ranking is cut.

    :param k: The most that are kept.
    :param threshold: The least score that is kept.
    """

    k: int
    threshold: float

    def cut(self, ranking: Ranking) -> Ranking:
        """What is kept of a ranking."""
        return [(one, score) for one, score in ranking[: self.k] if score >= self.threshold]


@dataclass(frozen=True, slots=True)
class Cut:
    """What a baseline found, as an index of which the tiers are made."""

    beliefs: Sequence[Belief]
    found: Ranking

    def search(self, scopes: Sequence[str], query: str, now: datetime) -> list[BeliefHit]:
        """What was found, whatever is asked, then what relations among it lead to."""
        hits = [BeliefHit(one, score) for one, score in self.found]
        known = {one.id for one, _ in self.found}
        for relation, score in self.found:
            for one in self.in_scopes(scopes, now):
                if one.id not in known and not {one.id, one.canonical_name}.isdisjoint(relation.participants):
                    known.add(one.id)
                    hits.append(BeliefHit(one, score, via=relation.id))
        return hits

    def in_scopes(self, scopes: Sequence[str], now: datetime) -> list[Belief]:
        """All beliefs in the scopes."""
        return _in_scopes(self.beliefs, scopes)


def bm25_rankings(asked: Sequence[Asked]) -> list[Ranking]:
    """Full-text search over all text of the beliefs in scope; every hit shares a word with the query."""
    return [_bm25_ranking(one) for one in asked]


def cosine_rankings(asked: Sequence[Asked], embedder: Embedder) -> list[Ranking]:
    """All beliefs in scope by the cosine of their text with the query; a blank query finds nothing."""
    texts = sorted({_text(belief) for one in asked for belief in one.beliefs})
    rows = dict(zip(texts, embedder.embed_documents(texts), strict=True))
    queries = embedder.embed_queries([one.case.query for one in asked])
    return [_by_cosine(one, query, rows) for one, query in zip(asked, queries, strict=True)]


def fused_rankings(one: Sequence[Ranking], other: Sequence[Ranking]) -> list[Ranking]:
    """Pairs of rankings by reciprocal rank."""
    return [
        reciprocal_rank_fusion([[belief for belief, _ in ranking] for ranking in pair], key=lambda belief: belief.id)
        for pair in zip(one, other, strict=True)
    ]


def tune(asked: Sequence[Asked], rankings: Sequence[Ranking]) -> tuple[Setting, list[Verdict]]:
    """Choose the cut with the most cases passed, then the highest mean precision, of all that make a difference."""
    verdicts = [_by_length(*pair) for pair in zip(asked, rankings, strict=True)]
    longest = max(map(len, rankings), default=0)
    thresholds = sorted({score for ranking in rankings for _, score in ranking}) or [0.0]
    settings = [Setting(k, threshold) for k in range(1, max(longest, 1) + 1) for threshold in reversed(thresholds)]
    lengths = {
        threshold: np.array([sum(score >= threshold for _, score in ranking) for ranking in rankings])
        for threshold in thresholds
    }
    passed, precision = _table(verdicts, longest)
    everyone = np.arange(len(asked))

    def quality(setting: Setting) -> tuple[int, float]:
        kept = np.minimum(lengths[setting.threshold], setting.k)
        defined = precision[everyone, kept][~np.isnan(precision[everyone, kept])]
        return int(passed[everyone, kept].sum()), float(defined.mean()) if defined.size else 0.0

    best = max(settings, key=quality)
    return best, [of_case[len(best.cut(ranking))] for of_case, ranking in zip(verdicts, rankings, strict=True)]


def _by_length(asked: Asked, ranking: Ranking) -> list[Verdict]:
    """The verdict if nothing of the ranking is kept, if one is, and so on: no cut matters otherwise."""

    def verdict(length: int) -> Verdict:
        index = Cut(asked.beliefs, ranking[:length])
        case = asked.case
        return judge(case, recall(index, case.scopes, case.query, _NOW, max_beliefs=asked.max_beliefs))

    return [verdict(length) for length in range(len(ranking) + 1)]


def _table(verdicts: Sequence[Sequence[Verdict]], longest: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Whether passed, and the precision (NaN where undefined); shapes (cases, longest + 1)."""
    passed = np.zeros((len(verdicts), longest + 1), dtype=bool)
    precision = np.full(passed.shape, np.nan)
    for row, of_case in enumerate(verdicts):
        for length, one in enumerate(of_case):
            passed[row, length] = one.passed
            precision[row, length] = np.nan if one.precision is None else one.precision
    return passed, precision


def _bm25_ranking(asked: Asked) -> Ranking:
    held = {one.id: one for one in _in_scopes(asked.beliefs, asked.case.scopes)}
    index = BM25Index(Passage(one.id, _text(one)) for one in held.values())
    return [(held[hit.doc_id], hit.score) for hit in index.search(asked.case.query, max(len(held), 1))]


def _by_cosine(asked: Asked, query: NDArray[np.float32], rows: dict[str, NDArray[np.float32]]) -> Ranking:
    if not asked.case.query.strip():
        return []
    scored = [(one, float(rows[_text(one)] @ query)) for one in _in_scopes(asked.beliefs, asked.case.scopes)]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0].id))


def _in_scopes(beliefs: Sequence[Belief], scopes: Sequence[str]) -> list[Belief]:
    return [one for one in beliefs if not set(scopes).isdisjoint(one.scopes)]


def _text(belief: Belief) -> str:
    """All that is said about it."""
    names = ", ".join(name.replace("_", " ") for name in belief.names)
    return "\n".join(filter(None, (names, belief.content, belief.why_it_matters)))
