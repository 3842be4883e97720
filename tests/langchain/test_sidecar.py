import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from belief_chats import Noting, ScriptedChatModel
from belief_making import ADA, ATLAS, BOB, live, new
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.callbacks.base import BaseCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.tools import tool
from pydantic import BaseModel, ValidationError

from pss_integrations.beliefs import BeliefStore
from pss_integrations.beliefs.extraction import SIDECAR_PROMPT, SidecarExtractor
from pss_integrations.beliefs.extraction.sidecar import SIDECAR_END, SIDECAR_START
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.errors import InvalidInput, MissingIdentity
from pss_integrations.langchain import SidecarChatModel

AS_ADA = {"configurable": {"user_id": "ada"}}
LEARNED = {
    "new_beliefs": [
        {"type": "decision", "canonical_name": "queue", "content": "Uses NATS.", "said_by": "user", "confidence": 0.9}
    ]
}
BLOCK = f"{SIDECAR_START}\n{json.dumps(LEARNED)}\n{SIDECAR_END}"
ANSWER = "Noted: <<NATS>> it is."
RAW = f"{ANSWER}{BLOCK}"
ASKED = "We use NATS for the queue."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BeliefStore]:
    with BeliefStore(tmp_path / "beliefs.db") as opened:
        yield opened


@pytest.fixture
def memory(store: BeliefStore) -> BeliefMemory:
    return BeliefMemory(store, scopes=[ATLAS], extractor=SidecarExtractor(), background=False)


class Tokens(BaseCallbackHandler):
    """Notes every token and every final text that callbacks are told."""

    def __init__(self) -> None:
        self.text = ""
        self.final: list[str] = []
        self.runs = 0

    def on_chat_model_start(self, *_: Any, **__: Any) -> None:
        self.runs += 1

    def on_llm_new_token(self, token: Any, **_: Any) -> None:
        self.text += token if isinstance(token, str) else "".join(block.get("text", "") for block in token)

    def on_llm_end(self, response: Any, **_: Any) -> None:
        self.final.append(response.generations[0][0].text)


async def answer(model: Any, mode: str, config: Any = AS_ADA, value: Any = ASKED) -> Any:
    match mode:
        case "invoke":
            return model.invoke(value, config)
        case "ainvoke":
            return await model.ainvoke(value, config)
        case "stream":
            chunks = [*model.stream(value, config)]
        case _:
            chunks = [chunk async for chunk in model.astream(value, config)]
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole


MODES = ["invoke", "ainvoke", "stream", "astream"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("chunk_size", [1, 3, 7, 1000])
async def test_the_block_is_kept_and_nobody_sees_it(store, memory, mode: str, chunk_size: int) -> None:
    tokens = Tokens()
    model = SidecarChatModel(wrapped=ScriptedChatModel(answers=[RAW], chunk_size=chunk_size), memory=memory)
    found = await answer(model, mode, {**AS_ADA, "callbacks": [tokens]})
    assert found.text == ANSWER
    assert tokens.text in ("", ANSWER)
    assert tokens.final == [ANSWER]
    assert tokens.runs == 1
    (queue,) = live(store)
    assert (queue.content, queue.provenance.source, queue.epistemic_status) == ("Uses NATS.", "user", "active")


@pytest.mark.parametrize("mode", MODES)
async def test_the_model_is_asked_for_it_behind_the_system_message(memory, mode: str) -> None:
    wrapped = ScriptedChatModel()
    messages = [("system", "Be short."), ("user", ASKED)]
    await answer(SidecarChatModel(wrapped=wrapped, memory=memory), mode, value=messages)
    assert wrapped.system == f"Be short.\n\n{SIDECAR_PROMPT}"


@pytest.mark.filterwarnings("ignore:.*is in beta")
def test_events_of_a_stream_do_not_show_it(store, memory) -> None:
    tokens = Tokens()
    model = SidecarChatModel(wrapped=ScriptedChatModel(answers=[RAW]), memory=memory, principal=ADA)
    events = model.stream_events(ASKED, {"callbacks": [tokens]}, version="v3")
    assert "".join(events.text) == ANSWER
    assert (tokens.text, tokens.final) == ("", [ANSWER])
    assert len(live(store)) == 1


@pytest.mark.filterwarnings("ignore:.*is in beta")
async def test_events_are_for_the_user_whom_their_config_names(store, memory) -> None:
    model = SidecarChatModel(wrapped=ScriptedChatModel(answers=[RAW]), memory=memory)
    assert "".join(model.stream_events(ASKED, AS_ADA, version="v3").text) == ANSWER
    stream = await model.astream_events(ASKED, {"configurable": {"user_id": "bob"}}, version="v3")
    assert await stream.text == ANSWER
    assert [len(live(store, one)) for one in (ADA, BOB)] == [1, 1]
    events = [one async for one in model.astream_events(ASKED, AS_ADA, version="v2")]
    assert events[-1]["data"]["output"].text == ANSWER


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text("<SIDECARJON_>\n ab", max_size=40), st.text("<>ab", max_size=10), st.integers(1, 9), st.booleans())
def test_a_stream_shows_what_an_answer_shows(memory, before: str, after: str, size: int, block: bool) -> None:
    raw = f"{before}{BLOCK if block else ''}{after}"

    def model() -> SidecarChatModel:
        return SidecarChatModel(wrapped=ScriptedChatModel(answers=[raw], chunk_size=size), memory=memory)

    whole = model().invoke(ASKED, AS_ADA).text
    assert "".join(str(chunk.text) for chunk in model().stream(ASKED, AS_ADA)) == whole
    assert BLOCK not in whole


class Blocks(ScriptedChatModel):
    """Answers in blocks of content, as several providers do."""

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        result = super()._generate(messages, **kwargs)
        result.generations[0].message.content = self._content(str(result.generations[0].message.text))
        return result

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        for chunk in super()._stream(messages, **kwargs):
            chunk.message.content = self._content(str(chunk.text))
            yield chunk

    def _content(self, text: str) -> list[Any]:
        return [{"type": "reasoning", "reasoning": "", "index": 0}, {"type": "text", "text": text, "index": 1}]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("raw", [RAW, "It ends with <<<"])
async def test_content_in_blocks_keeps_its_form(store, memory, mode: str, raw: str) -> None:
    found = await answer(SidecarChatModel(wrapped=Blocks(answers=[raw]), memory=memory), mode)
    assert found.text == raw.replace(BLOCK, "")
    assert {block["type"] for block in found.content} == {"reasoning", "text"}
    assert len(live(store)) == (raw == RAW)


@pytest.mark.parametrize("mode", ["stream", "astream"])
async def test_a_block_of_annotations_passes_through(memory, mode: str) -> None:
    class Annotated(Blocks):
        def _content(self, text: str) -> list[Any]:
            return [{"type": "text", "text": text, "index": 0}, {"type": "text", "annotations": [7], "index": 0}]

    found = await answer(SidecarChatModel(wrapped=Annotated(answers=[RAW]), memory=memory), mode)
    assert found.text == ANSWER
    assert 7 in found.content[0]["annotations"]


@tool
def look(place: str) -> str:
    """Look somewhere."""
    return place


CALLING = AIMessage(
    RAW,
    id="m1",
    tool_calls=[{"name": "look", "args": {"place": "page"}, "id": "1"}],
    usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
)


@pytest.mark.parametrize("mode", MODES)
async def test_tools_calls_usage_and_ids_pass_through(memory, mode: str) -> None:
    wrapped = ScriptedChatModel(answers=[CALLING])
    bound = SidecarChatModel(wrapped=wrapped, memory=memory).bind_tools([look], tool_choice="any")
    with get_usage_metadata_callback() as usage:
        found = await answer(bound, mode)
    assert wrapped.options == [{"tools": ["look"], "tool_choice": "any"}]
    assert (found.text, found.id) == (ANSWER, "m1")
    assert [(one["name"], one["args"], one["id"]) for one in found.tool_calls] == [("look", {"place": "page"}, "1")]
    assert found.usage_metadata == CALLING.usage_metadata
    assert usage.usage_metadata == {}  # the scripted model has no name, so that nothing is counted twice


