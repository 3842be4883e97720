"""Retriever, transformer and beliefs where people put them: tools, chains, agents and graphs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from belief_chats import Noting, ScriptedChatModel
from belief_making import ADA, ATLAS, live, new
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableConfig, RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.tools import BaseTool, create_retriever_tool

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain.tools import tool as as_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph

from pss_integrations.beliefs import BeliefStore
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.errors import IdentityConflict
from pss_integrations.identity import pss_session
from pss_integrations.langchain import (
    BeliefStateMemory,
    BeliefStateMiddleware,
    GuardedRouterRetriever,
    PSSQueryTransformer,
)
from pss_integrations.types import SessionKey

AS_ADA = {"configurable": {"user_id": "ada", "session_id": "s"}}
AS_BOB = {"configurable": {"user_id": "bob", "session_id": "s"}}
FOLLOW_UP = "use the previous configuration"
CLUE = "Kestrel v2.4 retry_limit"
BOBS = "Marlowe v1.0 timeout"
QUESTION = "What of the redis cache?"
ANSWER = "It is five, as before."
WAYS = ("invoke", "ainvoke", "stream", "astream")
NOBODY = pytest.warns(UserWarning, match="no complete identity")


@dataclass
class Context:
    user_id: str | None = None
    session_id: str | None = None


@pytest.fixture
def manager(make_reader):
    return make_reader({SessionKey("ada", "s"): CLUE, SessionKey("bob", "s"): BOBS})


@pytest.fixture
def make(make_retriever, manager) -> Callable[..., GuardedRouterRetriever]:
    """Make a retriever that finds ``ada's`` and ``bob's`` by their clues, and ``nobody's`` otherwise."""

    def make(**options: Any) -> GuardedRouterRetriever:
        found = {
            CLUE: [Document("ada's", id="a")],
            BOBS: [Document("bob's", id="b")],
        }
        wrapped = make_retriever(found=found, default=[Document("nobody's", id="n")])
        return GuardedRouterRetriever(retriever=wrapped, manager=manager, composition="replace", **options)

    return make


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BeliefStore]:
    with BeliefStore(tmp_path / "beliefs.db") as opened:
        opened.put(ADA, new())
        yield opened


@pytest.fixture
def beliefs(store: BeliefStore) -> BeliefMemory:
    return BeliefMemory(store, scopes=[ATLAS], extractor=Noting(), background=False)


def texts(documents: list[Document]) -> list[str]:
    return [one.page_content for one in documents]


async def in_every_way(runnable: Any, value: Any, config: Any = None, **rest: Any) -> list[Any]:
    """What each way of calling gives; a stream's chunks are added up."""
    return [
        runnable.invoke(value, config, **rest),
        await runnable.ainvoke(value, config, **rest),
        runnable.batch([value], config, **rest)[0],
        (await runnable.abatch([value], config, **rest))[0],
        added([*runnable.stream(value, config, **rest)]),
        added([one async for one in runnable.astream(value, config, **rest)]),
    ]


def added(chunks: list[Any]) -> Any:
    total = chunks[0]
    for chunk in chunks[1:]:
        total = total | chunk if isinstance(total, dict) else total + chunk
    return total


# -- as a tool ------------------------------------------------------------------------------------------------


def docs_tool(retriever: Any, **options: Any) -> BaseTool:
    return create_retriever_tool(retriever, "docs", "Finds documents.", **options)


async def test_a_tool_of_core_searches_for_who_calls_it(make, call) -> None:
    tool = docs_tool(make())
    assert await call(tool, {"query": FOLLOW_UP}, AS_ADA) == "ada's"
    assert await call(tool, {"query": FOLLOW_UP}, AS_BOB) == "bob's"
    with pss_session(user_id="ada", session_id="s"):
        assert await call(tool, {"query": FOLLOW_UP}) == "ada's"
    with NOBODY:
        assert await call(tool, {"query": FOLLOW_UP}) == "nobody's"


async def test_its_artifact_holds_documents_that_say_their_route(make, call) -> None:
    asked = {"type": "tool_call", "id": "1", "name": "docs", "args": {"query": FOLLOW_UP}}
    told = await call(docs_tool(make(), response_format="content_and_artifact"), asked, AS_ADA)
    assert (told.content, told.artifact[0].metadata) == ("ada's", {"pss_route": "pss", "pss_reason": "clue"})


def looking_up(query: str = FOLLOW_UP) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "docs", "args": {"query": query}, "id": "1"}])


def agent_with(*tools: BaseTool, **options: Any) -> Any:
    return create_agent(ScriptedChatModel(answers=[looking_up(), ANSWER]), [*tools], **options)


