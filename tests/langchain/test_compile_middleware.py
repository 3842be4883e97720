"""An agent whose threads are compiled when they have grown."""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from belief_chats import ScriptedChatModel
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import create_retriever_tool, tool
from tiny import tiny_backbone

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph

from pss_integrations.errors import IdentityConflict, InvalidInput, MissingExtra, MissingIdentity, StateNotFound
from pss_integrations.identity import pss_session
from pss_integrations.langchain import GuardedRouterRetriever, SessionCompileMiddleware
from pss_integrations.states import (
    BackgroundCompiler,
    CallableTargets,
    CompileConfig,
    GrowthPolicy,
    StateConfig,
    StateManager,
    StateUpdate,
)
from pss_integrations.types import ClueTarget, Message, SessionKey

EACH, NEVER = GrowthPolicy(min_messages=1), GrowthPolicy(min_messages=99)
SAID = tuple[str, str]
NOBODY = pytest.warns(UserWarning, match="the thread is not compiled")


class FakeManager:
    """Notes what it is to compile; fails or waits where a test says so."""

    def __init__(self) -> None:
        self.compiled: list[tuple[SessionKey, list[SAID]]] = []
        self.error: Exception | None = None
        self.opened = Event()
        self.opened.set()

    def messages_behind(self, key: SessionKey, messages: Sequence[Message]) -> int:
        known = [said for one, said in self.compiled if one == key]
        if not known:
            raise StateNotFound("none")
        return len(messages) - len(known[-1])

    def update(self, key: SessionKey, messages: Sequence[Message], **_: object) -> StateUpdate:
        assert self.opened.wait(60)
        if self.error:
            raise self.error
        self.compiled.append((key, [(one.role, one.text) for one in messages]))
        return StateUpdate(key, "compiled", 0)

    @property
    def sessions(self) -> dict[SessionKey, list[str]]:
        """Each session's texts as they were compiled last."""
        return {key: [text for _, text in said] for key, said in self.compiled}


@pytest.fixture
def fake() -> FakeManager:
    return FakeManager()


@pytest.fixture
def make(fake: FakeManager) -> Iterator[Callable[..., SessionCompileMiddleware]]:
    """Make a middleware over a compiler of its own; the thread is the session."""
    opened: list[BackgroundCompiler] = []

    def make(policy: GrowthPolicy = NEVER, manager: Any = fake, **options: Any) -> SessionCompileMiddleware:
        compiling = {name: options.pop(name) for name in ("targets", "on_diverged") if name in options}
        opened.append(BackgroundCompiler(manager, policy, **compiling))
        return SessionCompileMiddleware(opened[-1], **{"session_from": "thread_id", **options})

    yield make
    fake.opened.set()
    for compiler in opened:
        compiler.close()


def agent_of(*middleware: AgentMiddleware, model: Any = None, **options: Any) -> Any:
    options = {"checkpointer": InMemorySaver(), **options}
    return create_agent(model or ScriptedChatModel(), middleware=middleware, **options)


def of(user: str, thread: str = "t") -> dict[str, Any]:
    return {"configurable": {"user_id": user, "thread_id": thread}}


def saying(*texts: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text) for text in texts]}


ADA = SessionKey("ada", "t")


# -- what is observed, and when -------------------------------------------------------------------------------


async def test_a_thread_is_compiled_when_it_has_grown_enough(make, fake, call) -> None:
    middleware = make(GrowthPolicy(min_messages=4))
    agent = agent_of(middleware)
    await call(agent, saying("one"), of("ada"))
    assert (middleware.status(of("ada")).state, middleware.status(of("ada")).behind) == ("waiting", 2)
    await call(agent, saying("two"), of("ada"))
    middleware.flush(of("ada"))
    assert fake.sessions == {ADA: ["one", "Fine.", "two", "Fine."]}
    assert middleware.status(of("ada")).update.outcome == "compiled"
    await call(agent, saying("three"), of("ada"))
    assert (middleware.status(of("ada")).state, len(fake.compiled)) == ("waiting", 1)


