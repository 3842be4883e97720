import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.answering.scores import (
    RIGHT_F1,
    as_alternatives,
    as_parts,
    exact_match,
    normalise_answer,
    score,
    token_f1,
)
from pss_integrations.evaluation.pss320 import Probe

VALUE, BOTH = [("23 attempts",)], [("23 attempts", "94.2 percent")]
WORDS = st.text("abc ,.'", max_size=12)
PARTS = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=3)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The  Speaker-Labeller, an old one.", "speakerlabeller old one"),
        ("“Amir  Kowalczyk”", "amir kowalczyk"),
        ("94.2 percent", "942 percent"),
        ("ａ theory of AN answer", "theory of answer"),
        ("...", ""),
    ],
)
def test_normalisation(text: str, plain: str) -> None:
    assert normalise_answer(text) == plain


@pytest.mark.parametrize(
    ("answer", "references", "f1", "exact"),
    [
        ("23 attempts", VALUE, 1, True),
        ("The 23 attempts.", VALUE, 1, True),
        ("24 attempts", VALUE, 1 / 2, False),
        ("23", VALUE, 2 / 3, False),
        ("attempts 23", VALUE, 1, False),
        ("23 23 attempts", VALUE, 4 / 5, False),
        ("The retry limit is 23 attempts.", VALUE, 4 / 7, False),
        ("", VALUE, 0, False),
        ("23 attempts, 94.2 percent", BOTH, 1, True),
        ("94.2 percent and 23 attempts", BOTH, 1, True),
        ("23 attempts and 94.3 percent", BOTH, 6 / 9, False),
        ("23 attempts 94.3 percent", BOTH, 3 / 4, False),
        ("23 attempts", BOTH, 2 / 3, False),
        ("Paris", [("Lutetia",), ("Paris",)], 1, True),
        ("Paris Texas", [("Lutetia",), ("Paris",)], 2 / 3, False),
        ("", [("the",)], 1, True),
        ("a word", [("the",)], 0, False),
    ],
)
def test_scores_by_hand(answer: str, references: list[tuple[str, ...]], f1: float, exact: bool) -> None:
    found = score(answer, references)
    assert found.f1 == pytest.approx(f1)
    assert found.exact is exact


def test_a_wrong_value_is_never_right_and_a_word_too_many_may_be() -> None:
    assert not score("24 attempts", VALUE).right
    assert not score("23 attempts 94.3 percent", BOTH).right
    assert score("hands over to plain stand-in", [("hands over to a plain stand-in",)]).right
    assert score("it hands over to a plain stand-in", [("hands over to a plain stand-in",)]).right
    assert 3 / 4 < RIGHT_F1 < 1


@given(PARTS, st.randoms())
def test_the_parts_in_any_order_are_exact_and_have_an_f1_of_one(parts: list[str], order) -> None:
    said = ", ".join(order.sample(parts, len(parts)))
    assert exact_match(said, [parts])
    assert token_f1(said, [parts]) == 1


@given(WORDS, PARTS)
def test_f1_is_a_share_symmetric_in_both_texts_and_blind_to_what_is_normalised_away(
    answer: str, parts: list[str]
) -> None:
    found = token_f1(answer, [parts])
    assert 0 <= found <= 1
    assert found == token_f1(" ".join(parts), [[answer]])
    assert found == token_f1(f"The {answer.upper()}!", [parts])
    assert not exact_match(answer, [parts]) or found == 1


@given(WORDS, st.lists(PARTS, min_size=1, max_size=4))
def test_another_reference_never_makes_an_answer_worse(answer: str, references: list[list[str]]) -> None:
    assert token_f1(answer, references) == max(token_f1(answer, [one]) for one in references)
    assert exact_match(answer, references) == any(exact_match(answer, [one]) for one in references)


@pytest.mark.parametrize("references", [[], [()], [("a",), ()]])
def test_without_a_reference_there_is_nothing_to_score(references: list[tuple[str, ...]]) -> None:
    for measure in (token_f1, exact_match, score):
        with pytest.raises(InvalidInput, match="at least one reference"):
            measure("an answer", references)


def test_answers_are_parts_or_alternatives() -> None:
    probe = Probe("which?", (frozenset({"d"}),), "Which?", "multi_hop", ("one", "two"))
    assert score("one, two", as_parts(probe)).exact
    assert not score("one", as_parts(probe)).exact
    assert score("one", as_alternatives(probe)).exact