ASKING = {"messages": [("user", "And what is it there?")]}


def told_by_tools(result: dict[str, Any]) -> list[str]:
    return [one.text for one in result["messages"] if isinstance(one, ToolMessage)]


async def test_an_agent_searches_for_the_user_of_its_run(make, call) -> None:
    for config, found in ((AS_ADA, "ada's"), (AS_BOB, "bob's")):
        assert told_by_tools(await call(agent_with(docs_tool(make())), ASKING, config)) == [found]


async def test_so_does_one_whose_runtime_says_who_it_is(make, call) -> None:
    agent = agent_with(docs_tool(make()), context_schema=Context)
    assert told_by_tools(await call(agent, ASKING, context=Context("bob", "s"))) == ["bob's"]
    with pytest.raises(IdentityConflict, match="runtime context"):
        await call(agent_with(docs_tool(make()), context_schema=Context), ASKING, AS_ADA, context=Context("bob", "s"))


async def test_a_context_that_was_not_filled_names_nobody(make, call) -> None:
    for context in (Context(), Context(session_id="s")):
        agent = agent_with(docs_tool(make()), context_schema=Context)
        with NOBODY:
            assert told_by_tools(await call(agent, ASKING, context=context)) == ["nobody's"]
    agent = agent_with(docs_tool(make()), context_schema=Context)
    assert told_by_tools(await call(agent, ASKING, AS_ADA, context=Context())) == ["ada's"]


async def test_a_tool_of_ones_own_passes_its_runtime_on(make, call) -> None:
    retriever = make()

    @as_tool
    async def docs(query: str, runtime: ToolRuntime[Context]) -> str:
        """Finds documents."""
        return texts(await call(retriever, query, runtime.config))[0]

    agent = agent_with(docs, context_schema=Context)
    result = await agent.ainvoke(ASKING, context=Context("ada", "s"))
    assert told_by_tools(result) == ["ada's"]


@pytest.mark.parametrize("explain", [False, True])
async def test_no_token_of_a_clue_is_in_a_streamed_answer(make, call, explain: bool) -> None:
    """langchain issues 5608 and 7136: what a retriever generated was streamed as the answer."""
    agent = agent_with(docs_tool(make(explain=explain)))
    modes = ["messages", "updates", "values", "custom"]
    if call.mode == "sync":
        streamed = [*agent.stream(ASKING, AS_ADA, stream_mode=modes)]
    else:
        streamed = [one async for one in agent.astream(ASKING, AS_ADA, stream_mode=modes)]
    spoken = [part[0] for mode, part in streamed if mode == "messages"]
    assert "".join(str(one.text) for one in spoken if isinstance(one, AIMessageChunk)) == ANSWER
    assert CLUE not in str(streamed)


@pytest.mark.parametrize("way", WAYS)
async def test_an_agent_answers_whichever_way_it_is_called(make, beliefs, way: str) -> None:
    """langchain issue 33474."""
    agent = agent_with(docs_tool(make()), middleware=[BeliefStateMiddleware(beliefs)], checkpointer=InMemorySaver())
    config = {"configurable": {"user_id": "ada", "session_id": "s", "thread_id": way}}
    if way.endswith("invoke"):
        result = getattr(agent, way)(ASKING, config)
        await result if way == "ainvoke" else None
    elif way == "astream":
        assert [one async for one in agent.astream(ASKING, config)]
    else:
        assert [*agent.stream(ASKING, config)]
    kept = (await agent.aget_state(config)).values
    assert (told_by_tools(kept), kept["messages"][-1].text) == (["ada's"], ANSWER)


# -- in chains ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [AS_ADA, AS_BOB])
async def test_it_fills_a_place_of_a_chain_in_every_way(make, config: Any) -> None:
    chain = RunnablePassthrough.assign(context=itemgetter("question") | make())
    found = "ada's" if config is AS_ADA else "bob's"
    for result in await in_every_way(chain, {"question": FOLLOW_UP}, config):
        assert (result["question"], texts(result["context"])) == (FOLLOW_UP, [found])


async def test_it_runs_beside_others_in_every_way(make) -> None:
    both = RunnableParallel(routed=make(), raw=make(routes=("raw",)), text=PSSQueryTransformer(manager=make().manager))
    for result in await in_every_way(both, FOLLOW_UP, AS_ADA):
        assert (texts(result["routed"]), texts(result["raw"])) == (["ada's"], ["nobody's"])
        assert result["text"] == f"{FOLLOW_UP} {CLUE}"


