import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from belief_llms import ScriptedLLM, assistant, texts, user
from belief_making import Clock, live
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.memory import ChatMemoryBuffer

from pss_integrations.beliefs import BeliefStore, Principal
from pss_integrations.beliefs.extraction import SIDECAR_PROMPT, SidecarExtractor, strip_sidecar
from pss_integrations.beliefs.extraction.sidecar import SIDECAR_END, SIDECAR_START
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.errors import InvalidInput, MissingIdentity
from pss_integrations.identity import pss_session
from pss_integrations.llama_index import BeliefStateMemory, SidecarLLM, llm_extractor
from pss_integrations.types import Message

LEARNT = {
    "new_beliefs": [
        {"type": "decision", "canonical_name": "redis", "content": "Uses Redis.", "said_by": "user", "confidence": 1.0}
    ]
}
BLOCK = f"{SIDECAR_START}\n{json.dumps(LEARNT)}\n{SIDECAR_END}"
ANSWER = f"Redis, then. <<<\n{BLOCK}"
SHOWN = "Redis, then. <<<\n"
SAID = [ChatMessage(role="system", content="Be brief."), user("We use Redis.")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BeliefStore]:
    with BeliefStore(tmp_path / "beliefs.db", clock=Clock()) as opened:
        yield opened


@pytest.fixture
def beliefs(store: BeliefStore) -> BeliefMemory:
    return BeliefMemory(store, scopes=["project:atlas"], extractor=SidecarExtractor(), background=False)


Make = Callable[..., SidecarLLM]


@pytest.fixture
def make(beliefs: BeliefMemory) -> Make:
    def make(*answers: str | ChatMessage, **fields: Any) -> SidecarLLM:
        made = {"llm": ScriptedLLM(answers=answers or [ANSWER]), "memory": beliefs, "user_id": "ada"}
        return SidecarLLM(**{**made, **fields})

    return make


async def chunks_of(mode: str, llm: Any, name: str, *args: Any) -> list[Any]:
    if mode == "sync":
        return list(getattr(llm, name)(*args))
    return [chunk async for chunk in await getattr(llm, f"a{name}")(*args)]


async def test_an_answer_comes_without_its_block_and_that_is_kept(make: Make, store: BeliefStore, mode: str) -> None:
    llm = make()
    response = await llm.achat(SAID) if mode == "async" else llm.chat(SAID)
    assert response.message.content == SHOWN
    (belief,) = live(store)
    assert (belief.content, belief.provenance.source) == ("Uses Redis.", "user")


async def test_the_model_is_asked_for_a_block_at_the_end_of_its_instructions(make: Make, mode: str) -> None:
    llm = make()
    before = [message.model_copy(deep=True) for message in SAID]
    await chunks_of(mode, llm, "stream_chat", SAID)
    llm.chat([user("We use Redis.")])
    assert [texts(asked) for asked in llm.llm.asked] == [
        [("system", f"Be brief.\n{SIDECAR_PROMPT}"), ("user", "We use Redis.")],
        [("system", SIDECAR_PROMPT), ("user", "We use Redis.")],
    ]
    assert before == SAID


@pytest.mark.parametrize("is_cumulative_only", [False, True])
async def test_a_stream_comes_without_the_block(
    make: Make, store: BeliefStore, is_cumulative_only: bool, mode: str
) -> None:
    for size in (1, 3, 7, 1000):
        llm = make(llm=ScriptedLLM(answers=[ANSWER], chunk_size=size, is_cumulative_only=is_cumulative_only))
        with pss_session(user_id="ada", session_id=f"chunks of {size}"):
            chunks = await chunks_of(mode, llm, "stream_chat", SAID)
        assert "".join(chunk.delta for chunk in chunks) == SHOWN
        shown = [chunk.message.content or "" for chunk in chunks]
        assert shown[-1] == SHOWN
        assert [SHOWN.startswith(text) for text in shown] == [True] * len(shown)
    (belief,) = live(store)
    assert belief.reinforcement_count == 4


