"""Reads of a state against rewriting the query from the whole history with the same backbone (PSS, section V.5)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any, Final

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.bench import (
    CLUE_TOKENS,
    SEED,
    Load,
    Tell,
    Timing,
    history,
    history_tokens,
    ratios,
    session_targets,
    timed,
)
from pss_integrations.evaluation.bench_drafts import CompiledSession
from pss_integrations.evaluation.peft_reference import generate
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.reader import prompt_tokens
from pss_integrations.types import Message

MAIN_LENGTH: Final = 2000
_INSTRUCTION: Final = (
    "Below is a last question. Rewrite it as a search query that can be understood without the conversation above: "
    "name the project, version and setting that it means."
)
_WAYS: Final = ("read", "read_drafted", "rewrite")


def rewriting_prompt(backbone: Backbone, messages: Sequence[Message], query: str) -> list[int]:
    """Tokens of a prompt that asks to rewrite a question from the whole history.

    :raises InvalidInput: If prompt and rewriting do not fit the backbone's context.
    """
    said = "".join(f"{message.role}: {message.text.strip()}\n" for message in messages)
    tokens = backbone.encode(f"{said}\n{_INSTRUCTION}\nQuestion: {query}\nSearch query:")
    if len(tokens) + CLUE_TOKENS > backbone.context_length:
        raise InvalidInput(
            f"the prompt has {len(tokens)} tokens and {CLUE_TOKENS} are to follow, but {backbone.name} has a context "
            f"of {backbone.context_length}: use a backbone with a longer one"
        )
    return tokens


def bench_rewriting(load: Load, *, quick: bool, tell: Tell) -> dict[str, Any]:
    """Time both for the session's own follow-ups; neither writes more than 24 tokens.

    :param load: Loads the backbone; called once.
    :param quick: Two lengths of the history and not four, three queries once and not six three times.
    :return: What was measured with about 2,000 tokens of history, and ``by_length`` the same for every length. The
        break-even is the number of reads after which a compile has paid for itself.
    """
    backbone = load()
    sessions = pss320.generate(16, seed=SEED).sessions
    queries = [probe.query for probe in sessions[0].probes][: 3 if quick else 6]
    lengths = (500, MAIN_LENGTH) if quick else (500, 1000, MAIN_LENGTH, 4000)
    histories = {length: history(backbone, length, sessions) for length in lengths}
    rewriting_prompt(backbone, histories[max(lengths)], max(queries, key=len))  # refused before any work
    by_length = dict[int, dict[str, Any]]()
    for length, messages in histories.items():
        tell(f"compiling a history of {length} tokens, then reading and rewriting")
        session = CompiledSession(backbone, messages, session_targets(sessions[0]), max_tokens=CLUE_TOKENS)
        by_length[length] = _measure(backbone, session, messages, queries, repeats=1 if quick else 3)
        session.engine.close()
    reads = [point["read_ms"]["median"] for point in by_length.values()]
    return {
        **by_length[MAIN_LENGTH],
        "read_slowest_vs_fastest_length": round(max(reads) / min(reads), 2),
        "by_length": list(by_length.values()),
    }


def _measure(
    backbone: Backbone, session: CompiledSession, messages: Sequence[Message], queries: Sequence[str], *, repeats: int
) -> dict[str, Any]:
    prompts = {query: rewriting_prompt(backbone, messages, query) for query in queries}
    times: dict[str, list[float]] = {way: [] for way in _WAYS}
    rewritten = list[int]()
    for number, query in enumerate([queries[0], *(list(queries) * repeats)]):
        found = (
            timed(lambda query=query: session.plain(query)),
            timed(lambda query=query: session.drafted(query)),
            timed(lambda query=query: generate(backbone.model, backbone, [prompts[query]], CLUE_TOKENS)),
        )
        if number:  # the first one warms up
            rewritten.append(len(found[2][0][0]))
            for way, (_, seconds) in zip(_WAYS, found, strict=True):
                times[way].append(1000 * seconds)
    read, drafted, rewrite = (Timing(tuple(times[way])) for way in _WAYS)
    short = statistics.fmean(len(prompt_tokens(backbone, query)) for query in queries)
    long = statistics.fmean(map(len, prompts.values()))
    return {
        "history_tokens": history_tokens(backbone, messages),
        **ratios("ratio_vs_rewriting", rewrite, read),
        **ratios("ratio_vs_rewriting_drafted", rewrite, drafted),
        "time_saved_percent": _saved(rewrite.median, read.median),
        "time_saved_percent_drafted": _saved(rewrite.median, drafted.median),
        "prompt_tokens": {"rewrite": round(long, 1), "read": round(short, 1)},
        "prompt_tokens_saved_percent": _saved(long, short),
        "compile_seconds": round(session.seconds, 2),
        "compile_confirmed": session.result.confirmed,
        "break_even_reads": break_even(session.seconds, rewrite.median, read.median),
        "break_even_reads_drafted": break_even(session.seconds, rewrite.median, drafted.median),
        "rewrite_ms": rewrite.to_dict(),
        "rewrite_new_tokens": statistics.median(rewritten),
        "read_ms": read.to_dict(),
        "read_drafted_ms": drafted.to_dict(),
    }


def _saved(before: float, after: float) -> float:
    return round(100 * (1 - after / before), 2)


def break_even(compile_seconds: float, other_ms: float, own_ms: float) -> int | None:
    """After how many queries a compile has paid for itself; ``None`` where a state makes a query no cheaper.

    :param other_ms: What a query costs the other way.
    :param own_ms: What it costs with the state.
    """
    saved = (other_ms - own_ms) / 1000
    return math.ceil(compile_seconds / saved) if saved > 0 else None
