import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.retrieval import BM25Index
from pss_integrations.routing.searching import find, router_options
from pss_integrations.routing.wording import PLANS, Wording, is_exact
from pss_integrations.types import Passage

PASSAGES = [
    Passage("a", "Marlowe billing sends invoices", "Marlowe billing"),
    Passage("b", "the port is 8080, the port of billing"),
    Passage("c", "the port of Vega"),
]


@pytest.mark.parametrize(
    ("wording", "text"),
    [
        (Wording("which port"), "which port"),
        (Wording(" which port\n", "", 9.0), " which port\n"),
        (Wording("port", "Vega"), "port Vega"),
        (Wording("port", "Vega", 2.0), "port port Vega"),
        (Wording("port", "Vega", 1.5), "port port Vega"),
        (Wording("port", "Vega", 2.4), "port port Vega"),
        (Wording("port", "Vega", 0.01), "port Vega"),
        (Wording("", "Vega", 3.0), "Vega"),
        (Wording("", ""), ""),
    ],
)
def test_one_text_repeats_the_query_as_often_as_it_weighs(wording: Wording, text: str) -> None:
    assert wording.text == text


@given(st.text(), st.floats(0.01, 100))
def test_a_query_alone_is_byte_identical(query: str, weight: float) -> None:
    assert Wording(query, weight=weight).text == query


def test_every_kind_of_searcher_has_a_plan() -> None:
    assert PLANS.keys() == {"lexical", "dense", "unknown"}
    assert PLANS["dense"].words == 0  # a search by meaning does not profit from them
    for plan in PLANS.values():
        assert plan.weight("card", "Kestrel v2.4") == plan.card_weight
        assert plan.weight("pss", "Kestrel") == plan.clue_weight
        assert plan.weight("pss", "Kestrel v2.4") == plan.exact_weight


# -- an index of ours under a router -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wording",
    [Wording("port"), Wording("port", "Vega", 2.0), Wording("", "Marlowe"), Wording(""), Wording("port", " !")],
)
def test_an_index_finds_what_the_text_of_a_wording_finds(wording: Wording) -> None:
    index = BM25Index(PASSAGES)
    by_text = index.search(wording.text, 3)
    assert [hit.doc_id for hit in find(index, wording, 3)] == [hit.doc_id for hit in by_text]
    assert [hit.score for hit in find(index, wording, 3)] == pytest.approx([hit.score for hit in by_text])


def test_an_index_takes_weights_that_no_text_can_have() -> None:
    index = BM25Index(PASSAGES)
    light, heavy = (find(index, Wording("invoices", "Vega", weight), 1)[0].doc_id for weight in (0.01, 1.4))
    assert (light, heavy) == ("c", "a")


def test_an_index_says_itself_what_it_is_unless_told_otherwise() -> None:
    index = BM25Index(PASSAGES)
    assert router_options(index, {"routes": None}) == {
        "kind": "lexical",
        "vocabulary": index.vocabulary,
        "index_id": index.index_id,
    }
    told = {"kind": "unknown", "index_id": "mine", "routes": ("raw",)}
    assert router_options(index, told) == told | {"vocabulary": index.vocabulary}
    assert router_options(object(), {"kind": None, "composition": "rrf"}) == {"composition": "rrf"}


@pytest.mark.parametrize(
    ("text", "exact"),
    [("Kestrel v2.4", True), ("ckpt-4821", True), ("Jason Kidd (1996-2001)", False), ("C++ 17", False), ("", False)],
)
def test_an_identifier_with_letters_and_digits_is_exact(text: str, exact: bool) -> None:
    assert is_exact(text) is exact
