"""Reads with drafts, without, and with PEFT's generate, one query at a time and side by side."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any, Final

from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.bench import (
    SEED,
    Load,
    Tell,
    Timing,
    new_engine,
    ratios,
    session_targets,
    timed,
)
from pss_integrations.evaluation.peft_reference import PeftReader
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.drafts import Drafts, taught_clues
from pss_integrations.states.reader import Decoded, clue_tokens, decode, prompt_tokens
from pss_integrations.states.steps import finish
from pss_integrations.types import ClueTarget, Message

_LANE: Final = 1
_WAYS: Final = ("plain", "drafted", "generate")
_DISTINCT = 160  # sessions whose probes have more than 300 different wordings


class CompiledSession:
    """A session that was compiled and is bound, to be read one query at a time.

    :param max_tokens: Most tokens of a clue; as configured by default if it is not given.
    """

    def __init__(
        self,
        backbone: Backbone,
        messages: Sequence[Message],
        targets: Sequence[ClueTarget],
        *,
        max_tokens: int | None = None,
    ) -> None:
        self._backbone, self.engine = backbone, new_engine(backbone, CompileConfig())
        self.max_tokens = max_tokens or self.engine.config.max_clue_tokens
        self.result, self.seconds = timed(lambda: finish(self.engine.compile(messages, targets)))
        self.engine.bank.bind(_LANE, self.result.vector)
        pairs = [(target.request, target.clue) for target in targets]
        self.taught = taught_clues(pairs, lambda clue: clue_tokens(backbone, clue)[:-1])

    def plain(self, query: str) -> Decoded:
        """Read without drafts."""
        return self._read(query, None)

    def drafted(self, query: str) -> Decoded:
        """Read with drafts of what was taught."""
        return self._read(query, [Drafts(self.taught, query)])

    def _read(self, query: str, drafts: list[Drafts] | None) -> Decoded:
        prompt = prompt_tokens(self._backbone, query)
        (found,) = finish(decode(self._backbone, self.engine.bank, [_LANE], [prompt], self.max_tokens, drafts))
        return found


def bench_drafts(load: Load, *, quick: bool, tell: Tell) -> dict[str, Any]:
    """Time reads of one compiled session for queries that it was not taught.

    :param load: Loads the backbone; called twice.
    :param quick: 24 queries and not 300, of which ``generate`` reads 120.
    :return: Ratios over the queries, forward passes, and the shares of equal texts. ``held`` are the queries for
        which the clue is one that the targets hold.
    """
    sessions = pss320.generate(_DISTINCT, seed=SEED).sessions
    wordings = dict.fromkeys(probe.query for one in sessions for probe in one.probes)
    queries = list(wordings)[: 24 if quick else 300]
    tell("compiling the session that is read")
    session = CompiledSession(load(), sessions[0].messages, session_targets(sessions[0]))
    bank = session.engine.bank
    peft = PeftReader(load(), session.engine.adapter_config(), bank.layout.matrices(session.result.vector))

    def generated(query: str) -> list[int]:
        return peft.read(query, session.max_tokens)

    tell(f"reading {len(queries)} queries, with drafts and without, {min(120, len(queries))} of them with generate too")
    for warm in (session.plain, session.drafted, generated):
        warm(queries[0])
    rows = [_row(session, query, generated if number < 120 else None) for number, query in enumerate(queries)]
    session.engine.close()
    return _summary(rows)


def _row(session: CompiledSession, query: str, generated: Callable[[str], list[int]] | None) -> dict[str, Any]:
    (one, plain), (two, drafted) = timed(lambda: session.plain(query)), timed(lambda: session.drafted(query))
    row = {
        "plain": 1000 * plain,
        "drafted": 1000 * drafted,
        "passes": two.passes,
        "held": tuple(one.tokens) in {clue.tokens for clue in session.taught},
        "same": one.tokens == two.tokens,
    }
    if generated is None:
        return row
    three, seconds = timed(lambda: generated(query))
    return row | {"generate": 1000 * seconds, "same_as_generate": one.tokens == three}


def _summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    held, others = [row for row in rows if row["held"]], [row for row in rows if not row["held"]]
    beside = [row for row in rows if "generate" in row]
    read = {way: Timing(tuple(row[way] for row in beside)) for way in _WAYS}
    return {
        **ratios("ratio_vs_generate", read["generate"], read["plain"]),
        **ratios("ratio_vs_generate_drafted", read["generate"], read["drafted"]),
        "queries": len(rows),
        "queries_with_generate": len(beside),
        "held": len(held),
        "read_ms": {way: timing.to_dict() for way, timing in read.items()},
        "passes_held": _median(held, "passes"),
        "passes_others": _median(others, "passes"),
        "others_drafted_vs_plain": _slower(others),
        "same_text": _share(rows, "same"),
        "same_text_as_generate": _share(beside, "same_as_generate"),
    }


def _median(rows: Sequence[dict[str, Any]], name: str) -> float | None:
    return statistics.median(row[name] for row in rows) if rows else None


def _slower(rows: Sequence[dict[str, Any]]) -> float | None:
    """How many times as long as without drafts it takes with them."""
    return round(statistics.median(row["drafted"] / row["plain"] for row in rows), 2) if rows else None


def _share(rows: Sequence[dict[str, Any]], name: str) -> float:
    return round(statistics.fmean(row[name] for row in rows), 4)
