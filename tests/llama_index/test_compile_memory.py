"""A memory whose session is compiled as it grows: what is shown to the compiler, and that no chat notices."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from belief_llms import ScriptedLLM, assistant, blocks, call, texts, user
from belief_making import ADA as ADA_HERSELF
from belief_making import live, new
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer, Memory
from pydantic import ValidationError

from pss_integrations.beliefs import BeliefStore
from pss_integrations.errors import IdentityConflict, MissingIdentity, StateCorrupt, StateNotFound
from pss_integrations.identity import pss_session
from pss_integrations.llama_index import BeliefStateMemory, GuardedRouterRetriever, SessionCompileMemory
from pss_integrations.states import BackgroundCompiler, GrowthPolicy, StateUpdate
from pss_integrations.types import Message, SessionKey

ADA = SessionKey("ada", "s")
EACH = GrowthPolicy(min_messages=1)


class NotingManager:
    """Compiles nothing; notes what it is given, once its gate is open."""

    def __init__(self) -> None:
        self.compiled: dict[SessionKey, list[Message]] = {}
        self.error: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()

    def messages_behind(self, key: SessionKey, messages: Sequence[Message]) -> int:
        if key not in self.compiled:
            raise StateNotFound("none")
        return len(messages) - len(self.compiled[key])

    def update(self, key: SessionKey, messages: Sequence[Message], **_: Any) -> StateUpdate:
        assert self.gate.wait(30), "what should go on waited for the compile"
        if self.error:
            raise self.error
        self.compiled[key] = list(messages)
        return StateUpdate(key, "compiled", 0)

    def said(self, key: SessionKey = ADA) -> list[tuple[str, str]]:
        return [(message.role, message.text) for message in self.compiled.get(key, ())]


@pytest.fixture
def manager() -> NotingManager:
    return NotingManager()


@pytest.fixture
def compiler(manager: NotingManager) -> Iterator[BackgroundCompiler]:
    with BackgroundCompiler(manager, EACH) as opened:
        yield opened
        manager.gate.set()


Make = Callable[..., SessionCompileMemory]


@pytest.fixture
def make(compiler: BackgroundCompiler) -> Make:
    """Make the memory of Ada's session, over a buffer."""

    def make(**fields: Any) -> SessionCompileMemory:
        made = {"compiler": compiler, "primary_memory": ChatMemoryBuffer.from_defaults(), "user_id": "ada"}
        return SessionCompileMemory(**{"session_id": "s", **made, **fields})

    return make


# -- what is shown to the compiler ---------------------------------------------------------------------------


async def test_whatever_is_added_the_whole_session_is_shown(
    make: Make, primary: BaseMemory, manager: NotingManager, compiler: BackgroundCompiler, mode: str
) -> None:
    memory = make(primary_memory=primary)
    await call(mode, memory, "put", user("one"))
    assert await compiler.aflush()
    assert manager.said() == [("user", "one")]
    await call(mode, memory, "put_messages", [assistant("two"), user("three")])
    assert await compiler.aflush()
    assert manager.said() == [("user", "one"), ("assistant", "two"), ("user", "three")]
    await call(mode, memory, "set", [user("one"), assistant("other"), user("three"), assistant("four")])
    assert await compiler.aflush()
    assert manager.said() == texts(await memory.aget_all())
    assert len(manager.said()) == 4


async def test_the_policy_says_when(make: Make, manager: NotingManager, mode: str) -> None:
    with BackgroundCompiler(manager, GrowthPolicy(min_messages=2)) as compiler:
        memory = make(compiler=compiler)
        await call(mode, memory, "put", user("one"))
        status = compiler.status(memory.session_key())
        assert (status.state, status.behind, manager.said()) == ("waiting", 1, [])
        await call(mode, memory, "put", assistant("two"))
    assert len(manager.said()) == 2  # closing finishes what is queued


