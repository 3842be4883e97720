import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.routing import Features
from pss_integrations.routing import features as observed
from pss_integrations.types import Clue, Hit, Passage
from pss_integrations.vocabulary import Vocabulary

QUERY = "which port does it use?"


def hits(*found: tuple[str, str, float]) -> list[Hit]:
    return [Hit(Passage(doc_id, text), score) for doc_id, text, score in found]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"words": 0, "scope": 0, "refers": 0, "asks": 0, "foreign": 0}),
        (QUERY, {"words": 2, "scope": 0, "refers": 1, "asks": 1, "foreign": 0}),
        ("ok, and show Marlowe ckpt-7", {"scope": 2, "asks": 1}),
        ("thermal budget budget", {"words": 2, "refers": 0, "asks": 0}),
        ("need the precision of the checkpoint in use", {"refers": 1, "asks": 0}),
        ("somebody is asking about our lifetime, what do I answer", {"refers": 1, "asks": 0}),
        ("ok do it so", {"asks": 0}),
        ("設定", {"foreign": 1}),
        ("ab где", {"foreign": 0.6}),
        ("Straße façade Nguyễn", {"foreign": 0}),
        ("🎉 12", {"foreign": 0}),
    ],
)
def test_what_a_query_alone_tells(query: str, expected: dict[str, float]) -> None:
    said = observed.of_query(query).to_dict()
    assert {name: said[name] for name in expected} == pytest.approx(expected)


def test_what_is_not_observed_yet_is_at_rest() -> None:
    said = observed.of_query("x").to_dict()
    assert said["agreement"] == 1.0
    assert not any(said[name] for name in ("coverage", "support", "logprob", "behind", "overlap"))


def test_the_raw_search_tells_how_much_of_the_query_one_hit_holds() -> None:
    found = hits(("a", "a port", 4.0), ("b", "use", 3.0), ("c", "", 1.0))
    said = observed.with_raw(observed.of_query(QUERY), QUERY, found, None)
    assert (said.raw_coverage, said.raw_gap) == (0.5, 0.75)
    assert observed.with_raw(said, QUERY, [], None).raw_coverage == 0.0


def test_rare_words_weigh_more() -> None:
    passages = [Passage(str(n), "we use it") for n in range(20)] + [Passage("x", "port")]
    vocabulary = Vocabulary.from_passages(passages)
    common, rare = (
        observed.with_raw(observed.of_query(QUERY), QUERY, hits(("a", text, 1.0)), vocabulary).raw_coverage
        for text in ("use", "port")
    )
    assert rare > 0.5 > common
    assert common + rare == pytest.approx(1.0)


def test_a_candidate_is_supported_where_one_hit_holds_both() -> None:
    split = hits(("a", "port use", 1.0), ("b", "Marlowe billing", 1.0))
    both = hits(("a", "port use of Marlowe", 1.0))
    start = observed.of_query(QUERY)
    apart = observed.with_candidate(start, QUERY, "Marlowe billing", split, both, None)
    assert (apart.added, apart.coverage, apart.grounding, apart.support) == (2, 1.0, 1.0, 0.0)
    together = observed.with_candidate(start, QUERY, "Marlowe billing", both, split, None)
    assert (together.coverage, together.grounding, together.support) == (1.0, 0.5, 0.5)


def test_titles_count_as_text() -> None:
    found = [Hit(Passage("a", "port", "Marlowe"), 1.0)]
    assert observed.with_candidate(observed.of_query("x"), "port", "Marlowe", found, [], None).support == 1.0


def test_overlap_is_by_id() -> None:
    raw = hits(("a", "", 0), ("b", "", 0))
    found = hits(("b", "", 0), ("x", "", 0), ("y", "", 0), ("a", "", 0))
    assert observed.with_candidate(observed.of_query("x"), "x", "y", found, raw, None).overlap == 0.5
    assert observed.with_candidate(observed.of_query("x"), "x", "y", [], raw, None).overlap == 0.0


@pytest.mark.parametrize(
    ("scores", "gap"),
    [
        ([], 0),
        ([3.0], 0),
        ([0.0, 0.0], 0),
        ([2.0, 1.0], 0.5),
        ([1.0, -9.0], 1),
        ([-1.0, -1.5], 0.5),
        ([1.0, 0.0], 1),
        ([1.0, 1 / 2, 1 / 3], 0),  # made of ranks
    ],
)
def test_gaps_are_relative(scores: list[float], gap: float) -> None:
    found = hits(*((str(n), "", score) for n, score in enumerate(scores)))
    assert observed.with_raw(observed.of_query("x"), "x", found, None).raw_gap == gap


def test_only_the_top_is_looked_at() -> None:
    found = hits(*((str(n), "", 1.0) for n in range(observed.TOP)), ("last", "port use", 0.0))
    said = observed.with_raw(observed.of_query(QUERY), QUERY, found, None)
    assert (said.raw_coverage, said.raw_gap) == (0.0, 0.0)


def test_a_clue_tells_how_sure_it_is_and_whether_the_session_said_so() -> None:
    clue = Clue("Marlowe port", (-0.5, -0.1), prompt_tokens=1, state_id="x", finished=True)
    said = observed.with_clue(observed.of_query("x"), clue, {"port"}, 3)
    assert (said.logprob, said.least_logprob, said.agreement, said.behind) == (-0.3, -0.5, 0.5, 3.0)
    unknown = observed.with_clue(observed.of_query("x"), clue, (), None)
    assert (unknown.agreement, unknown.behind) == (1.0, 0.0)
    blank = Clue("", (), prompt_tokens=1, state_id="x", finished=True)
    assert observed.with_clue(observed.of_query("x"), blank, {"port"}, None) == observed.of_query("x")


HITS = st.lists(st.builds(Hit, st.builds(Passage, st.text(max_size=2), st.text()), st.floats()), max_size=7)
COUNTS = {"words", "scope", "added", "behind", "logprob", "least_logprob"}


@given(st.text(), st.text(), HITS, HITS, st.none() | st.just(Vocabulary.from_passages([Passage("a", "x y z")])))
def test_features_are_finite_and_shares_lie_within_one(query: str, added: str, found, raw, vocabulary) -> None:
    said = observed.with_raw(observed.of_query(query), query, raw, vocabulary)
    said = observed.with_candidate(said, query, added, found, raw, vocabulary).to_dict()
    assert said.keys() == {*Features.__slots__}
    assert all(map(math.isfinite, said.values()))
    assert all(0 <= said[name] <= 1 + 1e-9 for name in said.keys() - COUNTS)
