import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import MetadataReplacementPostProcessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import IndexNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import RetrieverTool

from pss_integrations.errors import IdentityConflict, InvalidInput, MissingIdentity, StateCorrupt
from pss_integrations.identity import pss_session
from pss_integrations.llama_index import GuardedRouterRetriever, SessionQueryBundle
from pss_integrations.retrieval import BM25Index
from pss_integrations.routing import Binding, Certificate
from pss_integrations.types import Passage, SessionKey
from pss_integrations.vocabulary import Vocabulary

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
    raw = (mode, QueryBundle(FOLLOW_UP, None, [FOLLOW_UP], [1.0]))
    assert wrapped.calls == [raw, (mode, QueryBundle(APPENDED, None, [APPENDED]))]


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
    said = [(mode, text.endswith(CLUE)) for mode, text in wrapped.searched[-4:]]
    assert said == [("sync", False), ("sync", True), ("async", False), ("async", True)]


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
    assert wrapped.searched == [(mode, FOLLOW_UP)]
    assert retriever.last_decision is None


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
    assert wrapped.searched == [(mode, FOLLOW_UP), (mode, APPENDED)]
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
    "options",
    [
        {"composition": "both"},
        {"similarity_top_k": 0},
        {"query_weight": 0},
        {"on_missing_identity": ""},
        {"routes": ("raw", "clue")},
        {"kind": "fuzzy"},
        {"certificate": "nowhere.json"},
        {"top_k": 3},
    ],
)
def test_options_are_checked_when_it_is_made(make, options: dict) -> None:
    with pytest.raises(InvalidInput):
        make(**options)


# -- cards, routes and certificates --------------------------------------------------------------------------

MARLOWE = "Marlowe billing"
TALK = (ChatMessage(role="user", content=f"Tell me about {MARLOWE}."), ChatMessage(role="assistant", content="Yes?"))
CARD_APPENDED = f"{FOLLOW_UP} {FOLLOW_UP} {MARLOWE}"
NEVER = Certificate(weights={"support": 1.0}, threshold=9.0)


def asking(query: str = FOLLOW_UP) -> SessionQueryBundle:
    return SessionQueryBundle(query, **WHO, chat_history=TALK)


async def test_without_a_manager_live_messages_give_a_card(make_retriever, make_node, mode: str, events: list) -> None:
    wrapped = make_retriever(found={CARD_APPENDED: [make_node("m", 0.5)]})
    for explain in (False, True):
        retriever = GuardedRouterRetriever(wrapped, vocabulary=Vocabulary([MARLOWE]), explain=explain)
        assert ids(await run(mode, retriever, asking())) == ["m"]
    assert ids(await run(mode, retriever, FOLLOW_UP)) == ids(wrapped.default)  # no identity is needed
    plain, explained, bare = events
    assert (plain.route, plain.reason, plain.calibrated, plain.supported) == ("card", "card", False, False)
    assert plain.features == explained.features == {**plain.features, "refers": 1.0}
    assert MARLOWE not in str(plain)
    assert (explained.card, bare.card, bare.reason) == (MARLOWE, None, "nothing_to_add")


async def test_routes_and_certificates_reach_the_router(make, wrapped, mode: str, tmp_path) -> None:
    NEVER.save(tmp_path / "never.json")
    for options, searched, reason in (
        ({"routes": ("raw",)}, [FOLLOW_UP], "nothing_to_add"),
        ({"routes": ("raw", "card")}, [FOLLOW_UP, CARD_APPENDED], "card"),
        ({"query_weight": None, "routes": ("pss",)}, [FOLLOW_UP, APPENDED], "clue"),
        ({"certificate": str(tmp_path / "never.json")}, [FOLLOW_UP, CARD_APPENDED, APPENDED], "guarded"),
    ):
        wrapped.calls.clear()
        retriever = make(vocabulary=Vocabulary([MARLOWE]), **options)
        await run(mode, retriever, asking())
        assert [text for _, text in wrapped.searched] == searched
        assert retriever.last_decision.reason == reason


# -- reranking -----------------------------------------------------------------------------------------------


class Backwards(BaseNodePostprocessor):
    """Turns a list round, and writes scores on what it was given, as rerankers do."""

    asked: list[str] = Field(default_factory=list)

    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None) -> Any:
        self.asked.append(query_bundle.query_str)
        for place, node in enumerate(nodes):
            node.score = float(place)
        return nodes[::-1]


async def test_each_search_is_reranked_with_its_own_bundle(make, wrapped, mode: str) -> None:
    reranker = Backwards()
    retriever = make(node_postprocessors=[reranker])
    found = await run(mode, retriever, FOLLOW_UP)
    assert [(one.node_id, one.score) for one in found] == [("y", 1.0), ("x", 0.0)]
    assert reranker.asked == [FOLLOW_UP, APPENDED]
    assert [one.score for one in wrapped.found[APPENDED]] == [0.0, None]  # its own are as they were


@pytest.mark.parametrize("query", [FOLLOW_UP, ON_ITS_OWN])
async def test_a_postprocessor_rewrites_copies(make, wrapped, mode: str, query: str) -> None:
    kept = [*wrapped.default, *wrapped.found[APPENDED]]
    for one in kept:
        one.node.metadata["window"] = "the sentences around it"
    before = [one.model_copy(deep=True) for one in kept]
    found = await run(mode, make(node_postprocessors=[MetadataReplacementPostProcessor("window")]), query)
    assert {one.node.get_content() for one in found} == {"the sentences around it"}
    assert kept == before


