"""The BM25 index: what it finds, what it refuses, and its files."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pss_integrations.errors import InvalidInput
from pss_integrations.protocols import Searcher
from pss_integrations.retrieval import BM25Index, bm25
from pss_integrations.types import Passage

TEXTS = ["foo", "dog", "baz", "quick god", "quick fox"]


def index_of(*texts: str, **options: Any) -> BM25Index:
    return BM25Index([Passage(f"p{number}", text) for number, text in enumerate(texts)], **options)


def ids(index: BM25Index, query: str, k: int = 50) -> list[str]:
    return [hit.doc_id for hit in index.search(query, k)]


def test_it_is_a_searcher_that_knows_its_size() -> None:
    index = index_of(*TEXTS)
    assert isinstance(index, Searcher)
    assert len(index) == 5


def test_all_matches_are_found_and_nothing_else() -> None:
    """xhluca/bm25s#127: one of two matches vanished."""
    hits = index_of(*TEXTS).search("quick", 5)
    assert [hit.doc_id for hit in hits] == ["p3", "p4"]
    assert all(hit.score > 0 for hit in hits)


def test_scores_are_those_of_lucene() -> None:
    # idf = ln(1 + (2 - 1 + 0.5) / (1 + 0.5)) = ln 2; tf part = 1 / (1 + 1.2 * (0.25 + 0.75 * 1 / 2))
    [hit] = index_of("a", "b c d").search("a", 1)
    assert hit.score == pytest.approx(0.6931472 / (1 + 1.2 * 0.625), rel=1e-6)


def test_title_and_text_are_searched_together() -> None:
    index = BM25Index([Passage("a", "uses retries", "Kestrel"), Passage("b", "Kestrel"), Passage("c", "other")])
    assert set(ids(index, "kestrel")) == {"a", "b"}
    assert ids(index, "kestrel retries")[0] == "a"


def test_the_passage_comes_back_whole() -> None:
    passage = Passage("a", "text", "title", {"page": 3})
    assert BM25Index([passage]).search("text", 1)[0].passage is passage


def test_a_term_in_every_passage_still_matches() -> None:
    assert ids(index_of("red one", "red two"), "red") == ["p0", "p1"]


def test_a_repeated_query_term_weighs_more() -> None:
    index = index_of("red car", "blue bike")
    assert ids(index, "red red blue")[0] == "p0"
    assert ids(index, "red blue blue")[0] == "p1"


ALIASES = ["C++", "C#", "F#", ".NET", "node.js", "v1.2", "us-east-1", "k8s", "R", "Go", "gpt-4o", "RFC-9110", "C"]


@pytest.mark.parametrize("alias", ALIASES)
def test_each_identifier_finds_exactly_its_passage(alias: str) -> None:
    """mem0ai/mem0#4884: identifiers with signs vanished from the keyword path."""
    assert ids(index_of(*ALIASES), alias) == [f"p{ALIASES.index(alias)}"]


def test_the_exact_identifier_ranks_above_its_parts() -> None:
    """clay-good/OpenLore#221: sub-words of identifiers were not found."""
    index = index_of("get the user by id", "getUserById", "get_user")
    assert ids(index, "getUserById")[0] == "p1"
    assert set(ids(index, "user")) == {"p0", "p1", "p2"}


@pytest.mark.parametrize("query", ["2026-03-14", "us-east-1", "OC-41252", "`foo`", "install.sh | bash", "main AND ("])
def test_a_query_has_no_syntax(query: str) -> None:
    index = index_of("on 2026-03-14 in us-east-1", "ticket OC-41252", "`foo` and install.sh", "main")
    assert index.search(query, 4)


def test_one_known_word_among_unknown_ones_is_enough() -> None:
    assert ids(index_of("Codey answers", "Kestrel runs"), "why is Codey not replying") == ["p0"]


@pytest.mark.parametrize("query", ["", "  ", "???", "🎉", "QQQQ_NOPE", "天气预报"])
def test_a_query_without_a_known_term_finds_nothing(query: str) -> None:
    assert index_of("我们使用数据库 MongoDB", *TEXTS).search(query, 5) == []