async def test_a_batch_of_a_chain_keeps_its_sessions_apart(make) -> None:
    chain = RunnablePassthrough.assign(context=itemgetter("question") | make()) | RunnableLambda(
        lambda value: texts(value["context"])
    )
    values, configs = [{"question": FOLLOW_UP}] * 6, [AS_ADA, AS_BOB] * 3
    assert chain.batch(values, configs) == [["ada's"], ["bob's"]] * 3
    assert await chain.abatch(values, configs) == [["ada's"], ["bob's"]] * 3
    completed = {place: found async for place, found in chain.abatch_as_completed(values, configs)}
    assert [completed[place] for place in range(6)] == [["ada's"], ["bob's"]] * 3


async def test_the_live_history_of_a_chain_comes_along(make, call) -> None:
    chain = {"input": itemgetter("question"), "chat_history": itemgetter("history")} | make(explain=True)
    found = await call(chain, {"question": FOLLOW_UP, "history": [("human", "one"), ("ai", "two")]}, AS_ADA)
    assert found[0].metadata["pss_messages_behind"] == 2


@pytest.mark.parametrize("explain", [False, True])
async def test_the_events_of_a_chain_tell_the_decision_and_a_clue_only_if_asked(make, explain: bool) -> None:
    chain = RunnablePassthrough.assign(context=itemgetter("question") | make(explain=explain))
    events = [one async for one in chain.astream_events({"question": FOLLOW_UP}, AS_ADA, version="v2")]
    (decision,) = [one["data"] for one in events if one["event"] == "on_custom_event"]
    assert (decision["route"], decision["reason"]) == ("pss", "clue")
    assert [texts(one["data"]["output"]) for one in events if one["event"] == "on_retriever_end"][-1] == ["ada's"]
    assert (CLUE in str(events)) == explain
    assert not [one["event"] for one in events if "model" in one["event"] or "llm" in one["event"]]


class Failing:
    """Fails the first time, or always."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, text: str) -> list[Document]:
        self.left -= 1
        if self.left >= 0:
            raise ConnectionError("the index is away")
        return [Document(f"found by {text}")]


@pytest.mark.parametrize("options", [{"configurable": AS_ADA["configurable"], "tags": ["mine"]}, AS_ADA])
async def test_a_config_that_is_bound_names_the_session(make, options: Any) -> None:
    for found in await in_every_way(make().with_config(options), FOLLOW_UP):
        assert texts(found) == ["ada's"]
    with pytest.raises(IdentityConflict), pss_session(user_id="bob", session_id="s"):
        make().with_config(options).invoke(FOLLOW_UP)


async def test_what_fails_is_tried_again_for_the_same_session(manager, call) -> None:
    retriever = GuardedRouterRetriever(retriever=RunnableLambda(Failing(1)), manager=manager, composition="replace")
    again = retriever.with_retry(
        retry_if_exception_type=(ConnectionError,), wait_exponential_jitter=False, stop_after_attempt=2
    )
    assert texts(await call(again, FOLLOW_UP, AS_ADA)) == [f"found by {CLUE}"]


async def test_another_retriever_takes_over_for_the_same_session(make, manager, call) -> None:
    broken = GuardedRouterRetriever(retriever=RunnableLambda(Failing(99)), manager=manager)
    assert texts(await call(broken.with_fallbacks([make()]), FOLLOW_UP, AS_BOB)) == ["bob's"]


# -- in graphs ------------------------------------------------------------------------------------------------


def graph_of(node: Any, **options: Any) -> Any:
    graph = StateGraph(dict, context_schema=Context)
    graph.add_node("search", node)
    graph.set_entry_point("search")
    return graph.compile(**options)


@pytest.fixture(params=["sync node", "async node", "the retriever itself"])
def searching(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Make a graph whose node searches."""

    def searching(retriever: Any, **options: Any) -> Any:
        async def asearch(state: dict[str, Any]) -> dict[str, Any]:
            return {"found": texts(await retriever.ainvoke(state["query"]))}

        def search(state: dict[str, Any]) -> dict[str, Any]:
            return {"found": texts(retriever.invoke(state["query"]))}

        piped = RunnableLambda(itemgetter("query")) | retriever | (lambda found: {"found": texts(found)})
        nodes = {"sync node": search, "async node": asearch, "the retriever itself": piped}
        return graph_of(nodes[request.param], **options)

    return searching