async def test_the_raw_route_returns_the_reranked_list(make, wrapped, mode: str) -> None:
    reranker = Backwards()
    found = await run(mode, make(node_postprocessors=[reranker], similarity_top_k=2), ON_ITS_OWN)
    assert [(one.node_id, one.score) for one in found] == [("d4", 4.0), ("d3", 3.0)]
    assert found[0].node == wrapped.default[4].node
    assert wrapped.default[4].score == 0.6
    assert reranker.asked == [ON_ITS_OWN]


# -- bad wrapped retrievers ----------------------------------------------------------------------------------


class Returns(BaseRetriever):
    """Sync only; returns whatever it was told to."""

    def __init__(self, found: Any) -> None:
        super().__init__()
        self.found, self.threads = found, list[threading.Thread]()

    def _retrieve(self, query_bundle: QueryBundle) -> Any:
        self.threads.append(threading.current_thread())
        if isinstance(self.found, Exception):
            raise self.found
        return self.found(query_bundle.query_str) if callable(self.found) else self.found


@pytest.mark.parametrize("found", [None, "text", 3, [None], [TextNode(text="no score")]])
async def test_what_is_no_list_of_nodes_is_refused_or_left_out(make_reader, make_node, mode: str, found: Any) -> None:
    for query in (FOLLOW_UP, ON_ITS_OWN):
        retriever = GuardedRouterRetriever(Returns(found), make_reader({ADA: CLUE})).bind(**WHO)
        with pytest.raises(InvalidInput, match="Returns must return a list of NodeWithScore"):
            await run(mode, retriever, query)
    wrapped = Returns(lambda text: found if CLUE in text else [make_node("a")])
    retriever = GuardedRouterRetriever(wrapped, make_reader({ADA: CLUE})).bind(**WHO)
    assert ids(await run(mode, retriever, FOLLOW_UP)) == ["a"]
    assert retriever.last_decision.reason == "search_failed"


async def test_what_the_wrapped_one_raises_is_raised_on_as_it_is(make_reader, mode: str) -> None:
    error = TypeError("the index is away")
    retriever = GuardedRouterRetriever(Returns(error), make_reader({ADA: CLUE})).bind(**WHO)
    with pytest.raises(TypeError) as caught:
        await run(mode, retriever, FOLLOW_UP)
    assert caught.value is error


async def test_a_sync_retriever_is_not_asked_in_the_event_loop(make_reader, make_node, mode: str) -> None:
    wrapped = Returns([make_node("a")])
    await run(mode, GuardedRouterRetriever(wrapped, make_reader({ADA: CLUE})).bind(**WHO), FOLLOW_UP)
    assert [thread is threading.main_thread() for thread in wrapped.threads] == [mode == "sync"] * 2


@given(
    nodes=st.lists(st.tuples(st.text("ab", min_size=1, max_size=2), st.none() | st.floats(), st.text()), max_size=8),
    query=st.text() | st.sampled_from(["設定", "🎉", "أين", "", FOLLOW_UP]),
    k=st.none() | st.integers(1, 9),
)
def test_the_raw_route_is_the_wrapped_list_whatever_it_holds(nodes, query: str, k: int | None) -> None:
    class Unseen(Returns):
        def _handle_recursive_retrieval(self, query_bundle: QueryBundle, nodes: Any) -> Any:
            return nodes  # LlamaIndex's own drops nodes of one id

    wrapped = [NodeWithScore(node=TextNode(id_=id, text=text), score=score) for id, score, text in nodes]
    found = GuardedRouterRetriever(Unseen(wrapped), similarity_top_k=k).retrieve(query)
    assert len(found) == len(wrapped[:k])
    assert all(one is other for one, other in zip(found, wrapped, strict=False))


# -- an index of ours ----------------------------------------------------------------------------------------

PASSAGES = [
    Passage("a", "It sends invoices.", MARLOWE, {"year": 2020}),
    Passage("b", "Nothing configures it."),
    Passage("c", "the configuration"),
]


async def test_an_index_of_ours_needs_no_retriever_around_it(mode: str) -> None:
    index = BM25Index(PASSAGES)
    retriever = GuardedRouterRetriever(index, similarity_top_k=2)
    (raw,) = await run(mode, retriever, "invoices")
    assert (raw.node_id, raw.get_content(), raw.metadata) == (
        "a",
        "It sends invoices.",
        {"year": 2020, "title": MARLOWE},
    )
    assert raw.score == index.search("invoices", 2)[0].score
    found = await run(mode, retriever, asking())
    hits = index.search_expanded(FOLLOW_UP, MARLOWE, 2, query_weight=2.0)
    assert retriever.last_decision.card == MARLOWE
    assert [(one.node_id, one.score) for one in found] == [(hit.doc_id, hit.score) for hit in hits]


def test_an_index_of_ours_says_what_it_is() -> None:
    index = BM25Index(PASSAGES)
    bound = NEVER.model_copy(update={"binding": Binding(index_id=index.index_id)})
    retriever = GuardedRouterRetriever(index, similarity_top_k=2, certificate=bound)
    retriever.retrieve(asking())
    assert (retriever.last_decision.reason, retriever.last_decision.calibrated) == ("guarded", True)
    with pytest.raises(InvalidInput, match="give similarity_top_k"):
        GuardedRouterRetriever(index)


@pytest.mark.parametrize("wrapped", ["an index", [], None, object()])
def test_what_cannot_be_searched_is_refused_when_it_is_made(wrapped: Any) -> None:
    with pytest.raises(InvalidInput, match="an index of ours is wrapped"):
        GuardedRouterRetriever(wrapped, similarity_top_k=2)


@pytest.mark.parametrize("manager", ["a manager", object(), StateCorrupt])
def test_what_reads_no_states_is_refused_when_it_is_made(manager: Any) -> None:
    with pytest.raises(InvalidInput, match="StateManager"):
        GuardedRouterRetriever(BM25Index(PASSAGES), manager, similarity_top_k=2)