@settings(max_examples=60)
@given(
    text=st.lists(st.sampled_from([SIDECAR_START, SIDECAR_END, "<<<", "SIDE", ">>>", "a", " \n"])).map("".join),
    size=st.integers(1, 25),
    is_cumulative_only=st.booleans(),
)
def test_wherever_chunks_begin_and_end_the_same_is_shown(text: str, size: int, is_cumulative_only: bool) -> None:
    silent = BeliefMemory(Unused(), scopes=["project:atlas"], extractor=SidecarExtractor(), background=False)  # type: ignore[arg-type]
    model = ScriptedLLM(answers=[text], chunk_size=size, is_cumulative_only=is_cumulative_only)
    llm = SidecarLLM(llm=model, memory=silent, user_id="ada")
    for chunks in (llm.stream_chat([user("?")]), llm.stream_complete("?")):
        assert "".join(chunk.delta or "" for chunk in chunks) == strip_sidecar(text)
    assert (llm.chat([user("?")]).message.content or "") == strip_sidecar(text)
    assert llm.complete("?").text == strip_sidecar(text)


class Unused:
    """Stands where no belief is put, since none is found."""


async def test_completions_are_stripped_and_not_asked_for_a_block(make: Make, store: BeliefStore, mode: str) -> None:
    llm = make()
    whole = await llm.acomplete("Which?") if mode == "async" else llm.complete("Which?")
    chunks = await chunks_of(mode, llm, "stream_complete", "Which?")
    assert whole.text == chunks[-1].text == "".join(chunk.delta for chunk in chunks) == SHOWN
    assert [texts(asked) for asked in llm.llm.asked] == [[("user", "Which?")]] * 2
    assert live(store) == []


async def test_an_answer_without_a_block_comes_as_it_is(make: Make, store: BeliefStore, mode: str) -> None:
    for text in ("Nothing new.", ""):
        llm = make(text)
        response = await llm.achat(SAID) if mode == "async" else llm.chat(SAID)
        assert (response.message.content or "") == text
        chunks = await chunks_of(mode, llm, "stream_chat", SAID)
        assert [chunk.delta for chunk in chunks] == [text[at : at + 3] for at in range(0, max(len(text), 1), 3)]
    assert live(store) == []


async def test_an_empty_stream_stays_empty(make: Make, mode: str) -> None:
    class Silent(ScriptedLLM):
        def stream_chat(self, messages: Any, **kwargs: Any) -> Any:
            return iter(())

    assert await chunks_of(mode, make(llm=Silent()), "stream_chat", SAID) == []


async def test_all_but_the_block_passes_through(make: Make) -> None:
    call_tool = ToolSelection(tool_id="1", tool_name="look_up", tool_kwargs={})
    answer = ChatMessage(
        role="assistant",
        blocks=[TextBlock(text="Redis."), TextBlock(text=BLOCK)],
        additional_kwargs={"tool_calls": [call_tool]},
    )
    llm = make(answer)
    response = llm.chat(SAID)
    assert response.message.blocks == [TextBlock(text="Redis.\n")]
    assert llm.get_tool_calls_from_response(response) == [call_tool]
    assert llm.metadata == llm.llm.metadata
    no_text = make(ChatMessage(role="assistant", additional_kwargs={"tool_calls": [call_tool]}))
    assert no_text.chat(SAID).message.blocks == []
    (chunk,) = no_text.stream_chat(SAID)
    assert llm.get_tool_calls_from_response(chunk) == [call_tool]
    assert chunk.message.blocks == []


def test_it_takes_over_what_the_model_is_set_up_with(make: Make) -> None:
    model = ScriptedLLM(system_prompt="Be brief.", messages_to_prompt=lambda messages: "as a prompt")
    llm = make(llm=model)
    assert (llm.system_prompt, llm.messages_to_prompt(SAID)) == ("Be brief.", "as a prompt")
    assert llm.callback_manager is model.callback_manager


async def test_who_asks_is_resolved_when_it_is_asked(make: Make, store: BeliefStore, mode: str) -> None:
    llm = make(user_id=None)
    with pss_session(user_id="ada", session_id="s"):
        stream = await llm.astream_chat(SAID) if mode == "async" else llm.stream_chat(SAID)
    if mode == "async":
        assert [chunk async for chunk in stream]
    else:
        assert list(stream)
    assert len(live(store)) == 1