async def test_an_agent_without_it_compiles_nothing(make, fake, call) -> None:
    await call(agent_of(), saying("one"), of("ada"))
    assert make().status(of("ada")).state == "unseen"
    assert fake.compiled == []


async def test_the_thread_and_the_answer_are_what_they_would_be_without(make, call) -> None:
    plain, observed = agent_of(), agent_of(make(EACH))
    results = [await call(agent, saying("one"), of("ada")) for agent in (plain, observed)]
    said = [[(type(one), one.text) for one in result["messages"]] for result in results]
    assert said[0] == said[1]
    assert observed.get_state(of("ada")).values.keys() == {"messages"}


async def test_flush_compiles_what_is_not_enough_by_itself(make, fake, call) -> None:
    middleware = make()
    await call(agent_of(middleware), saying("one"), of("ada"))
    assert fake.compiled == []
    assert await middleware.aflush(of("ada")) if call.mode == "async" else middleware.flush(of("ada"))
    assert (fake.sessions, middleware.status(of("ada")).state) == ({ADA: ["one", "Fine."]}, "current")


async def test_flush_is_for_one_session(make, fake, call) -> None:
    middleware = make()
    agent = agent_of(middleware)
    for user in ("ada", "bob"):
        await call(agent, saying(user), of(user, user))
    middleware.flush(of("bob", "bob"))
    assert fake.sessions == {SessionKey("bob", "bob"): ["bob", "Fine."]}


async def test_a_run_that_fails_observes_nothing_half_way(make, fake, call) -> None:
    middleware = make(EACH)
    agent = agent_of(middleware, model=ScriptedChatModel(answers=[ConnectionError("away"), "Fine."]))
    with pytest.raises(ConnectionError):
        await call(agent, saying("one"), of("ada"))
    assert middleware.status(of("ada")).state == "unseen"
    await call(agent, saying("two"), of("ada"))
    middleware.flush(of("ada"))
    assert fake.sessions == {ADA: ["one", "two", "Fine."]}


async def test_a_run_that_is_cancelled_observes_nothing(make) -> None:
    middleware, begun = make(EACH), asyncio.Event()
    task = asyncio.create_task(agent_of(middleware, Waiting(begun)).ainvoke(saying("one"), of("ada")))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert middleware.status(of("ada")).state == "unseen"


class Waiting(AgentMiddleware):
    """Never lets the model be asked."""

    def __init__(self, begun: asyncio.Event) -> None:
        super().__init__()
        self.begun = begun

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        self.begun.set()
        await asyncio.Future()


async def test_all_that_was_said_is_observed_but_for_summaries_and_strange_roles(make, fake, call) -> None:
    @tool
    def look() -> str:
        """Look."""
        return "a page"

    summary = HumanMessage("Talked.", additional_kwargs={"lc_source": "summarization"})
    others = [HumanMessage("from a planner", name="planner"), HumanMessage("mine", name="ada"), HumanMessage("\ud800")]
    said = [summary, ChatMessage("?", role="critic"), *others]
    model = ScriptedChatModel(answers=[AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}]), "Fine."])
    middleware = make(trusted_names=("ada",))
    await call(agent_of(middleware, model=model, tools=[look]), {"messages": said}, of("ada"))
    middleware.flush(of("ada"))
    ((_, observed),) = fake.compiled
    assert observed == [
        ("assistant", "from a planner"),
        ("user", "mine"),
        ("user", "?"),
        ("assistant", ""),
        ("tool", "a page"),
        ("assistant", "Fine."),
    ]


# -- whose session it is --------------------------------------------------------------------------------------


async def test_two_threads_are_two_sessions_and_one_of_two_users_too(make, fake, call) -> None:
    middleware = make()
    for user, thread in (("ada", "one"), ("ada", "two"), ("bob", "one")):
        await call(agent_of(middleware), saying(f"{user}'s {thread}"), of(user, thread))
    middleware._compiler.flush()
    assert fake.sessions == {
        SessionKey("ada", "one"): ["ada's one", "Fine."],
        SessionKey("ada", "two"): ["ada's two", "Fine."],
        SessionKey("bob", "one"): ["bob's one", "Fine."],
    }


