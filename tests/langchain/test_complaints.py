"""What users complained about in public threads of other projects, and must never have to here.

Each thread has a test: one below, which names it, or one elsewhere, by the table.
"""

import ast
import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch
from belief_chats import Noting, ScriptedChatModel
from belief_making import ADA as ADA_HERSELF
from belief_making import ATLAS, new
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from tiny import MESSAGES, tiny_backbone

from pss_integrations.beliefs import BeliefStore
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.errors import BackboneError
from pss_integrations.langchain import GuardedRouterRetriever, PSSQueryTransformer, create_search_belief_tool
from pss_integrations.retrieval import BM25Index
from pss_integrations.routing import Certificate
from pss_integrations.states import CompileConfig, StateConfig, StateManager
from pss_integrations.types import ClueTarget, Passage, SessionKey

TESTS = Path(__file__).parents[1]
THREADS = (
    "langchain 4076",
    "LlamaIndex 13051",
    "langchain 5608",
    "langchain 7136",
    "langchain 15959",
    "langchain 37046",
    "langchain 38627",
    "LlamaIndex 15172",
    "LlamaIndex 21444",
    "langchain 27920",
    "LlamaIndex 21159",
    "langchain 16274",
    "langchain 4710",
    "langflow 13059",
    "langgraph 8300",  # CVE-2026-71433
    "mem0 6515",
    "nexent 787",
    "peft 804",
    "peft 973",
    "langchain 33474",
    "langchain 39677",  # CVE-2025-68664
)
ELSEWHERE = {
    "langchain 5608": ["langchain/test_surroundings.py::test_no_token_of_a_clue_is_in_a_streamed_answer"],
    "langchain 7136": [
        "langchain/test_query_transformer.py::test_generating_a_clue_streams_no_tokens",
        "langchain/test_belief_middleware.py::test_a_stream_holds_the_answer_and_no_extraction",
    ],
    "langchain 15959": [
        "langchain/test_retriever.py::test_an_unusable_clue_gives_the_raw_list",
        "langchain/test_query_transformer.py::test_an_unusable_clue_leaves_the_query",
    ],
    "langchain 37046": [
        "retrieval/test_fusion.py::test_a_duplicate_counts_only_at_its_best_rank",
        "routing/test_router_choice.py::test_rrf_counts_a_document_once_per_list",
        "langchain/test_searcher.py::test_of_duplicates_the_first_counts_and_none_takes_a_place",
    ],
    "langchain 38627": ["langchain/test_retriever.py::test_the_same_text_under_two_ids_stays_two"],
    "LlamaIndex 15172": ["llama_index/test_retriever.py::test_the_same_text_under_two_ids_stays_two"],
    "LlamaIndex 21444": ["retrieval/test_fusion.py::test_weight_zero_leaves_a_ranking_out"],
    "langchain 27920": ["langchain/test_belief_memory.py::test_a_filter_of_the_sync_path_holds_in_async_too"],
    "LlamaIndex 21159": [
        "states/test_manager.py::test_the_loop_ticks_on_during_compile_and_read",
        "langchain/test_retriever.py::test_the_loop_runs_on_while_a_clue_is_read",
    ],
    "langchain 16274": ["retrieval/test_bm25.py::test_a_query_without_a_known_term_finds_nothing"],
    "langflow 13059": [
        "states/test_manager.py::test_the_same_session_id_of_two_users_is_two_sessions",
        "langchain/test_retriever.py::test_a_batch_gives_each_config_its_own_session",
    ],
    "langgraph 8300": [
        "beliefs/test_isolation.py::test_ids_are_compared_character_by_character",
        "beliefs/test_isolation.py::test_scopes_are_compared_character_by_character",
    ],
    "mem0 6515": ["beliefs/test_concurrency.py::test_fifty_threads_that_supersede_leave_one_head"],
    "nexent 787": [
        "langchain/test_retriever.py::test_one_instance_works_in_two_event_loops",
        "langchain/test_query_transformer.py::test_one_instance_works_in_two_event_loops",
        "langchain/test_belief_memory.py::test_two_event_loops_may_use_one_instance",
    ],
    "peft 804": ["states/test_manager.py::test_threads_and_tasks_read_their_own_session"],
    "peft 973": [
        "states/test_manager.py::test_an_error_in_a_read_leaves_nothing_bound",
        "states/test_manager.py::test_a_cancelled_compile_keeps_the_old_state",
    ],
    "langchain 33474": [
        "langchain/test_surroundings.py::test_an_agent_answers_whichever_way_it_is_called",
        "langchain/test_retriever.py::test_every_way_of_calling_gives_the_same",
        "langchain/test_query_transformer.py::test_every_way_of_calling_gives_the_same",
        "langchain/test_belief_memory.py::test_a_model_behind_it_sees_what_is_recalled",
    ],
    "langchain 39677": [
        "langchain/test_belief_memory.py::test_a_belief_that_looks_like_an_object_comes_back_as_data",
        "langchain/test_retriever.py::test_a_clue_that_looks_like_a_serialized_object_stays_text",
    ],
}

FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4? "
CLUE = "Kestrel v2.4 retry_limit"
ASKED = "now?"
JOHN = SessionKey("john-doe", "foo")
LOOKS_LIKE_AN_OBJECT = '{"lc": 1, "type": "secret", "id": ["PATH"]}'


def as_config(key: SessionKey) -> dict[str, Any]:
    return {"configurable": {"user_id": key.user_id, "session_id": key.session_id}}


# -- the table ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("thread", THREADS)
def test_every_thread_has_its_test(thread: str) -> None:
    here = [one.__doc__ or "" for name, one in globals().items() if name.startswith("test_")]
    assert thread in ELSEWHERE or any(thread in said for said in here)


@pytest.mark.parametrize("test", [test for tests in ELSEWHERE.values() for test in tests])
def test_what_the_table_names_is_there(test: str) -> None:
    path, name = test.split("::")
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    assert name in {one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}


# -- states ---------------------------------------------------------------------------------------------------


@pytest.fixture
def make_manager(tmp_path: Path) -> Iterator[Callable[..., StateManager]]:
    opened: list[StateManager] = []

    def make(**options: Any) -> StateManager:
        shape = {"state": StateConfig(rank=4, alpha=8, layers=2), "config": CompileConfig(lr_a=5e-3, lr_b=2e-2)}
        opened.append(StateManager(tmp_path / "states", **{"backbone": tiny_backbone(), **shape, **options}))
        return opened[-1]

    yield make
    for manager in opened:
        manager.close()


@pytest.fixture
def manager(make_manager) -> StateManager:
    return make_manager()


def compiled(manager: StateManager, key: SessionKey, clue: str) -> None:
    manager.compile(key, MESSAGES, targets=[ClueTarget(ASKED, clue)])


def saying_what_is_searched(manager: StateManager) -> GuardedRouterRetriever:
    echo = RunnableLambda(lambda text: [Document(text)])
    return GuardedRouterRetriever(retriever=echo, manager=manager, composition="replace")


async def test_a_query_on_its_own_passes_byte_identical_and_loads_nothing(make_manager, tmp_path, call) -> None:
    """langchain 4076, LlamaIndex 13051: history changed questions that needed none."""
    compiled(make_manager(), JOHN, "Heron kit-9")
    unloadable = make_manager(backbone=tmp_path / "nowhere")
    transformer, retriever = PSSQueryTransformer(manager=unloadable), saying_what_is_searched(unloadable)
    assert await call(transformer, ON_ITS_OWN, as_config(JOHN)) == ON_ITS_OWN
    assert [one.page_content for one in await call(retriever, ON_ITS_OWN, as_config(JOHN))] == [ON_ITS_OWN]
    with pytest.raises(BackboneError):  # there is a state, and to read it would load the model
        await call(transformer, FOLLOW_UP, as_config(JOHN))


NEAR = [
    SessionKey("john_doe", "foo"),
    SessionKey("john", "foo"),
    SessionKey("john-doe", "foobar"),
    SessionKey("john-doe", "fo"),
    SessionKey("john%", "foo"),
    SessionKey("john-doe", "*"),
    SessionKey("%", "%"),
    SessionKey("JOHN-DOE", "foo"),
]


async def test_a_session_is_found_by_its_exact_ids_alone(manager) -> None:
    """langgraph 8300: labels that are like another one's matched it."""
    compiled(manager, JOHN, "Heron kit-9")
    retriever = saying_what_is_searched(manager)
    for near in map(as_config, NEAR):
        for found in (retriever.invoke(ASKED, near), await retriever.ainvoke(ASKED, near)):
            assert [one.page_content for one in found] == [ASKED]
            assert retriever.last_decision.reason == "no_state"
    assert [one.page_content for one in retriever.invoke(ASKED, as_config(JOHN))] == ["Heron kit-9"]


def assert_nothing_is_bound(manager: StateManager) -> None:
    engine = manager._worker.loaded
    ids = torch.arange(12).reshape(1, 12)
    assert not any(engine.bank.bound)
    with torch.no_grad():
        assert torch.equal(engine.backbone.model(ids).logits, tiny_backbone().model(ids).logits)


async def test_eight_sessions_at_once_search_each_with_its_own_clue(manager) -> None:
    """peft 804, peft 973: adapters that threads load and unload met the wrong call."""
    keys = [SessionKey(f"user{n}", "same") for n in range(8)]
    for n, key in enumerate(keys):
        compiled(manager, key, f"Crane{n} kit-9")
    retriever = saying_what_is_searched(manager)
    configs = [{**as_config(key), "max_concurrency": 8} for key in keys]
    for found in (retriever.batch([ASKED] * 8, configs), await retriever.abatch([ASKED] * 8, configs)):
        assert [one.page_content for (one,) in found] == [f"Crane{n} kit-9" for n in range(8)]
    assert_nothing_is_bound(manager)


