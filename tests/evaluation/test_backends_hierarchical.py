"""Search over groups of passages and their summaries."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from embedders import GivenEmbedder, WordEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st
from searchers import ids

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.backends import HierarchicalIndex
from pss_integrations.evaluation.backends.summaries import SUMMARY_SENTENCES, extractive_summary, sentences
from pss_integrations.evaluation.backends.tree import GROUP_SIZE, Tree
from pss_integrations.evaluation.backends.vectors import EmbeddedVectors, WordVectors
from pss_integrations.types import Passage

BOATS = ["The ferry has one red funnel", "The tug has one red hull", "The barge has one red deck"]
BIRDS = ["A heron eats fish", "A kestrel eats mice", "A gull eats fish"]
word_texts = st.lists(st.sampled_from("red blue green ferry tug heron gull 17".split()), max_size=5).map(" ".join)


def passages(*texts: str) -> list[Passage]:
    return [Passage(f"p{number:03}", text) for number, text in enumerate(texts)]


def vessels(texts: Sequence[str]) -> str:
    return f"vessels: {len(texts)}" if any("red" in text for text in texts) else "animals"


def test_a_passage_is_found_by_the_summary_of_its_group() -> None:
    index = HierarchicalIndex(passages(*BOATS, *BIRDS), summarise=vessels)
    assert ids(index, "vessels") == ["p000", "p001", "p002"]
    assert ids(index, "vessels hull")[0] == "p001"
    assert ids(HierarchicalIndex(passages(*BOATS, *BIRDS)), "vessels") == []


def test_a_word_of_its_own_counts_more_than_that_of_its_group() -> None:
    index = HierarchicalIndex(passages(*BOATS, *BIRDS))
    mice, *others = index.search("mice", 6)
    assert mice.doc_id == "p004"
    assert {hit.doc_id for hit in others} == {"p003", "p005"}
    assert all(mice.score > 1.5 * other.score for other in others)


def test_groups_are_summarised_level_by_level_up_to_one() -> None:
    asked: list[list[str]] = []

    def summarise(texts: Sequence[str]) -> str:
        asked.append([*texts])
        return f"red {len(asked)}"

    index = HierarchicalIndex(passages(*(f"red {number}" for number in range(60))), summarise=summarise)
    assert [len(level) for level in index.summaries] == [6, 1]
    assert len(asked[0]) == GROUP_SIZE
    assert asked[-1] == [*index.summaries[0]]


def test_passages_that_share_nothing_are_in_no_group() -> None:
    index = HierarchicalIndex(passages("red ferry", "blue heron", "!!!"))
    assert index.summaries == []
    assert ids(index, "blue") == ["p001"]


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(word_texts, max_size=40), embedded=st.booleans())
def test_every_group_has_two_to_ten_members_and_a_node_at_most_one_group(texts: list[str], embedded: bool) -> None:
    vectors = EmbeddedVectors(WordEmbedder(8)) if embedded else WordVectors(texts)
    tree, below = Tree.grow(texts, vectors, extractive_summary), len(texts)
    for level in tree.levels:
        assert len(level.parents) == below
        below = len(level.summaries)
        sizes = [level.parents.count(group) for group in range(-1, below)]
        assert all(2 <= size <= GROUP_SIZE for size in sizes[1:])
    assert (tree.scores(vectors.direction([("red ferry", 1.0)])) <= 2 + 1e-9).all()


@given(said=st.lists(st.lists(st.sampled_from("red blue tug gull 17".split()), unique=True), min_size=1, max_size=9))
def test_a_text_is_nearest_to_itself(said: list[list[str]]) -> None:
    texts = [*map(" ".join, said)]
    vectors = WordVectors(texts)
    rows = vectors.rows(texts)
    for row, text in enumerate(texts):
        cosines = rows @ vectors.direction([(text, 3.0)])
        assert cosines[row] == pytest.approx(float(bool(text)))
        assert cosines.max() <= 1 + 1e-9


def test_an_embedder_finds_what_shares_no_word() -> None:
    meaning = {"a ferry": (1, 0), "a tug": (0.9, 0.1), "a heron": (0, 1), "something that floats": (1, 0.05)}
    embedder = GivenEmbedder(lambda text: meaning.get(text, (0.5, 0.5)), 2)
    index = HierarchicalIndex(passages("a ferry", "a tug", "a heron"), embedder)
    assert (index.kind, HierarchicalIndex([]).kind) == ("dense", "lexical")
    assert ids(index, "something that floats") == ["p000", "p001", "p002"]


def test_a_text_is_embedded_once_and_in_an_order_of_its_own() -> None:
    """What a model makes of a text may depend on the batch: equal texts must score equally."""
    embedder = WordEmbedder()
    HierarchicalIndex(passages("tug", "ferry", "!!!", "tug"), embedder, summarise=vessels)
    assert embedder.embedded == ["ferry", "tug", "animals"]


@pytest.mark.parametrize("vector", [(1.0,), (1.0, float("nan"))])
def test_vectors_that_cannot_be_compared_are_refused(vector: Any) -> None:
    with pytest.raises(InvalidInput, match="of dimension 2 must give 1 finite vectors"):
        HierarchicalIndex(passages("a"), GivenEmbedder(lambda text: vector, 2))


def test_a_summary_must_be_a_string() -> None:
    with pytest.raises(InvalidInput, match="summarise must return a string, got NoneType"):
        HierarchicalIndex(passages(*BOATS), summarise=lambda texts: None)  # type: ignore[arg-type,return-value]


def test_other_summaries_make_another_index() -> None:
    one, other = (HierarchicalIndex(passages(*BOATS), summarise=make) for make in (vessels, extractive_summary))
    assert one.index_id != other.index_id


def test_loading_summarises_nothing_and_needs_the_same_embedder(tmp_path: Path) -> None:
    index = HierarchicalIndex(passages(*BOATS, *BIRDS), summarise=vessels)
    index.save(tmp_path / "index")
    loaded = HierarchicalIndex.load(tmp_path / "index")
    assert (loaded.summaries, loaded.index_id) == (index.summaries, index.index_id)
    assert loaded.search("red vessels", 9) == index.search("red vessels", 9)
    with pytest.raises(InvalidInput, match="compares by 'words', not by 'embedder other of dimension 64'"):
        HierarchicalIndex.load(tmp_path / "index", WordEmbedder(name="other"))


def test_the_summary_is_made_of_the_sentences_that_most_texts_share() -> None:
    texts = [
        "Coffee was served. The ferry needs a new pump.",
        "The pump of the ferry leaks! Rain all day.",
        "Who ordered a pump for the ferry?\nNobody knows",
    ]
    central = ["The ferry needs a new pump.", "The pump of the ferry leaks!", "Who ordered a pump for the ferry?"]
    filler = [f"{word}." for word in ("Snow", "Soup", "Chess", "Wool", "Moss", "Glue")]
    assert [one for one in extractive_summary([*texts, *filler]).split("\n") if one in central] == central
    assert len(extractive_summary([*texts, *filler]).split("\n")) == SUMMARY_SENTENCES
    assert extractive_summary(["Same.", "Same."]) == "Same."
    assert extractive_summary(["", "\n"]) == ""


def test_sentences_end_at_their_marks_and_at_lines() -> None:
    said = "Runs v1.2 now. Since May…\n\nReally? 好的。明天见！ok"
    assert [*sentences(said)] == ["Runs v1.2 now.", "Since May…", "Really?", "好的。", "明天见！", "ok"]
