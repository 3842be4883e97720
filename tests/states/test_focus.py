import pytest

from pss_integrations.states.focus import labels_in, named_last, said_last
from pss_integrations.types import Message
from pss_integrations.vocabulary import Vocabulary

NAMES = Vocabulary(["Rosewood Inn", "Alder House"], ["Mira Toll"])


def user(text: str) -> Message:
    return Message("user", text)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["Topic: Kurt Vonnegut - Early life"], ["Kurt Vonnegut", "Early life"]),
        (["# Title = Tide tables"], ["Tide tables"]),
        (["Subject: bread", "subject: rye | crust"], ["rye", "crust"]),  # the last line counts
        (["component: tile stitcher, project: Marlowe."], ["tile stitcher", "Marlowe"]),
        (["project: Marlowe", "we moved on. Project: Vega"], ["Vega"]),
        (["project: Marlowe", "topic: Vega"], ["Vega"]),  # a topic hides the parts
        (["topic: the", "service: it"], []),
        (["we talked about a topic: none of it is a label"], []),
        ([], []),
    ],
)
def test_topics_and_parts_are_read_from_labels(texts: list[str], labels: list[str]) -> None:
    assert labels_in(texts) == labels


def test_the_title_that_was_named_last_counts() -> None:
    messages = [user("Rosewood Inn or Alder House?"), Message("assistant", "Rosewood Inn."), user("And Mira Toll?")]
    assert named_last(messages, NAMES) == ["Rosewood Inn"]
    assert named_last(messages[:1], NAMES) == ["Alder House"]


def test_other_names_count_where_no_title_was_named() -> None:
    assert named_last([user("Mira Toll called."), user("What did she say?")], NAMES) == ["Mira Toll"]
    assert named_last([user("Topic: bread"), user("Mira Toll called.")], NAMES) == ["bread"]


def test_the_topic_comes_before_the_name() -> None:
    messages = [user("Is Alder House near?"), Message("tool", "topic: inns"), user("thanks")]
    assert named_last(messages, NAMES) == ["inns", "Alder House"]


def test_instructions_name_nothing() -> None:
    assert named_last([Message("system", "You speak for Rosewood Inn.")], NAMES) == []


def test_only_the_user_s_last_two_messages_are_what_was_said_last() -> None:
    messages = [user("one"), user("two"), Message("assistant", "three"), user("four"), Message("tool", "five")]
    assert list(said_last(messages)) == ["two", "four"]
    assert list(said_last([])) == []


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("\n" * 200_000, []),
        ("!\n" * 100_000, []),
        ("Topic: bread" + " " * 200_000 + "rye", ["bread" + " " * 200_000 + "rye"]),
    ],
)
def test_long_texts_are_gone_through(text: str, labels: list[str]) -> None:
    assert labels_in([text]) == labels
