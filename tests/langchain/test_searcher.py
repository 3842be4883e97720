"""A LangChain retriever as a searcher: ids, scores, and what is made of bad answers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from pss_integrations.errors import InvalidInput
from pss_integrations.langchain import RetrieverSearcher
from pss_integrations.langchain.convert import to_passage
from pss_integrations.types import Passage

Find = Callable[..., Any]


def returning(answer: Any, **options: Any) -> RetrieverSearcher:
    """A searcher over a runnable that returns the same for every query."""
    return RetrieverSearcher(RunnableLambda(lambda _: answer), **options)


def scored(*scores: Any) -> list[Document]:
    return [Document(f"t{row}", id=f"d{row}", metadata={"score": score}) for row, score in enumerate(scores)]


@pytest.fixture(params=["sync", "async"])
def find(request: pytest.FixtureRequest) -> Find:
    """Search either way."""

    async def search(searcher: RetrieverSearcher, query: str = "q", k: int = 9) -> Any:
        return searcher.search(query, k) if request.param == "sync" else await searcher.asearch(query, k)

    search.mode = request.param  # type: ignore[attr-defined]
    return search


async def pairs(find: Find, searcher: RetrieverSearcher, k: int = 9) -> list[tuple[str, float]]:
    return [(hit.doc_id, hit.score) for hit in await find(searcher, k=k)]


def test_a_document_becomes_a_passage_of_its_own() -> None:
    document = Document("text", id="d1", metadata={"title": "T", "page": 3})
    passage = to_passage(document)
    assert passage == Passage("d1", "text", "T", {"title": "T", "page": 3})
    assert passage.metadata is not document.metadata
    assert to_passage(Document("text", metadata={"pk": 7, "title": None}), "pk") == Passage(
        "7", "text", "", {"pk": 7, "title": None}
    )


async def test_a_document_without_an_id_is_named_by_id_key_or_text(find: Find) -> None:
    documents = [Document("same", metadata={"pk": 1}), Document("same", metadata={"pk": 2})]
    assert [hit.doc_id for hit in await find(returning(documents, id_key="pk"))] == ["1", "2"]
    [hit] = await find(returning(documents))
    assert hit.doc_id.startswith("sha256:")


async def test_the_retrievers_order_rules_where_there_are_no_scores(find: Find) -> None:
    documents = [Document("t", id=name) for name in "zam"]
    assert await pairs(find, returning(documents)) == [("z", 1), ("a", 1 / 2), ("m", 1 / 3)]


@pytest.mark.parametrize(
    "scores",
    [[0.9, 0.5, 0.5], [0.0, 0.0, -1.0], [3, 2, 1], list(np.array([0.75, 0.5, 0.25], dtype=np.float32))],
)
async def test_scores_that_never_rise_are_kept(find: Find, scores: list[float]) -> None:
    found = await pairs(find, returning(scored(*scores), score_key="score"))
    assert found == [("d0", scores[0]), ("d1", scores[1]), ("d2", scores[2])]
    assert {type(score) for _, score in found} == {float}


@pytest.mark.parametrize(
    "scores",
    [
        [0.1, 0.5, 0.9],
        [0.9, None, 0.1],
        [0.9, float("nan"), 0.1],
        [float("inf"), 1, 0],
        [True, 0.5, 0.1],
        ["0.9", "0.5", "0.1"],
        [10**400, 1, 0],
        [0.5, 0.4, 0.6],
    ],
)
async def test_distances_and_what_is_no_score_give_way_to_the_rank(find: Find, scores: list[Any]) -> None:
    searcher = returning(scored(*scores), score_key="score")
    assert await pairs(find, searcher) == [("d0", 1), ("d1", 1 / 2), ("d2", 1 / 3)]
    assert await pairs(find, searcher, k=1) == [("d0", 1)]


async def test_a_score_is_only_read_under_its_key(find: Find) -> None:
    assert await pairs(find, returning(scored(0.9, 0.5))) == [("d0", 1), ("d1", 1 / 2)]
    assert await pairs(find, returning(scored(0.9, 0.5), score_key="other")) == [("d0", 1), ("d1", 1 / 2)]


async def test_of_duplicates_the_first_counts_and_none_takes_a_place(find: Find) -> None:
    """langchain-ai/langchain#37046: a list's duplicates added up."""
    documents = [Document(text, id=name) for name, text in [("a", "1"), ("a", "2"), ("b", "3"), ("a", "4"), ("c", "5")]]
    hits = await find(returning(documents), k=2)
    assert [(hit.doc_id, hit.passage.text, hit.score) for hit in hits] == [("a", "1", 1), ("b", "3", 1 / 2)]


