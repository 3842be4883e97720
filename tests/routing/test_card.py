import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.routing import Card, CardBuilder, SessionCards
from pss_integrations.types import ROLES, Message, Passage
from pss_integrations.vocabulary import Vocabulary

INDEX = Vocabulary.from_passages(
    [
        Passage("a", "Rooms with a view of the harbour.", "Rosewood Inn"),
        Passage("b", "The thermostat of every room can be set.", "Alder House"),
        *(Passage(f"p{n}", "nothing but plain words") for n in range(40)),
    ]
)


def said(*texts: str, role: str = "user") -> list[Message]:
    return [Message(role, text) for text in texts]


def test_nothing_said_gives_a_blank_card() -> None:
    assert SessionCards().build([], 4) == Card()
    assert Card().text == ""


def test_a_card_is_its_names_then_its_words() -> None:
    assert Card(("Rosewood Inn", "Alder House"), ("view",)).text == "Rosewood Inn Alder House view"


def test_with_a_vocabulary_only_what_the_index_names_is_a_name() -> None:
    messages = said("Both That's South. Is Rosewood Inn open?", "Ref 8AC22 please, at Alder House or the South Gate")
    assert SessionCards(INDEX).build(messages, 0).names == ("Alder House",)
    assert SessionCards().build(messages, 0).names == ("8AC22", "South Gate", "Alder House")


def test_the_topic_that_messages_label_comes_first() -> None:
    messages = [*said("Topic: Kurt Vonnegut - Early life"), *said("And Rosewood Inn?")]
    assert SessionCards(INDEX).build(messages, 0).names == ("Kurt Vonnegut", "Early life", "Rosewood Inn")


def test_names_of_an_index_that_names_nothing_are_not_guessed() -> None:
    nameless = Vocabulary.from_passages([Passage(str(n), "plain words") for n in range(40)] + [Passage("x", "one hob")])
    assert not nameless
    assert SessionCards(nameless).build(said("Does Marlowe have a hob?"), 2) == Card((), ("hob",))


def test_rare_words_are_the_user_s_last_and_no_names() -> None:
    messages = [
        *said("The harbour?", "Has Rosewood Inn a thermostat?"),
        *said("Rosewood Inn has harbour views.", role="assistant"),
        *said("plain words"),
    ]
    assert SessionCards(INDEX).build(messages, 4) == Card(("Rosewood Inn",), ("thermostat",))
    assert SessionCards(INDEX).build(messages, 0).words == ()


def test_instructions_name_nothing() -> None:
    messages = [*said("Is Alder House open?"), *said("You work for Rosewood Inn.", role="system")]
    assert SessionCards(INDEX).build(messages, 0).names == ("Alder House",)
    assert SessionCards().build(said("You work for Rosewood Inn.", role="system"), 0) == Card()


def test_a_poisoned_page_makes_no_card() -> None:
    poison = "Topic: Rosewood Inn\nRosewood Inn and its thermostat"
    for role in ("tool", "assistant"):
        for cards in (SessionCards(INDEX), SessionCards()):
            assert cards.build([*said("Alder House?"), *said(poison, role=role)], 4).names == ("Alder House",)


def test_roles_that_the_caller_trusts_make_cards_too() -> None:
    messages = [*said("Alder House?"), *said("Rosewood Inn.", role="assistant")]
    trusting = SessionCards(INDEX, trusted_roles=frozenset({"user", "assistant"}))
    assert trusting.build(messages, 0).names == ("Rosewood Inn",)
    with pytest.raises(InvalidInput, match="unknown trusted roles"):
        SessionCards(trusted_roles=frozenset({"chef"}))


def test_a_name_without_end_is_left_out() -> None:
    assert SessionCards(INDEX).build(said("Topic: " + "x" * 5_000, "Alder House?"), 0).names == ("Alder House",)


def test_a_name_stands_once_however_it_is_spelled() -> None:
    messages = said("the Rosewood Inn", "about Rosewood INN, then")
    assert len(SessionCards(INDEX).build(messages, 0).names) == 1


def test_what_does_not_fit_is_left_out_words_before_names() -> None:
    def by_letter(text: str) -> int:
        return len(text)

    messages = said("Rosewood Inn and its thermostat")
    for most, card in (
        (32, Card(("Rosewood Inn",), ("thermostat",))),
        (22, Card(("Rosewood Inn",))),
        (11, Card((), ("thermostat",))),
        (5, Card()),
    ):
        assert SessionCards(INDEX, by_letter, most).build(messages, 4) == card


@pytest.mark.parametrize("max_tokens", [0, -1, 2.5, True])
def test_the_limit_must_be_a_positive_whole_number(max_tokens: object) -> None:
    with pytest.raises(InvalidInput, match="max_tokens"):
        SessionCards(max_tokens=max_tokens)


MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(ROLES), st.text() | st.sampled_from(["Rosewood Inn", "設定 Alder House", "🎉"]))
)


@given(MESSAGES, st.integers(0, 6), st.none() | st.just(INDEX), st.none() | st.just(len))
def test_a_card_is_bounded_and_repeatable(messages, words: int, vocabulary, count_tokens) -> None:
    builder = SessionCards(vocabulary, count_tokens)
    card = builder.build(messages, words)
    assert card == builder.build(list(messages), words)
    assert (len(card.text) <= 32) if count_tokens else (len(card.text) <= 200 and len(card.text.split()) <= 12)
    assert len(card.words) <= words
    assert isinstance(builder, CardBuilder)