@pytest.mark.parametrize("texts", [[], [""], ["", "!!!", "🎉"]])
def test_an_index_without_any_term_finds_nothing(texts: list[str]) -> None:
    """deepset-ai/haystack#11598, zilliztech/memsearch#311, xhluca/bm25s#60."""
    index = index_of(*texts)
    assert (index.search("42", 3), len(index)) == ([], len(texts))


def test_an_empty_passage_disturbs_no_other() -> None:
    assert ids(index_of("", "quick god", "!!!", "quick fox"), "quick") == ["p1", "p3"]


def test_k_bounds_the_hits_and_may_exceed_the_passages() -> None:
    index = index_of("red a", "red b", "red c")
    assert ids(index, "red", 2) == ["p0", "p1"]
    assert ids(index, "red", 1000) == ["p0", "p1", "p2"]


def test_ties_go_by_doc_id_whatever_the_order_of_the_passages() -> None:
    passages = [Passage(doc_id, "same words") for doc_id in ("b", "a10", "c", "a9")]
    assert ids(BM25Index(passages), "words") == ["a10", "a9", "b", "c"]


@pytest.mark.parametrize("k", [0, -1, True, 2.0, "5", None])
def test_a_bad_k_is_refused(k: Any) -> None:
    with pytest.raises(InvalidInput, match="k must be a positive int"):
        index_of("a").search("a", k)


@pytest.mark.parametrize("query", [None, 3, b"a", ["a"]])
def test_a_query_that_is_no_string_is_refused(query: Any) -> None:
    with pytest.raises(InvalidInput, match="query must be a string"):
        index_of().search(query, 1)


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
def test_bad_passages_are_refused(passages: list[Any]) -> None:
    with pytest.raises(InvalidInput):
        BM25Index(passages)


@pytest.mark.parametrize(
    "options", [{"k1": -1}, {"k1": float("nan")}, {"k1": "1"}, {"b": 1.1}, {"b": -0.1}, {"b": float("nan")}]
)
def test_bad_parameters_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        index_of("a", **options)


def test_b_sets_how_much_length_counts() -> None:
    texts = ("red", "red and a lot of other words")
    short, long = index_of(*texts, b=0.0).search("red", 2)
    assert short.score == long.score
    assert ids(index_of(*reversed(texts)), "red") == ["p1", "p0"]


def test_search_batch_is_one_search_per_query() -> None:
    index = index_of(*TEXTS)
    assert index.search_batch(["quick", "", "dog"], 3) == [index.search(query, 3) for query in ("quick", "", "dog")]
    with pytest.raises(InvalidInput, match="list of strings"):
        index.search_batch("quick", 3)


async def test_asearch_lets_the_event_loop_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of(*TEXTS)
    loop_went_on = threading.Event()

    def tokenize(text: str) -> list[str]:
        assert loop_went_on.wait(10)
        return text.split()

    monkeypatch.setattr(bm25, "tokenize", tokenize)
    asyncio.get_running_loop().call_soon(loop_went_on.set)
    assert [hit.doc_id for hit in await index.asearch("quick", 5)] == ["p3", "p4"]


def test_threads_find_what_one_thread_finds() -> None:
    """chroma-core/chroma#5993: a shared stemmer gave wrong results under threads."""
    index = index_of(*(f"deploying models{number} configurations {number % 7}" for number in range(40)))
    queries = [f"deployed model configuration {number % 7} models{number}" for number in range(40)] * 10
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: index.search(query, 5), queries))
    assert found == [index.search(query, 5) for query in queries]


# -- files ---------------------------------------------------------------------------------------------------


def test_a_loaded_index_is_the_saved_one(tmp_path: Path) -> None:
    passages = [Passage("ü", "数据库 café", "T", {"page": [1, None]}), Passage("b", ""), Passage("c", "v1.2 cafe")]
    index = BM25Index(passages, k1=0.9, b=0.4)
    index.save(tmp_path / "deep" / "index")
    loaded = BM25Index.load(tmp_path / "deep" / "index")
    assert len(loaded) == 3
    for query in ("数据库", "v1.2 café", "cafe", "nothing known"):
        assert loaded.search(query, 5) == index.search(query, 5)


