"""Reads with drafts, without, and with PEFT's generate, one query at a time and side by side."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.bench import Tell, finish, new_engine
from pss_integrations.evaluation.peft_reference import PeftReader
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.drafts import Drafts, taught_clues
from pss_integrations.states.field_targets import FieldTargets
from pss_integrations.states.reader import Decoded, clue_tokens, decode, prompt_tokens

_SEED = 7
_LANE = 1


def bench_drafts(load: Callable[[], Backbone], *, quick: bool, tell: Tell) -> dict[str, Any]:
    """Time reads of one compiled session for queries unseen in writing.

    :param load: Loads the backbone; called twice, since PEFT changes the model it wraps.
    :param quick: 24 queries and not 120.
    :return: Ratios of medians over the queries, forward passes, and the share of equal texts. ``held`` are the
        queries for which the clue is one that the targets hold.
    """
    sessions = pss320.generate(20, seed=_SEED).sessions
    session = sessions[0]
    targets = FieldTargets(session.fields).build(session.messages)
    queries = [probe.query for one in sessions for probe in one.probes][: 24 if quick else 120]
    tell("compiling the session that is read")
    engine = new_engine(load(), CompileConfig())
    backbone, longest = engine.backbone, engine.config.max_clue_tokens
    vector = finish(engine.compile(session.messages, targets)).vector
    engine.bank.bind(_LANE, vector)
    taught = taught_clues([(t.request, t.clue) for t in targets], lambda clue: clue_tokens(backbone, clue)[:-1])
    peft = PeftReader(load(), engine.adapter_config(), engine.bank.layout.matrices(vector))

    def plain(query: str) -> Decoded:
        return finish(decode(backbone, engine.bank, [_LANE], [prompt_tokens(backbone, query)], longest))[0]

    def drafted(query: str) -> Decoded:
        drafts = [Drafts(taught, query)]
        return finish(decode(backbone, engine.bank, [_LANE], [prompt_tokens(backbone, query)], longest, drafts))[0]

    tell(f"reading {len(queries)} queries in three ways")
    for warm in (plain, drafted):
        warm(queries[0])
    peft.read(queries[0], longest)
    rows = [
        _row(query, plain, drafted, lambda one: peft.read(one, longest), taught_texts={c.tokens for c in taught})
        for query in queries
    ]
    engine.close()
    held, others = [row for row in rows if row["held"]], [row for row in rows if not row["held"]]
    return {
        "queries": len(rows),
        "held": len(held),
        "ratio_vs_generate": _ratio(rows, "generate", "plain"),
        "ratio_vs_generate_drafted": _ratio(rows, "generate", "drafted"),
        "read_ms": {
            name: round(1000 * statistics.median(row[name] for row in rows), 1)
            for name in ("generate", "plain", "drafted")
        },
        "passes_held": statistics.median(row["passes"] for row in held) if held else None,
        "passes_others": statistics.median(row["passes"] for row in others) if others else None,
        "others_drafted_vs_plain": _ratio(others, "drafted", "plain"),
        "same_text": round(sum(row["same"] for row in rows) / len(rows), 4),
        "same_text_as_generate": round(sum(row["same_as_generate"] for row in rows) / len(rows), 4),
    }


def _row(
    query: str,
    plain: Callable[[str], Decoded],
    drafted: Callable[[str], Decoded],
    generate: Callable[[str], list[int]],
    taught_texts: set[tuple[int, ...]],
) -> dict[str, Any]:
    (one, one_seconds), (two, two_seconds), (three, three_seconds) = (
        _timed(read, query) for read in (plain, drafted, generate)
    )
    return {
        "plain": one_seconds,
        "drafted": two_seconds,
        "generate": three_seconds,
        "passes": two.passes,
        "held": tuple(one.tokens) in taught_texts,
        "same": one.tokens == two.tokens,
        "same_as_generate": one.tokens == three,
    }


def _timed(read: Callable[[str], Any], query: str) -> tuple[Any, float]:
    begun = time.perf_counter()
    return read(query), time.perf_counter() - begun


def _ratio(rows: Sequence[dict[str, Any]], slow: str, fast: str) -> float | None:
    """Median over the queries of how many times as long the one takes."""
    return round(statistics.median(row[slow] / row[fast] for row in rows), 2) if rows else None
