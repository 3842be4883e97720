"""What users complained about in public threads of LlamaIndex, and must never have to here.

Each thread has a test: one below, which names it, or one elsewhere, by the table.
"""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from pss_integrations.identity import pss_session
from pss_integrations.llama_index import (
    GuardedRouterRetriever,
    PSSQueryTransformer,
    PSSTransformRetriever,
    RetrieverSearcher,
)
from pss_integrations.retrieval import BM25Index
from pss_integrations.types import Passage, SessionKey

TESTS = Path(__file__).parents[1]
THREADS = (
    "22701",
    "23090",
    "22867",
    "23180",
    "20895",
    "9371",
    "15320",
    "16059",
    "7542",
    "15293",
    "18090",
    "22386",
    "21771",
    "11538",
    "8204",
    "22904",
    "12497",
    "16652",
    "17708",
    "22369",
    "21555",
    "19568",
    "19527",
    "13866",
    "22978",
)
_OVER_BUDGET = [
    "llama_index/test_belief_memory.py::test_over_the_budget_beliefs_are_left_out",
    "llama_index/test_belief_block.py::test_over_any_limit_nothing_raises",
]
_NO_DEFAULT_SCOPE = [
    "llama_index/test_belief_memory.py::test_there_is_no_default_scope",
    "llama_index/test_compile_memory.py::test_there_is_no_default_session",
]
_LOOP = [
    "llama_index/test_belief_memory.py::test_the_loop_ticks_on",
    "llama_index/test_belief_block.py::test_the_loop_ticks_on",
    "llama_index/test_compile_memory.py::test_the_loop_goes_on_while_a_session_is_observed",
    "llama_index/test_retriever.py::test_the_loop_runs_on_while_a_clue_is_read",
    "llama_index/test_retriever.py::test_a_sync_retriever_is_not_asked_in_the_event_loop",
    "llama_index/test_transform_retriever.py::test_any_transform_serves_and_an_async_one_without_blocking",
]
_NO_SCORES = ["llama_index/test_retriever.py::test_rrf_fuses_nodes_without_scores_on_copies"]
ELSEWHERE = {
    "22701": ["llama_index/test_belief_block.py::test_one_block_in_two_sessions"],
    "23090": [
        "llama_index/test_belief_block.py::test_cut_it_loses_its_last_beliefs_first",
        "beliefs/test_injection.py::test_the_lowest_ranks_of_the_lowest_tier_go_first",
        "beliefs/test_injection.py::test_a_long_decision_is_not_passed_over_for_short_beliefs_behind_it",
    ],
    "22867": ["llama_index/test_belief_memory.py::test_after_an_error_of_the_store_a_retry_gives_one_belief"],
    "23180": ["llama_index/test_belief_memory.py::test_text_and_message_as_input_recall_the_same"],
    "20895": ["llama_index/test_belief_engines.py::test_an_abandoned_stream_still_keeps_what_the_user_said"],
    "9371": _OVER_BUDGET,
    "15320": _OVER_BUDGET,
    "16059": _NO_DEFAULT_SCOPE,
    "7542": _NO_DEFAULT_SCOPE,
    "15293": _LOOP,
    "18090": _LOOP,
    "22386": _NO_SCORES,
    "21771": _NO_SCORES,
    "11538": ["property/test_fusion_properties.py::test_the_order_of_the_rankings_does_not_matter"],
    "22904": ["llama_index/test_retriever.py::test_a_follow_up_searches_with_the_clue_and_keeps_scores"],
    "12497": ["llama_index/test_retriever.py::test_confidence_is_told_apart_from_scores"],
    "16652": [
        "llama_index/test_retriever.py::test_an_unusable_clue_gives_the_raw_list",
        "llama_index/test_retriever.py::test_the_raw_route_is_the_wrapped_list_whatever_it_holds",
        "llama_index/test_transform_retriever.py::test_a_query_on_its_own_gives_the_wrapped_nodes_themselves",
    ],
    "17708": [
        "llama_index/test_retriever.py::test_the_decision_can_be_seen_in_its_context_only",
        "llama_index/test_surroundings.py::test_a_handler_sees_the_decision_between_start_and_end",
    ],
    "21555": [
        "llama_index/test_retriever.py::test_the_session_reaches_threads_tools_and_the_loop",
        "llama_index/test_surroundings.py::test_the_tools_of_an_agent_search_for_who_runs_it",
        "llama_index/test_belief_memory.py::test_the_session_is_seen_from_threads_tasks_and_the_loop",
    ],
    "22978": [
        "conformance/test_saved_indexes.py::test_a_loaded_index_is_the_saved_one",
        "property/test_bm25_properties.py::test_a_loaded_index_finds_the_same",
    ],
}

ADA = SessionKey("ada", "s")
WHO = {"user_id": "ada", "session_id": "s"}
FOLLOW_UP = "use the previous configuration"
CLUE = "Kestrel v2.4 retry_limit"
APPENDED = f"{FOLLOW_UP} {CLUE}"