def test_tools_keep_the_config_that_the_model_binds(store, memory) -> None:
    class Tagged(ScriptedChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return super().bind_tools(tools, **kwargs).with_config(tags=["tools"], configurable={"user_id": "ada"})

    bound = SidecarChatModel(wrapped=Tagged(answers=[RAW]), memory=memory).bind_tools([look])
    assert bound.config["tags"] == ["tools"]
    assert bound.invoke(ASKED).text == ANSWER
    assert len(live(store)) == 1


class Silent(BaseChatModel):
    """Implements no stream."""

    @property
    def _llm_type(self) -> str:
        return "silent"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=CALLING)])


@pytest.mark.parametrize("mode", ["stream", "astream"])
async def test_a_model_that_cannot_stream_answers_at_once(store, memory, mode: str) -> None:
    found = await answer(SidecarChatModel(wrapped=Silent(), memory=memory), mode)
    assert isinstance(found, AIMessageChunk)
    assert (found.text, found.id, found.usage_metadata) == (ANSWER, "m1", CALLING.usage_metadata)
    assert found.tool_calls == CALLING.tool_calls
    assert len(live(store)) == 1


@pytest.mark.parametrize("mode", MODES)
async def test_it_wraps_the_fakes_of_langchain(store, memory, mode: str) -> None:
    for wrapped in (GenericFakeChatModel(messages=iter([RAW])), FakeListChatModel(responses=[RAW])):
        config = {"configurable": {"user_id": "ada", "thread_id": wrapped._llm_type}}
        assert (await answer(SidecarChatModel(wrapped=wrapped, memory=memory), mode, config)).text == ANSWER
    assert live(store)[0].reinforcement_count == 2


# --- a cache, a stream that breaks off, and a loop


def of(user: str, **more: str) -> dict[str, Any]:
    return {"configurable": {"user_id": user, **more}}


@pytest.fixture(params=["of the wrapped model", "of the wrapper", "of all"])
def cached(request: pytest.FixtureRequest, memory: BeliefMemory) -> Iterator[SidecarChatModel]:
    """A model that answers once, and then from a cache."""
    cache = InMemoryCache()
    if request.param == "of the wrapped model":
        yield SidecarChatModel(wrapped=ScriptedChatModel(answers=[RAW, "Again?"], cache=cache), memory=memory)
        return
    if request.param == "of the wrapper":
        yield SidecarChatModel(wrapped=ScriptedChatModel(answers=[RAW, "Again?"]), memory=memory, cache=cache)
        return
    set_llm_cache(cache)
    yield SidecarChatModel(wrapped=ScriptedChatModel(answers=[RAW, "Again?"]), memory=memory)
    set_llm_cache(None)


async def test_an_answer_from_a_cache_is_kept_for_who_asked(store, cached, call) -> None:
    for user in ("ada", "bob", "ada"):
        assert (await call(cached, ASKED, of(user, session_id="s"))).text == ANSWER
    assert len(cached.wrapped.asked) == 1
    for principal in (ADA, BOB):
        (queue,) = live(store, principal)
        assert (queue.provenance.source, queue.reinforcement_count) == ("user", 1)


async def test_where_no_cache_is_wanted_there_is_none(memory, call) -> None:
    model = SidecarChatModel(wrapped=ScriptedChatModel(cache=InMemoryCache()), memory=memory, cache=False)
    for _ in range(2):
        await call(model, ASKED, AS_ADA)
    assert len(model.wrapped.asked) == 2


class Counting(InMemoryRateLimiter):
    acquired: int = 0

    def acquire(self, *, blocking: bool = True) -> bool:
        self.acquired += 1
        return True

    async def aacquire(self, *, blocking: bool = True) -> bool:
        return self.acquire()


