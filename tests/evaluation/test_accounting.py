"""Accounting on a tiny backbone: what is counted and how it is joined; times are not looked at."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_sessions import small_passages, small_session
from tiny_words import words_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import accounting
from pss_integrations.evaluation.accounting import PARTS, QueryPath, account
from pss_integrations.evaluation.bench_rewriting import bench_rewriting, break_even
from pss_integrations.retrieval import BM25Index
from pss_integrations.states import CompileConfig, StateConfig, StateManager


@pytest.fixture(scope="module")
def both() -> tuple[dict, dict]:
    """The account, and what the measurement of rewriting gave to it."""
    given = list[dict]()

    def noted(*arguments: Any, **options: Any) -> dict:
        given.append(bench_rewriting(*arguments, **options))
        return given[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounting, "bench_rewriting", noted)
        return account(words_backbone, quick=True, tell=lambda what: None), given[0]


@pytest.fixture(scope="module")
def accounted(both: tuple[dict, dict]) -> dict:
    return both[0]


def test_everything_is_plain_data(accounted: dict) -> None:
    assert json.loads(json.dumps(accounted)) == accounted


def test_the_guarded_path_reads_once_and_searches_more_often_than_a_card(accounted: dict) -> None:
    guarded, card = accounted["paths"]["guarded"], accounted["paths"]["card"]
    assert guarded["queries"] == card["queries"] == 3
    assert 0 < guarded["reads"] <= 1
    assert 2 < guarded["searches"] <= 3
    assert guarded["prompt_tokens"] > 0 < guarded["generated_tokens"]
    assert card["searches"] == 2
    assert card["reads"] == card["prompt_tokens"] == card["generated_tokens"] == card["ms"]["read"]["max"] == 0


def test_the_state_is_larger_than_what_it_was_written_from(accounted: dict) -> None:
    storage = accounted["storage"]
    assert storage["adapter"] > storage["history"] > storage["card"] > 0
    assert storage["manifest"] > storage["card"]
    assert accounted["compile"]["targets"] >= accounted["compile"]["reproduced"]


def test_a_longer_history_costs_only_rewriting_more_tokens(accounted: dict) -> None:
    short, long = accounted["by_length"]
    assert long["history_tokens"] > 3 * short["history_tokens"]
    assert long["prompt_tokens"]["read"] == short["prompt_tokens"]["read"]
    assert long["prompt_tokens"]["rewrite"] > long["history_tokens"]
    for point in accounted["by_length"]:
        for reads in point["break_even"].values():
            assert reads == "never" or reads >= 1
        assert point["break_even"]["guarded_against_card"] == "never"  # it does all that the card does, and reads


def test_the_break_even_is_what_the_measurement_of_rewriting_says(both: tuple[dict, dict]) -> None:
    for ours, theirs in zip(both[0]["by_length"], both[1]["by_length"], strict=True):
        found, expected = ours["break_even"]["read_against_rewriting"], theirs["break_even_reads"]
        assert found == ("never" if expected is None else pytest.approx(expected, rel=0.05, abs=1))  # of rounded times


@given(*[st.floats(0.001, 1e4)] * 3)
def test_a_compile_is_paid_back_at_the_first_query_that_saves_enough(seconds: float, other: float, own: float) -> None:
    found = break_even(seconds, other, own)
    if found is None:
        assert own >= other
    else:
        saved = (other - own) / 1000
        assert found * saved >= seconds * (1 - 1e-9)
        assert (found - 1) * saved < seconds * (1 + 1e-9)


def test_a_query_that_stands_for_itself_costs_one_search_and_no_read(tmp_path) -> None:
    session = small_session("heron")
    index = BM25Index(small_passages(session))
    shape, config = StateConfig(rank=4, layers=2), CompileConfig(max_epochs=1, max_clue_tokens=32)
    with StateManager(tmp_path, backbone=words_backbone(), state=shape, config=config) as manager:
        manager.compile(session.key, session.messages)
        path = QueryPath(manager, session, index, str.__len__)
        alone, follow_up = path.take("Which release notes mention Morwen Talask v4.20.7?"), path.take("and before?")
    assert (alone.searches, alone.clue, alone.ms["read"], alone.ms["card"]) == (1, None, 0, 0)
    assert follow_up.clue is not None
    assert follow_up.ms["read"] > 0
    for cost in (alone, follow_up):
        assert [*cost.ms] == list(PARTS)
        assert cost.ms["total"] == pytest.approx(sum(cost.ms[part] for part in PARTS[:-1]))


def test_a_backbone_whose_context_is_too_short_is_refused_before_any_work() -> None:
    told = list[str]()
    with pytest.raises(InvalidInput, match="use a backbone with a longer one"):
        account(lambda: words_backbone(context=1024), quick=True, tell=told.append)
    assert told == []