async def test_each_session_is_its_own(make: Make, manager: NotingManager, compiler: BackgroundCompiler) -> None:
    for user_id in ("ada", "bob", None):
        make(user_id=user_id).put(user(f"I am {user_id}."))
    assert compiler.flush()
    assert {key.user_id: manager.said(key) for key in manager.compiled} == {
        user_id: [("user", f"I am {user_id}.")] for user_id in ("ada", "bob", None)
    }


async def test_what_is_read_is_the_other_memorys(make: Make, primary: BaseMemory, mode: str) -> None:
    memory = make(primary_memory=primary)
    await call(mode, memory, "put_messages", [user("one"), assistant("two")])
    assert await call(mode, memory, "get") == await call(mode, primary, "get")
    assert await call(mode, memory, "get", user("one")) == await call(mode, primary, "get", "one")
    assert await call(mode, memory, "get_all") == await call(mode, primary, "get_all")
    await call(mode, memory, "reset")
    assert await call(mode, primary, "get_all") == []


# -- no chat waits, and none fails ----------------------------------------------------------------------------


async def test_nobody_waits_for_a_compile(make: Make, manager: NotingManager, mode: str) -> None:
    manager.gate.clear()
    memory = make()
    for number in range(3):
        await call(mode, memory, "put", user(f"note {number}"))
    assert manager.compiled == {}
    assert len(memory.get_all()) == 3


async def test_the_loop_goes_on_while_a_session_is_observed(make: Make, manager: NotingManager) -> None:
    counting = threading.Event()

    def behind(key: SessionKey, messages: Sequence[Message]) -> int:
        assert counting.wait(30), "the loop stood still"
        return 0

    manager.messages_behind = behind  # pyright: ignore[reportAttributeAccessIssue]
    task = asyncio.create_task(make().aput(user("one")))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    counting.set()
    await task


async def test_a_compile_that_fails_is_seen_in_the_status_alone(
    make: Make, manager: NotingManager, compiler: BackgroundCompiler, mode: str
) -> None:
    manager.error = StateCorrupt("truncated")
    memory = make()
    await call(mode, memory, "put", user("one"))
    with pytest.raises(StateCorrupt):
        compiler.flush(memory.session_key())
    assert compiler.status(memory.session_key()).state == "failed"
    manager.error = None
    await call(mode, memory, "put", assistant("two"))
    assert await compiler.aflush()
    assert len(manager.said()) == 2


