import asyncio
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.indices.query.query_transform.base import BaseQueryTransform
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine, TransformQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import QueryBundle

from pss_integrations.errors import IdentityConflict, InvalidInput, MissingIdentity, StateCorrupt
from pss_integrations.identity import pss_session
from pss_integrations.llama_index import PSSQueryTransformer, SessionQueryBundle
from pss_integrations.types import SessionKey

ADA = SessionKey("ada", "s")
WHO = {"user_id": "ada", "session_id": "s"}
FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4? "
CLUE = "Kestrel v2.4 retry_limit"
APPENDED = f"{FOLLOW_UP} {CLUE}"


async def run(mode: str, transformer: PSSQueryTransformer, query: Any, metadata: Any = None) -> QueryBundle:
    if mode == "sync":
        return transformer.run(query, metadata)
    return await transformer.arun(query, metadata)


def test_the_base_is_the_framework_s() -> None:
    names = [base.__name__ for base in PSSQueryTransformer.__mro__]
    assert BaseQueryTransform.__name__ in names


async def test_a_follow_up_gets_its_clue_also_for_embeddings(make_reader, mode: str) -> None:
    reader = make_reader({ADA: CLUE})
    expected = QueryBundle(APPENDED, custom_embedding_strs=[APPENDED])
    assert await run(mode, PSSQueryTransformer(reader), FOLLOW_UP, WHO) == expected
    stale = QueryBundle(FOLLOW_UP, custom_embedding_strs=[FOLLOW_UP], embedding=[1.0])
    assert await run(mode, PSSQueryTransformer(reader), stale, WHO) == expected
    assert stale.embedding == [1.0]
    alone = await run(mode, PSSQueryTransformer(reader, composition="replace"), FOLLOW_UP, WHO)
    assert (alone.query_str, alone.embedding_strs) == (CLUE, [CLUE])
    heavy = await run(mode, PSSQueryTransformer(reader, query_weight=2), FOLLOW_UP, WHO)
    assert heavy.query_str == f"{FOLLOW_UP} {FOLLOW_UP} {CLUE}"
    assert {kind for kind, *_ in reader.calls} == {"read" if mode == "sync" else "aread"}


@pytest.mark.parametrize("query", [ON_ITS_OWN, "", " \n"])
async def test_abstaining_gives_an_equal_fresh_bundle(make_reader, mode: str, query: str) -> None:
    reader = make_reader({ADA: CLUE})
    bundle = QueryBundle(query, custom_embedding_strs=["hypothetical"], embedding=[1.0])
    out = await run(mode, PSSQueryTransformer(reader), bundle, WHO)
    assert out == bundle
    assert out is not bundle
    assert reader.calls == []


@pytest.mark.parametrize("clue", ["  ", "\n", "## Session notes"])
async def test_an_unusable_clue_leaves_the_query(make_reader, mode: str, clue: str) -> None:
    out = await run(mode, PSSQueryTransformer(make_reader({ADA: clue})), FOLLOW_UP, WHO)
    assert out == QueryBundle(FOLLOW_UP, custom_embedding_strs=[FOLLOW_UP])


async def test_each_source_of_identity_serves(make_reader, mode: str) -> None:
    transformer = PSSQueryTransformer(make_reader({ADA: CLUE}))
    assert (await run(mode, transformer, FOLLOW_UP, WHO)).query_str == APPENDED
    assert (await run(mode, transformer.bind(**WHO), FOLLOW_UP)).query_str == APPENDED
    assert (await run(mode, transformer, SessionQueryBundle(FOLLOW_UP, **WHO))).query_str == APPENDED
    with pss_session(**WHO):
        assert (await run(mode, transformer, FOLLOW_UP)).query_str == APPENDED
    with pss_session(user_id="ada", session_id="s"):
        assert (await run(mode, transformer, FOLLOW_UP, {"session_id": "s"})).query_str == APPENDED


async def test_two_sources_that_disagree_raise(make_reader, mode: str) -> None:
    transformer = PSSQueryTransformer(make_reader({ADA: CLUE})).bind(**WHO)
    with pytest.raises(IdentityConflict, match=r"metadata and bind\(\)"):
        await run(mode, transformer, FOLLOW_UP, {"user_id": "bob"})
    with pytest.raises(IdentityConflict, match="query bundle"):
        await run(mode, transformer, SessionQueryBundle(FOLLOW_UP, user_id=None, session_id="s"))


def test_binding_copies_and_checks(make_reader) -> None:
    transformer = PSSQueryTransformer(make_reader({ADA: CLUE}))
    transformer.bind(**WHO)
    assert transformer.session_key(QueryBundle(FOLLOW_UP), {}) is None
    rebound = transformer.bind(**WHO).bind(user_id=None, session_id="t")
    assert rebound.session_key(QueryBundle(FOLLOW_UP), {}) == SessionKey(None, "t")
    with pytest.raises(MissingIdentity):
        transformer.bind(user_id="ada", session_id="")
    with pytest.raises(TypeError):
        transformer.bind(session_id="s")


