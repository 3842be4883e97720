"""What every index of passages does: one suite over all of them."""

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chromadb
import pytest
from embedders import WordEmbedder

from pss_integrations.errors import InvalidInput
from pss_integrations.protocols import ExpandingSearcher, Searcher
from pss_integrations.retrieval import BM25Index, ChromaIndex
from pss_integrations.types import Passage

TEXTS = ["foo", "dog", "baz", "quick god", "quick fox"]
NOTHING = ["", "  ", "\n", "???", "🎉", "\ud800"]


@dataclass(frozen=True)
class Kind:
    """One kind of index: how it is built and loaded, and what its messages call it."""

    build: Callable[[Iterable[Passage]], Any]
    load: Callable[[Path], Any]
    called: str

    def of(self, *texts: str) -> Any:
        return self.build(Passage(f"p{number}", text) for number, text in enumerate(texts))


@pytest.fixture(params=["bm25", "chroma"])
def kind(request: pytest.FixtureRequest) -> Iterator[Kind]:
    if request.param == "bm25":
        yield Kind(BM25Index, BM25Index.load, "BM25 index")
        return
    with ExitStack() as opened:
        client = opened.enter_context(chromadb.EphemeralClient())
        yield Kind(
            lambda passages: opened.enter_context(ChromaIndex(passages, WordEmbedder(), client=client)),
            lambda path: opened.enter_context(ChromaIndex.load(path, WordEmbedder(), client=client)),
            "dense index",
        )


def ids(index: Any, query: str, k: int = 50) -> list[str]:
    return [hit.doc_id for hit in index.search(query, k)]


def test_it_is_a_searcher_that_knows_its_size(kind: Kind) -> None:
    index = kind.of(*TEXTS)
    assert isinstance(index, Searcher)
    assert isinstance(index, ExpandingSearcher)
    assert len(index) == 5


def test_what_matches_best_comes_first(kind: Kind) -> None:
    index = kind.of(*TEXTS)
    assert ids(index, "dog", 1) == ["p1"]
    assert set(ids(index, "quick", 2)) == {"p3", "p4"}
    scores = [hit.score for hit in index.search("quick fox", 5)]
    assert scores == sorted(scores, reverse=True)


def test_title_and_text_are_searched_together(kind: Kind) -> None:
    index = kind.build([Passage("a", "uses retries", "Kestrel"), Passage("b", "Kestrel"), Passage("c", "other thing")])
    assert ids(index, "kestrel retries")[0] == "a"
    assert set(ids(index, "kestrel", 2)) == {"a", "b"}


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
def test_a_bad_k_is_refused(kind: Kind, k: Any) -> None:
    index = kind.of("a")
    for search in (index.search, index.search_batch, lambda _, k: index.search_expanded("a", "b", k)):
        with pytest.raises(InvalidInput, match="k must be a positive int"):
            search("a" if search != index.search_batch else ["a"], k)


@pytest.mark.parametrize("query", [None, 3, b"a", ["a"]])
def test_a_text_that_is_no_string_is_refused(kind: Kind, query: Any) -> None:
    index = kind.of()
    for search in (
        lambda: index.search(query, 1),
        lambda: index.search_batch(["a", query], 1),
        lambda: index.search_expanded(query, "a", 1),
    ):
        with pytest.raises(InvalidInput, match="query must be a string"):
            search()
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


def test_search_batch_is_one_search_per_query(kind: Kind) -> None:
    index = kind.of(*TEXTS)
    queries = ["quick", "", "dog", "quick"]
    assert index.search_batch(queries, 3) == [index.search(query, 3) for query in queries]
    assert index.search_batch([], 3) == []
    with pytest.raises(InvalidInput, match="list of strings"):
        index.search_batch("quick", 3)


async def test_asearch_finds_what_search_finds(kind: Kind) -> None:
    index = kind.of(*TEXTS)
    assert await index.asearch("quick dog", 3) == index.search("quick dog", 3)


def test_threads_find_what_one_thread_finds(kind: Kind) -> None:
    """chroma-core/chroma#5993: a shared stemmer gave wrong results under threads."""
    index = kind.of(*(f"deploying models{number} configurations {number % 7}" for number in range(40)))
    queries = [f"deployed model configuration {number % 7} models{number}" for number in range(40)] * 3
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: index.search(query, 5), queries))
    assert found == [index.search(query, 5) for query in queries]


# -- a query and what is added to it -------------------------------------------------------------------------


def test_both_texts_of_an_expanded_search_count(kind: Kind) -> None:
    index = kind.of("red car", "blue bike", "green boat")
    assert {hit.doc_id for hit in index.search_expanded("red", "bike", 2)} == {"p0", "p1"}


def test_the_weight_is_that_of_the_query(kind: Kind) -> None:
    index = kind.of("red car", "blue bike")
    assert index.search_expanded("red", "blue", 2, query_weight=1.5)[0].doc_id == "p0"
    assert index.search_expanded("red", "blue", 2, query_weight=0.5)[0].doc_id == "p1"


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


# -- files ---------------------------------------------------------------------------------------------------