@dataclass
class Context:
    user_id: str | None = None
    session_id: str | None = None


async def test_the_session_is_named_as_everywhere(make, fake, call) -> None:
    both = {"configurable": {"user_id": "ada", "session_id": "s", "thread_id": "t"}}
    thread = {"configurable": {"thread_id": "t"}}
    unsaid = {"session_from": None}
    await call(agent_of(middleware := make(**unsaid)), saying("config"), both)
    middleware.flush(both)
    agent = agent_of(middleware := make(**unsaid), context_schema=Context)
    await call(agent, saying("context"), thread, context=Context("bob", "s"))
    middleware._compiler.flush()
    await call(agent_of(middleware := make(**unsaid, user_id=None, session_id="s")), saying("argument"), thread)
    middleware.flush(thread)
    with pss_session(user_id="eve", session_id="s"):
        await call(agent_of(middleware := make(**unsaid)), saying("block"), thread)
        middleware.flush()
    assert {key.user_id: texts[0] for key, texts in fake.sessions.items()} == {
        "ada": "config",
        "bob": "context",
        None: "argument",
        "eve": "block",
    }
    assert {key.session_id for key in fake.sessions} == {"s"}


async def test_a_thread_of_nobody_is_not_compiled_and_told_once(make, fake, call) -> None:
    for middleware, config in ((make(), {"configurable": {"thread_id": "t"}}), (make(session_from=None), of("ada"))):
        agent = agent_of(middleware)
        with NOBODY:
            await call(agent, saying("one"), config)
        assert (await call(agent, saying("two"), config))["messages"][-1].text == "Fine."
        middleware._compiler.flush()
        with pytest.raises(MissingIdentity):
            middleware.status(config)
    assert fake.compiled == []


async def test_or_it_raises_before_a_model_is_asked(make, call) -> None:
    model = ScriptedChatModel()
    agent = agent_of(make(on_missing_identity="raise"), model=model)
    with pytest.raises(MissingIdentity, match="user_id"):
        await call(agent, saying("one"), {"configurable": {"thread_id": "t"}})
    with pytest.raises(IdentityConflict), pss_session(user_id="bob", session_id="t"):
        await call(agent_of(make(), model=model), saying("one"), of("ada"))
    assert model.asked == []


@pytest.mark.parametrize("trust_nested", [False, True])
async def test_a_sub_agent_is_not_the_session_unless_it_is_said_to_be(make, fake, call, trust_nested: bool) -> None:
    middleware = make(trust_nested=trust_nested)
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent_of(middleware, checkpointer=None))
    graph.add_edge("__start__", "agent")
    await call(graph.compile(checkpointer=InMemorySaver()), saying("Do it"), of("ada"))
    middleware._compiler.flush()
    assert fake.sessions == ({ADA: ["Do it", "Fine."]} if trust_nested else {})


# -- what goes wrong, and what takes long ---------------------------------------------------------------------


async def test_a_compile_that_fails_is_logged_and_seen_and_breaks_no_run(make, fake, call, caplog) -> None:
    fake.error = RuntimeError("no space")
    middleware = make(EACH)
    agent = agent_of(middleware)
    await call(agent, saying("one"), of("ada"))
    with pytest.raises(RuntimeError, match="no space"):
        middleware.flush(of("ada"))
    status = middleware.status(of("ada"))
    assert (status.state, status.error) == ("failed", fake.error)
    assert "a session could not be compiled" in caplog.text
    assert (await call(agent, saying("two"), of("ada")))["messages"][-1].text == "Fine."
    with pytest.raises(RuntimeError, match="no space"):
        middleware.flush(of("ada"))  # else the compile of this run might still be on its way to fail
    fake.error = None
    middleware.flush(of("ada"))
    assert (middleware.status(of("ada")).state, fake.sessions[ADA][-2]) == ("current", "two")