async def test_the_same_text_under_two_ids_is_found_twice(find: Find) -> None:
    """langchain-ai/langchain#38627."""
    assert len(await find(returning([Document("same", id="a"), Document("same", id="b")]))) == 2


async def test_more_than_k_is_cut_and_fewer_is_fine(find: Find) -> None:
    assert [len(await find(returning(scored(3, 2, 1)), k=k)) for k in (1, 2, 3, 4)] == [1, 2, 3, 3]
    assert await find(returning([])) == []


async def test_nothing_of_the_retriever_is_changed(find: Find) -> None:
    documents = scored(0.1, 0.9) + scored(0.5)
    before = [document.model_copy(deep=True) for document in documents]
    for hit in await find(returning(documents, score_key="score"), k=1):
        dict.update(hit.passage.metadata, mine=1)  # type: ignore[arg-type]
    assert documents == before


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (None, "NoneType"),
        ("text", "str"),
        ([None], "a list with a NoneType"),
        ([Document("a"), "b"], "a list with a str"),
        ([(Document("a"), 0.5)], "a list with a tuple"),
        ({"documents": []}, "dict"),
    ],
)
async def test_what_is_no_list_of_documents_is_refused(find: Find, answer: Any, got: str) -> None:
    with pytest.raises(InvalidInput, match=f"RunnableLambda must return a list of Document, .*: got {got}$"):
        await find(returning(answer))


async def test_what_the_retriever_raises_is_raised(find: Find) -> None:
    error = KeyError("theirs")

    def fail(_: str) -> list[Document]:
        raise error

    with pytest.raises(KeyError) as raised:
        await find(RetrieverSearcher(RunnableLambda(fail)))
    assert raised.value is error


async def test_the_query_arrives_as_it_is_and_once(find: Find, make_retriever: Any) -> None:
    for query in ("", " a\n", "\ud800", "🎉"):
        retriever = make_retriever()
        await find(RetrieverSearcher(retriever), query)
        assert retriever.calls == [(find.mode, query)]  # type: ignore[attr-defined]


def test_a_bad_query_or_k_is_refused_before_the_retriever_is_asked(make_retriever: Any) -> None:
    retriever = make_retriever()
    for queries, k in ((["a", None], 1), (["a"], 0)):
        with pytest.raises(InvalidInput):
            RetrieverSearcher(retriever).search_batch(queries, k)
    assert retriever.calls == []


def test_what_is_not_known_is_none(make_retriever: Any) -> None:
    searcher = RetrieverSearcher(make_retriever())
    assert (searcher.index_id, searcher.name) == (None, None)
    searcher = RetrieverSearcher(make_retriever(name="mine"), index_id="i1")
    assert (searcher.index_id, searcher.name) == ("i1", "mine")


@pytest.mark.parametrize("option", ["id_key", "score_key", "index_id"])
@pytest.mark.parametrize("value", ["", " ", 3])
def test_a_blank_option_is_refused(option: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"{option} must be a string"):
        returning([], **{option: value})


@pytest.mark.parametrize("retriever", [None, "retriever", lambda _: [], RunnableLambda])
def test_what_is_no_retriever_is_refused(retriever: Any) -> None:
    with pytest.raises(InvalidInput, match="retriever must be a Runnable"):
        RetrieverSearcher(retriever)
