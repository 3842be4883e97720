import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import IndexNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import RetrieverTool

from pss_integrations.errors import IdentityConflict, InvalidInput, MissingIdentity, StateCorrupt
from pss_integrations.identity import pss_session
from pss_integrations.llama_index import GuardedRouterRetriever, SessionQueryBundle
from pss_integrations.types import SessionKey

ADA = SessionKey("ada", "s")
WHO = {"user_id": "ada", "session_id": "s"}
FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4? "
CLUE = "Kestrel v2.4 retry_limit"
APPENDED = f"{FOLLOW_UP} {CLUE}"


async def run(mode: str, retriever: BaseRetriever, query: Any) -> list[NodeWithScore]:
    return retriever.retrieve(query) if mode == "sync" else await retriever.aretrieve(query)


def ids(nodes: list[NodeWithScore]) -> list[str]:
    return [one.node_id for one in nodes]


@pytest.fixture
def wrapped(make_retriever, make_node):
    return make_retriever(
        found={
            APPENDED: [make_node("x", 0.0), make_node("y")],
            CLUE: [make_node("y"), make_node("z"), make_node("d1")],
        }
    )


@pytest.fixture
def make(make_reader, wrapped):
    """Make a retriever that is bound to Ada's session."""

    def make(clue: str = CLUE, **options: Any) -> GuardedRouterRetriever:
        return GuardedRouterRetriever(wrapped, make_reader({ADA: clue}), **options).bind(**WHO)

    return make


async def test_the_raw_route_returns_the_wrapped_nodes_themselves(make, wrapped, mode: str) -> None:
    bundle = QueryBundle(ON_ITS_OWN, custom_embedding_strs=["hypothetical"], embedding=[1.0])
    found = await run(mode, make(), bundle)
    assert all(one is other for one, other in zip(found, wrapped.default, strict=True))
    assert wrapped.calls == [(mode, QueryBundle(ON_ITS_OWN, None, ["hypothetical"], [1.0]))]
    assert bundle.embedding == [1.0]  # the wrapped one wrote into a copy


@pytest.mark.parametrize("clue", ["", " \n", "# Heading"])
async def test_an_unusable_clue_gives_the_raw_list(make, wrapped, mode: str, clue: str) -> None:
    retriever = make(clue)
    assert ids(await run(mode, retriever, FOLLOW_UP)) == ids(wrapped.default)
    assert retriever.last_decision.reason == "unusable_clue"
    assert wrapped.searched == [(mode, FOLLOW_UP)]


async def test_a_follow_up_searches_with_the_clue_and_keeps_scores(make, wrapped, mode: str) -> None:
    found = await run(mode, make(), QueryBundle(FOLLOW_UP, custom_embedding_strs=[FOLLOW_UP], embedding=[1.0]))
    assert [(one.node_id, one.score) for one in found] == [("x", 0.0), ("y", None)]
    assert wrapped.calls == [(mode, QueryBundle(APPENDED, None, [APPENDED]))]


async def test_rrf_fuses_nodes_without_scores_on_copies(make, wrapped, mode: str) -> None:
    found = await run(mode, make(composition="rrf"), FOLLOW_UP)
    assert len(found) == len(wrapped.default)
    assert (found[0].node_id, found[0].score) == ("d1", pytest.approx(1 / 62 + 1 / 63))
    assert sorted(wrapped.searched) == [(mode, CLUE), (mode, FOLLOW_UP)]
    assert [one.score for one in wrapped.found[CLUE]] == [None] * 3
    assert wrapped.default[1].score == 0.9


async def test_the_same_text_under_two_ids_stays_two(make_reader, make_retriever, mode: str) -> None:
    one, two = (NodeWithScore(node=TextNode(id_=id, text="same")) for id in ("1", "2"))
    retriever = GuardedRouterRetriever(
        make_retriever([one], {CLUE: [two]}), make_reader({ADA: CLUE}), similarity_top_k=2, composition="rrf"
    )
    assert ids(await run(mode, retriever.bind(**WHO), FOLLOW_UP)) == ["1", "2"]


async def test_nothing_of_a_decision_enters_a_node(make, wrapped, mode: str) -> None:
    before = [(one.node.hash, one.get_content(MetadataMode.LLM)) for one in wrapped.found[APPENDED]]
    for options in ({}, {"composition": "rrf"}):
        found = await run(mode, make(explain=True, **options), FOLLOW_UP)
        assert all(one.metadata == {} for one in found)
    assert [(one.node.hash, one.get_content(MetadataMode.LLM)) for one in wrapped.found[APPENDED]] == before


