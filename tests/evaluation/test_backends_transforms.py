"""Indexes that are searched with what a language model makes of the query."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from embedders import WordEmbedder
from searchers import ids

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.backends import DecomposedIndex, HierarchicalIndex, HydeIndex
from pss_integrations.retrieval import BM25Index, ChromaIndex
from pss_integrations.types import Passage

PASSAGES = [
    Passage("mill", "The mill was built in 1874."),
    Passage("owner", "A society of volunteers looks after the mill."),
    Passage("pump", "The pump of the ferry leaks."),
    Passage("crane", "The crane stands at the quay."),
]
INDEX = BM25Index(PASSAGES)


class Model:
    """Says what it was told to say, and remembers what it was asked."""

    def __init__(self, *said: Any) -> None:
        self.said, self.asked = [*said], list[str]()

    def __call__(self, query: str) -> Any:
        self.asked.append(query)
        said = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(said, Exception):
            raise said
        return said


def test_the_passage_that_was_made_up_finds_what_the_query_does_not_name() -> None:
    index = HydeIndex(INDEX, Model("Volunteers do."), name="m")
    assert ids(INDEX, "Who maintains it?") == []
    assert ids(index, "Who maintains it?") == ["owner"]


def test_many_words_that_were_made_up_do_not_drown_the_query() -> None:
    index = HydeIndex(INDEX, Model("The crane at the quay lifts."), name="m")
    assert ids(index, "pump ferry leaks")[0] == "pump"


def test_a_blank_passage_leaves_the_query_alone() -> None:
    index = HydeIndex(INDEX, Model(" ?"), name="m")
    assert index.search("mill society", 4) == INDEX.search("mill society", 4)


def test_query_and_passage_are_averaged_where_meanings_are_compared() -> None:
    with ChromaIndex(PASSAGES, WordEmbedder()) as dense:
        index = HydeIndex(dense, Model("crane quay"), name="m")
        assert index.kind == "dense"
        assert index.search("pump ferry", 4) == dense.search_expanded("pump ferry", "crane quay", 4)


def test_a_split_query_finds_evidence_for_each_part() -> None:
    both = "When was it built, and who are the volunteers of the quay crane mill pump ferry?"
    index = DecomposedIndex(INDEX, Model(["built in 1874?", "society that looks after something?"]), name="m")
    assert {*ids(index, both, 2)} == {"mill", "owner"}


def test_parts_that_repeat_the_query_or_are_blank_change_nothing() -> None:
    plain = DecomposedIndex(INDEX, Model([]), name="m")
    same = DecomposedIndex(INDEX, Model(["mill", "?", "", "mill"]), name="m")
    assert same.search("mill", 4) == plain.search("mill", 4)
    assert ids(plain, "mill") == ids(INDEX, "mill")


def test_the_first_hits_do_not_depend_on_how_many_are_asked_for() -> None:
    index = DecomposedIndex(INDEX, Model(["the ferry", "the mill of volunteers"]), name="m")
    assert index.search("the crane", 4)[:2] == index.search("the crane", 2)


@pytest.mark.parametrize("decorate", [HydeIndex, DecomposedIndex])
class TestEveryTransformation:
    def test_the_model_is_asked_once_for_each_query(self, decorate: Any) -> None:
        model = Model("mill") if decorate is HydeIndex else Model(["mill"])
        index = decorate(INDEX, model, name="m")
        with ThreadPoolExecutor(8) as pool:
            found = [*pool.map(lambda query: index.search(query, 3), ["crane", "pump"] * 20)]
        assert sorted(model.asked) == ["crane", "pump"]
        assert found == found[:2] * 20

    def test_the_model_is_asked_by_one_thread_at_a_time(self, decorate: Any) -> None:
        meeting, met = Barrier(2), list[str]()

        def say(query: str) -> list[str] | str:
            with suppress(BrokenBarrierError):
                meeting.wait(0.1)
                met.append(query)
            return "mill" if decorate is HydeIndex else ["mill"]

        index = decorate(INDEX, say, name="m")
        with ThreadPoolExecutor(2) as pool:
            found = [*pool.map(lambda query: index.search(query, 3), ["crane", "pump"])]
        assert all(found)
        assert met == []

    def test_the_model_reads_what_is_added_and_is_not_asked_for_nothing(self, decorate: Any) -> None:
        model = Model("x") if decorate is HydeIndex else Model([])
        index = decorate(INDEX, model, name="m")
        index.search_expanded("the crane?", "Port Arden", 3, query_weight=2)
        assert index.search_expanded("?", "", 3) == index.search("!", 3) == []
        assert model.asked == ["the crane? Port Arden"]

    def test_what_the_model_raises_is_raised_and_not_remembered(self, decorate: Any) -> None:
        good: Any = "mill" if decorate is HydeIndex else ["mill"]
        index = decorate(INDEX, Model(RuntimeError("overloaded"), good), name="m")
        with pytest.raises(RuntimeError, match="overloaded"):
            index.search("who?", 3)
        assert "mill" in ids(index, "who?")

    @pytest.mark.parametrize("said", [None, 3, b"mill", [None]])
    def test_a_model_that_says_no_text_is_refused(self, decorate: Any, said: Any) -> None:
        with pytest.raises(InvalidInput, match="must return a"):
            decorate(INDEX, Model(said), name="m").search("mill", 3)

    def test_it_is_as_its_index_but_for_its_id(self, decorate: Any) -> None:
        index = decorate(INDEX, Model(""), name="m")
        assert (index.kind, [*index.passages]) == (INDEX.kind, [*INDEX.passages])
        assert index.vocabulary is INDEX.vocabulary
        others = [
            INDEX,
            index,
            decorate(INDEX, Model(""), name="n"),
            decorate(HierarchicalIndex(PASSAGES), Model(""), name="m"),
            decorate(index, Model(""), name="m"),
        ]
        assert len({one.index_id for one in others}) == 5
        assert decorate(INDEX, Model("other"), name="m").index_id == index.index_id

    def test_a_model_has_a_name(self, decorate: Any) -> None:
        named = Model("")
        named.name = "m"  # type: ignore[attr-defined]
        assert decorate(INDEX, named).index_id == decorate(INDEX, Model(""), name="m").index_id
        for bad in (None, " "):
            with pytest.raises(InvalidInput, match="say by name="):
                decorate(INDEX, Model(""), name=bad)


def test_questions_in_one_string_are_refused() -> None:
    with pytest.raises(InvalidInput, match="must return a list of strings, got str"):
        DecomposedIndex(INDEX, Model("one? two?"), name="m").search("mill", 3)


def test_transformations_may_be_put_upon_each_other() -> None:
    inner = HydeIndex(INDEX, lambda query: "volunteers" if "care" in query else "", name="m")
    index = DecomposedIndex(inner, lambda query: ["who takes care?"], name="m")
    assert {*ids(index, "When was it built?", 2)} == {"mill", "owner"}