@pytest.mark.parametrize("mode", MODES)
async def test_a_rate_limiter_is_asked_once_a_call(memory, mode: str) -> None:
    limiter = Counting()
    await answer(SidecarChatModel(wrapped=ScriptedChatModel(rate_limiter=limiter), memory=memory), mode)
    assert limiter.acquired == 1


class BreaksOff(ScriptedChatModel):
    """Fails after its last character."""

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        yield from [*super()._stream(messages, **kwargs)][:-1]
        raise ConnectionError("the stream broke off")


@pytest.mark.parametrize("mode", ["stream", "astream"])
@pytest.mark.parametrize(("raw", "kept"), [(f"{RAW} And", 1), (RAW, 1), (RAW[:-1], 0), (ANSWER, 0)])
async def test_of_a_stream_that_breaks_off_whole_blocks_are_kept(store, memory, mode: str, raw: str, kept: int) -> None:
    model = SidecarChatModel(wrapped=BreaksOff(answers=[raw]), memory=memory)
    for _ in range(2):
        with pytest.raises(ConnectionError):
            await answer(model, mode)
    assert len(live(store)) == kept
    await answer(SidecarChatModel(wrapped=ScriptedChatModel(answers=[RAW]), memory=memory), mode)
    assert [one.reinforcement_count for one in live(store)] == [1]


@pytest.mark.parametrize("mode", ["stream", "astream"])
async def test_of_a_stream_that_is_abandoned_whole_blocks_are_kept(store, memory, mode: str) -> None:
    model = SidecarChatModel(wrapped=ScriptedChatModel(answers=[f"{RAW}! And much more to say."]), memory=memory)
    if mode == "stream":
        chunks = model.stream(ASKED, AS_ADA)
        while "!" not in next(chunks).text:
            pass
        chunks.close()
    else:
        stream = model.astream(ASKED, AS_ADA)
        while "!" not in (await anext(stream)).text:
            pass
        await stream.aclose()
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})  # the loop closes what is inside
    assert len(live(store)) == 1


@pytest.mark.parametrize("mode", MODES)
async def test_a_block_that_is_repeated_in_a_loop_of_tools_counts_once(store, memory, mode: str) -> None:
    turn: list[Any] = [HumanMessage(ASKED)]
    model = SidecarChatModel(wrapped=ScriptedChatModel(answers=[CALLING, f"Done. {BLOCK}"]), memory=memory)
    turn.append(await answer(model, mode, value=turn))
    turn += [ToolMessage("page", tool_call_id="1"), await answer(model, mode, value=turn)]
    assert [one.reinforcement_count for one in live(store)] == [1]
    await answer(model, mode, value=[*turn, HumanMessage("As I said, NATS.")])
    assert [one.reinforcement_count for one in live(store)] == [2]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("chunk_size", [1, 3, 1000])
async def test_a_fence_around_the_block_goes_with_it(store, memory, mode: str, chunk_size: int) -> None:
    raw = f"{ANSWER}\n```json\n{BLOCK}\n```"
    model = SidecarChatModel(wrapped=ScriptedChatModel(answers=[raw], chunk_size=chunk_size), memory=memory)
    assert (await answer(model, mode)).text == f"{ANSWER}\n"
    assert len(live(store)) == 1


async def test_what_another_agent_claims_is_inferred(store, memory, call) -> None:
    model = SidecarChatModel(wrapped=ScriptedChatModel(answers=[RAW]), memory=memory)
    await call(model, [HumanMessage(ASKED, name="planner")], AS_ADA)
    assert [(one.provenance.source, one.epistemic_status) for one in live(store)] == [("assistant", "inferred")]


class Verdict(BaseModel):
    """A verdict."""

    good: bool