async def test_k_cuts_and_never_pads(make, mode: str) -> None:
    assert ids(await run(mode, make(similarity_top_k=2), ON_ITS_OWN)) == ["d0", "d1"]
    assert ids(await run(mode, make(similarity_top_k=50), FOLLOW_UP)) == ["x", "y"]


async def test_no_match_gives_no_nodes(make_reader, make_retriever, mode: str) -> None:
    for composition in ("append", "rrf"):
        retriever = GuardedRouterRetriever(
            make_retriever([]), make_reader({ADA: CLUE}), similarity_top_k=3, composition=composition
        ).bind(**WHO)
        assert await run(mode, retriever, "zxqv plugh") == []
        assert await run(mode, retriever, "設定を教えて") == []


async def test_the_decision_can_be_seen_in_its_context_only(make, mode: str, events: list) -> None:
    retriever = make()

    async def elsewhere() -> str:
        await run(mode, retriever, ON_ITS_OWN)
        return retriever.last_decision.reason

    await run(mode, retriever, FOLLOW_UP)
    assert await asyncio.create_task(elsewhere()) == "self_contained"
    assert (retriever.last_decision.reason, retriever.last_decision.clue.text) == ("clue", CLUE)
    assert [(event.route, event.reason) for event in events] == [("pss", "clue"), ("raw", "self_contained")]
    assert CLUE not in str(events)
    assert FOLLOW_UP not in str(events)


async def test_confidence_is_told_apart_from_scores(make, mode: str, events: list) -> None:
    found = await run(mode, make(explain=True), FOLLOW_UP)
    (event,) = events
    assert (event.confidence, event.clue, event.query) == (-0.375, CLUE, FOLLOW_UP)
    assert [one.score for one in found] == [0.0, None]


async def test_the_bundle_may_say_the_session(make_reader, wrapped, mode: str) -> None:
    retriever = GuardedRouterRetriever(wrapped, make_reader({ADA: CLUE}, compiled=1))
    history = [ChatMessage(role="user", content="one"), ChatMessage(role="assistant", content="two")]
    bundle = SessionQueryBundle(FOLLOW_UP, **WHO, chat_history=history)
    assert ids(await run(mode, retriever, bundle)) == ["x", "y"]
    assert retriever.last_decision.messages_behind == 1


async def test_the_session_reaches_threads_tools_and_the_loop(make_reader, wrapped) -> None:
    retriever = GuardedRouterRetriever(wrapped, make_reader({ADA: CLUE}))
    tool = RetrieverTool.from_defaults(retriever, description="Finds documents.")
    with pss_session(**WHO):
        assert ids(retriever.retrieve(FOLLOW_UP)) == ["x", "y"]
        assert ids(await retriever.aretrieve(FOLLOW_UP)) == ["x", "y"]
        assert ids(await asyncio.to_thread(retriever.retrieve, FOLLOW_UP)) == ["x", "y"]
        with ThreadPoolExecutor(1) as pool:
            assert ids(pool.submit(copy_context().run, retriever.retrieve, FOLLOW_UP).result()) == ["x", "y"]
        tool.call(FOLLOW_UP)
        await tool.acall(FOLLOW_UP)
    assert [(mode, text.endswith(CLUE)) for mode, text in wrapped.searched[-2:]] == [("sync", True), ("async", True)]


async def test_bound_copies_keep_their_sessions_apart(make_reader, make_retriever, make_node) -> None:
    users = [f"u{n}" for n in range(8)]
    wrapped = make_retriever(found={f"clue-{user}": [make_node(user)] for user in users})
    manager = make_reader({SessionKey(user, "same"): f"clue-{user}" for user in users})
    retriever = GuardedRouterRetriever(wrapped, manager, composition="replace")
    bound = [retriever.bind(user_id=user, session_id="same") for user in users]
    with ThreadPoolExecutor(8) as pool:
        assert [ids(found) for found in pool.map(lambda one: one.retrieve(FOLLOW_UP), bound)] == [[u] for u in users]
    found = await asyncio.gather(*(one.aretrieve(FOLLOW_UP) for one in bound))
    assert list(map(ids, found)) == [[user] for user in users]
    with pytest.warns(UserWarning, match="no complete identity"):
        retriever.retrieve(FOLLOW_UP)


