"""What every searcher does, wrapped retrievers included; and what every index of passages does besides."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from embedders import WordEmbedder
from searchers import BUILT, TEXTS, Kind, ids

from pss_integrations.errors import InvalidInput
from pss_integrations.protocols import ExpandingSearcher, Searcher
from pss_integrations.retrieval import BM25Index, ChromaIndex
from pss_integrations.types import Passage

NOTHING = ["", "  ", "\n", "???", "🎉", "\ud800"]
MEGABYTE = 1_000_000

# -- every searcher ------------------------------------------------------------------------------------------


def test_it_is_a_searcher(any_kind: Kind) -> None:
    assert isinstance(any_kind.of(*TEXTS), Searcher)


@pytest.mark.parametrize(("query", "first"), [("dog", "p1"), ("quick fox", "p4"), ("god quick", "p3")])
def test_the_best_comes_first_and_scores_never_rise(any_kind: Kind, query: str, first: str) -> None:
    hits = any_kind.of(*TEXTS).search(query, 5)
    assert hits[0].doc_id == first
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert {type(score) for score in scores} == {float}


def test_a_smaller_k_gives_the_head_of_the_same_list(any_kind: Kind) -> None:
    index = any_kind.of(*(f"red {'blue ' * (number % 3)}words" for number in range(12)))
    most = index.search("red blue", 50)
    assert len(most) == 12
    for k in (1, 2, 5, 11, 12, 13):
        assert index.search("red blue", k) == most[:k]


@pytest.mark.parametrize("k", [sys.maxsize, sys.maxsize + 1, 10**30])
def test_k_may_be_absurdly_large(any_kind: Kind, k: int) -> None:
    assert ids(any_kind.of("red", "red", "red"), "red", k) == ids(any_kind.of("red", "red", "red"), "red", 3)


def test_each_passage_is_found_once(any_kind: Kind) -> None:
    assert sorted(ids(any_kind.of("red car", "red bike", "red"), "red")) == ["p0", "p1", "p2"]


def test_searching_again_finds_the_same_also_among_ties(any_kind: Kind) -> None:
    index = any_kind.of(*["same words"] * 30)
    assert [index.search("words", 7) for _ in range(3)] == [index.search("words", 7)] * 3
    assert len(set(ids(index, "words", 7))) == 7


def test_the_passage_comes_back_with_id_text_and_title(any_kind: Kind) -> None:
    metadata = {"page": 3, "tags": ["x"]}
    given = [Passage("a", "red car", "Kestrel", metadata), Passage("b", "blue bike")]
    found = {hit.doc_id: hit.passage for hit in any_kind.build(given).search("red car", 2)}
    assert (found["a"].text, found["a"].title, found["a"].metadata["page"]) == ("red car", "Kestrel", 3)
    assert given == [Passage("a", "red car", "Kestrel", {"page": 3, "tags": ["x"]}), Passage("b", "blue bike")]


@pytest.mark.parametrize("k", [0, -1, True, 2.0, "5", None])
async def test_a_bad_k_is_refused(any_kind: Kind, k: Any) -> None:
    index = any_kind.of("a")
    with pytest.raises(InvalidInput, match="k must be a positive int"):
        index.search("a", k)
    with pytest.raises(InvalidInput, match="k must be a positive int"):
        index.search_batch(["a"], k)
    with pytest.raises(InvalidInput, match="k must be a positive int"):
        await index.asearch("a", k)


@pytest.mark.parametrize("query", [None, 3, b"a", ["a"]])
async def test_a_query_that_is_no_string_is_refused(any_kind: Kind, query: Any) -> None:
    index = any_kind.of("a")
    with pytest.raises(InvalidInput, match="query must be a string"):
        index.search(query, 1)
    with pytest.raises(InvalidInput, match="query must be a string"):
        index.search_batch(["a", query], 1)
    with pytest.raises(InvalidInput, match="query must be a string"):
        await index.asearch(query, 1)


def test_search_batch_is_one_search_per_query(any_kind: Kind) -> None:
    index = any_kind.of(*TEXTS)
    queries = ["quick", "fox", "dog", "quick"]
    assert index.search_batch(queries, 3) == [index.search(query, 3) for query in queries]
    assert index.search_batch([], 3) == []
    with pytest.raises(InvalidInput, match="list of strings"):
        index.search_batch("quick", 3)


async def test_asearch_finds_what_search_finds(any_kind: Kind) -> None:
    index = any_kind.of(*TEXTS)
    assert await index.asearch("quick dog", 3) == index.search("quick dog", 3)


def test_threads_find_what_one_thread_finds(any_kind: Kind) -> None:
    """chroma-core/chroma#5993: a shared stemmer gave wrong results under threads."""
    index = any_kind.of(*(f"deploying models{number} configurations {number % 7}" for number in range(40)))
    queries = [f"deployed model configuration {number % 7} models{number}" for number in range(40)] * 3
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: index.search(query, 5), queries))
    assert found == [index.search(query, 5) for query in queries]