async def test_without_a_user_the_model_is_not_called(make: Make, mode: str) -> None:
    llm = make(user_id=None)
    with pytest.raises(MissingIdentity):
        await llm.achat(SAID) if mode == "async" else llm.chat(SAID)
    with pytest.raises(MissingIdentity):
        await chunks_of(mode, llm, "stream_chat", SAID)
    assert llm.llm.asked == []


async def test_without_the_values_of_a_scope_the_model_is_not_called(make: Make, store: BeliefStore, mode: str) -> None:
    beliefs = BeliefMemory(store, scopes=["project:{project}"], extractor=SidecarExtractor())
    llm = make(memory=beliefs, context={"project": "atlas"})
    llm.context.clear()
    with pytest.raises(InvalidInput, match="'project'"):
        await llm.achat(SAID) if mode == "async" else llm.chat(SAID)
    with pytest.raises(InvalidInput, match="'project'"):
        await chunks_of(mode, llm, "stream_chat", SAID)
    assert llm.llm.asked == []


@pytest.mark.parametrize("fields", [{}, {"principal": Principal.team("core")}])  # whose beliefs Ada may not write
async def test_an_answer_is_not_lost_where_nothing_can_be_kept(
    make: Make, store: BeliefStore, mode: str, fields: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    llm = make(**fields)
    if not fields:
        store.close()
    response = await llm.achat(SAID) if mode == "async" else llm.chat(SAID)
    assert response.message.content == SHOWN
    assert (await chunks_of(mode, llm, "stream_chat", SAID))[-1].message.content == SHOWN
    assert [record.levelname for record in caplog.records] == ["ERROR"] * 2


def test_half_a_character_in_an_answer_is_replaced(make: Make, store: BeliefStore) -> None:
    make(ANSWER.replace("Uses Redis", "Uses \ud83d Redis")).chat([user("We use Redis. \ud83d")])
    assert [one.content for one in live(store)] == ["Uses ? Redis."]


def test_what_cannot_be_used_is_refused(make: Make, store: BeliefStore) -> None:
    with pytest.raises(InvalidInput, match="SidecarExtractor"):
        make(memory=BeliefMemory(store, scopes=["project:atlas"]))
    with pytest.raises(InvalidInput, match="MockLLM calls no tools"):
        make(llm=MockLLM()).chat_with_tools([], "Hello!")


async def test_a_chat_engine_with_memory(make: Make, beliefs: BeliefMemory, store: BeliefStore, mode: str) -> None:
    memory = BeliefStateMemory(
        memory=beliefs, primary_memory=ChatMemoryBuffer.from_defaults(), user_id="ada", observe=False
    )
    llm = make()
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
    if mode == "async":
        shown = [delta async for delta in (await engine.astream_chat("We use Redis.")).async_response_gen()]
    else:
        shown = [*engine.stream_chat("We use Redis.").response_gen]
    assert "".join(shown) == SHOWN
    assert texts(memory.get_all()) == [("user", "We use Redis."), ("assistant", SHOWN.strip())]
    engine.chat("Why redis?")
    system = llm.llm.seen[0][1]
    assert "Uses Redis." in system
    assert system.endswith(SIDECAR_PROMPT)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # agents look at all attributes of themselves
@pytest.mark.parametrize("streaming", [True, False])
async def test_an_agent_and_its_tools(make: Make, store: BeliefStore, streaming: bool) -> None:
    def look_up() -> str:
        """Look something up."""
        return "It is there."

    call_tool = ToolSelection(tool_id="1", tool_name="look_up", tool_kwargs={})
    calls = ChatMessage(role="assistant", content="Let me see.", additional_kwargs={"tool_calls": [call_tool]})
    agent = FunctionAgent(tools=[look_up], llm=make(calls, ANSWER), streaming=streaming)
    run = agent.run("We use Redis.")
    streamed = "".join([event.delta async for event in run.stream_events() if hasattr(event, "delta")])
    assert (await run).response.content == SHOWN
    assert streamed in ("Let me see." + SHOWN, "" if not streaming else None)
    assert len(live(store)) == 1


class BreaksOff(ScriptedLLM):
    """Fails after its last character."""

    def stream_chat(self, messages: Any, **kwargs: Any) -> Iterator[Any]:
        yield from super().stream_chat(messages)
        raise ConnectionError("the stream broke off")


@pytest.mark.parametrize(("raw", "kept"), [(f"{ANSWER} And", 1), (ANSWER, 1), (ANSWER[:-1], 0), (SHOWN, 0)])
async def test_of_a_stream_that_breaks_off_whole_blocks_are_kept(
    make: Make, store: BeliefStore, mode: str, raw: str, kept: int
) -> None:
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await chunks_of(mode, make(llm=BreaksOff(answers=[raw])), "stream_chat", SAID)
    assert len(live(store)) == kept
    await chunks_of(mode, make(), "stream_chat", SAID)
    assert [one.reinforcement_count for one in live(store)] == [1]


async def test_of_a_stream_that_is_abandoned_whole_blocks_are_kept(make: Make, store: BeliefStore, mode: str) -> None:
    llm = make(f"{ANSWER}! And much more to say.")
    if mode == "async":
        stream = await llm.astream_chat(SAID)
        while "!" not in ((await anext(stream)).delta or ""):
            pass
        await stream.aclose()
    else:
        chunks = llm.stream_chat(SAID)
        while "!" not in (next(chunks).delta or ""):
            pass
        chunks.close()
    assert len(live(store)) == 1


async def test_a_block_that_is_repeated_in_a_loop_of_tools_counts_once(
    make: Make, store: BeliefStore, mode: str
) -> None:
    turn = [*SAID]
    for text in ("Let me see.", "Done."):
        turn.append((await chunks_of(mode, make(f"{text} {BLOCK}"), "stream_chat", turn))[-1].message)
        turn.append(ChatMessage(role="tool", content="page"))
    assert [one.reinforcement_count for one in live(store)] == [1]
    await chunks_of(mode, make(), "stream_chat", [*turn, user("As I said, Redis.")])
    assert [one.reinforcement_count for one in live(store)] == [2]


async def test_a_fence_around_the_block_goes_with_it(make: Make, store: BeliefStore, mode: str) -> None:
    for size in (1, 3, 1000):
        llm = make(llm=ScriptedLLM(answers=[f"Redis.\n```json\n{BLOCK}\n```"], chunk_size=size))
        assert (await chunks_of(mode, llm, "stream_chat", SAID))[-1].message.content == "Redis.\n"
        assert llm.chat(SAID).message.content == "Redis.\n"
    assert len(live(store)) == 1


def test_what_another_agent_claims_is_inferred(make: Make, store: BeliefStore) -> None:
    said = ChatMessage(role="user", content="We use Redis.", additional_kwargs={"name": "planner"})
    make().chat([said])
    assert [(one.provenance.source, one.epistemic_status) for one in live(store)] == [("assistant", "inferred")]


def test_what_the_user_did_not_say_is_inferred(make: Make, store: BeliefStore) -> None:
    make().chat([assistant("Use Redis!"), user("Which one?")])
    (belief,) = live(store)
    assert (belief.provenance.source, belief.epistemic_status) == ("assistant", "inferred")


# --- extraction by a model


@pytest.mark.parametrize(("name", "source_model"), [("a-model", "a-model"), ("unknown", None)])
def test_any_model_extracts(store: BeliefStore, name: str, source_model: str | None) -> None:
    items = [
        {"type": "decision", "canonical_name": one, "content": "It holds.", "turn": 1, "confidence": 1}
        for one in ("redis", "kafka")
    ]
    llm = ScriptedLLM(answers=[json.dumps({"beliefs": items})], name=name)
    extractor = llm_extractor(llm, max_beliefs=1)
    (belief,) = extractor.extract([Message("user", "We use Redis.")], ["project:atlas"]).beliefs
    assert (belief.canonical_name, belief.provenance.source_model) == ("redis", source_model)
    assert "We use Redis." in llm.seen[0][1]