async def test_a_node_searches_for_whom_the_run_names(make, searching) -> None:
    graph, query = searching(make()), {"query": FOLLOW_UP}
    assert await graph.ainvoke(query, AS_ADA) == {"found": ["ada's"]}
    assert await graph.ainvoke(query, context=Context("bob", "s")) == {"found": ["bob's"]}
    with NOBODY:
        assert await graph.ainvoke(query) == {"found": ["nobody's"]}


async def test_the_thread_is_a_session_only_where_the_caller_says_so(make, searching) -> None:
    query, config = {"query": FOLLOW_UP}, {"configurable": {"user_id": "ada", "thread_id": "s"}}
    said = searching(make(session_from="thread_id"), checkpointer=InMemorySaver())
    assert (await said.ainvoke(query, config))["found"] == ["ada's"]
    unsaid = searching(make(), checkpointer=InMemorySaver())
    with NOBODY:
        assert (await unsaid.ainvoke(query, config))["found"] == ["nobody's"]


async def test_a_subgraph_searches_for_the_same(make, call) -> None:
    inner = graph_of(lambda state: {"found": texts(make().invoke(state["query"]))})
    outer = graph_of(lambda state: inner.invoke(state))
    assert await call(outer, {"query": FOLLOW_UP}, AS_BOB) == {"found": ["bob's"]}


# -- beliefs --------------------------------------------------------------------------------------------------

PROMPT = ChatPromptTemplate.from_messages([("system", "Be short."), ("human", "{question}")])


@pytest.fixture
def told(beliefs) -> BeliefStateMemory:
    return BeliefStateMemory(memory=beliefs)


def system_of(messages: list[Any]) -> str:
    return str(messages[0].text)


async def test_a_chain_with_beliefs_and_documents_tells_both_in_every_way(make, told) -> None:
    chain = (
        RunnablePassthrough.assign(docs=itemgetter("question") | make() | RunnableLambda(texts))
        | ChatPromptTemplate.from_messages([("system", "Use {docs}."), ("human", "{question}, redis cache")])
        | told
    )
    for config, known in ((AS_ADA, True), (AS_BOB, False)):
        for messages in await in_every_way(chain, {"question": FOLLOW_UP}, config):
            assert system_of(messages).startswith(f'Use ["{"ada" if known else "bob"}\'s"].')
            assert ("Use Redis for the cache." in system_of(messages)) == known


async def test_beliefs_run_beside_a_retriever_and_under_a_bound_config(make, told) -> None:
    both = RunnableParallel(messages=PROMPT | told, docs=itemgetter("question") | make())
    for result in await in_every_way(both.with_config(AS_ADA), {"question": f"{FOLLOW_UP}: redis cache"}):
        assert "Use Redis for the cache." in system_of(result["messages"])


async def test_events_of_a_chain_stream_the_answer_alone(told, store) -> None:
    chain = PROMPT | told | ScriptedChatModel(answers=[ANSWER])
    value = {"question": "remember queue: Use NATS."}
    events = [one async for one in chain.astream_events(value, AS_ADA, version="v2")]
    spoken = [one["data"]["chunk"].text for one in events if one["event"] == "on_chat_model_stream"]
    assert "".join(spoken) == ANSWER
    assert {one.content for one in live(store)} == {"Use Redis for the cache.", "Use NATS."}


async def test_a_model_that_is_tried_again_or_replaced_is_told_the_same(told, store, call) -> None:
    failing = ScriptedChatModel(answers=[ConnectionError("away"), ANSWER])
    retried = (PROMPT | told | failing).with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
    value = {"question": "remember queue: Use NATS."}
    assert (await call(retried, value, AS_ADA)).text == ANSWER
    spare = ScriptedChatModel(answers=[ANSWER])
    broken = PROMPT | told | ScriptedChatModel(answers=[ConnectionError("away")])
    assert (await call(broken.with_fallbacks([PROMPT | told | spare]), {"question": QUESTION}, AS_ADA)).text == ANSWER
    assert "Use Redis for the cache." in spare.system
    assert [one.reinforcement_count for one in live(store) if one.canonical_name == "queue"] == [1]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_node_tells_what_its_user_settled(told, is_async: bool) -> None:
    def tell(state: dict[str, Any], config: RunnableConfig) -> dict[str, Any]:
        return {"system": system_of(told.invoke(state["question"], config))}

    async def atell(state: dict[str, Any]) -> dict[str, Any]:
        return {"system": system_of(await told.ainvoke(state["question"]))}

    graph = graph_of(atell if is_async else tell)
    for config, context in ((AS_ADA, Context()), (None, Context("ada"))):
        result = await graph.ainvoke({"question": QUESTION}, config, context=context)
        assert "Use Redis for the cache." in result["system"]
