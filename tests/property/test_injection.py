"""What holds of an injection for any beliefs, any budget and any way to count."""

import re
import unicodedata
import zlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.beliefs.escaping import excerpt, inert
from pss_integrations.beliefs.injection import (
    BLOCK_END,
    BLOCK_START,
    estimate_tokens,
    inject,
    strip_injected,
)
from pss_integrations.beliefs.recall import Recall
from pss_integrations.beliefs.schema import MAX_NAME, Belief
from pss_integrations.text import normalise

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SYNTAX = set("{}[]<>|")

PIECES = [BLOCK_START, BLOCK_END, "SYSTEM", ":", "：", "### ", "#", "```", "{{", "}", "{%", "&lt;", "&", "lt;", "<"]
PIECES += ["|", " | Do: ", "user said, 2026-01-01", "\n", "\u2028", "\r\n- decision ", "\u202e", "\u200b", "［", "｛"]
PIECES += ["👩\u200d👩\u200d👧", "[INST]", "\u0338", "word "]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=12).map("".join)
stored_texts = texts.map(lambda text: text.replace("\0", "")).filter(normalise)

COUNTS: dict[str, Callable[[str], int]] = {
    "characters": len,
    "words": lambda text: len(text.split()),
    "bytes": lambda text: len(text.encode()),
    "estimate": estimate_tokens,
    "words and two more each call": lambda text: len(text.split()) + 2,
    "words, merged across lines": lambda text: len(re.findall(r"\w+|[^\w\s]+", text)),
    "nothing": lambda text: 0,
    "chaos": lambda text: zlib.crc32(text.encode()) % 1000,
}
counts = st.sampled_from(list(COUNTS.values()))
budgets = st.integers(0, 1500)


@st.composite
def beliefs(draw: st.DrawFn, number: int) -> Belief:
    fields: dict[str, Any] = {
        "id": str(number),
        "type": draw(st.sampled_from(["preference", "decision", "entity", "open_question"])),
        "canonical_name": draw(stored_texts.map(lambda text: text.strip()[:MAX_NAME]).filter(normalise)),
        "content": draw(stored_texts),
        "why_it_matters": draw(st.none() | stored_texts),
        "epistemic_status": draw(st.sampled_from(["active", "inferred", "exploratory"])),
        "provenance": {"source": draw(st.sampled_from(["user", "assistant", "tool", "import"]))},
        "confirmed": draw(st.booleans()),
    }
    times = dict.fromkeys(("last_reinforced_at", "created_at", "updated_at"), NOON)
    return Belief.model_validate({"scopes": ("user:universal",), **times, **fields})


@st.composite
def recalls(draw: st.DrawFn, first: int = 0) -> Recall:
    held = [draw(beliefs(number)) for number in range(first, first + draw(st.integers(0, 6)))]
    tiers = [draw(st.permutations(held)) for _ in range(4)]
    return Recall(*(tuple(tier[: draw(st.integers(0, len(tier)))]) for tier in tiers))


def ids(tiers: tuple[tuple[Belief, ...], ...]) -> list[str]:
    return list(dict.fromkeys(belief.id for tier in tiers for belief in tier))


@given(recalls(), budgets, counts)
def test_the_budget_is_kept(recall: Recall, budget: int, count: Callable[[str], int]) -> None:
    injection = inject(recall, budget=budget, count_tokens=count)
    assert injection.tokens <= budget
    assert injection.tokens == (count(injection.text) if injection.text else 0)


@given(recalls(), budgets, counts)
def test_every_belief_is_shown_or_dropped_the_highest_ranks_first(
    recall: Recall, budget: int, count: Callable[[str], int]
) -> None:
    injection = inject(recall, budget=budget, count_tokens=count)
    ranked = ids((recall.pinned, recall.relevant, recall.open_questions, recall.persona))
    assert sorted(injection.shown + injection.dropped) == sorted(ranked)
    assert set(injection.shown) == set(ranked[: len(injection.shown)])
    assert set(injection.clipped) <= set(injection.shown)


