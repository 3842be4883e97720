import pytest
from public_files import book, passages

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.public import requests
from pss_integrations.evaluation.public.activity import FOLLOW_UPS
from pss_integrations.evaluation.public.requests import Request, requests_of
from pss_integrations.evaluation.public.rows import Row

TEXT = book(0)
HERON, STORK, CRANE = ("Heron", "It stands in Ostrell."), ("Stork", "It nests in Quenby."), ("Crane", "It flies.")
THREE = passages(HERON, STORK, CRANE)


def row(question: str, *answers: str, context: str = TEXT, title: str = "") -> Row:
    return Row("narrativeqa", question, answers, context, title)


def found(one: Row, evidence: requests.Evidence = "passage") -> list[str]:
    """Texts of the passages that serve."""
    ((request,), _) = requests_of([one], evidence)
    return [
        passage.text
        for document in request.documents
        for passage in document.passages
        if passage.doc_id in request.evidence
    ]


def all_texts(one: Row) -> list[str]:
    return found(one, "document")


def test_the_passages_that_hold_an_answer_serve() -> None:
    texts = found(row("Who tended the light?", "abelard", "the keeper"))
    assert len(texts) == 1
    assert "Abelard" in texts[0]


@pytest.mark.parametrize("answers", [("Somebody of whom nothing is said",), ("yes",), ("yes", "unanswerable")])
def test_without_an_answer_in_it_the_whole_of_a_single_document_serves(answers: tuple[str, ...]) -> None:
    asked = row("Was the lighthouse tended?", *answers)
    assert found(asked) == all_texts(asked)
    assert len(found(asked)) > 2


def test_of_several_documents_those_that_hold_an_answer_serve() -> None:
    assert found(row("Where is the nest?", "Quenby", context=THREE)) == ["It nests in Quenby."]
    assert found(row("Where is the nest?", "Quenby", context=THREE), "document") == ["It nests in Quenby."]


def test_as_the_paper_measures_every_passage_of_the_right_document_serves() -> None:
    context = passages(("Ostrell", TEXT), CRANE)
    asked = row("Who tended the light?", "Abelard", context=context)
    assert len(found(asked)) == 1
    assert len(found(asked, "document")) > 2
    assert "It flies." not in found(asked, "document")


EVERY_WORD = " ".join(FOLLOW_UPS)


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (row("Who tended it?"), requests.NO_ANSWER),
        (row("Who tended it?", " "), requests.NO_ANSWER),
        (row("Who tended it?", "Unanswerable"), requests.NO_ANSWER),
        (row("Who was it?", "Abelard"), requests.NO_CONTENT),
        (row("Was Abelard or Brunhild the keeper?", "ABELARD"), requests.SAYS_ANSWER),
        (row("Was the end of the harbour seen?", "end harbour"), requests.SAYS_ANSWER),
        (row(EVERY_WORD, "Abelard"), requests.NOT_HIDDEN),
        (row("Where did it go?", "Marlock", context=THREE), requests.NOT_LOCATED),
        (row("Did it nest?", "yes", context=THREE), requests.NOT_LOCATED),
    ],
)
def test_rows_that_cannot_be_used_are_counted_by_reason(one: Row, reason: str) -> None:
    assert requests_of([one], "passage") == ([], {reason: 1})


def test_a_question_of_the_same_documents_counts_once_however_it_is_spaced() -> None:
    rows = [row("Who tended it?", "Abelard"), row("who  tended it?", "Abelard", context=f" {TEXT}\n")]
    made, left_out = requests_of(rows, "passage")
    assert ([one.question for one in made], left_out) == (["Who tended it?"], {requests.REPEATED: 1})


def test_the_same_question_of_another_document_is_another() -> None:
    rows = [row("Who tended it?", "Abelard"), row("Who tended it?", "Brunhild", context=book(1))]
    made, left_out = requests_of(rows, "passage")
    assert (len(made), left_out) == (2, {})
    assert made[0].evidence.isdisjoint(made[1].evidence)


def test_answers_that_tell_nothing_are_not_kept() -> None:
    ((one,), _) = requests_of([row("Was it tended?", "yes", "Abelard", "")], "passage")
    assert isinstance(one, Request)
    assert one.answers == ("Abelard",)


def test_chinese_is_read_like_anything_else() -> None:
    asked = row("谁照看灯台？", "阿贝拉", context="阿贝拉在奥斯特雷尔照看灯台。" + "风很大。" * 100)
    ((one,), left_out) = requests_of([asked], "passage")
    assert (len(one.evidence), left_out) == (1, {})


def test_unknown_evidence_is_refused() -> None:
    with pytest.raises(InvalidInput, match="use one of passage, document"):
        requests_of([], "word")  # pyright: ignore[reportArgumentType]
