import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_words import words_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.bench import Endless, Timing, compare, history, history_tokens, ratios

TIMES = st.lists(st.floats(0.1, 1e4), min_size=1, max_size=9)


@given(TIMES)
def test_a_run_against_itself_has_ratio_one(times: list[float]) -> None:
    timing = Timing(tuple(times))
    assert ratios("ratio", timing, timing) == {"ratio": 1.0, "ratio_spread": [1.0, 1.0]}


@given(TIMES)
def test_the_median_lies_between_least_and_most(times: list[float]) -> None:
    found = Timing(tuple(times)).to_dict()
    assert found["min"] <= found["median"] <= found["max"]


def test_a_ratio_is_taken_run_by_run() -> None:
    assert ratios("r", Timing((2.0, 9.0, 8.0)), Timing((1.0, 3.0, 2.0))) == {"r": 3.0, "r_spread": [2.0, 4.0]}


@pytest.mark.parametrize(("warm_up", "calls"), [(True, 4), (False, 3)])
def test_things_are_timed_in_turn_and_a_warm_up_does_not_count(warm_up: bool, calls: int) -> None:
    order = list[str]()
    one, other = compare(lambda: order.append("one"), lambda: order.append("other"), 3, warm_up=warm_up)
    assert order == ["one", "other"] * calls
    assert len(one.runs) == len(other.runs) == 3


@pytest.mark.parametrize("tokens", [250, 500, 2000])
def test_a_history_is_as_long_as_asked_for_but_for_a_message(tokens: int) -> None:
    backbone, sessions = words_backbone(), pss320.generate(5, seed=7).sessions
    messages = history(backbone, tokens, sessions)
    assert tokens - 100 < history_tokens(backbone, messages) <= tokens
    assert messages[-1] == sessions[0].messages[-1]
    own = len(sessions[0].messages)
    assert messages[-own:] == sessions[0].messages[-len(messages) :]


def test_a_history_longer_than_all_sessions_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"5000 were asked for: give more"):
        history(words_backbone(), 5000, pss320.generate(2, seed=7).sessions)


def test_an_endless_backbone_is_the_same_model_without_an_end() -> None:
    backbone = words_backbone()
    endless = Endless(backbone)
    assert (endless.model, endless.fingerprint) == (backbone.model, backbone.fingerprint)
    assert endless.end_token not in range(len(backbone.tokenizer))
