"""What can be copied and pickled, and what says that it cannot."""

import pickle
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage

from pss_integrations.errors import InvalidInput
from pss_integrations.identity import pss_session
from pss_integrations.llama_index import (
    GuardedRouterRetriever,
    PSSQueryTransformer,
    PSSTransformRetriever,
    RetrieverSearcher,
    SessionQueryBundle,
)
from pss_integrations.retrieval import BM25Index
from pss_integrations.states import StateManager
from pss_integrations.types import Passage, SessionKey

WHO = {"user_id": "ada", "session_id": "s"}
FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4? "
CLUE = "Kestrel v2.4"
INDEX = BM25Index([Passage("a", "It sets retry_limit.", "Kestrel v2.4"), Passage("b", "Invoices.")])


def pickled(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))


copied = pytest.mark.parametrize("copied", [deepcopy, pickled])


def ids(nodes: list[Any]) -> list[str]:
    return [node.node_id for node in nodes]


@pytest.fixture
def reader(make_reader) -> Any:
    return make_reader({SessionKey("ada", "s"): CLUE})


@copied
def test_a_transformer_writes_the_same_and_decides_apart(reader, copied) -> None:
    transformer = PSSQueryTransformer(reader, composition="replace").bind(**WHO)
    assert transformer.run(FOLLOW_UP).query_str == CLUE
    other = copied(transformer)
    assert other.last_decision is None
    assert [other.run(query).query_str for query in (FOLLOW_UP, ON_ITS_OWN)] == [CLUE, ON_ITS_OWN]
    assert (other.last_decision.reason, transformer.last_decision.reason) == ("self_contained", "clue")


@copied
@pytest.mark.parametrize("composition", ["append", "rrf"])
def test_a_retriever_over_an_index_finds_the_same(reader, copied, composition: Any) -> None:
    retriever = GuardedRouterRetriever(INDEX, reader, similarity_top_k=2, composition=composition).bind(**WHO)
    found = retriever.retrieve(FOLLOW_UP)
    other = copied(retriever)
    assert other.last_decision is None
    assert other.retrieve(FOLLOW_UP) == found
    assert (other.last_decision.route, ids(found)) == ("pss", ["a"])


@copied
def test_so_does_one_around_another_one(reader, copied) -> None:
    inner = GuardedRouterRetriever(INDEX, similarity_top_k=2)
    retriever = PSSTransformRetriever(inner, PSSQueryTransformer(reader))
    with pss_session(**WHO):
        assert ids(copied(retriever).retrieve(FOLLOW_UP)) == ["a"]
    assert [hit.doc_id for hit in copied(RetrieverSearcher(inner)).search("kestrel", 2)] == ["a"]


@copied
def test_a_bundle_says_the_same(copied) -> None:
    bundle = SessionQueryBundle(FOLLOW_UP, session_id="s", chat_history=[ChatMessage("Hello!", role="user")])
    other = copied(bundle)
    assert other == bundle
    assert other.user_id is bundle.user_id  # which leaves it open


def test_a_manager_is_shared_by_copies_and_says_why_it_is_not_pickled(tmp_path: Path) -> None:
    with StateManager(tmp_path) as manager:
        for holder in (PSSQueryTransformer(manager), GuardedRouterRetriever(INDEX, manager, similarity_top_k=2)):
            with pytest.raises(InvalidInput, match="make one in each process"):
                pickle.dumps(holder)
            decider = getattr(deepcopy(holder), "_rewriter", None) or deepcopy(holder)._router
            assert decider._reader is manager