def test_an_answer_by_a_schema_is_asked_for_without_a_block(memory) -> None:
    calling = AIMessage("", tool_calls=[{"name": "Verdict", "args": {"good": True}, "id": "1"}])

    class Structured(ScriptedChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self.bind(tools=tools)

    wrapped = Structured(answers=[calling])
    model = SidecarChatModel(wrapped=wrapped, memory=memory)
    assert model.with_structured_output(Verdict).invoke(ASKED, AS_ADA) == Verdict(good=True)
    assert wrapped.system == ""


@pytest.mark.parametrize("mode", MODES)
async def test_a_missing_user_raises_before_the_model_is_asked(memory, mode: str) -> None:
    wrapped = ScriptedChatModel()
    with pytest.raises(MissingIdentity):
        await answer(SidecarChatModel(wrapped=wrapped, memory=memory), mode, None)
    assert wrapped.asked == []


@pytest.mark.parametrize("mode", MODES)
async def test_a_scope_that_is_not_filled_raises_before_the_model_is_asked(store, mode: str) -> None:
    wrapped = ScriptedChatModel()
    memory = BeliefMemory(store, scopes=["project:{project}"], extractor=SidecarExtractor())
    with pytest.raises(InvalidInput, match="project"):
        await answer(SidecarChatModel(wrapped=wrapped, memory=memory), mode)
    assert wrapped.asked == []


@pytest.mark.parametrize("mode", MODES)
async def test_an_answer_is_given_though_it_cannot_be_kept(store, memory, mode: str, caplog) -> None:
    store.close()
    model = SidecarChatModel(wrapped=ScriptedChatModel(answers=[RAW]), memory=memory)
    assert (await answer(model, mode)).text == ANSWER
    assert "could not be kept" in caplog.text


async def test_calls_for_two_users_do_not_mix(store, memory, call) -> None:
    model = SidecarChatModel(wrapped=ScriptedChatModel(answers=[RAW]), memory=memory)
    streams = [model.stream(ASKED, {"configurable": {"user_id": user}}) for user in ("ada", "bob")]
    for pair in zip(*streams, strict=True):
        assert pair[0].text == pair[1].text
    assert [len(live(store, one)) for one in (ADA, BOB)] == [1, 1]
    await call(model, ASKED, {"configurable": {"user_id": "cleo"}})
    assert [live(store, one)[0].reinforcement_count for one in (ADA, BOB)] == [1, 1]


def test_only_a_memory_that_reads_blocks_will_do(store) -> None:
    with pytest.raises(ValidationError, match="SidecarExtractor"):
        SidecarChatModel(wrapped=ScriptedChatModel(), memory=BeliefMemory(store, scopes=[ATLAS], extractor=Noting()))


def test_the_wrapped_models_setup_serves_the_calls(memory) -> None:
    tokens = Tokens()
    wrapped = ScriptedChatModel(answers=[RAW], callbacks=[tokens], tags=["billing"], disable_streaming=True)
    model = SidecarChatModel(wrapped=wrapped, memory=memory)
    assert (model.tags, model.disable_streaming) == (["billing"], True)
    assert [chunk.text for chunk in model.stream(ASKED, AS_ADA)] == [ANSWER]
    assert tokens.final == [ANSWER]


@pytest.mark.parametrize("is_async", [False, True])
async def test_no_stream_of_an_agent_shows_it(store, memory, is_async: bool) -> None:
    agents = pytest.importorskip("langchain.agents")
    from pss_integrations.langchain import BeliefStateMiddleware

    store.put(ADA, new())
    wrapped = ScriptedChatModel(answers=[CALLING, RAW])
    agent = agents.create_agent(
        SidecarChatModel(wrapped=wrapped, memory=memory),
        [look],
        middleware=[BeliefStateMiddleware(memory, observe=False)],
    )
    value = {"messages": [HumanMessage(f"{ASKED} And the redis cache?")]}
    if is_async:
        seen = [one async for one in agent.astream(value, AS_ADA, stream_mode=["messages", "updates"])]
    else:
        seen = [*agent.stream(value, AS_ADA, stream_mode=["messages", "updates"])]
    assert "SIDECAR" not in str(seen)
    assert "new_beliefs" not in str(seen)
    assert ANSWER in "".join(str(one[0].text) for mode, one in seen if mode == "messages")
    assert wrapped.system.endswith(SIDECAR_PROMPT)
    assert "Use Redis" in wrapped.system
    assert {one.canonical_name for one in live(store)} == {"queue", "redis_cache"}
