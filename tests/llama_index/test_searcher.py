"""A LlamaIndex retriever as a searcher: ids, scores, and what is made of bad answers."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import llama_index.core
import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import IndexNode, Node, NodeWithScore, QueryBundle, TextNode
from packaging.version import Version

from pss_integrations.errors import InvalidInput
from pss_integrations.llama_index import RetrieverSearcher
from pss_integrations.llama_index.convert import to_passage
from pss_integrations.types import Passage

Find = Callable[..., Any]
LEAVES_OUT_EQUAL_TEXT = Version(llama_index.core.__version__) < Version("0.14.22")


class Returning(BaseRetriever):
    """Returns what it is told to; has no async method of its own."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer = answer

    def _retrieve(self, query_bundle: QueryBundle) -> Any:
        return self._answer() if callable(self._answer) else self._answer


class AsyncReturning(Returning):
    async def _aretrieve(self, query_bundle: QueryBundle) -> Any:
        return self._retrieve(query_bundle)


def nodes(*scores: Any) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(id_=f"d{row}", text=f"t{row}"), score=score) for row, score in enumerate(scores)
    ]


@pytest.fixture(params=["sync", "async", "async of its own"])
def find(request: pytest.FixtureRequest) -> Find:
    """Search each way with a retriever that returns the same for every query."""

    async def search(answer: Any, k: int = 9) -> Any:
        retriever = (AsyncReturning if "own" in request.param else Returning)(answer)
        searcher = RetrieverSearcher(retriever)
        return searcher.search("q", k) if request.param == "sync" else await searcher.asearch("q", k)

    return search


async def pairs(find: Find, answer: Any, k: int = 9) -> list[tuple[str, float]]:
    return [(hit.doc_id, hit.score) for hit in await find(answer, k)]


def test_a_node_becomes_a_passage_of_its_own() -> None:
    node = TextNode(id_="n1", text="text", metadata={"title": "T", "page": 3})
    passage = to_passage(NodeWithScore(node=node))
    assert passage == Passage("n1", "text", "T", {"title": "T", "page": 3})
    assert passage.metadata is not node.metadata
    assert to_passage(NodeWithScore(node=Node(id_="n2", metadata={"title": 3}))) == Passage("n2", "", "", {"title": 3})


async def test_scores_that_never_rise_are_kept(find: Find) -> None:
    """run-llama/llama_index#22904: 0.0 is a score."""
    assert await pairs(find, nodes(0.9, 0.5, 0.5, 0.0)) == [("d0", 0.9), ("d1", 0.5), ("d2", 0.5), ("d3", 0.0)]


@pytest.mark.parametrize(
    "scores", [[None] * 3, [0.9, None, 0.1], [0.1, 0.5, 0.9], [0.9, float("nan"), 0.1], [float("inf"), 1, 0]]
)
async def test_distances_and_what_is_no_score_give_way_to_the_rank(find: Find, scores: list[Any]) -> None:
    """run-llama/llama_index#22386: lists without scores."""
    assert await pairs(find, nodes(*scores)) == [("d0", 1), ("d1", 1 / 2), ("d2", 1 / 3)]
    assert await pairs(find, nodes(*scores), k=1) == [("d0", 1)]


async def test_of_duplicates_the_first_counts_and_none_takes_a_place(find: Find) -> None:
    answer = nodes(0.9)[:1] + nodes(0.8, 0.7, 0.6)
    assert await pairs(find, answer, k=2) == [("d0", 0.9), ("d1", 0.7)]


@pytest.mark.skipif(LEAVES_OUT_EQUAL_TEXT, reason="LlamaIndex before 0.14.22 leaves out nodes of equal text itself")
async def test_the_same_text_under_two_ids_is_found_twice(find: Find) -> None:
    """run-llama/llama_index#15172."""
    answer = [NodeWithScore(node=TextNode(id_=name, text="same")) for name in "ab"]
    assert len(await find(answer)) == 2


async def test_more_than_k_is_cut_and_fewer_is_fine(find: Find) -> None:
    assert [len(await find(nodes(3, 2, 1), k)) for k in (1, 2, 3, 4)] == [1, 2, 3, 3]
    assert await find([]) == []


async def test_an_index_node_is_followed(find: Find) -> None:
    inner = TextNode(id_="inner", text="found")
    answer = [NodeWithScore(node=IndexNode(id_="outer", text="", index_id="i", obj=inner), score=0.5)]
    assert await pairs(find, answer) == [("inner", 0.5)]


async def test_nothing_of_the_retriever_is_changed(find: Find) -> None:
    answer = nodes(0.1, 0.9)
    before = [node.model_copy(deep=True) for node in answer]
    for hit in await find(answer, 1):
        dict.update(hit.passage.metadata, mine=1)
    assert answer == before


@pytest.mark.parametrize("answer", [None, 3, ["text"], [None], [TextNode(text="x")]])
async def test_what_is_no_list_of_nodes_is_refused(find: Find, answer: Any) -> None:
    with pytest.raises(InvalidInput, match="Returning must return a list of NodeWithScore, an empty one where nothing"):
        await find(answer)


@pytest.mark.parametrize("error", [KeyError("theirs"), TypeError("theirs"), AttributeError("theirs")])
async def test_what_the_retriever_raises_is_raised(find: Find, error: Exception) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        await find(fail)
    assert raised.value is error


async def test_each_way_asks_its_own_method_with_the_query_as_it_is(make_retriever: Any) -> None:
    """run-llama/llama_index#22369: the async path called the sync retriever."""
    for query in ("", " a\n", "🎉"):
        retriever = make_retriever()
        searcher = RetrieverSearcher(retriever)
        searcher.search(query, 1)
        await searcher.asearch(query, 1)
        assert retriever.searched == [("sync", query), ("async", query)]


async def test_asearch_lets_the_event_loop_go_on_where_there_is_only_a_sync_method() -> None:
    """run-llama/llama_index#15293."""
    loop_went_on = threading.Event()

    def answer() -> list[NodeWithScore]:
        assert loop_went_on.wait(10)
        return nodes(1.0)

    asyncio.get_running_loop().call_soon(loop_went_on.set)
    assert [hit.doc_id for hit in await RetrieverSearcher(Returning(answer)).asearch("q", 1)] == ["d0"]


async def test_search_works_in_a_running_loop() -> None:
    """run-llama/llama_index#8204."""
    assert len(RetrieverSearcher(Returning(nodes(1.0))).search("q", 1)) == 1


def test_a_bad_query_or_k_is_refused_before_the_retriever_is_asked(make_retriever: Any) -> None:
    retriever = make_retriever()
    for queries, k in ((["a", None], 1), (["a"], 0)):
        with pytest.raises(InvalidInput):
            RetrieverSearcher(retriever).search_batch(queries, k)
    assert retriever.calls == []


def test_what_is_not_known_is_none(make_retriever: Any) -> None:
    searcher = RetrieverSearcher(make_retriever())
    assert (searcher.index_id, searcher.name) == (None, None)
    assert RetrieverSearcher(make_retriever(), index_id="i1").index_id == "i1"


@pytest.mark.parametrize("index_id", ["", " ", 3])
def test_a_blank_index_id_is_refused(index_id: Any) -> None:
    with pytest.raises(InvalidInput, match="index_id must be a string"):
        RetrieverSearcher(Returning([]), index_id=index_id)


@pytest.mark.parametrize("retriever", [None, "retriever", lambda _: [], Returning])
def test_what_is_no_retriever_is_refused(retriever: Any) -> None:
    with pytest.raises(InvalidInput, match="retriever must be a BaseRetriever"):
        RetrieverSearcher(retriever)