@pytest.mark.parametrize("query", ["red " + "z" * MEGABYTE, " " * MEGABYTE + "red", "red " + "🎉?" * (MEGABYTE // 5)])
def test_a_query_of_a_megabyte_is_searched(any_kind: Kind, query: str) -> None:
    assert ids(any_kind.of("blue", "red", "green"), query)[0] == "p1"


SCRIPTS = ["我们使用数据库", "データベース", "한국어 검색", "مرحبا بالعالم", "שלום עולם", "สวัสดี", "café 👩‍👩‍👧"]


@pytest.mark.parametrize("text", SCRIPTS)
def test_every_script_is_found(any_kind: Kind, text: str) -> None:
    """Also between marks that only say which way the text runs, and beside emoji."""
    index = any_kind.of(*SCRIPTS)
    for query in (text, f"\u200f{text}\u200e", f"🙂 {text} 🎉"):
        assert ids(index, query)[0] == f"p{SCRIPTS.index(text)}"


# -- every index of passages ----------- ---------------------------------------------------------------------


def test_it_expands_queries_and_knows_its_size(kind: Kind) -> None:
    index = kind.of(*TEXTS)
    assert isinstance(index, ExpandingSearcher)
    assert len(index) == 5


def test_title_and_text_are_searched_together(kind: Kind) -> None:
    index = kind.build([Passage("a", "uses retries", "Kestrel"), Passage("b", "Kestrel"), Passage("c", "other thing")])
    assert ids(index, "kestrel retries")[0] == "a"
    assert set(ids(index, "kestrel", 2)) == {"a", "b"}


@pytest.mark.parametrize("kind", BUILT, indirect=True)
def test_the_passage_comes_back_whole_and_unchanged(kind: Kind) -> None:
    metadata = {"page": 3, "nested": {"list": [1, None]}, "object": object()}
    passage = Passage("a", " text\n", "title", metadata)
    given = [Passage("z", "other"), passage]
    hit = kind.build(given).search("text", 1)[0]
    assert hit.passage is passage
    assert hit.passage.metadata is metadata
    assert given == [Passage("z", "other"), passage]


def test_passages_may_come_from_anything_that_yields_them(kind: Kind) -> None:
    assert ids(kind.build(iter([Passage("a", "red")])), "red") == ["a"]


@pytest.mark.parametrize("query", NOTHING)
def test_a_query_that_says_nothing_finds_nothing(kind: Kind, query: str) -> None:
    assert kind.of(*TEXTS).search(query, 5) == []


@pytest.mark.parametrize("texts", [[], [""], ["", "!!!", "🎉"]])
def test_an_index_that_says_nothing_finds_nothing(kind: Kind, texts: list[str]) -> None:
    """deepset-ai/haystack#11598, zilliztech/memsearch#311, xhluca/bm25s#60."""
    index = kind.of(*texts)
    assert (index.search("42", 3), len(index)) == ([], len(texts))
    assert index.search_expanded("42", "43", 3) == []


def test_an_empty_passage_is_not_found_and_disturbs_no_other(kind: Kind) -> None:
    assert ids(kind.of("", "quick god", "!!!", "quick god"), "quick") == ["p1", "p3"]


def test_k_bounds_the_hits_and_may_exceed_the_passages(kind: Kind) -> None:
    index = kind.of("red", "red", "red")
    assert ids(index, "red", 2) == ["p0", "p1"]
    assert ids(index, "red", 1000) == ["p0", "p1", "p2"]


def test_ties_go_by_doc_id(kind: Kind) -> None:
    passages = [Passage(doc_id, "same words") for doc_id in ("b", "a10", "c", "a9")]
    assert ids(kind.build(passages), "words") == ["a10", "a9", "b", "c"]


def test_the_order_of_the_passages_does_not_matter(kind: Kind) -> None:
    passages = [Passage(f"p{number}", f"red {number % 5} blue {number % 3} words") for number in range(30)]
    found = [kind.build(order).search("red 3 blue", 12) for order in (passages, passages[::-1], passages[7:])]
    assert found[0] == found[1]
    assert len(found[0]) == 12
    assert found[2] != found[0]


@pytest.mark.parametrize("k", [0, -1, True, 2.0, "5", None])
def test_a_bad_k_of_an_expanded_search_is_refused(kind: Kind, k: Any) -> None:
    for added in ("b", ""):
        with pytest.raises(InvalidInput, match="k must be a positive int"):
            kind.of("a").search_expanded("a", added, k)


@pytest.mark.parametrize("query", [None, 3, b"a", ["a"]])
def test_a_text_of_an_expanded_search_that_is_no_string_is_refused(kind: Kind, query: Any) -> None:
    index = kind.of()
    with pytest.raises(InvalidInput, match="query must be a string"):
        index.search_expanded(query, "a", 1)
    with pytest.raises(InvalidInput, match="added must be a string"):
        index.search_expanded("a", query, 1)


@pytest.mark.parametrize(
    "passages",
    [
        [Passage("a", "x"), Passage("a", "x")],
        ["a"],
        [None],
        [Passage("a", None)],  # type: ignore[arg-type]
        [Passage(1, "x")],  # type: ignore[arg-type]
    ],
)
def test_bad_passages_are_refused(kind: Kind, passages: list[Any]) -> None:
    with pytest.raises(InvalidInput):
        kind.build(passages)


# -- what tells an index from every other one ----------------------------------------------------------------


def test_the_index_id_is_that_of_the_set_of_passages(kind: Kind) -> None:
    passages = [Passage(f"p{number}", text, metadata={"at": number}) for number, text in enumerate([*TEXTS, "\ud800"])]
    index_id = kind.build(passages).index_id
    assert re.fullmatch("[0-9a-f]{64}", index_id)
    assert kind.build(reversed(passages)).index_id == index_id
    assert kind.build(Passage(one.doc_id, one.text, one.title) for one in passages).index_id == index_id
    assert kind.build(passages[1:]).index_id != index_id


def test_every_text_counts_for_the_index_id_where_it_stands(kind: Kind) -> None:
    sets = [
        [Passage("a", "b", "c")],
        [Passage("x", "b", "c")],
        [Passage("a", "x", "c")],
        [Passage("a", "b", "x")],
        [Passage("a", "c", "b")],
        [Passage("a", "", "bc")],
        [Passage("a", "b"), Passage("c", "d")],
        [Passage("a", "d"), Passage("c", "b")],
        [Passage("a", 'b"], ["c", "d')],
        [],
    ]
    assert len({kind.build(passages).index_id for passages in sets}) == len(sets)


@pytest.mark.parametrize("kind", BUILT, indirect=True)
@pytest.mark.parametrize("texts", [TEXTS, [], ["!!!"]])
def test_the_index_id_survives_saving_and_loading(kind: Kind, tmp_path: Path, texts: list[str]) -> None:
    index = kind.of(*texts)
    index.save(tmp_path / "index")
    assert kind.load(tmp_path / "index").index_id == index.index_id


@pytest.mark.parametrize("texts", [TEXTS, []])
def test_kinds_of_index_have_ids_apart(texts: list[str]) -> None:
    passages = [Passage(f"p{number}", text) for number, text in enumerate(texts)]
    with ChromaIndex(passages, WordEmbedder()) as dense:
        assert dense.index_id != BM25Index(passages).index_id


# -- a query and what is added to it -------------------------------------------------------------------------


def test_both_texts_of_an_expanded_search_count(kind: Kind) -> None:
    index = kind.of("red car", "blue bike", "green boat")
    assert {hit.doc_id for hit in index.search_expanded("red", "bike", 2)} == {"p0", "p1"}


def test_the_weight_is_that_of_the_query(kind: Kind) -> None:
    index = kind.of("red car", "blue bike")
    assert index.search_expanded("red", "blue", 2, query_weight=kind.outweighs)[0].doc_id == "p0"
    assert index.search_expanded("red", "blue", 2, query_weight=1 / kind.outweighs)[0].doc_id == "p1"


@pytest.mark.parametrize("nothing", NOTHING)
def test_an_expanded_search_without_one_text_is_a_search_with_the_other(kind: Kind, nothing: str) -> None:
    index = kind.of(*TEXTS)
    assert index.search_expanded("quick fox", nothing, 3, query_weight=7) == index.search("quick fox", 3)
    assert index.search_expanded(nothing, "quick fox", 3, query_weight=7) == index.search("quick fox", 3)
    assert index.search_expanded(nothing, nothing, 3) == []


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), 1e-7, 1e7, True, "1", None])
@pytest.mark.parametrize("added", ["blue", ""])
def test_a_bad_weight_is_refused(kind: Kind, weight: Any, added: str) -> None:
    with pytest.raises(InvalidInput, match="query_weight must be a number from"):
        kind.of("red").search_expanded("red", added, 1, query_weight=weight)