async def test_a_compiler_that_was_closed_breaks_no_run_either(make, call, caplog) -> None:
    middleware = make()
    middleware._compiler.close()
    result = await call(agent_of(middleware), saying("one"), of("ada"))
    assert result["messages"][-1].text == "Fine."
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "a thread could not be observed" in caplog.text


async def test_no_run_waits_for_a_compile(make, fake, call) -> None:
    fake.opened.clear()
    middleware = make(EACH)
    agent = agent_of(middleware)
    for text in ("one", "two"):
        assert (await call(agent, saying(text), of("ada")))["messages"][-1].text == "Fine."
    assert middleware.status(of("ada")).state in {"queued", "compiling"}
    assert not middleware.flush(of("ada"), timeout=0)
    fake.opened.set()
    assert await middleware.aflush(of("ada"))
    assert fake.sessions == {ADA: ["one", "Fine.", "two", "Fine."]}


async def test_the_loop_runs_on_while_a_manifest_is_read(make, fake) -> None:
    ticked = asyncio.Event()
    reading, loop = Event(), asyncio.get_running_loop()

    def behind(*_: object) -> int:
        loop.call_soon_threadsafe(ticked.set)
        assert reading.wait(60)
        return 0

    fake.messages_behind = behind
    run = asyncio.create_task(agent_of(make()).ainvoke(saying("one"), of("ada")))
    await asyncio.wait_for(ticked.wait(), 60)
    reading.set()
    assert (await run)["messages"][-1].text == "Fine."


@pytest.mark.parametrize("mode", ["messages", "custom", "updates"])
async def test_what_a_model_says_to_make_targets_is_in_no_stream(make, call, mode: str) -> None:
    """langchain issues 5608 and 7136: what another model says is no part of the answer."""
    asked: list[Any] = []

    class Asking(FakeManager):
        def update(self, key: SessionKey, messages: Sequence[Message], **rest: Any) -> StateUpdate:
            asked.append(GenericFakeChatModel(messages=iter(["SECRET"])).invoke("What is it about?"))
            return super().update(key, messages, **rest)

    middleware = make(EACH, Asking())

    class Flushing(AgentMiddleware):
        """Waits for the compile while the run goes on."""

        def after_agent(self, state: Any, runtime: Any) -> None:
            middleware.flush()

    agent = agent_of(Flushing(), middleware)
    if call.mode == "sync":
        streamed = [*agent.stream(saying("one"), of("ada"), stream_mode=mode)]
    else:
        streamed = [one async for one in agent.astream(saying("one"), of("ada"), stream_mode=mode)]
    assert len(asked) == 1
    assert "SECRET" not in str(streamed)


# -- real states ----------------------------------------------------------------------------------------------


def last_kit(messages: Sequence[Message]) -> list[ClueTarget]:
    kit = next(word for one in reversed(messages) for word in one.text.split() if word.startswith("kit-"))
    return [ClueTarget("now?", f"Heron {kit.strip('.')}")]


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[StateManager]:
    shape = {"state": StateConfig(rank=4, alpha=8, layers=2), "config": CompileConfig(lr_a=5e-3, lr_b=2e-2)}
    with closing(StateManager(tmp_path, backbone=tiny_backbone(), **shape)) as opened:
        yield opened


@pytest.fixture
def with_states(make, manager) -> Callable[..., SessionCompileMiddleware]:
    def with_states(policy: GrowthPolicy = EACH, **options: Any) -> SessionCompileMiddleware:
        return make(policy, manager, targets=CallableTargets(last_kit, "kits"), **options)

    return with_states


async def test_after_a_flush_the_next_retrieval_reads_the_new_state(with_states, manager, call) -> None:
    middleware = with_states()
    echo = RunnableLambda(lambda text: [Document(text)])
    retriever = GuardedRouterRetriever(retriever=echo, manager=manager, composition="replace", session_from="thread_id")
    docs = create_retriever_tool(retriever, "docs", "Finds documents.")
    for kit in ("kit-7", "kit-9"):
        looking = AIMessage("", tool_calls=[{"name": "docs", "args": {"query": "now?"}, "id": kit}])
        agent = agent_of(middleware, model=ScriptedChatModel(answers=["Noted.", looking, "Done."]), tools=[docs])
        await call(agent, saying(f"Heron runs on {kit} now."), of("ada", kit))
        await middleware.aflush(of("ada", kit))
        result = await call(agent, saying("And now?"), of("ada", kit))
        assert result["messages"][-2].text == f"Heron {kit}"