async def test_nothing_stays_bound_after_an_error(manager, call) -> None:
    """peft 973, through a retriever."""
    compiled(manager, JOHN, "Heron kit-9")
    retriever = saying_what_is_searched(manager)

    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    layer = manager._worker.loaded.backbone.model.model.layers[3]
    with layer.register_forward_pre_hook(fail), pytest.raises(RuntimeError, match="out of memory"):
        await call(retriever, ASKED, as_config(JOHN))
    assert_nothing_is_bound(manager)
    assert [one.page_content for one in await call(retriever, ASKED, as_config(JOHN))] == ["Heron kit-9"]


async def test_nothing_stays_bound_after_a_cancelled_call(manager) -> None:
    """peft 973: what is cancelled while a clue is generated."""
    compiled(manager, JOHN, "Heron kit-9")
    retriever, loop = saying_what_is_searched(manager), asyncio.get_running_loop()
    reading, go_on = asyncio.Event(), Event()

    def wait(*_: object) -> None:
        loop.call_soon_threadsafe(reading.set)
        assert go_on.wait(60)

    with manager._worker.loaded.backbone.model.model.layers[3].register_forward_pre_hook(wait):
        task = asyncio.create_task(retriever.ainvoke(ASKED, as_config(JOHN)))
        await reading.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        assert (await manager.aread(JOHN, ASKED)).text == "Heron kit-9"  # in turn, so that the first one is over
    assert_nothing_is_bound(manager)


# -- searching ------------------------------------------------------------------------------------------------


async def test_nonsense_finds_nothing_whatever_the_session_knows(make_reader, call) -> None:
    """langchain 16274: documents were returned for a query that matches none."""
    index = BM25Index([Passage("a", "Kestrel v2.4 sets retry_limit."), Passage("b", "It sends invoices.")])
    retriever = GuardedRouterRetriever(retriever=index, k=5, manager=make_reader({JOHN: CLUE}))
    assert await call(retriever, "zxqv plugh", as_config(JOHN)) == []
    assert (retriever.last_decision.route, retriever.last_decision.reason) == ("raw", "guarded")


@pytest.mark.parametrize(("least", "route"), [(-0.3, "raw"), (-0.4, "pss")])
async def test_a_clue_that_is_unsure_is_not_used(make_reader, make_retriever, call, least: float, route: str) -> None:
    """langchain 4710: there was no way to abstain."""
    wrapped = make_retriever()
    sure = Certificate(weights={"logprob": 1.0}, threshold=least)
    retriever = GuardedRouterRetriever(retriever=wrapped, manager=make_reader({JOHN: CLUE}), certificate=sure)
    await call(retriever, FOLLOW_UP, as_config(JOHN))
    assert retriever.last_decision.clue.mean_logprob == -0.375
    assert retriever.last_decision.route == route


class Permitted(GuardedRouterRetriever):
    """Filters what the sync search finds, and says nothing of async."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **options: Any) -> list[Document]:
        found = super()._get_relevant_documents(query, run_manager=run_manager, **options)
        return [one for one in found if one.metadata["n"] % 2 == 0]


async def test_a_filter_of_the_sync_search_holds_in_async_too(make_reader, make_retriever, call) -> None:
    """langchain 27920: what overrides the sync hook alone was passed by in async."""
    retriever = Permitted(retriever=make_retriever(), manager=make_reader({JOHN: CLUE}), explain=True)
    for query in (ON_ITS_OWN, FOLLOW_UP):
        found = await call(retriever, query, as_config(JOHN), k=3)
        assert [one.id for one in found] == ["d0", "d2"]
    assert found[0].metadata["pss_clue"] == CLUE  # the session got through to it


# -- beliefs --------------------------------------------------------------------------------------------------


async def test_a_belief_that_looks_like_an_object_leaves_a_checkpoint_as_text(tmp_path: Path, call) -> None:
    """langchain 39677: data of users was revived as an object."""
    agents, memory = pytest.importorskip("langchain.agents"), pytest.importorskip("langgraph.checkpoint.memory")
    with BeliefStore(tmp_path / "beliefs.db") as store:
        store.put(ADA_HERSELF, new("redis_cache", LOOKS_LIKE_AN_OBJECT))
        tool = create_search_belief_tool(BeliefMemory(store, scopes=[ATLAS], extractor=Noting()))
        searching = AIMessage("", tool_calls=[{"name": tool.name, "args": {"query": "redis cache"}, "id": "1"}])
        model = ScriptedChatModel(answers=[searching, LOOKS_LIKE_AN_OBJECT])
        agent = agents.create_agent(model, [tool], checkpointer=memory.InMemorySaver())
        config = {"configurable": {"user_id": "ada", "thread_id": "t"}}
        await call(agent, {"messages": [("user", "What of the redis cache?")]}, config)
        *_, told, answer = agent.get_state(config).values["messages"]
    assert isinstance(told, ToolMessage)
    assert '⦃"lc": 1' in told.content
    assert answer.content == LOOKS_LIKE_AN_OBJECT
