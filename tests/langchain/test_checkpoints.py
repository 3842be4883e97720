"""With LangGraph's own saver, filled by running a graph."""

from collections.abc import Callable
from typing import Any

import pytest
from framework_retrievers import SHAPES, langchain_search
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from pss_integrations.errors import IdentityConflict, InvalidInput, MissingIdentity
from pss_integrations.langchain import RetrieverSearcher
from pss_integrations.langchain.checkpoints import asessions_from_checkpointer, sessions_from_checkpointer
from pss_integrations.routing.shadow import shadow
from pss_integrations.types import Message, Passage, SessionKey


def answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"answer {len(state['messages'])}"), AIMessage("")]}


def chat(saver: InMemorySaver, thread: str, *texts: str, **configurable: str) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    compiled = graph.compile(checkpointer=saver)
    for text in texts:
        compiled.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread, **configurable}})


@pytest.fixture
def saver() -> InMemorySaver:
    saver = InMemorySaver()
    chat(saver, "t1", "one", "two", user_id="ada")
    chat(saver, "t2", "three", user_id="bob")
    return saver


Read = Callable[..., Any]


@pytest.fixture(params=["sync", "async"])
def read(request: pytest.FixtureRequest) -> Read:
    async def sessions(*args: Any, **options: Any) -> dict[SessionKey, list[str]]:
        if request.param == "sync":
            found = list(sessions_from_checkpointer(*args, **options))
        else:
            found = [one async for one in asessions_from_checkpointer(*args, **options)]
        return {key: [f"{message.role}: {message.text}" for message in messages] for key, messages in found}

    return sessions


async def test_each_thread_as_its_newest_checkpoint_has_it(read: Read, saver: InMemorySaver) -> None:
    assert await read(saver, "user_id") == {
        SessionKey("ada", "t1"): ["user: one", "assistant: answer 1", "user: two", "assistant: answer 4"],
        SessionKey("bob", "t2"): ["user: three", "assistant: answer 1"],
    }


async def test_a_function_tells_the_user(read: Read, saver: InMemorySaver) -> None:
    found = await read(saver, lambda checkpoint: checkpoint.metadata["user_id"].upper())
    assert set(found) == {SessionKey("ADA", "t1"), SessionKey("BOB", "t2")}
    assert set(await read(saver, lambda _: None)) == {SessionKey(None, "t1"), SessionKey(None, "t2")}


async def test_some_threads_alone(read: Read, saver: InMemorySaver) -> None:
    assert set(await read(saver, "user_id", threads=["t2", "gone"])) == {SessionKey("bob", "t2")}


async def test_a_thread_of_nobody_is_refused(read: Read, saver: InMemorySaver) -> None:
    chat(saver, "t3", "four")
    with pytest.raises(MissingIdentity, match="thread 't3' holds no 'user_id'"):
        await read(saver, "user_id")


@pytest.mark.parametrize("user", ["user_id", lambda checkpoint: checkpoint.metadata.get("user_id")])
async def test_a_thread_of_two_users_is_refused(read: Read, saver: InMemorySaver, user: Any) -> None:
    chat(saver, "t1", "three", user_id="bob")
    with pytest.raises(IdentityConflict, match="thread 't1' name different users"):
        await read(saver, user)
    assert set(await read(saver, user, threads=["t2"])) == {SessionKey("bob", "t2")}


async def test_a_thread_begun_by_nobody_is_its_users(read: Read) -> None:
    saver = InMemorySaver()
    chat(saver, "t", "one")
    chat(saver, "t", "two", user_id="ada")
    assert set(await read(saver, "user_id")) == {SessionKey("ada", "t")}
    chat(saver, "t", "three")
    with pytest.raises(IdentityConflict):  # nobody's must not be given what Ada said
        await read(saver, lambda checkpoint: checkpoint.metadata.get("user_id"))


async def test_one_string_is_no_list_of_threads(read: Read, saver: InMemorySaver) -> None:
    with pytest.raises(InvalidInput, match=r"give \['t1'\]"):
        await read(saver, "user_id", threads="t1")


async def test_what_has_no_messages_is_left_out(read: Read, saver: InMemorySaver) -> None:
    assert await read(saver, "user_id", channel="notes") == {}
    assert await read(InMemorySaver(), "user_id") == {}


async def test_a_graph_inside_a_graph_is_no_session(read: Read) -> None:
    saver = InMemorySaver()
    inner = StateGraph(MessagesState)
    inner.add_node("answer", answer)
    inner.add_edge(START, "answer")
    outer = StateGraph(MessagesState)
    outer.add_node("inner", inner.compile(checkpointer=True))
    outer.add_edge(START, "inner")
    config = {"configurable": {"thread_id": "t", "user_id": "ada"}}
    outer.compile(checkpointer=saver).invoke({"messages": [HumanMessage("one")]}, config)
    assert len({one.config["configurable"]["checkpoint_ns"] for one in saver.list(None)}) > 1
    assert await read(saver, "user_id") == {SessionKey("ada", "t"): ["user: one", "assistant: answer 1"]}


async def test_reading_changes_nothing(read: Read, saver: InMemorySaver) -> None:
    before = list(saver.list(None))
    await read(saver, "user_id")
    assert list(saver.list(None)) == before


def test_messages_are_our_own(saver: InMemorySaver) -> None:
    (_, messages), *_ = sessions_from_checkpointer(saver, "user_id")
    assert all(type(message) is Message for message in messages)


def test_a_replay_over_a_retriever() -> None:
    saver = InMemorySaver()
    chat(saver, "t", "Plan Heron on kit-9", "is it retired?", user_id="ada")
    search = langchain_search([Passage("a", "it is retired"), Passage("b", "Heron kit-9")], next(iter(SHAPES)))
    report = shadow(sessions_from_checkpointer(saver, "user_id"), RetrieverSearcher(search))
    (query,) = report.queries
    assert (query.key, set(query.found), query.failures) == (SessionKey("ada", "t"), {"raw", "card"}, {})