def test_a_loaded_index_is_the_saved_one(kind: Kind, tmp_path: Path) -> None:
    passages = [
        Passage("ü", "数据库 café", "T", {"page": [1, None]}),
        Passage("b", ""),
        Passage("c", "v1.2 cafe \ud800"),
    ]
    index = kind.build(passages)
    index.save(tmp_path / "deep" / "index")
    loaded = kind.load(tmp_path / "deep" / "index")
    assert len(loaded) == 3
    for query in ("数据库", "v1.2 café", "cafe", "nothing known", ""):
        assert loaded.search(query, 5) == index.search(query, 5)
    assert loaded.search_expanded("cafe", "T", 5, query_weight=2) == index.search_expanded(
        "cafe", "T", 5, query_weight=2
    )


@pytest.mark.parametrize("texts", [[], ["", "!!!"]])
def test_an_index_that_says_nothing_can_be_saved(kind: Kind, tmp_path: Path, texts: list[str]) -> None:
    kind.of(*texts).save(tmp_path / "index")
    loaded = kind.load(tmp_path / "index")
    assert (len(loaded), loaded.search("a", 1)) == (len(texts), [])


def test_saving_again_replaces_the_index_and_leaves_nothing_beside_it(kind: Kind, tmp_path: Path) -> None:
    kind.of(*TEXTS).save(tmp_path / "index")
    kind.of("!!!").save(tmp_path / "index")
    assert len(kind.load(tmp_path / "index")) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_a_loaded_index_can_be_saved_where_it_came_from(kind: Kind, tmp_path: Path) -> None:
    kind.of(*TEXTS).save(tmp_path / "index")
    before = (tmp_path / "index/manifest.json").read_bytes()
    kind.load(tmp_path / "index").save(tmp_path / "index")
    assert (tmp_path / "index/manifest.json").read_bytes() == before


def test_the_same_passages_give_the_same_files(kind: Kind, tmp_path: Path) -> None:
    passages = [Passage(str(number), text) for number, text in enumerate(TEXTS)]
    for name, order in (("one", passages), ("two", passages[::-1])):
        kind.build(order).save(tmp_path / name)
    assert (tmp_path / "one/manifest.json").read_bytes() == (tmp_path / "two/manifest.json").read_bytes()


def test_what_is_no_index_is_never_overwritten(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/diary.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("notes", "file"):
        with pytest.raises(InvalidInput, match=f"no {kind.called}"):
            kind.of("a").save(tmp_path / name)
    assert (tmp_path / "notes/diary.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "notes"]


def test_an_empty_directory_may_be_saved_to(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    kind.of("a").save(tmp_path / "index")
    assert ids(kind.load(tmp_path / "index"), "a") == ["p0"]


@pytest.mark.parametrize("metadata", [{"at": {1, 2}}, {"at": (1, 2)}, {1: "a"}, {"at": float("nan")}])
def test_metadata_that_json_would_change_is_refused(kind: Kind, tmp_path: Path, metadata: dict[Any, Any]) -> None:
    kind.of("a").save(tmp_path / "index")
    with pytest.raises(InvalidInput, match="metadata of passage 'x'"):
        kind.build([Passage("x", "b", metadata=metadata)]).save(tmp_path / "index")
    assert ids(kind.load(tmp_path / "index"), "a") == ["p0"]


def saved_files(kind: Kind, directory: Path) -> list[Path]:
    kind.of(*TEXTS).save(directory)
    return sorted(directory.iterdir())


def test_a_truncated_or_missing_file_is_noticed(kind: Kind, tmp_path: Path) -> None:
    for number in range(len(saved_files(kind, tmp_path / "whole"))):
        truncated = saved_files(kind, tmp_path / f"truncated{number}")[number]
        truncated.write_bytes(truncated.read_bytes()[:-3])
        missing = saved_files(kind, tmp_path / f"missing{number}")[number]
        missing.unlink()
        for file in (truncated, missing):
            with pytest.raises(InvalidInput):
                kind.load(file.parent)


def test_files_of_two_indexes_are_not_mixed(kind: Kind, tmp_path: Path) -> None:
    kind.of(*TEXTS).save(tmp_path / "one")
    kind.of(*TEXTS, "six").save(tmp_path / "two")
    (tmp_path / "one/passages.json").replace(tmp_path / "two/passages.json")
    with pytest.raises(InvalidInput, match="altered"):
        kind.load(tmp_path / "two")


@pytest.mark.parametrize("manifest", ["[]", "{}", '{"format": "pss-bm25-1"}', '{"format": "other", "files": {}}', "{"])
def test_a_foreign_directory_is_refused(kind: Kind, tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(InvalidInput, match=f"no {kind.called}"):
        kind.load(tmp_path)


def test_an_index_of_another_format_is_refused(kind: Kind, tmp_path: Path) -> None:
    saved_files(kind, tmp_path / "index")
    file = tmp_path / "index/manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": "pss-none-0"}))
    with pytest.raises(InvalidInput, match="build and save it again"):
        kind.load(tmp_path / "index")


def test_a_missing_directory_is_refused(kind: Kind, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=f"no {kind.called}"):
        kind.load(tmp_path / "nowhere")


def test_one_kind_of_index_does_not_replace_another(kind: Kind, tmp_path: Path) -> None:
    kind.of("a").save(tmp_path / "mine")
    BM25Index([]).save(tmp_path / "bm25")
    with ChromaIndex([], WordEmbedder()) as index:
        index.save(tmp_path / "chroma")
    refused = 0
    for name in ("bm25", "chroma"):
        try:
            kind.of("a").save(tmp_path / name)
        except InvalidInput as error:
            refused += f"no {kind.called}" in str(error)
    assert refused == 1
