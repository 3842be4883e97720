"""What holds of every search backend for any passages and queries; a run takes them as any other index."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from embedders import WordEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle

from pss_integrations.evaluation import suites
from pss_integrations.evaluation.analysis import scores
from pss_integrations.evaluation.backends import DecomposedIndex, GraphIndex, HierarchicalIndex, HydeIndex
from pss_integrations.evaluation.suites import Setup
from pss_integrations.retrieval import BM25Index
from pss_integrations.retrieval.index import PassageIndex
from pss_integrations.types import Passage

BACKENDS: dict[str, Callable[[Sequence[Passage]], PassageIndex]] = {
    "hierarchical": HierarchicalIndex,
    "dense hierarchical": lambda passages: HierarchicalIndex(passages, WordEmbedder(16)),
    "graph": GraphIndex,
    "hyde": lambda passages: HydeIndex(GraphIndex(passages), lambda query: f"{query} Heron", name="adds Heron"),
    "decomposed": lambda passages: DecomposedIndex(BM25Index(passages), str.split, name="words"),
}

words = st.sampled_from(
    ["deploys", "Kestrel", "Heron", "Port Arden", "v1.2", "kit-7", "us-east-1", "C++", "数据库", "not", "a.", "!", "\n"]
)
texts = st.lists(words, max_size=8).map(" ".join) | st.text(max_size=12)
passages = st.lists(st.tuples(texts, texts), max_size=24).map(
    lambda pairs: [Passage(f"p{number}", text, title) for number, (text, title) in enumerate(pairs)]
)
every_backend = pytest.mark.parametrize("build", BACKENDS.values(), ids=BACKENDS)
few = settings(max_examples=40, deadline=None)


@every_backend
@few
@given(given_passages=passages, query=texts, added=texts, k=st.integers(1, 30))
def test_hits_are_known_passages_each_once_and_best_first(
    build: Any, given_passages: list[Passage], query: str, added: str, k: int
) -> None:
    hits = build(given_passages).search_expanded(query, added, k)
    found = [hit.doc_id for hit in hits]
    assert len(found) <= k
    assert len({*found}) == len(found)
    assert {*found} <= {one.doc_id for one in given_passages}
    assert hits == sorted(hits, key=lambda hit: -hit.score)


@every_backend
@few
@given(given_passages=passages, query=texts, k=st.integers(1, 30))
def test_a_smaller_k_gives_the_head(build: Any, given_passages: list[Passage], query: str, k: int) -> None:
    index = build(given_passages)
    assert index.search(query, k) == index.search(query, 1000)[:k]


@pytest.mark.parametrize("build", [BACKENDS[name] for name in ("hierarchical", "dense hierarchical", "graph", "hyde")])
@few
@given(given_passages=passages, query=texts)
def test_ties_go_by_doc_id(build: Any, given_passages: list[Passage], query: str) -> None:
    hits = build(given_passages).search(query, 50)
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.doc_id))


@every_backend
@few
@given(data=st.data(), given_passages=passages, query=texts)
def test_the_same_passages_in_any_order_give_the_same_index(
    build: Any, data: st.DataObject, given_passages: list[Passage], query: str
) -> None:
    one, other = build(given_passages), build(data.draw(st.permutations(given_passages)))
    assert one.index_id == other.index_id
    assert one.search(query, 50) == other.search(query, 50)


@every_backend
@few
@given(given_passages=passages, query=st.text(st.characters(categories=["P", "S", "Z", "C"]), max_size=9))
def test_a_query_without_a_word_finds_nothing(build: Any, given_passages: list[Passage], query: str) -> None:
    index = build(given_passages)
    assert index.search(query, 5) == index.search_expanded(query, query, 5) == []


def test_every_backend_has_an_id_of_its_own() -> None:
    some = [Passage("a", "Heron runs on kit-7")]
    ids = {BM25Index(some).index_id, *(build(some).index_id for build in BACKENDS.values())}
    assert len(ids) == len(BACKENDS) + 1


@pytest.mark.parametrize("name", BACKENDS)
def test_a_run_takes_it_as_a_searcher(name: str) -> None:
    setup = Setup(Oracle(), {name: BACKENDS[name]}, {}, lambda what, done, total: None)
    record = suites.run_krecords(setup, counts=(2,), groups=2, seed=0)
    reached = {arm: scores(record, name, arm).mean for arm in ("raw", "correct/append", "guarded")}
    assert reached["raw"] < reached["correct/append"]
    assert reached["guarded"] > reached["raw"]
