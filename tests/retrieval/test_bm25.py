"""The BM25 index: how it scores, and what a term is. What it shares with other indexes is tested in conformance."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pss_integrations.errors import InvalidInput
from pss_integrations.retrieval import BM25Index, bm25
from pss_integrations.types import Passage

TEXTS = ["foo", "dog", "baz", "quick god", "quick fox"]


def index_of(*texts: str, **options: Any) -> BM25Index:
    return BM25Index([Passage(f"p{number}", text) for number, text in enumerate(texts)], **options)


def ids(index: BM25Index, query: str, k: int = 50) -> list[str]:
    return [hit.doc_id for hit in index.search(query, k)]


def test_all_matches_are_found_and_nothing_else() -> None:
    """xhluca/bm25s#127: one of two matches vanished."""
    hits = index_of(*TEXTS).search("quick", 5)
    assert [hit.doc_id for hit in hits] == ["p3", "p4"]
    assert all(hit.score > 0 for hit in hits)


def test_scores_are_those_of_lucene() -> None:
    # idf = ln(1 + (2 - 1 + 0.5) / (1 + 0.5)) = ln 2; tf part = 1 / (1 + 1.2 * (0.25 + 0.75 * 1 / 2))
    [hit] = index_of("a", "b c d").search("a", 1)
    assert hit.score == pytest.approx(0.6931472 / (1 + 1.2 * 0.625), rel=1e-6)


def test_a_term_in_every_passage_still_matches() -> None:
    assert ids(index_of("red one", "red two"), "red") == ["p0", "p1"]


def test_a_repeated_query_term_weighs_more() -> None:
    index = index_of("red car", "blue bike")
    assert ids(index, "red red blue")[0] == "p0"
    assert ids(index, "red blue blue")[0] == "p1"


@pytest.mark.parametrize("times", [1, 2, 5])
def test_the_weight_of_a_query_is_how_often_it_is_repeated(times: int) -> None:
    index = index_of("red car, blue car", "blue bike", "red red boat", "a green car")
    expanded = index.search_expanded("red car?", "blue green", 4, query_weight=times)
    repeated = index.search(" ".join(["red car?"] * times + ["blue green"]), 4)
    assert [hit.doc_id for hit in expanded] == [hit.doc_id for hit in repeated]
    assert [hit.score for hit in expanded] == pytest.approx([hit.score for hit in repeated], rel=1e-6)


def test_a_query_may_weigh_less_than_what_is_added() -> None:
    index = index_of("red car", "blue bike")
    whole, half = (index.search_expanded("red", "blue", 2, query_weight=weight) for weight in (1, 0.5))
    assert whole[0].score == whole[1].score
    assert [(hit.doc_id, hit.score) for hit in half] == [("p1", whole[0].score), ("p0", whole[0].score / 2)]


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


def test_other_parameters_make_another_index_id() -> None:
    options: list[dict[str, float]] = [{}, {"k1": 1.3}, {"b": 0.7}]
    assert len({index_of(*TEXTS, **option).index_id for option in options}) == 3
    assert index_of(*TEXTS, k1=1).index_id == index_of(*TEXTS, k1=1.0, b=0.75).index_id


def test_another_format_makes_another_index_id(monkeypatch: pytest.MonkeyPatch) -> None:
    now = index_of(*TEXTS).index_id
    monkeypatch.setattr(BM25Index, "_format", replace(BM25Index._format, version="pss-bm25-0"))
    assert index_of(*TEXTS).index_id != now


def test_parameters_survive_saving(tmp_path: Path) -> None:
    index = index_of(*TEXTS, k1=2, b=0.1)
    index.save(tmp_path / "index")
    assert BM25Index.load(tmp_path / "index").index_id == index.index_id


@pytest.mark.parametrize("query", ["red " * 250_000, "数据库" * 111_111, "a1-b2." * 170_000])
def test_a_query_of_a_megabyte_is_searched(query: str) -> None:
    assert ids(index_of("red", "数据库", "b2"), query) == [{"r": "p0", "数": "p1", "a": "p2"}[query[0]]]


async def test_asearch_lets_the_event_loop_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of(*TEXTS)
    loop_went_on = threading.Event()

    def tokenize(text: str) -> list[str]:
        assert loop_went_on.wait(10)
        return text.split()

    monkeypatch.setattr(bm25, "tokenize", tokenize)
    asyncio.get_running_loop().call_soon(loop_went_on.set)
    assert [hit.doc_id for hit in await index.asearch("quick", 5)] == ["p3", "p4"]