@pytest.mark.parametrize("texts", [[], ["", "!!!"]])
def test_an_index_without_terms_can_be_saved(tmp_path: Path, texts: list[str]) -> None:
    index_of(*texts).save(tmp_path / "index")
    loaded = BM25Index.load(tmp_path / "index")
    assert (len(loaded), loaded.search("a", 1)) == (len(texts), [])


def test_saving_again_replaces_the_index_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    index_of(*TEXTS).save(tmp_path / "index")
    index_of("!!!").save(tmp_path / "index")
    assert len(BM25Index.load(tmp_path / "index")) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_the_same_passages_give_the_same_files(tmp_path: Path) -> None:
    passages = [Passage(str(number), text) for number, text in enumerate(TEXTS)]
    for name, order in (("one", passages), ("two", passages[::-1])):
        BM25Index(order).save(tmp_path / name)
    assert (tmp_path / "one/manifest.json").read_bytes() == (tmp_path / "two/manifest.json").read_bytes()


def test_what_is_no_index_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/diary.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("notes", "file"):
        with pytest.raises(InvalidInput, match="no BM25 index"):
            index_of("a").save(tmp_path / name)
    assert (tmp_path / "notes/diary.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "notes"]


def test_an_empty_directory_may_be_saved_to(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    index_of("a").save(tmp_path / "index")
    assert ids(BM25Index.load(tmp_path / "index"), "a") == ["p0"]


@pytest.mark.parametrize("metadata", [{"at": {1, 2}}, {"at": (1, 2)}, {1: "a"}, {"at": float("nan")}])
def test_metadata_that_json_would_change_is_refused(tmp_path: Path, metadata: dict[Any, Any]) -> None:
    index_of("a").save(tmp_path / "index")
    with pytest.raises(InvalidInput, match="metadata of passage 'x'"):
        BM25Index([Passage("x", "b", metadata=metadata)]).save(tmp_path / "index")
    assert ids(BM25Index.load(tmp_path / "index"), "a") == ["p0"]


def saved_files(directory: Path) -> list[Path]:
    index_of(*TEXTS).save(directory)
    return sorted(directory.iterdir())


def test_a_truncated_or_missing_file_is_noticed(tmp_path: Path) -> None:
    for number in range(len(saved_files(tmp_path / "whole"))):
        truncated = saved_files(tmp_path / f"truncated{number}")[number]
        truncated.write_bytes(truncated.read_bytes()[:-3])
        missing = saved_files(tmp_path / f"missing{number}")[number]
        missing.unlink()
        for file in (truncated, missing):
            with pytest.raises(InvalidInput):
                BM25Index.load(file.parent)


def test_files_of_two_indexes_are_not_mixed(tmp_path: Path) -> None:
    index_of(*TEXTS).save(tmp_path / "one")
    index_of(*TEXTS, "six").save(tmp_path / "two")
    (tmp_path / "one/passages.json").replace(tmp_path / "two/passages.json")
    with pytest.raises(InvalidInput, match="altered"):
        BM25Index.load(tmp_path / "two")


@pytest.mark.parametrize("manifest", ["[]", "{}", '{"format": "pss-bm25-1"}', '{"format": "other", "files": {}}', "{"])
def test_a_foreign_directory_is_refused(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(InvalidInput, match="no BM25 index"):
        BM25Index.load(tmp_path)


def test_an_index_of_another_format_is_refused(tmp_path: Path) -> None:
    saved_files(tmp_path / "index")
    file = tmp_path / "index/manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": "pss-bm25-0"}))
    with pytest.raises(InvalidInput, match="build and save it again"):
        BM25Index.load(tmp_path / "index")


def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no BM25 index"):
        BM25Index.load(tmp_path / "nowhere")
