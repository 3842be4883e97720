"""What can be copied and pickled, and what says that it cannot."""

import pickle
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from belief_chats import Noting
from belief_making import ATLAS
from embedders import WordEmbedder
from langchain_core.runnables import RunnableConfig
from tiny import tiny_backbone

from pss_integrations.beliefs import BeliefStore
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.errors import InvalidInput
from pss_integrations.langchain import (
    BeliefStateMemory,
    GuardedRouterRetriever,
    PSSQueryTransformer,
    RetrieverSearcher,
    create_search_belief_tool,
)
from pss_integrations.retrieval import BM25Index, ChromaIndex
from pss_integrations.states import StateManager
from pss_integrations.types import Hit, Passage, Routed, SessionFields, SessionKey

CONFIG: RunnableConfig = {"configurable": {"user_id": "ada", "session_id": "s"}}
FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4? "
CLUE = "Kestrel v2.4"
PASSAGES = [Passage("a", "It sets retry_limit.", "Kestrel v2.4", {"year": 2020}), Passage("b", "Invoices.")]


def pickled(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))


copied = pytest.mark.parametrize("copied", [deepcopy, pickled])


@copied
@pytest.mark.parametrize(
    "value",
    [
        *PASSAGES,
        Hit(PASSAGES[1], 0.5),
        SessionFields("Heron", {"version": "v2"}),
        Routed((PASSAGES[1],), "raw", "self_contained"),
        SessionKey("ada", "s"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_equal_to_its_copy(copied, value: Any) -> None:
    other = copied(value)
    assert other == value
    assert repr(other) == repr(value)


@copied
def test_what_a_value_was_not_given_stays_unchangeable(copied) -> None:
    for passage in (PASSAGES[1], copied(PASSAGES[1])):
        with pytest.raises(TypeError):
            passage.metadata["year"] = 2020
        with pytest.raises(KeyError):
            passage.metadata["year"]
        assert (passage.metadata, {}) == ({}, passage.metadata)


@copied
def test_an_index_of_words_finds_the_same(copied) -> None:
    index = BM25Index(PASSAGES)
    other = copied(index)
    assert other.search("kestrel invoices", 2) == index.search("kestrel invoices", 2)
    assert other.index_id == index.index_id


@copied
@pytest.mark.parametrize("composition", ["append", "rrf"])
def test_a_retriever_over_an_index_finds_the_same(make_reader, copied, composition: Any) -> None:
    reader = make_reader({SessionKey("ada", "s"): CLUE})
    retriever = GuardedRouterRetriever(retriever=BM25Index(PASSAGES), k=2, manager=reader, composition=composition)
    found = retriever.invoke(FOLLOW_UP, CONFIG)
    other = copied(retriever)
    assert other.last_decision is None
    assert other.invoke(FOLLOW_UP, CONFIG) == found
    assert (other.last_decision.route, [one.id for one in found]) == ("pss", ["a"])


@copied
def test_so_does_one_that_is_wrapped_or_is_in_a_chain(make_reader, copied) -> None:
    retriever = GuardedRouterRetriever(retriever=BM25Index(PASSAGES), k=2)
    (hit,) = copied(RetrieverSearcher(retriever)).search("kestrel", 2)
    transformer = PSSQueryTransformer(manager=make_reader({SessionKey("ada", "s"): CLUE}))
    (document,) = copied(transformer | retriever).invoke(FOLLOW_UP, CONFIG)
    assert hit.doc_id == document.id == "a"


@copied
def test_a_transformer_writes_the_same_and_decides_apart(make_reader, copied) -> None:
    transformer = PSSQueryTransformer(manager=make_reader({SessionKey("ada", "s"): CLUE}), composition="replace")
    assert transformer.invoke(FOLLOW_UP, CONFIG) == CLUE
    other = copied(transformer)
    assert other.last_decision is None
    assert [other.invoke(FOLLOW_UP, CONFIG), other.invoke(ON_ITS_OWN, CONFIG)] == [CLUE, ON_ITS_OWN]
    assert (other.last_decision.reason, transformer.last_decision.reason) == ("self_contained", "clue")


def test_a_transformer_with_other_fields_goes_by_them(make_reader) -> None:
    transformer = PSSQueryTransformer(manager=make_reader({SessionKey("ada", "s"): CLUE}))
    assert transformer.model_copy(update={"query_weight": 2}).invoke(FOLLOW_UP, CONFIG).count(FOLLOW_UP) == 2
    with pytest.raises(InvalidInput, match="query_weight"):
        transformer.model_copy(update={"query_weight": 0}).invoke(FOLLOW_UP, CONFIG)


# -- what holds threads, connections or a server --------------------------------------------------------------


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[StateManager]:
    with StateManager(tmp_path, backbone=tiny_backbone()) as opened:
        yield opened


@pytest.fixture
def beliefs(tmp_path: Path) -> Iterator[BeliefMemory]:
    with BeliefStore(tmp_path / "beliefs.db") as store:
        yield BeliefMemory(store, scopes=[ATLAS], extractor=Noting())


@pytest.fixture
def dense() -> Iterator[ChromaIndex]:
    with ChromaIndex(PASSAGES, WordEmbedder()) as index:
        yield index


def test_a_copy_shares_them(manager, beliefs, dense) -> None:
    retriever = GuardedRouterRetriever(retriever=dense, k=2, manager=manager)
    other = deepcopy(retriever)
    assert (other.manager is manager, other.retriever is dense) == (True, True)
    assert other.invoke(ON_ITS_OWN, CONFIG) == retriever.invoke(ON_ITS_OWN, CONFIG)
    assert deepcopy(PSSQueryTransformer(manager=manager)).manager is manager
    assert deepcopy(BeliefStateMemory(memory=beliefs)).memory is beliefs
    assert deepcopy(create_search_belief_tool(beliefs, name="search")).name == "search"


def test_pickling_them_says_what_to_do_instead(manager, beliefs, dense) -> None:
    index = BM25Index(PASSAGES)
    for holder, said in (
        (PSSQueryTransformer(manager=manager), "make one in each process"),
        (GuardedRouterRetriever(retriever=index, k=2, manager=manager), "make one in each process"),
        (GuardedRouterRetriever(retriever=dense, k=2), "save the index, and load it"),
        (BeliefStateMemory(memory=beliefs), "open the store in each process"),
    ):
        with pytest.raises(InvalidInput, match=said):
            pickle.dumps(holder)