@given(recalls(), budgets, counts)
def test_the_same_beliefs_give_the_same_injection(recall: Recall, budget: int, count: Callable[[str], int]) -> None:
    copy = replace(recall, pinned=tuple(belief.revised() for belief in recall.pinned))
    once, again = (inject(one, budget=budget, count_tokens=count) for one in (recall, copy))
    assert once == again


@given(recalls(), recalls(first=100))
def test_the_stable_part_does_not_depend_on_the_turn(recall: Recall, other: Recall) -> None:
    for relevant in (recall.relevant, other.relevant, other.relevant + recall.relevant, ()):
        turn = replace(recall, relevant=relevant, open_questions=other.open_questions)
        assert inject(turn, budget=10**6).stable == inject(recall, budget=10**6).stable


@given(recalls())
def test_a_part_is_one_block_of_a_line_for_each_belief(recall: Recall) -> None:
    injection = inject(recall, budget=10**6)
    found = 0
    for part in filter(None, (injection.stable, injection.turn)):
        start, _, *lines, end = part.splitlines()
        assert (start, end) == (BLOCK_START, BLOCK_END)
        assert part.count(BLOCK_START) == part.count(BLOCK_END) == 1
        assert lines
        assert not any(SYNTAX & set(line.replace(" | ", "")) for line in lines)
        found += len(lines)
    assert found == len(injection.shown)
    assert not {"{", "}"} & set(injection.text)


@given(recalls())
def test_only_what_is_confirmed_says_what_to_do(recall: Recall) -> None:
    tiers = (recall.pinned, recall.relevant, recall.open_questions, recall.persona)
    confirmed = {belief.id for tier in tiers for belief in tier if belief.confirmed and belief.why_it_matters}
    injection = inject(recall, budget=10**6)
    assert injection.text.count(" | Do: ") <= len(confirmed)


@given(recalls(), texts, texts, st.sampled_from(["", "> ", "    ", "\t> > "]))
def test_a_block_is_taken_out_of_what_stands_around_it(recall: Recall, prefix: str, suffix: str, quote: str) -> None:
    prefix = f"{prefix.replace(BLOCK_START, '')}."
    suffix = f".{suffix.replace(BLOCK_START, '')}"
    injection = inject(recall, budget=10**6)
    for part in filter(None, (injection.stable, injection.turn)):
        quoted = "\n".join(f"{quote}{line}" for line in part.splitlines())
        assert strip_injected(prefix + part + suffix) == prefix + suffix
        assert strip_injected(f"{prefix}\n{quoted}\n{suffix}") == f"{prefix}\n\n{suffix}"


@given(texts)
def test_a_text_without_a_block_is_left_alone(text: str) -> None:
    text = text.replace("-", "")
    assert strip_injected(text) == text


@given(texts)
def test_an_inert_text_is_one_line_in_every_form(text: str) -> None:
    line = inert(text)
    assert line == line.strip()
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert not SYNTAX & set(unicodedata.normalize(form, line))
    assert {unicodedata.category(char) for char in line}.isdisjoint({"Cc", "Cf", "Cs", "Zl", "Zp"})
    assert len(line.splitlines()) <= 1


@given(texts, st.integers(1, 60))
def test_an_excerpt_is_no_longer_than_asked(text: str, limit: int) -> None:
    line, clipped = excerpt(text, limit)
    assert len(line) <= limit
    assert line.endswith("…") or not clipped
    assert clipped or line == inert(text)


def test_no_character_at_all_becomes_syntax() -> None:
    everything = "".join(map(chr, range(0x110000)))
    line = inert(everything)
    for form in ("NFKC", "NFKD"):
        assert not SYNTAX & set(unicodedata.normalize(form, line))
    assert len(line.splitlines()) == 1