async def test_a_thread_that_grows_goes_on_from_its_state(with_states, call) -> None:
    middleware = with_states()
    agent, outcomes = agent_of(middleware), []
    for text in ("Heron runs on kit-7.", "It moved to kit-9."):
        await call(agent, saying(text), of("ada"))
        middleware.flush(of("ada"))
        outcomes.append(middleware.status(of("ada")).update.outcome)
    assert outcomes == ["compiled", "recompiled"]


@pytest.mark.parametrize(("on_diverged", "outcome"), [("compile", "compiled"), ("keep", "diverged")])
@pytest.mark.parametrize("how", ["edited", "forked"])
async def test_an_edited_or_forked_thread_is_noticed(
    with_states, manager, call, how: str, on_diverged: str, outcome: str
) -> None:
    middleware = with_states(on_diverged=on_diverged)
    agent = agent_of(middleware)
    await call(agent, saying("Heron runs on kit-7."), of("ada"))
    begun = agent.get_state(of("ada"))
    await call(agent, saying("It moved to kit-9."), of("ada"))
    middleware.flush(of("ada"))
    assert manager.read(ADA, "now?").text == "Heron kit-9"
    if how == "edited":
        first = begun.values["messages"][0]
        agent.update_state(of("ada"), {"messages": [first.model_copy(update={"content": "Heron runs on kit-5."})]})
        await call(agent, saying("No, on kit-3."), of("ada"))
    else:
        fork = {"configurable": {**begun.config["configurable"], "user_id": "ada"}}
        await call(agent, saying("No, on kit-3."), fork)
    middleware.flush(of("ada"))
    update = middleware.status(of("ada")).update
    assert update.outcome == outcome
    assert "have changed" in update.reason
    assert manager.read(ADA, "now?").text == ("Heron kit-3" if outcome == "compiled" else "Heron kit-9")


async def test_a_summarised_thread_keeps_what_its_state_knows(with_states, manager, call) -> None:
    class Summarize(AgentMiddleware):
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            if len(state["messages"]) < 5:
                return None
            summary = HumanMessage("Talked of kit-0.", additional_kwargs={"lc_source": "summarization"})
            return {"messages": [RemoveMessage("__remove_all__"), summary, *state["messages"][-2:]]}

    middleware = with_states()
    agent = agent_of(Summarize(), middleware)
    for text in ("Heron runs on kit-7.", "It moved to kit-9.", "Thanks for kit-9."):
        result = await call(agent, saying(text), of("ada"))
        middleware.flush(of("ada"))
    assert result["messages"][0].text == "Talked of kit-0."
    update = middleware.status(of("ada")).update
    assert (update.outcome, manager.info(ADA).messages) == ("recompiled", 6)
    assert "trimmed or summarised" in update.reason
    assert manager.read(ADA, "now?").text == "Heron kit-9"


# -- making one -----------------------------------------------------------------------------------------------


def test_options_are_checked_when_it_is_made(make, manager) -> None:
    with pytest.raises(InvalidInput, match="BackgroundCompiler"):
        SessionCompileMiddleware(manager)
    with pytest.raises(InvalidInput, match="on_missing_identity"):
        make(on_missing_identity="raw")
    with pytest.raises(InvalidInput, match="session_from"):
        make(session_from="run_id")


def test_it_needs_langchain(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    import pss_integrations.langchain as face

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "langchain" else find(name))
    monkeypatch.delitem(sys.modules, "pss_integrations.langchain.compile_middleware")
    with pytest.raises(MissingExtra, match=r"pss-integrations\[langgraph\]"):
        _ = face.SessionCompileMiddleware
