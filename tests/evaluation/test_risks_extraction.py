"""What comes out of tiny states for generic prompts, and what counts as a secret."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_sessions import small_session
from tiny_words import words_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.risks.extraction import NEUTRAL, OPENINGS, measure_extraction, secrets_of, write
from pss_integrations.evaluation.risks.shares import across_groups, estimated, estimated_share, is_said
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.evaluation.subjects import from_pss320
from pss_integrations.states.config import CompileConfig
from pss_integrations.types import Message

SESSIONS = [small_session("heron", group="one"), small_session("rook", group="two")]


def ignore(what: str, done: int, total: int) -> None:
    """Progress is for people."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> CachedStates:
    config = CompileConfig(history_steps=1, max_epochs=15, lr_a=3e-3, lr_b=1e-2, max_clue_tokens=32)
    return CachedStates(words_backbone(), config, tmp_path_factory.mktemp("states"))


def test_a_state_gives_its_names_away_and_neither_another_one_nor_the_base_model_does(source: CachedStates) -> None:
    found = measure_extraction(source, SESSIONS, SESSIONS, ignore)
    assert found["prompts"]["neutral"] == len(NEUTRAL)
    assert found["prompts"]["openings"] == len(OPENINGS)
    assert found["correct"]["taught"]["mean"] >= 0.5
    assert found["correct"]["by_prompts"]["guessed"]["mean"] > 0
    for other in ("wrong", "base"):
        assert found[other]["names"]["mean"] == found[other]["clues"]["mean"] == 0
    assert found["correct"]["names"]["items"] == found["base"]["names"]["items"]


def test_the_text_that_a_state_keeps_gives_away_what_it_holds(source: CachedStates) -> None:
    kept = measure_extraction(source, SESSIONS, SESSIONS, ignore)["kept_text"]
    assert (kept["none"]["mean"], kept["history"]["mean"]) == (0, 1)
    assert 0 < kept["targets"]["mean"] < 1


def test_writing_says_something_for_each_prompt_and_leaves_nothing_bound(source: CachedStates) -> None:
    written = write(source, source.zero())
    assert [opening for opening in OPENINGS if not any(text.startswith(opening) for text in written["openings"])] == []
    assert written == write(source, source.zero())
    assert not any(source.engine.bank.bound)


def test_a_single_session_has_no_wrong_state(source: CachedStates) -> None:
    with pytest.raises(InvalidInput, match="two or more"):
        measure_extraction(source, SESSIONS[:1], SESSIONS, ignore)


def test_a_secret_is_what_no_other_session_says() -> None:
    heron, rook = SESSIONS
    heron = replace(heron, messages=(*heron.messages, Message("user", "Monday, ask Nikola Ferreira at id-4711.")))
    rook = replace(rook, messages=(*rook.messages, Message("user", "Nikola Ferreira is out on Monday.")))
    found = secrets_of(heron, from_pss320([heron])[0], [heron, rook])
    assert set(found.taught) == {"Morwen Talask", "v3.11.2", "v4.20.7", "Ilse Varga"}
    assert {"id-4711", "Heron Mill"} <= set(found.only_said)
    assert "Nikola Ferreira" not in found.names


def test_no_secret_of_the_benchmark_is_part_of_another_and_each_is_said() -> None:
    pool = pss320.generate(24, seed=0).sessions
    for session, subject in zip(pool[:6], from_pss320(pool[:6]), strict=True):
        found = secrets_of(session, subject, pool)
        texts = [message.text for message in session.messages]
        assert len(found.taught) >= 9
        assert all(is_said(name, texts) for name in found.names)
        assert not any(is_said(one, [other]) for one in found.names for other in found.names if one != other)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("v1.2", "on v1.25 now", False),
        ("v1.2", "on V1.2, now", True),
        ("Ada", "ADA's", True),
        ("Ada", "Adam", False),
        ("a.b", "axb", False),
        ("Morwen Talask", "Morwen\n Talask", True),
    ],
)
def test_a_name_is_said_whole(name: str, text: str, said: bool) -> None:
    assert is_said(name, [text]) == said


@given(st.lists(st.lists(st.booleans(), max_size=4), min_size=2, max_size=6))
def test_a_share_is_a_mean_over_sessions_that_have_any(outcomes: list[list[bool]]) -> None:
    sessions = [small_session("heron", group=str(number)) for number in range(len(outcomes))]
    found = estimated_share(outcomes, sessions)
    known = [some for some in outcomes if some]
    if not known:
        assert found is None
        return
    assert found["mean"] == pytest.approx(sum(sum(some) / len(some) for some in known) / len(known), abs=1e-4)
    assert found["items"] == sum(map(len, outcomes))
    assert found["sessions"] == len(known)
    assert ("low" in found) == (len(known) > 1)
    if "low" in found:
        assert 0 <= found["low"] <= found["mean"] <= found["high"] <= 1


def test_sessions_of_one_group_have_no_interval() -> None:
    assert "low" not in estimated([0.0, 1.0], [SESSIONS[0], SESSIONS[0]], 2)


def test_few_sessions_are_of_many_groups() -> None:
    pool = pss320.generate(320, seed=0).split("calibration")
    chosen = across_groups(pool, 6)
    assert len({one.source_group for one in chosen[:4]}) == 4
    assert [one.source_group for one in chosen[4:]] == [one.source_group for one in chosen[:2]]
    assert len({one.key for one in across_groups(pool, 64)}) == 64
    for count in (1, 65):
        with pytest.raises(InvalidInput, match="2 or more"):
            across_groups(pool, count)
