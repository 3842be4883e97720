"""The paper's causal claim in small: the right state recovers retrieval, a wrong or an empty one does not.

Sessions of the generated benchmark in a pool of 320, and 16 records in one state whose requests were not seen in
writing (PSS, sections B.2 and V.3); All-Recall@4 with BM25, clues appended to the query as the router does it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from pss_integrations.evaluation import krecords, pss320
from pss_integrations.evaluation.bench import finish, new_engine
from pss_integrations.evaluation.metrics import all_recall_at_k, mean_at_k
from pss_integrations.evaluation.pss320 import Probe
from pss_integrations.retrieval.bm25 import BM25Index
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.engine import READ_ROWS, Engine
from pss_integrations.states.field_targets import FieldTargets
from pss_integrations.states.reader import decode, prompt_tokens

_K = 4
_POOL = 320
_LANE = 1


def session_effect(
    backbone: Backbone, *, sessions: int = 8, seed: int, tell: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """All-Recall@4 of raw queries and of queries with the clue of the right, a matched wrong and a zero state.

    :param sessions: How many of the pool's 320 sessions are compiled and asked, six probes each.
    :param seed: Seed of the generated benchmark.
    :param tell: Told what is done next.
    """
    benchmark = pss320.generate(_POOL, seed=seed)
    chosen = benchmark.sessions[:sessions]
    engine = new_engine(backbone, CompileConfig())
    vectors, seconds = list[Tensor](), list[float]()
    for number, session in enumerate(chosen, 1):
        tell(f"compiling session {number} of {sessions}")
        targets = FieldTargets(session.fields).build(session.messages)
        result = finish(engine.compile(session.messages, targets))
        vectors.append(result.vector)
        seconds.append(round(result.seconds, 1))
    probes = [session.probes for session in chosen]
    zero = torch.zeros_like(vectors[0])
    states = {"correct": vectors, "matched_wrong": vectors[1:] + vectors[:1], "zero": [zero] * sessions}
    flat = [probe for group in probes for probe in group]
    index = BM25Index(benchmark.passages)
    scores: dict[str, Any] = {"raw": _recall(index, flat, [probe.query for probe in flat])}
    for name, used in states.items():
        tell(f"reading with the {name.replace('_', ' ')} states")
        clues = [_clues(engine, vector, group) for vector, group in zip(used, probes, strict=True)]
        joined = [f"{p.query} {clue}" for p, clue in zip(flat, (c for group in clues for c in group), strict=True)]
        scores[name] = _recall(index, flat, joined)
    engine.close()
    return scores | {"sessions": sessions, "probes": sum(bool(p.evidence) for p in flat), "compile_seconds": seconds}


def records_effect(
    backbone: Backbone, *, k: int = 16, seed: int, tell: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """All-Recall@4 of ``k`` records in one state, for requests unseen in writing, against all records joined."""
    benchmark = krecords.generate(k, seed=seed)
    group, index = benchmark.groups[0], BM25Index(benchmark.passages)
    engine = new_engine(backbone, CompileConfig())
    tell(f"compiling {k} records, {len(group.targets)} targets")
    result = finish(engine.compile(group.messages, group.targets))
    tell(f"reading {len(group.probes)} requests")
    clues = _clues(engine, result.vector, group.probes)
    everything = " ".join(record.deployment.clue for record in group.records)
    engine.close()
    return {
        "raw": _recall(index, group.probes, [probe.query for probe in group.probes]),
        "correct": _recall(index, group.probes, clues),
        "concatenation": _recall(index, group.probes, [everything] * len(group.probes)),
        "records": k,
        "probes": len(group.probes),
        "compile_seconds": round(result.seconds, 1),
    }


def _clues(engine: Engine, vector: Tensor, probes: Sequence[Probe]) -> list[str]:
    """Read one state for every probe; lane by lane, as the manager does."""
    texts = list[str]()
    engine.bank.bind(_LANE, vector)
    for at in range(0, len(probes), READ_ROWS):
        prompts = [prompt_tokens(engine.backbone, probe.query) for probe in probes[at : at + READ_ROWS]]
        lanes = [_LANE] * len(prompts)
        rows = finish(decode(engine.backbone, engine.bank, lanes, prompts, engine.config.max_clue_tokens))
        texts += [engine.backbone.decode(row.tokens).strip() for row in rows]
    engine.bank.unbind(_LANE)
    return texts


def _recall(index: BM25Index, probes: Sequence[Probe], queries: Sequence[str]) -> float:
    found = [
        ([hit.doc_id for hit in index.search(query, _K)], probe.evidence)
        for probe, query in zip(probes, queries, strict=True)
    ]
    return round(mean_at_k(all_recall_at_k, found, _K).value, 3)
