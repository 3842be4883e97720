"""Inside LlamaIndex's own engines, agents and retrievers: each finds by the session, and answers what was asked."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from belief_llms import ScriptedLLM
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import MockLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import RetrieverQueryEngine, TransformQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.tools import QueryEngineTool

from pss_integrations.identity import pss_session
from pss_integrations.llama_index import (
    GuardedRouterRetriever,
    PSSQueryTransformer,
    PSSTransformRetriever,
    SessionQueryBundle,
)
from pss_integrations.types import SessionKey

ADA = SessionKey("ada", "s")
WHO = {"user_id": "ada", "session_id": "s"}
FOLLOW_UP = "use the previous configuration"
CLUE = "Kestrel v2.4 retry_limit"
APPENDED = f"{FOLLOW_UP} {CLUE}"

agents = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # they look at all attributes of themselves


@pytest.fixture
def wrapped(make_retriever, make_node) -> Any:
    return make_retriever(found={APPENDED: [make_node("x", 0.5, "It was set to 5 in")]})


@pytest.fixture(params=[GuardedRouterRetriever, PSSTransformRetriever])
def retriever(request: pytest.FixtureRequest, make_reader, wrapped) -> Any:
    reader = make_reader({ADA: CLUE})
    if request.param is GuardedRouterRetriever:
        return GuardedRouterRetriever(wrapped, reader)
    return PSSTransformRetriever(wrapped, PSSQueryTransformer(reader))


@pytest.fixture
def llm() -> ScriptedLLM:
    return ScriptedLLM(answers=["Five."])


@pytest.fixture
def seen() -> Iterator[list[Any]]:
    """All events that are sent during the test."""
    events: list[Any] = []

    class Listener(BaseEventHandler):
        def handle(self, event: Any, **_: Any) -> None:
            events.append(event)

    root, listener = get_dispatcher(), Listener()
    root.add_event_handler(listener)
    yield events
    root.event_handlers.remove(listener)


def asked(llm: ScriptedLLM) -> str:
    """All that a model was asked."""
    return "\n".join(message.content or "" for messages in llm.asked for message in messages)


# -- query engines --------------------------------------------------------------------------------------------


WAYS = pytest.mark.parametrize("way", ["sync", "async", "stream", "async stream"])


async def query(way: str, engine: Any, question: Any) -> tuple[str, list[str]]:
    """The answer, and the ids of what it was made from."""
    response = await engine.aquery(question) if "async" in way else engine.query(question)
    ids = [node.node_id for node in response.source_nodes]
    if way == "stream":
        return "".join(response.response_gen), ids
    if way == "async stream":
        return "".join([token async for token in response.async_response_gen()]), ids
    return str(response), ids


@WAYS
@pytest.mark.parametrize("named_by", ["bind", "the bundle", "pss_session"])
async def test_a_query_engine_answers_what_was_asked(
    retriever: Any, wrapped: Any, llm: ScriptedLLM, way: str, named_by: str
) -> None:
    bound = retriever.bind(**WHO) if named_by == "bind" else retriever
    engine = RetrieverQueryEngine.from_args(bound, llm=llm, streaming="stream" in way)
    question = SessionQueryBundle(FOLLOW_UP, **WHO) if named_by == "the bundle" else FOLLOW_UP
    with pss_session(**WHO) if named_by == "pss_session" else nullcontext():
        assert await query(way, engine, question) == ("Five.", ["x"])
    assert wrapped.searched[-1] == ("async" if "async" in way else "sync", APPENDED)
    assert f"Query: {FOLLOW_UP}\n" in asked(llm)
    assert "It was set to 5 in x" in asked(llm)
    assert CLUE not in asked(llm)


@WAYS
async def test_a_transform_query_engine_finds_by_the_clue_and_as_a_retriever_answers_what_was_asked(
    make_reader: Any, wrapped: Any, way: str
) -> None:
    transformer = PSSQueryTransformer(make_reader({ADA: CLUE}))
    answering = ScriptedLLM(answers=["Five."]), ScriptedLLM(answers=["Five."])
    inner = RetrieverQueryEngine.from_args(wrapped, llm=answering[0], streaming="stream" in way)
    by_engine = TransformQueryEngine(inner, transformer, transform_metadata=WHO)
    searching = PSSTransformRetriever(wrapped, transformer.bind(**WHO))
    by_retriever = RetrieverQueryEngine.from_args(searching, llm=answering[1], streaming="stream" in way)
    for engine in (by_engine, by_retriever):
        assert await query(way, engine, FOLLOW_UP) == ("Five.", ["x"])
    assert f"Query: {APPENDED}\n" in asked(answering[0])  # which is why there is a retriever for it
    assert f"Query: {FOLLOW_UP}\n" in asked(answering[1])
    assert CLUE not in asked(answering[1])


# -- chat engines ---------------------------------------------------------------------------------------------


async def chat(way: str, engine: Any, text: str) -> str:
    if way == "sync":
        return str(engine.chat(text))
    if way == "async":
        return str(await engine.achat(text))
    if way == "stream":
        return "".join(engine.stream_chat(text).response_gen)
    return "".join([token async for token in (await engine.astream_chat(text)).async_response_gen()])


@WAYS
@pytest.mark.parametrize("kind", [ContextChatEngine, CondensePlusContextChatEngine])
@pytest.mark.parametrize("named_by", ["bind", "pss_session"])
async def test_a_chat_engine_answers_what_was_asked(
    retriever: Any, wrapped: Any, llm: ScriptedLLM, kind: Any, way: str, named_by: str
) -> None:
    bound = retriever.bind(**WHO) if named_by == "bind" else retriever
    memory = ChatMemoryBuffer.from_defaults()
    options = {"skip_condense": True} if kind is CondensePlusContextChatEngine else {}
    engine = kind.from_defaults(bound, llm=llm, memory=memory, **options)
    with pss_session(**WHO) if named_by == "pss_session" else nullcontext():
        for turn in (1, 2):
            assert await chat(way, engine, FOLLOW_UP) == "Five."
            assert len(llm.asked) == turn
    assert wrapped.searched[-1] == ("async" if "async" in way else "sync", APPENDED)
    assert llm.seen[-1] == ("user", FOLLOW_UP)
    assert "It was set to 5 in x" in asked(llm)
    assert CLUE not in asked(llm)
    assert {message.content for message in memory.get_all()} == {FOLLOW_UP, "Five."}


# -- agents ---------------------------------------------------------------------------------------------------


def by_function(tool: str) -> ChatMessage:
    call = ToolSelection(tool_id="1", tool_name=tool, tool_kwargs={"input": FOLLOW_UP})
    return ChatMessage(role="assistant", additional_kwargs={"tool_calls": [call]})


def by_thought(tool: str) -> str:
    return f'Thought: I must look it up.\nAction: {tool}\nAction Input: {{"input": "{FOLLOW_UP}"}}'


CALLS = {
    FunctionAgent: (by_function, "Five."),
    ReActAgent: (by_thought, "Thought: I can answer without using any more tools.\nAnswer: Five."),
}


@agents
@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("named_by", ["bind", "pss_session"])
async def test_the_tools_of_an_agent_search_for_who_runs_it(
    retriever: Any, wrapped: Any, kind: Any, streaming: bool, named_by: str
) -> None:
    bound = retriever.bind(**WHO) if named_by == "bind" else retriever
    reading = ScriptedLLM(answers=["It was five."])
    engine = RetrieverQueryEngine.from_args(bound, llm=reading)
    tool = QueryEngineTool.from_defaults(engine, name="look_up", description="Looks up settings.")
    call, answer = CALLS[kind]
    llm = ScriptedLLM(answers=[call("look_up"), answer])
    agent = kind(tools=[tool], llm=llm, streaming=streaming)
    around: AbstractContextManager[Any] = pss_session(**WHO) if named_by == "pss_session" else nullcontext()
    with around:
        handler = agent.run("What was it before?")
    assert str(await handler) == "Five."
    assert wrapped.searched[-1] == ("async", APPENDED)
    assert f"Query: {FOLLOW_UP}\n" in asked(reading)
    assert "It was five." in asked(llm)
    assert CLUE not in asked(llm) + asked(reading)


# -- other retrievers -----------------------------------------------------------------------------------------


@pytest.fixture(params=[True, False], ids=["use_async", "one by one"])
def fusion(request: pytest.FixtureRequest, retriever: Any, make_retriever: Any, make_node: Any) -> Any:
    other = make_retriever([make_node("other", 0.1)])
    return QueryFusionRetriever([retriever, other], llm=MockLLM(), num_queries=1, use_async=request.param)


# no async test: in a running loop LlamaIndex 0.12 starts a thread for it, without the context
def test_a_fusion_of_retrievers_searches_for_the_session_around_it(fusion: Any) -> None:
    with pss_session(**WHO):
        assert [node.node_id for node in fusion.retrieve(FOLLOW_UP)] == ["x", "other"]


async def test_so_does_an_async_one(fusion: Any) -> None:
    with pss_session(**WHO):
        assert [node.node_id for node in await fusion.aretrieve(FOLLOW_UP)] == ["x", "other"]


# -- events ---------------------------------------------------------------------------------------------------


async def test_a_handler_sees_the_decision_between_start_and_end(
    retriever: Any, wrapped: Any, llm: ScriptedLLM, seen: list[Any], mode: str
) -> None:
    engine = RetrieverQueryEngine.from_args(retriever.bind(**WHO), llm=llm)
    await query(mode, engine, FOLLOW_UP)
    names = [event.class_name() for event in seen]
    start, decision = names.index("RetrievalStartEvent"), names.index("PSSDecisionEvent")
    end = len(names) - 1 - names[::-1].index("RetrievalEndEvent")
    assert start < decision < end < names.index("SynthesizeStartEvent")
    assert (seen[decision].route, seen[decision].reason, seen[decision].clue) == ("pss", "clue", None)
    assert seen[start].str_or_query_bundle.query_str == FOLLOW_UP
    assert [node.node_id for node in seen[end].nodes] == ["x"]


@pytest.mark.parametrize("kind", [GuardedRouterRetriever, PSSTransformRetriever])
async def test_texts_are_in_the_event_only_where_that_is_asked_for(
    make_reader: Any, wrapped: Any, seen: list[Any], kind: Any, mode: str
) -> None:
    reader = make_reader({ADA: CLUE})
    if kind is GuardedRouterRetriever:
        explaining: Any = GuardedRouterRetriever(wrapped, reader, explain=True)
    else:
        explaining = PSSTransformRetriever(wrapped, PSSQueryTransformer(reader, explain=True))
    await query(mode, RetrieverQueryEngine.from_args(explaining.bind(**WHO), llm=MockLLM()), FOLLOW_UP)
    (decision,) = [event for event in seen if event.class_name() == "PSSDecisionEvent"]
    assert (decision.query, decision.clue) == (FOLLOW_UP, CLUE)