compositions = pytest.mark.parametrize("composition", ["append", "replace", "rrf"])


def ids(nodes: Sequence[NodeWithScore]) -> list[str]:
    return [one.node_id for one in nodes]


async def run(mode: str, retriever: Any, query: str = FOLLOW_UP) -> list[str]:
    return ids(await retriever.aretrieve(query) if mode == "async" else retriever.retrieve(query))


# -- the table ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("thread", THREADS)
def test_every_thread_has_its_test(thread: str) -> None:
    here = [one.__doc__ or "" for name, one in globals().items() if name.startswith("test_")]
    assert thread in ELSEWHERE or any(thread in said for said in here)


@pytest.mark.parametrize("test", sorted({test for tests in ELSEWHERE.values() for test in tests}))
def test_what_the_table_names_is_there(test: str) -> None:
    path, name = test.split("::")
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    assert name in {one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}


# -- sync and async -------------------------------------------------------------------------------------------


@compositions
async def test_retrieve_works_in_a_running_loop(make_reader, composition: Any) -> None:
    """LlamaIndex 8204: it raised for a loop that was running already."""
    nodes = [TextNode(id_=name, text=name) for name in "ab"]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=3))
    retriever = GuardedRouterRetriever(index.as_retriever(), make_reader({ADA: CLUE}), composition=composition)
    bound = retriever.bind(**WHO)
    assert sorted(ids(bound.retrieve(FOLLOW_UP))) == ["a", "b"]
    assert len(RetrieverQueryEngine.from_args(bound, llm=MockLLM()).query(FOLLOW_UP).source_nodes) == 2
    assert bound.last_decision.route == "pss"


async def test_the_async_path_never_calls_the_sync_retriever(make_reader, make_retriever, make_node) -> None:
    """LlamaIndex 22369: the async path of what wraps a retriever called that one's sync method."""

    class AsyncOnly(make_retriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            raise AssertionError("the sync retriever was called")

    wrapped = AsyncOnly([make_node("x", 0.5)])
    reader = make_reader({ADA: CLUE})
    for composition in ("append", "replace", "rrf"):
        assert await run("async", GuardedRouterRetriever(wrapped, reader, composition=composition).bind(**WHO)) == ["x"]
    assert await run("async", PSSTransformRetriever(wrapped, PSSQueryTransformer(reader)).bind(**WHO)) == ["x"]
    assert [hit.doc_id for hit in await RetrieverSearcher(wrapped).asearch(FOLLOW_UP, 5)] == ["x"]
    assert {way for way, _ in wrapped.searched} == {"async"}
    assert {call for call, *_ in reader.calls} == {"aread"}


# -- small and foreign corpora --------------------------------------------------------------------------------


def over(passages: list[str], reader: Any, k: int, **options: Any) -> GuardedRouterRetriever:
    index = BM25Index([Passage(f"p{row}", text) for row, text in enumerate(passages)])
    return GuardedRouterRetriever(index, reader, similarity_top_k=k, **options).bind(**WHO)


@compositions
@pytest.mark.parametrize("query", [FOLLOW_UP, CLUE, "the", ""])
async def test_a_corpus_smaller_than_k_gives_fewer_or_none(
    make_reader, mode: str, composition: Any, query: str
) -> None:
    """LlamaIndex 19568 and 19527: BM25 raised for k above the size, and for a corpus without a word to index."""
    reader = make_reader({ADA: CLUE})
    for corpus in ([], ["the of and"], ["", " "], ["the of and", "Kestrel v2.4"]):
        found = await run(mode, over(corpus, reader, 50, composition=composition), query)
        assert set(found) <= {f"p{row}" for row in range(len(corpus))}
        assert len(set(found)) == len(found)
    assert await run(mode, over(["", "Kestrel v2.4"], reader, 50, composition=composition), CLUE) == ["p1"]


@compositions
async def test_cjk_is_found_and_what_matches_nothing_is_not(make_reader, mode: str, composition: Any) -> None:
    """LlamaIndex 13866: BM25 found nothing in Chinese, and what matched nothing came with a score of zero."""
    corpus = ["缓存使用Redis", "キューはNATSです", "캐시 설정"]
    reader = make_reader({ADA: "Redis缓存"})
    assert await run(mode, over(corpus, reader, 3, composition=composition)) == ["p0"]
    for query, place in (("缓存", "p0"), ("キュー", "p1"), ("캐시", "p2")):
        assert await run(mode, over(corpus, reader, 3, composition=composition), query) == [place]
    nothing = over(corpus, make_reader({ADA: CLUE}), 3, composition=composition)
    assert await run(mode, nothing, "Marlowe") == []
    assert await run(mode, nothing) == []
    with pss_session(**WHO):
        answer = RetrieverQueryEngine.from_args(nothing, llm=MockLLM()).query(FOLLOW_UP)
    assert str(answer) == "Empty Response"