async def test_a_compiler_that_was_closed_breaks_no_chat(
    make: Make, compiler: BackgroundCompiler, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    compiler.close()
    memory = make()
    await call(mode, memory, "put", user("my secret"))
    await call(mode, memory, "set", [user("my secret"), assistant("two")])
    assert len(memory.get_all()) == 2
    assert [record.getMessage() for record in caplog.records] == ["a session could not be observed: ManagerClosed"] * 2
    assert "secret" not in caplog.text


class Unreadable(ChatMemoryBuffer):
    """Takes messages, and does not give all of them back."""

    def get_all(self) -> list[ChatMessage]:
        raise OSError("no store")

    async def aget_all(self) -> list[ChatMessage]:
        raise OSError("no store")


class Refuses(ChatMemoryBuffer):
    """Takes no messages."""

    def _refuse(self, messages: list[ChatMessage]) -> None:
        raise OSError("no store")

    async def _arefuse(self, messages: list[ChatMessage]) -> None:
        raise OSError("no store")

    put_messages = set = _refuse
    aput_messages = aset = _arefuse


async def test_a_memory_that_cannot_be_read_breaks_no_chat(make: Make, compiler: BackgroundCompiler, mode: str) -> None:
    memory = make(primary_memory=Unreadable.from_defaults())
    await call(mode, memory, "put", user("one"))
    assert texts(memory.primary_memory.chat_store.get_messages("chat_history")) == [("user", "one")]
    assert compiler.status(memory.session_key()).state == "unseen"


async def test_an_error_of_the_other_memory_is_raised_and_nothing_observed(
    make: Make, compiler: BackgroundCompiler, mode: str
) -> None:
    memory = make(primary_memory=Refuses.from_defaults())
    for name, given in (("put", user("one")), ("set", [user("one")])):
        with pytest.raises(OSError, match="no store"):
            await call(mode, memory, name, given)
    assert compiler.status(memory.session_key()).state == "unseen"


# -- whose it is ----------------------------------------------------------------------------------------------


async def test_another_session_around_it_is_refused_before_anything_is_put(make: Make, mode: str) -> None:
    memory = make()
    for other in ({"user_id": "bob", "session_id": "s"}, {"user_id": "ada", "session_id": "t"}):
        with pss_session(**other), pytest.raises(IdentityConflict, match="the memory and pss_session"):
            await call(mode, memory, "put", user("one"))
        with pss_session(**other), pytest.raises(IdentityConflict):
            await call(mode, memory, "set", [user("one")])
    assert memory.get_all() == []
    with pss_session(user_id="ada", session_id="s"):
        await call(mode, memory, "put", user("one"))
    assert len(memory.get_all()) == 1


def test_there_is_no_default_session(make: Make, compiler: BackgroundCompiler) -> None:
    for missing in ("user_id", "session_id", "compiler"):
        fields = {"compiler": compiler, "user_id": "ada", "session_id": "s"}
        del fields[missing]
        with pytest.raises(ValidationError, match=missing):
            SessionCompileMemory(**fields)
    with pytest.raises(MissingIdentity, match="user_id is missing"):
        make(user_id="")
    with pytest.raises(MissingIdentity, match="session_id is missing"):
        make(session_id="")


def test_by_defaults_it_stands_over_a_new_memory(compiler: BackgroundCompiler) -> None:
    memory = SessionCompileMemory.from_defaults(compiler=compiler, user_id="ada", session_id="s", token_limit=700)
    assert isinstance(memory.primary_memory, Memory)
    assert memory.primary_memory.token_limit == 700


def test_dumped_it_holds_no_compiler_and_made_again_it_needs_one(make: Make, compiler: BackgroundCompiler) -> None:
    memory = make()
    assert memory.class_name() == memory.to_dict()["class_name"] == "SessionCompileMemory"
    data = memory.model_dump(exclude={"primary_memory"})
    assert "compiler" not in data
    again = SessionCompileMemory.from_dict(data, compiler=compiler, primary_memory=memory.primary_memory)
    assert again.session_key() == memory.session_key() == ADA


# -- together with beliefs, engines and agents ----------------------------------------------------------------


@pytest.mark.parametrize("outermost", [SessionCompileMemory, BeliefStateMemory])
async def test_it_goes_around_a_memory_of_beliefs_or_into_one(
    make: Make, beliefs: Any, store: BeliefStore, manager: NotingManager, compiler: BackgroundCompiler, outermost: type
) -> None:
    store.put(ADA_HERSELF, new())
    who = {"memory": beliefs, "user_id": "ada", "context": {"project": "atlas"}}
    if outermost is SessionCompileMemory:
        memory: Any = make(primary_memory=BeliefStateMemory(primary_memory=ChatMemoryBuffer.from_defaults(), **who))
    else:
        memory = BeliefStateMemory(primary_memory=make(), **who)
    await memory.aput(user("queue: Use NATS."))
    await memory.aput(user("Which redis_cache?"))
    assert await compiler.aflush()
    assert len(blocks(await memory.aget("Which redis_cache?"))) == 1
    assert manager.said() == [("user", "queue: Use NATS."), ("user", "Which redis_cache?")]
    assert {one.canonical_name for one in live(store)} == {"redis_cache", "queue"}


async def chat(way: str, engine: Any, text: str) -> None:
    if way == "chat":
        engine.chat(text)
    elif way == "achat":
        await engine.achat(text)
    elif way == "stream_chat":
        list(engine.stream_chat(text).response_gen)
    else:
        async for _ in (await engine.astream_chat(text)).async_response_gen():
            pass


@pytest.mark.parametrize("way", ["chat", "achat", "stream_chat", "astream_chat"])
@pytest.mark.parametrize("kind", [SimpleChatEngine, ContextChatEngine, CondensePlusContextChatEngine])
async def test_a_chat_engine_compiles_what_was_said(
    make: Make, make_retriever: Any, manager: NotingManager, compiler: BackgroundCompiler, kind: Any, way: str
) -> None:
    fields = {"llm": ScriptedLLM(answers=["Noted."]), "memory": make()}
    if kind is SimpleChatEngine:
        engine = kind.from_defaults(**fields)
    else:
        engine = kind.from_defaults(make_retriever(), **fields)
    await chat(way, engine, "Set the retry limit to 5.")
    assert await compiler.aflush()
    assert manager.said()[:2] == [("user", "Set the retry limit to 5."), ("assistant", "Noted.")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # agents look at all attributes of themselves
@pytest.mark.parametrize("streaming", [True, False])
async def test_an_agent_compiles_what_was_said(
    make: Make, manager: NotingManager, compiler: BackgroundCompiler, streaming: bool
) -> None:
    agent = FunctionAgent(tools=[], llm=ScriptedLLM(answers=["Noted."]), streaming=streaming)
    memory = make()
    with pss_session(user_id="ada", session_id="s"):
        assert str(await agent.run("Set the retry limit to 5.", memory=memory)) == "Noted."
    assert await compiler.aflush()
    assert manager.said() == [("user", "Set the retry limit to 5."), ("assistant", "Noted.")]


# -- with a model ---------------------------------------------------------------------------------------------


@pytest.fixture
def states(tmp_path: Path) -> Iterator[Any]:
    pytest.importorskip("torch")
    from tiny import tiny_backbone

    from pss_integrations.states import CompileConfig, StateConfig, StateManager

    config = CompileConfig(lr_a=5e-3, lr_b=2e-2, max_epochs=2)
    shape = StateConfig(rank=4, alpha=8.0, layers=2, dtype="float32")
    with StateManager(tmp_path / "states", backbone=tiny_backbone(), config=config, state=shape) as manager:
        yield manager


TALK = [
    user("Heron runs on kit-7 since Monday."),
    assistant("Noted."),
    user("We moved Heron to kit-9, the old kit is retired."),
    assistant("So kit-9 it is."),
]


def test_a_retriever_of_the_same_manager_reads_what_the_engine_had_compiled(
    make: Make, make_retriever: Any, states: Any
) -> None:
    with BackgroundCompiler(states, GrowthPolicy(min_messages=2)) as compiler:
        memory = make(compiler=compiler)
        retriever = GuardedRouterRetriever(make_retriever(), states).bind(user_id="ada", session_id="s")
        engine = ContextChatEngine.from_defaults(retriever, memory=memory, llm=ScriptedLLM(answers=["Noted."]))
        engine.chat("use that from now on: Heron on kit-7")
        assert compiler.flush(memory.session_key())
        assert compiler.status(memory.session_key()).update.outcome == "compiled"
        engine.chat("and where does it run?")
        assert retriever.last_decision.clue is not None


def test_a_memory_that_was_cut_is_noticed(make: Make, states: Any) -> None:
    with BackgroundCompiler(states, EACH) as compiler:
        memory = make(compiler=compiler)
        memory.put_messages(TALK[:3])
        assert compiler.flush()
        memory.set(TALK[1:])
        assert compiler.flush()
        update = compiler.status(memory.session_key()).update
        assert (update.outcome, update.behind) == ("recompiled", 1)
        assert "trimmed" in update.reason
        memory.set([user("Something else altogether.")])
        assert compiler.flush()
        assert "changed" in compiler.status(memory.session_key()).update.reason