def test_a_bundle_that_says_half_leaves_the_rest_to_others(make_reader) -> None:
    transformer = PSSQueryTransformer(make_reader({}))
    half = SessionQueryBundle(FOLLOW_UP, session_id="s")
    assert transformer.session_key(half, {}) is None
    assert transformer.session_key(half, {"user_id": None}) == SessionKey(None, "s")
    with pss_session(**WHO):
        assert transformer.session_key(half, {}) == ADA
    with pss_session(user_id="ada", session_id="t"), pytest.raises(IdentityConflict, match="the query bundle"):
        transformer.session_key(half, {})


async def test_the_same_session_id_of_two_users_is_two_sessions(make_reader, mode: str) -> None:
    reader = make_reader({SessionKey("ada", "s"): "Kestrel", SessionKey("bob", "s"): "Marlowe"})
    transformer = PSSQueryTransformer(reader, composition="replace")
    for user, clue in (("ada", "Kestrel"), ("bob", "Marlowe")):
        bound = transformer.bind(user_id=user, session_id="s")
        assert (await run(mode, bound, FOLLOW_UP)).query_str == clue
    assert (await run(mode, transformer.bind(user_id=None, session_id="s"), FOLLOW_UP)).query_str == FOLLOW_UP


async def test_a_missing_identity_warns_once_or_raises(make_reader, mode: str) -> None:
    lenient = PSSQueryTransformer(make_reader({ADA: CLUE}))
    with pytest.warns(UserWarning, match="no complete identity"):
        assert (await run(mode, lenient, FOLLOW_UP)).query_str == FOLLOW_UP
    assert (await run(mode, lenient, FOLLOW_UP)).query_str == FOLLOW_UP
    with pytest.raises(MissingIdentity):
        await run(mode, PSSQueryTransformer(make_reader({}), on_missing_identity="raise"), FOLLOW_UP)


async def test_a_live_history_says_how_old_the_state_is(make_reader, mode: str) -> None:
    transformer = PSSQueryTransformer(make_reader({ADA: CLUE}, compiled=1))
    history = [ChatMessage(role="user", content="one"), ChatMessage(role="assistant", content="two")]
    await run(mode, transformer, FOLLOW_UP, {**WHO, "chat_history": history})
    assert transformer.last_decision.messages_behind == 1
    await run(mode, transformer, SessionQueryBundle(FOLLOW_UP, **WHO, chat_history=history[:1]))
    assert transformer.last_decision.messages_behind == 0


async def test_the_decision_can_be_seen(make_reader, mode: str, events: list) -> None:
    transformer = PSSQueryTransformer(make_reader({ADA: CLUE})).bind(**WHO)
    await run(mode, transformer, FOLLOW_UP)
    assert (transformer.last_decision.reason, transformer.last_decision.clue.text) == ("clue", CLUE)
    await run(mode, PSSQueryTransformer(make_reader({ADA: CLUE}), explain=True), FOLLOW_UP, WHO)
    plain, explained = events
    assert (plain.route, plain.reason, plain.composition, plain.confidence) == ("pss", "clue", "append", -0.375)
    assert CLUE not in str(plain)
    assert FOLLOW_UP not in str(plain)
    assert (explained.query, explained.clue) == (FOLLOW_UP, CLUE)


async def test_a_failure_leaves_no_decision_of_an_earlier_call(make_reader, mode: str) -> None:
    reader = make_reader({ADA: CLUE})
    transformer = PSSQueryTransformer(reader)
    await run(mode, transformer, FOLLOW_UP, WHO)
    reader.error = StateCorrupt("truncated")
    with pytest.raises(StateCorrupt):
        await run(mode, transformer, FOLLOW_UP, WHO)
    assert transformer.last_decision is None


async def test_the_sync_run_works_inside_a_running_loop(make_reader) -> None:
    assert PSSQueryTransformer(make_reader({ADA: CLUE})).run(FOLLOW_UP, WHO).query_str == APPENDED


def test_one_instance_works_in_two_event_loops(make_reader) -> None:
    transformer = PSSQueryTransformer(make_reader({ADA: CLUE}))
    for _ in range(2):
        assert asyncio.run(transformer.arun(FOLLOW_UP, WHO)).query_str == APPENDED


@pytest.mark.parametrize("options", [{"composition": "rrf"}, {"query_weight": 0}, {"on_missing_identity": "x"}])
def test_options_are_checked_when_it_is_made(make_reader, options: dict) -> None:
    with pytest.raises(InvalidInput):
        PSSQueryTransformer(make_reader({}), **options)


def test_it_serves_a_transform_query_engine(make_reader, make_retriever) -> None:
    wrapped = make_retriever()
    engine = RetrieverQueryEngine(wrapped, get_response_synthesizer(llm=MockLLM()))
    transformer = PSSQueryTransformer(make_reader({ADA: CLUE}))
    TransformQueryEngine(engine, transformer, transform_metadata=WHO).query(FOLLOW_UP)
    assert wrapped.searched == [("sync", APPENDED)]


def test_it_has_no_prompts(make_reader) -> None:
    transformer = PSSQueryTransformer(make_reader({}))
    transformer.update_prompts({})
    assert transformer.get_prompts() == {}
