from collections.abc import Callable, Iterator
from typing import Any

import llama_index.core
import pytest
from belief_llms import ScriptedLLM, blocks, texts, user
from belief_making import ADA, live, new
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory import BaseMemory

from pss_integrations.beliefs import BeliefStore
from pss_integrations.beliefs.injection import BLOCK_START
from pss_integrations.identity import pss_session
from pss_integrations.llama_index import BeliefStateMemory

Make = Callable[..., BeliefStateMemory]
ASK = "Which redis_cache?"
REDIS = "Use Redis for the cache."


async def chat(mode: str, engine: Any, text: str) -> str:
    return str(await engine.achat(text) if mode == "async" else engine.chat(text))


async def test_a_simple_chat_engine(make: Make, store: BeliefStore, primary: BaseMemory, mode: str) -> None:
    llm = ScriptedLLM(answers=["Noted.", "Redis."])
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=make(primary_memory=primary), system_prompt="Be brief.")
    assert await chat(mode, engine, "cache: Use Redis.") == "Noted."
    assert await chat(mode, engine, "Which cache?") == "Redis."
    roles, said = zip(*llm.seen, strict=True)
    assert roles == ("system", "system", "user", "assistant", "user")
    assert "Use Redis." in said[1]
    assert len(engine.chat_history) == 4
    assert blocks(engine.chat_history) == []


@pytest.mark.parametrize("method", ["system", "user"])
async def test_a_belief_is_no_template(  # its {context_str} was replaced by the documents
    make: Make, store: BeliefStore, make_retriever: Any, make_node: Any, method: str, mode: str
) -> None:
    store.put(ADA, new("cache", "Use {context_str} and {query_str} {% raw %} {{ x }} for the cache.", pinned=True))
    retriever = make_retriever([make_node("d", 1.0, "SECRET DOCUMENT")])
    for engine_class in (ContextChatEngine, CondensePlusContextChatEngine):
        llm = ScriptedLLM()
        memory = make(insert_method=method)
        engine = engine_class.from_defaults(retriever, llm=llm, memory=memory, skip_condense=True)
        await chat(mode, engine, "Hello!")
        await chat(mode, engine, "Which cache?")
        told = [text for _, text in llm.seen]
        (block,) = (text for text in told if BLOCK_START in text)
        assert "⦃context_str⦄ and ⦃query_str⦄" in block
        assert "SECRET" not in block
        assert "SECRET DOCUMENT" in told[0]
        assert told[-1] == "Which cache?"
        assert len(llm.asked) == 2
        assert len(memory.get_all()) == 4


class BreaksOff(ScriptedLLM):
    """Loses its stream after the first chunk."""

    def stream_chat(self, messages: Any, **kwargs: Any) -> Iterator[ChatResponse]:
        yield next(iter(super().stream_chat(messages)))
        raise ConnectionError("the stream broke off")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of the engine's own thread
async def test_an_abandoned_stream_still_keeps_what_the_user_said(  # LlamaIndex 20895
    make: Make, store: BeliefStore, make_retriever: Any, mode: str
) -> None:
    llm, memory = BreaksOff(), make()
    engines: list[Any] = [SimpleChatEngine.from_defaults(llm=llm, memory=memory)]
    if not llama_index.core.__version__.startswith("0.12."):  # where that engine puts it after the stream
        engines.append(ContextChatEngine.from_defaults(make_retriever(), llm=llm, memory=memory))
    for number, engine in enumerate(engines):
        text = f"fact_{number}: It holds."
        with pytest.raises(ConnectionError):
            await read(mode, engine, text)
        assert texts(memory.get_all())[-1] == ("user", text)
        assert len(live(store)) == number + 1


async def read(mode: str, engine: Any, text: str) -> None:
    if mode == "async":
        response = await engine.astream_chat(text)
        async for _ in response.async_response_gen():
            pass
    else:
        for _ in engine.stream_chat(text).response_gen:
            pass


async def test_a_streamed_answer_is_stored_by_a_thread_of_the_engine(make: Make, store: BeliefStore) -> None:
    memory = make(user_id=None)
    engine = SimpleChatEngine.from_defaults(llm=ScriptedLLM(answers=["All noted."]), memory=memory)
    with pss_session(user_id="ada", session_id="s"):
        await read("sync", engine, "cache: Use Redis.")
        await read("async", engine, "Which cache?")
    assert [text for role, text in texts(memory.get_all()) if role == "assistant"] == ["All noted."] * 2
    assert [one.canonical_name for one in live(store)] == ["cache"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # agents look at all attributes of themselves
async def test_an_agent_that_is_given_new_words_as_history(make: Make, store: BeliefStore) -> None:
    memory = make()
    agent = FunctionAgent(tools=[], llm=ScriptedLLM(answers=["Noted."]), streaming=False)
    await agent.run(chat_history=[user("queue: Use NATS.")], memory=memory)
    assert [one.canonical_name for one in live(store)] == ["queue"]
    assert len(memory.get_all()) == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # agents look at all attributes of themselves
@pytest.mark.parametrize("streaming", [True, False])
async def test_an_agent_and_its_tools(make: Make, store: BeliefStore, streaming: bool) -> None:
    store.put(ADA, new())
    memory = make(user_id=None)
    looked_up: list[str] = []

    async def look_up(query: str) -> str:
        """Look something up."""
        looked_up.extend(blocks(memory.get(query)))
        return "It is Redis."

    call_tool = ToolSelection(tool_id="1", tool_name="look_up", tool_kwargs={"query": ASK})
    calls = ChatMessage(role="assistant", additional_kwargs={"tool_calls": [call_tool]})
    llm = ScriptedLLM(answers=[calls, "Redis, then."])
    agent = FunctionAgent(tools=[look_up], llm=llm, streaming=streaming, initial_state={"step": 1})
    with pss_session(user_id="ada", session_id="s"):
        assert str(await agent.run("Which redis_cache? queue: Use NATS.", memory=memory)) == "Redis, then."
    assert [len(blocks(messages)) for messages in llm.asked] == [1, 1]
    assert REDIS in looked_up[0]
    stored = texts(memory.get_all())
    assert [role for role, _ in stored] == ["user", "assistant", "tool", "assistant"]
    assert stored[0][1] == "Which redis_cache? queue: Use NATS."
