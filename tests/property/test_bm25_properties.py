"""What holds of the BM25 index for any passages and queries."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.retrieval import BM25Index
from pss_integrations.text import tokenize
from pss_integrations.types import Hit, Passage

words = st.sampled_from(
    ["deploy", "deploys", "Kestrel", "v1.2", "us-east-1", "getUserById", "C++", "C", "не", "数据库", "数据", "not", "!"]
)
texts = st.lists(words, max_size=8).map(" ".join) | st.text(max_size=20)
passages = st.lists(st.tuples(texts, texts), max_size=8).map(
    lambda pairs: [Passage(f"p{number}", text, title) for number, (text, title) in enumerate(pairs)]
)


def find(index: BM25Index, query: str) -> list[Hit]:
    return index.search(query, max(1, len(index)))


@given(st.data(), passages, texts)
def test_the_order_of_the_passages_does_not_matter(data: st.DataObject, found: list[Passage], query: str) -> None:
    shuffled = data.draw(st.permutations(found))
    assert find(BM25Index(found), query) == find(BM25Index(shuffled), query)


@given(st.data(), passages, st.lists(words, max_size=6))
def test_the_order_of_the_query_does_not_matter(data: st.DataObject, found: list[Passage], query: list[str]) -> None:
    index = BM25Index(found)
    shuffled = data.draw(st.permutations(query))
    assert find(index, " ".join(query)) == find(index, " ".join(shuffled))


@given(passages, texts)
def test_a_passage_is_found_exactly_if_it_shares_a_token(found: list[Passage], query: str) -> None:
    asked = set(tokenize(query))
    sharing = {one.doc_id for one in found if asked & {*tokenize(one.title), *tokenize(one.text)}}
    assert {hit.doc_id for hit in find(BM25Index(found), query)} == sharing


@given(passages, texts)
def test_hits_are_ordered_by_score_then_id(found: list[Passage], query: str) -> None:
    hits = find(BM25Index(found), query)
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.doc_id))
    assert all(hit.score > 0 for hit in hits)


@given(passages, texts, texts)
def test_more_query_terms_never_lose_a_hit(found: list[Passage], query: str, more: str) -> None:
    index = BM25Index(found)
    before = {hit.doc_id: hit.score for hit in find(index, query)}
    after = {hit.doc_id: hit.score for hit in find(index, f"{query}\n{more}")}
    assert before.keys() <= after.keys()


@given(passages, texts)
def test_an_unknown_term_changes_nothing(found: list[Passage], query: str) -> None:
    index = BM25Index(found)
    assert find(index, f"{query}\nqqqqnope") == find(index, query)


@given(passages, texts, texts, st.integers(1, 4))
def test_a_whole_weight_repeats_the_query(found: list[Passage], query: str, added: str, weight: int) -> None:
    index = BM25Index(found)
    hits = index.search_expanded(query, added, max(1, len(index)), query_weight=weight)
    times = weight if tokenize(added) else 1
    repeated = {hit.doc_id: hit.score for hit in find(index, "\n".join([query] * times + [added]))}
    assert {hit.doc_id: hit.score for hit in hits} == pytest.approx(repeated, rel=1e-5)


@given(passages, st.lists(texts, max_size=4))
def test_a_loaded_index_finds_the_same(found: list[Passage], queries: list[str]) -> None:
    index = BM25Index(found)
    with TemporaryDirectory() as directory:
        index.save(Path(directory, "index"))
        loaded = BM25Index.load(Path(directory, "index"))
    assert [find(loaded, query) for query in queries] == [find(index, query) for query in queries]