async def test_a_conflict_raises_even_for_a_query_on_its_own(make, mode: str) -> None:
    with pytest.raises(IdentityConflict), pss_session(user_id="bob", session_id="s"):
        await run(mode, make(), ON_ITS_OWN)


async def test_a_missing_identity_warns_once_or_raises(make_reader, wrapped, mode: str) -> None:
    lenient = GuardedRouterRetriever(wrapped, make_reader({ADA: CLUE}))
    with pytest.warns(UserWarning, match="no complete identity"):
        assert ids(await run(mode, lenient, FOLLOW_UP)) == ids(wrapped.default)
    assert ids(await run(mode, lenient, FOLLOW_UP)) == ids(wrapped.default)
    strict = GuardedRouterRetriever(wrapped, make_reader({ADA: CLUE}), on_missing_identity="raise")
    with pytest.raises(MissingIdentity):
        await run(mode, strict, ON_ITS_OWN)


async def test_errors_are_not_hidden(make, wrapped, mode: str) -> None:
    retriever = make()
    retriever._router._reader.error = StateCorrupt("truncated")
    with pytest.raises(StateCorrupt):
        await run(mode, retriever, FOLLOW_UP)
    assert wrapped.calls == []


async def test_the_loop_runs_on_while_a_clue_is_read(make_reader, wrapped) -> None:
    reader, ticked = make_reader({ADA: CLUE}), asyncio.Event()
    aread = reader.aread

    async def read_after_a_tick(*args: Any) -> Any:
        await asyncio.wait_for(ticked.wait(), timeout=60)
        return await aread(*args)

    reader.aread = read_after_a_tick
    asyncio.get_running_loop().call_later(0.01, ticked.set)
    retriever = GuardedRouterRetriever(wrapped, reader).bind(**WHO)
    assert ids(await retriever.aretrieve(FOLLOW_UP)) == ["x", "y"]


def test_one_instance_works_in_two_event_loops(make) -> None:
    retriever = make(composition="rrf")
    first, second = (asyncio.run(retriever.aretrieve(FOLLOW_UP)) for _ in range(2))
    assert first == second


async def test_a_query_engine_answers_the_original_query(make, wrapped, mode: str) -> None:
    engine = RetrieverQueryEngine(make(), get_response_synthesizer(llm=MockLLM()))
    response = engine.query(FOLLOW_UP) if mode == "sync" else await engine.aquery(FOLLOW_UP)
    assert wrapped.searched == [(mode, APPENDED)]
    assert FOLLOW_UP in str(response)  # MockLLM answers with its prompt
    assert CLUE not in str(response)
    assert ids(response.source_nodes) == ["x", "y"]


async def test_it_wraps_a_vector_index(make_reader, mode: str) -> None:
    nodes = [TextNode(id_=f"n{n}", text=f"text {n}") for n in range(4)]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=4))
    inner = index.as_retriever(similarity_top_k=3)
    retriever = GuardedRouterRetriever(inner, make_reader({ADA: CLUE}), composition="rrf").bind(**WHO)
    bundle = QueryBundle(FOLLOW_UP)
    assert ids(await run(mode, retriever, bundle)) == ids(inner.retrieve(FOLLOW_UP))
    assert bundle == QueryBundle(FOLLOW_UP)
    assert await run(mode, retriever, ON_ITS_OWN) == inner.retrieve(ON_ITS_OWN)


async def test_index_nodes_are_followed_once_by_the_wrapped_one(make_reader, make_retriever, mode: str) -> None:
    leaf = IndexNode(id_="leaf", text="leaf", index_id="leaf", obj=TextNode(id_="below", text="below"))
    top = IndexNode(id_="top", text="top", index_id="top", obj=NodeWithScore(node=leaf, score=0.0))
    wrapped = make_retriever([NodeWithScore(node=top, score=0.5)])
    raw = wrapped.retrieve(ON_ITS_OWN)
    assert ids(raw) == ["leaf"]
    assert await run(mode, GuardedRouterRetriever(wrapped, make_reader({})), ON_ITS_OWN) == raw


@pytest.mark.parametrize(
    "options", [{"composition": "both"}, {"similarity_top_k": 0}, {"query_weight": 0}, {"on_missing_identity": ""}]
)
def test_options_are_checked_when_it_is_made(make, options: dict) -> None:
    with pytest.raises(InvalidInput):
        make(**options)
