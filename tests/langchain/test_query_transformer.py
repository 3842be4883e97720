import asyncio

import pytest
from langchain_core.callbacks.base import BaseCallbackHandler
from langchain_core.load import dumps
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from pss_integrations.errors import IdentityConflict, InvalidInput, MissingIdentity, StateCorrupt
from pss_integrations.identity import pss_session
from pss_integrations.langchain import PSSQueryTransformer
from pss_integrations.types import SessionKey

ADA = SessionKey("ada", "s")
CONFIG = {"configurable": {"user_id": "ada", "session_id": "s"}}
FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4? "
CLUE = "Kestrel v2.4 retry_limit"


async def test_a_follow_up_gets_its_clue(make_reader, call) -> None:
    reader = make_reader({ADA: CLUE})
    assert await call(PSSQueryTransformer(manager=reader), FOLLOW_UP, CONFIG) == f"{FOLLOW_UP} {CLUE}"
    assert await call(PSSQueryTransformer(manager=reader, composition="replace"), FOLLOW_UP, CONFIG) == CLUE
    heavy = PSSQueryTransformer(manager=reader, query_weight=2)
    assert await call(heavy, FOLLOW_UP, CONFIG) == f"{FOLLOW_UP} {FOLLOW_UP} {CLUE}"
    assert {kind for kind, *_ in reader.calls} == {"read" if call.mode == "sync" else "aread"}


@pytest.mark.parametrize("query", [ON_ITS_OWN, "", " \n", "\tRead `retry_limit`\u200b\r\n"])
async def test_an_abstaining_transformer_changes_no_byte(make_reader, call, query: str) -> None:
    reader = make_reader({ADA: CLUE})
    assert await call(PSSQueryTransformer(manager=reader), query, CONFIG) == query
    assert reader.calls == []


@pytest.mark.parametrize("clue", ["  ", "\n", "## Session notes"])
async def test_an_unusable_clue_leaves_the_query(make_reader, call, clue: str) -> None:
    assert await call(PSSQueryTransformer(manager=make_reader({ADA: clue})), FOLLOW_UP, CONFIG) == FOLLOW_UP


async def test_the_history_of_a_chain_is_taken_and_not_changed(make_reader, call) -> None:
    transformer = PSSQueryTransformer(manager=make_reader({ADA: CLUE}, compiled=1))
    value = {"input": FOLLOW_UP, "chat_history": [("human", "one"), ("ai", "two")]}
    assert await call(transformer, value, CONFIG) == f"{FOLLOW_UP} {CLUE}"
    assert transformer.last_decision.messages_behind == 1
    assert value == {"input": FOLLOW_UP, "chat_history": [("human", "one"), ("ai", "two")]}


async def test_every_way_of_calling_gives_the_same(make_reader) -> None:
    transformer = PSSQueryTransformer(manager=make_reader({ADA: CLUE}))
    expected = f"{FOLLOW_UP} {CLUE}"
    assert transformer.batch([FOLLOW_UP, ON_ITS_OWN], CONFIG) == [expected, ON_ITS_OWN]
    assert await transformer.abatch([FOLLOW_UP, ON_ITS_OWN], CONFIG) == [expected, ON_ITS_OWN]
    assert list(transformer.stream(FOLLOW_UP, CONFIG)) == [expected]
    assert [chunk async for chunk in transformer.astream(FOLLOW_UP, CONFIG)] == [expected]


async def test_a_batch_gives_each_config_its_own_session(make_reader) -> None:
    reader = make_reader({SessionKey(f"u{n}", "same"): f"clue-{n}" for n in range(8)})
    transformer = PSSQueryTransformer(manager=reader, composition="replace")
    configs = [{"configurable": {"user_id": f"u{n}", "session_id": "same"}} for n in range(8)]
    expected = [f"clue-{n}" for n in range(8)]
    assert transformer.batch([FOLLOW_UP] * 8, configs) == expected
    assert await transformer.abatch([FOLLOW_UP] * 8, configs) == expected


async def test_it_stands_in_a_chain(make_reader, call) -> None:
    seen: list[str] = []
    chain = PSSQueryTransformer(manager=make_reader({ADA: CLUE})) | RunnableLambda(seen.append)
    await call(chain, FOLLOW_UP, CONFIG)
    assert seen == [f"{FOLLOW_UP} {CLUE}"]


def test_one_instance_works_in_two_event_loops(make_reader) -> None:
    transformer = PSSQueryTransformer(manager=make_reader({ADA: CLUE}))
    for _ in range(2):
        assert asyncio.run(transformer.ainvoke(FOLLOW_UP, CONFIG)) == f"{FOLLOW_UP} {CLUE}"


