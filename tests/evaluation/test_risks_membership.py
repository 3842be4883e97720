"""Membership inference against tiny states: what they were taught stands out, and a state of nothing gives nothing."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_sessions import small_session
from tiny_words import words_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.risks.likelihood import (
    LANE,
    Likelihoods,
    Span,
    bound,
    clue_span,
    message_span,
)
from pss_integrations.evaluation.risks.membership import Scored, measure_membership, threshold
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.states.config import CompileConfig
from pss_integrations.states.lora import BASE
from pss_integrations.types import ClueTarget, Message

SESSIONS = [small_session("heron", group="one"), small_session("rook", group="two")]
POOL = [*SESSIONS, small_session("crane", group="one"), small_session("teal", group="two")]


def ignore(what: str, done: int, total: int) -> None:
    """Progress is for people."""


def source(path: Path, **config: float) -> CachedStates:
    return CachedStates(words_backbone(), CompileConfig(history_steps=2, max_clue_tokens=32, **config), path)


def test_clues_that_were_taught_are_told_from_those_of_others(tmp_path: Path) -> None:
    one = source(tmp_path, max_epochs=8, lr_a=3e-3, lr_b=1e-2)
    found = measure_membership(one, SESSIONS, POOL, ignore)
    clues = found["clues"]
    assert clues["auc"]["mean"] >= 0.95
    assert clues["true_positives_at"]["0.05"]["mean"] >= 0.8
    assert clues["true_positives_at"]["0.01"]["mean"] <= clues["true_positives_at"]["0.05"]["mean"]
    assert clues["auc_shuffled"]["mean"] < 0.8
    assert {*clues["by_session"]} == {"session-heron", "session-rook"}
    assert "low" in clues["auc"]
    assert found["messages"]["members"] == found["messages"]["others"] == 12
    assert not any(one.engine.bank.bound)


def test_a_state_of_nothing_gives_nothing_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = source(tmp_path)
    monkeypatch.setattr(one, "compile", lambda messages, targets: one.zero())
    found = measure_membership(one, SESSIONS, POOL, ignore)
    for kind in ("messages", "clues"):
        assert found[kind]["auc"]["mean"] == 0.5
        assert found[kind]["true_positives_at"]["0.05"]["mean"] == 0


def test_what_both_sessions_say_is_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = source(tmp_path)
    monkeypatch.setattr(one, "compile", lambda messages, targets: one.zero())
    thanks = Message("user", "Thanks.")
    both = [replace(session, messages=(*session.messages, thanks)) for session in POOL]
    found = measure_membership(one, both[:2], both, ignore)
    assert found["messages"]["members"] == found["messages"]["others"] == 12


def test_a_session_without_a_mate_is_refused_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(CachedStates, "compile")
    with pytest.raises(InvalidInput, match="no other session about two"):
        measure_membership(source(tmp_path), SESSIONS, POOL[:3], ignore)


SCORES = st.lists(st.integers(-5, 5), min_size=1, max_size=20).map(lambda values: np.array(values, dtype=float))


@given(SCORES, SCORES)
def test_the_area_is_the_chance_of_being_above(members: np.ndarray, others: np.ndarray) -> None:
    pairs = [(m > o) + (m == o) / 2 for m in members for o in others]
    assert Scored(members, others).auc == pytest.approx(sum(pairs) / len(pairs))
    assert Scored(others, members).auc == pytest.approx(1 - Scored(members, others).auc)


@given(SCORES, st.sampled_from([0.0, 0.01, 0.05, 0.5, 0.9]))
def test_no_more_of_the_others_pass_than_is_allowed_and_as_many_as_can(others: np.ndarray, rate: float) -> None:
    least = threshold(others, rate)
    assert (others > least).mean() <= rate + 1e-9
    below = others[others < least]
    if below.size:
        assert (others > below.max()).mean() > rate - 1e-9


def test_the_threshold_takes_whole_numbers_as_they_are_meant() -> None:
    assert threshold(np.arange(100.0), 0.01) == 98  # 99 alone is above
    assert threshold(np.arange(140.0), 0.05) == 132


def test_likelihoods_are_those_of_the_model_and_padding_changes_nothing(tmp_path: Path) -> None:
    one = source(tmp_path)
    backbone = one.engine.backbone
    spans = [
        message_span(backbone, Message("user", "Heron runs on v4.20.7.")),
        clue_span(backbone, ClueTarget("now?", "Heron")),
        *(Span((5,), tuple(range(6, 6 + n))) for n in range(1, 30)),
    ]
    found = Likelihoods(one.engine, spans).under(BASE)
    for span, mean in zip(spans, found, strict=True):
        with torch.no_grad():
            logits = backbone.model(torch.tensor([[*span.given, *span.asked]])).logits[0].log_softmax(-1)
        each = [logits[at, token].item() for at, token in enumerate(span.asked, start=len(span.given) - 1)]
        assert mean == pytest.approx(sum(each) / len(each), abs=1e-4)


def test_a_bound_state_is_seen_in_its_lane_alone_and_leaves_also_after_an_error(tmp_path: Path) -> None:
    engine = source(tmp_path).engine
    likelihoods = Likelihoods(engine, [Span((5,), (6, 7))])
    before = likelihoods.under(BASE)
    vector = torch.randn(engine.bank.layout.numel, generator=torch.Generator().manual_seed(0)) * 0.1
    with bound(engine, vector):
        assert likelihoods.under(BASE) == before
        assert not math.isclose(likelihoods.under(LANE)[0], before[0])
    with pytest.raises(IndexError), bound(engine, vector):
        likelihoods.under(10**9)
    assert likelihoods.under(LANE) == before
    assert not any(engine.bank.bound)
