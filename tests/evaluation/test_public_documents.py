import pytest
from hypothesis import given
from hypothesis import strategies as st
from public_files import passages

from pss_integrations.evaluation.public.documents import PASSAGE_WORDS, documents_of, is_telling, names_answer, spelled


def words(text: str) -> int:
    return len(spelled(text).split())


@given(st.text(alphabet=st.sampled_from("ab.!? \n灯台。"), max_size=2000))
def test_passages_keep_every_word_in_order_and_none_is_too_long(context: str) -> None:
    (document,) = documents_of(context)
    texts = [passage.text for passage in document.passages]
    assert all(text and words(text) <= PASSAGE_WORDS for text in texts)
    together = "".join(texts)
    assert [char for char in together if not char.isspace()] == [char for char in context if not char.isspace()]


def test_a_passage_ends_where_a_sentence_ends() -> None:
    (document,) = documents_of("One two three four five. " * 100)
    assert len(document.passages) > 1
    assert all(passage.text.endswith("five.") for passage in document.passages)


def test_a_context_of_ten_megabytes_is_cut() -> None:
    unit = "word. 灯。"
    (document,) = documents_of(unit * (10_000_000 // len(unit.encode())))
    assert len(document.passages) == -(-2 * (10_000_000 // len(unit.encode())) // PASSAGE_WORDS)


def test_several_passages_of_a_context_are_documents_with_titles() -> None:
    first, second = documents_of(passages(("Heron", "A grey bird."), ("Stork", "A white bird.\nIt nests high.")))
    assert [(passage.title, passage.text) for passage in second.passages] == [("Stork", "A white bird. It nests high.")]
    assert first.doc_ids.isdisjoint(second.doc_ids)


def test_a_document_is_the_same_wherever_it_stands() -> None:
    heron, stork = ("Heron", "A grey bird."), ("Stork", "A white bird.")
    assert documents_of(passages(heron, stork))[0] == documents_of(passages(stork, heron, heron))[1]
    assert len(documents_of(passages(heron, heron))) == 1


@pytest.mark.parametrize(
    "context",
    ["Passage 1:\nonly one", "It says\nPassage 1:\na\nPassage 2:\nb", "See Passage 1: here\nand Passage 2: there"],
)
def test_any_other_context_is_one_document(context: str) -> None:
    (document,) = documents_of(context, "A title")
    assert {passage.title for passage in document.passages} == {"A title"}


def test_a_passage_that_is_its_title_alone_has_a_text() -> None:
    first, _ = documents_of("Passage 1:\nHeron\n\nPassage 2:\nStork\nA bird.")
    assert [(passage.title, passage.text) for passage in first.passages] == [("Heron", "Heron")]


@pytest.mark.parametrize(
    ("text", "answer", "holds"),
    [
        ("It was St. Mary's bell.", "st mary's", True),
        ("Marylebone", "Mary", False),
        ("forty-two barrels", "Forty two", True),
        ("他在灯台工作。", "灯台", True),
        ("ＡＢＣ works", "abc", True),
        ("caf\u00e9", "cafe\u0301", True),
        ("12 of them", "2", False),
    ],
)
def test_an_answer_is_found_word_for_word(text: str, answer: str, holds: bool) -> None:
    assert names_answer(text, [answer]) == holds
    (document,) = documents_of(text)
    assert bool(document.holding([answer])) == holds


@pytest.mark.parametrize(("answer", "tells"), [("yes", False), ("No", False), ("two", True), ("7", True), ("灯", True)])
def test_an_answer_that_stands_everywhere_tells_nothing(answer: str, tells: bool) -> None:
    assert is_telling(answer) == tells