async def test_the_decision_can_be_seen_in_its_context_only(make_reader, call) -> None:
    transformer = PSSQueryTransformer(manager=make_reader({ADA: CLUE}))

    async def elsewhere() -> object:
        await call(transformer, ON_ITS_OWN, CONFIG)
        return transformer.last_decision.reason

    await call(transformer, FOLLOW_UP, CONFIG)
    assert await asyncio.create_task(elsewhere()) == "self_contained"
    assert transformer.last_decision.reason == "clue"
    assert transformer.last_decision.clue.text == CLUE
    assert transformer.last_decision.passages == ()


async def test_a_failure_leaves_no_decision_of_an_earlier_call(make_reader, call, listener) -> None:
    reader = make_reader({ADA: CLUE})
    transformer = PSSQueryTransformer(manager=reader)
    await call(transformer, FOLLOW_UP, CONFIG)
    reader.error = StateCorrupt("truncated")
    with pytest.raises(StateCorrupt):
        await call(transformer, FOLLOW_UP, {**CONFIG, "callbacks": [listener]})
    assert transformer.last_decision is None
    assert listener.errors == [reader.error]


async def test_each_call_sends_an_event_with_texts_only_if_asked(make_reader, call, listener) -> None:
    config = {**CONFIG, "callbacks": [listener]}
    await call(PSSQueryTransformer(manager=make_reader({ADA: CLUE})), FOLLOW_UP, config)
    await call(PSSQueryTransformer(manager=make_reader({ADA: CLUE}), explain=True), FOLLOW_UP, config)
    (name, plain), (_, explained) = listener.events
    assert name == "pss_decision"
    assert (plain["route"], plain["reason"], plain["confidence"]) == ("pss", "clue", -0.375)
    assert CLUE not in str(plain)
    assert FOLLOW_UP not in str(plain)
    assert (explained["query"], explained["clue"]) == (FOLLOW_UP, CLUE)


async def test_generating_a_clue_streams_no_tokens(make_reader) -> None:
    class Tokens(BaseCallbackHandler):
        def on_chat_model_start(self, *_: object, **__: object) -> None:
            raise AssertionError("a clue is no message of the conversation")

        on_llm_start = on_llm_new_token = on_chat_model_start
        raise_error = True

    transformer = PSSQueryTransformer(manager=make_reader({ADA: CLUE}))
    events = [
        one["event"]
        async for one in transformer.astream_events(FOLLOW_UP, {**CONFIG, "callbacks": [Tokens()]}, version="v2")
    ]
    assert not [one for one in events if "chat_model" in one or "llm" in one]
    assert "on_custom_event" in events


async def test_identity_may_be_given_when_it_is_made(make_reader, call) -> None:
    transformer = PSSQueryTransformer(manager=make_reader({ADA: CLUE}), user_id="ada", session_id="s")
    assert await call(transformer, FOLLOW_UP) == f"{FOLLOW_UP} {CLUE}"
    with pytest.raises(IdentityConflict), pss_session(user_id="bob", session_id="s"):
        await call(transformer, FOLLOW_UP)


async def test_a_missing_identity_warns_once_or_raises(make_reader, call) -> None:
    lenient = PSSQueryTransformer(manager=make_reader({ADA: CLUE}))
    with pytest.warns(UserWarning, match="no complete identity"):
        assert await call(lenient, FOLLOW_UP) == FOLLOW_UP
    assert await call(lenient, FOLLOW_UP) == FOLLOW_UP
    strict = PSSQueryTransformer(manager=make_reader({ADA: CLUE}), on_missing_identity="raise")
    with pytest.raises(MissingIdentity):
        await call(strict, FOLLOW_UP)


@pytest.mark.parametrize("value", [3, {"question": "x"}, {"input": "x", "chat_history": "hello"}])
async def test_an_input_of_another_shape_is_refused(make_reader, call, value: object) -> None:
    with pytest.raises(InvalidInput):
        await call(PSSQueryTransformer(manager=make_reader({})), value, CONFIG)


@pytest.mark.parametrize("options", [{"composition": "rrf"}, {"query_weight": 0}, {"managr": None}, {"manager": 3}])
def test_options_are_checked_when_it_is_made(make_reader, options: dict) -> None:
    with pytest.raises(ValidationError):
        PSSQueryTransformer(**{"manager": make_reader({}), **options})


def test_the_manager_is_never_serialized(make_reader) -> None:
    transformer = PSSQueryTransformer(manager=make_reader({ADA: CLUE}))
    assert "manager" not in transformer.model_dump()
    assert CLUE not in dumps(transformer)
    assert "FakeReader" not in repr(transformer)
