import asyncio
import pickle
from copy import copy, deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.load import dumps, loads
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_core.tracers.context import tracing_v2_callback_var
from langchain_core.tracers.langchain import LangChainTracer
from langchain_core.tracers.schemas import Run
from langsmith import tracing_context
from langsmith.utils import tracing_is_enabled
from pydantic import Field, ValidationError

from pss_integrations.errors import IdentityConflict, InvalidInput, MissingIdentity, StateCorrupt
from pss_integrations.identity import pss_session
from pss_integrations.langchain import GuardedRouterRetriever
from pss_integrations.retrieval import BM25Index
from pss_integrations.routing import Binding, Certificate
from pss_integrations.types import Passage, SessionKey
from pss_integrations.vocabulary import Vocabulary

ADA = SessionKey("ada", "s")
CONFIG = {"configurable": {"user_id": "ada", "session_id": "s"}}
FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4? "
CLUE = "Kestrel v2.4 retry_limit"
APPENDED = f"{FOLLOW_UP} {CLUE}"


def ids(documents: list[Document]) -> list[str | None]:
    return [document.id for document in documents]


@pytest.fixture
def wrapped(make_retriever):
    return make_retriever(
        found={
            APPENDED: [Document("one", id="x", metadata={"n": 1}), Document("two", id="y")],
            CLUE: [Document("two", id="y"), Document("three", id="z"), Document("text 1", id="d1")],
        }
    )


@pytest.fixture
def make(make_reader, wrapped):
    def make(clue: str = CLUE, **options: Any) -> GuardedRouterRetriever:
        return GuardedRouterRetriever(retriever=wrapped, manager=make_reader({ADA: clue}), **options)

    return make


async def test_the_raw_route_returns_the_wrapped_documents_themselves(make, wrapped, call) -> None:
    found = await call(make(), ON_ITS_OWN, CONFIG)
    assert all(one is other for one, other in zip(found, wrapped.default, strict=True))
    assert wrapped.calls == [(call.mode, ON_ITS_OWN)]
    assert all(document.metadata.keys() == {"n"} for document in found)


@pytest.mark.parametrize("clue", ["", " \n", "# Heading"])
async def test_an_unusable_clue_gives_the_raw_list(make, wrapped, call, clue: str) -> None:
    retriever = make(clue)
    assert await call(retriever, FOLLOW_UP, CONFIG) == wrapped.default
    assert retriever.last_decision.reason == "unusable_clue"
    assert wrapped.calls == [(call.mode, FOLLOW_UP)]


async def test_a_follow_up_searches_with_the_clue_and_marks_copies(make, wrapped, call) -> None:
    found = await call(make(), FOLLOW_UP, CONFIG)
    assert ids(found) == ["x", "y"]
    assert found[0].metadata == {"n": 1, "pss_route": "pss", "pss_reason": "clue"}
    assert wrapped.found[APPENDED][0].metadata == {"n": 1}
    assert wrapped.calls == [(call.mode, FOLLOW_UP), (call.mode, APPENDED)]


async def test_rrf_scores_copies(make, wrapped, call) -> None:
    found = await call(make(composition="rrf"), FOLLOW_UP, CONFIG)
    assert len(found) == len(wrapped.default)
    assert found[0].id == "d1"
    assert found[0].metadata["pss_score"] == pytest.approx(1 / 62 + 1 / 63)
    assert sorted(wrapped.calls) == [(call.mode, CLUE), (call.mode, FOLLOW_UP)]
    assert all("pss_score" not in document.metadata for document in wrapped.default)


async def test_the_same_text_under_two_ids_stays_two(make_reader, make_retriever, call) -> None:
    twins = [Document("same", id="1"), Document("same", id="2"), Document("same", metadata={"pk": "3"})]
    retriever = GuardedRouterRetriever(
        retriever=make_retriever(default=twins),
        manager=make_reader({ADA: CLUE}),
        composition="rrf",
        id_key="pk",
    )
    found = await call(retriever, FOLLOW_UP, CONFIG)
    assert [(d.id, d.metadata.get("pk")) for d in found] == [("1", None), ("2", None), (None, "3")]
    assert found[0].metadata["pss_score"] == pytest.approx(2 / 61)


async def test_texts_are_in_metadata_and_events_only_if_asked(make, call, listener) -> None:
    config = {**CONFIG, "callbacks": [listener]}
    plain = await call(make(), FOLLOW_UP, config)
    told = await call(make(explain=True), FOLLOW_UP, config)
    assert CLUE not in str([document.metadata for document in plain])
    metadata = told[0].metadata
    assert (metadata["pss_query"], metadata["pss_clue"]) == (FOLLOW_UP, CLUE)
    assert (metadata["pss_composition"], metadata["pss_confidence"]) == ("append", -0.375)
    assert (metadata["pss_calibrated"], metadata["pss_supported"]) == (False, False)
    assert metadata["pss_features"]["refers"] == 1.0
    (name, event), (_, explained) = listener.events
    assert (name, event["route"], event["reason"]) == ("pss_decision", "pss", "clue")
    assert CLUE not in str(event)
    assert event["features"] == metadata["pss_features"]
    assert explained["clue"] == CLUE


@pytest.mark.filterwarnings("ignore:The function `loads` is in beta")
async def test_a_clue_that_looks_like_a_serialized_object_stays_text(make_reader, make_retriever, call) -> None:
    clue = '{"lc": 1, "type": "secret", "id": ["OPENAI_API_KEY"]}'
    retriever = GuardedRouterRetriever(retriever=make_retriever(), manager=make_reader({ADA: clue}), explain=True)
    found = await call(retriever, FOLLOW_UP, CONFIG)
    (back,) = loads(dumps(found[:1]), allowed_objects=[Document])
    assert back.metadata["pss_clue"] == clue


async def test_k_cuts_as_a_field_and_per_call(make, call) -> None:
    assert ids(await call(make(k=2), ON_ITS_OWN, CONFIG)) == ["d0", "d1"]
    assert ids(await call(make(k=2), ON_ITS_OWN, CONFIG, k=3)) == ["d0", "d1", "d2"]
    assert ids(await call(make().bind(k=1), FOLLOW_UP, CONFIG)) == ["x"]
    assert len(await call(make(k=50), ON_ITS_OWN, CONFIG)) == 5


@pytest.mark.parametrize("k", [0, -3, "2"])
async def test_a_wrong_k_is_refused(make, wrapped, call, k: object) -> None:
    with pytest.raises(InvalidInput, match="k must be"):
        await call(make(), ON_ITS_OWN, CONFIG, k=k)
    assert wrapped.calls == []


async def test_no_match_gives_no_documents(make_reader, make_retriever, call) -> None:
    retriever = GuardedRouterRetriever(retriever=make_retriever(default=[]), manager=make_reader({ADA: CLUE}))
    assert await call(retriever, "zxqv plugh", CONFIG) == []
    assert await call(retriever, "\u8a2d\u5b9a\u3092\u6559\u3048\u3066", CONFIG, k=3) == []


async def test_children_are_traced_under_the_call(make, call, listener) -> None:
    tagged = make(composition="rrf", explain=True).with_config(tags=["mine"], callbacks=[listener])
    await call(tagged, FOLLOW_UP, CONFIG)
    (query, tags), *children = listener.started
    assert (query, tags) == (FOLLOW_UP, ["mine"])
    assert sorted((query, sorted(set(tags) & {"raw", "pss"})) for query, tags in children) == [
        (CLUE, ["pss"]),
        (FOLLOW_UP, ["raw"]),
    ]


async def test_traces_see_the_query_alone_unless_told_to_explain(make, call, listener) -> None:
    chain = RunnablePassthrough() | make(composition="replace", compressor=Backwards()) | RunnableLambda(ids)
    assert await call(chain, FOLLOW_UP, {**CONFIG, "callbacks": [listener]}) == ["d1", "z", "y"]
    assert [query for query, _ in listener.started] == [FOLLOW_UP, FOLLOW_UP]
    assert "raw" in listener.started[1][1]
    assert [event["reason"] for _, event in listener.events] == ["clue"]


class Asking(BaseDocumentCompressor):
    """Asks a retriever, which takes its callbacks from the context, for there are no others."""

    asked: Any

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return self.asked.invoke(query)


async def test_nor_what_is_asked_with_no_callbacks_at_all(make, make_retriever, call, listener) -> None:
    inner = make_retriever()
    chain = RunnablePassthrough() | make(compressor=Asking(asked=inner))
    await call(chain, FOLLOW_UP, {**CONFIG, "callbacks": [listener]})
    assert inner.calls == [("sync", FOLLOW_UP), ("sync", APPENDED)]
    assert [query for query, _ in listener.started] == [FOLLOW_UP] * 3


class Noting(LangChainTracer):
    """Notes what would be sent."""

    def __init__(self) -> None:
        super().__init__(client=object())
        self.sent: list[str] = []

    def _persist_run_single(self, run: Run) -> None:
        self.sent.append(str(run.inputs))

    def _update_run_single(self, run: Run) -> None: ...

    def copy_with_metadata_defaults(self, **_: Any) -> "Noting":
        return self


@pytest.mark.parametrize(("explain", "texts"), [(False, 0), (True, 1)])
async def test_nor_does_a_tracer_of_the_context(make_reader, call, explain: bool, texts: int) -> None:
    def find(text: str) -> list[Document]:
        traced.append(tracing_is_enabled())
        return [Document(text)]

    traced: list[object] = []
    retriever = GuardedRouterRetriever(
        retriever=RunnableLambda(find), manager=make_reader({ADA: CLUE}), composition="replace", explain=explain
    )
    token = tracing_v2_callback_var.set(tracer := Noting())
    try:
        with tracing_context(enabled=True):
            await call(retriever, FOLLOW_UP, CONFIG)
        assert tracing_v2_callback_var.get() is tracer
    finally:
        tracing_v2_callback_var.reset(token)
    assert traced == [True, explain]
    assert (sum(FOLLOW_UP in sent for sent in tracer.sent), sum(CLUE in sent for sent in tracer.sent)) == (2, texts)


async def test_the_wrapped_one_may_be_any_runnable(make_reader, make_retriever, call) -> None:
    def keep_even(documents: list[Document]) -> list[Document]:  # sync only: async must pass through it too
        return [document for document in documents if document.metadata["n"] % 2 == 0]

    filtered = make_retriever().with_config(tags=["inner"]) | RunnableLambda(keep_even)
    retriever = GuardedRouterRetriever(retriever=filtered, manager=make_reader({ADA: CLUE}))
    assert ids(await call(retriever, ON_ITS_OWN, CONFIG)) == ["d0", "d2", "d4"]
    assert ids(await call(retriever, FOLLOW_UP, CONFIG)) == ["d0", "d2", "d4"]


async def test_one_guarded_retriever_may_wrap_another(make, make_reader, call) -> None:
    outer = GuardedRouterRetriever(retriever=make(), manager=make_reader({ADA: CLUE}))
    assert ids(await call(outer, FOLLOW_UP, CONFIG)) == ["x", "y"]  # the same clue adds nothing twice
    assert outer.last_decision.reason == "clue"


async def test_it_is_the_retriever_of_a_chain_and_of_a_tool(make, call) -> None:
    chain = {"context": make(), "question": RunnablePassthrough()} | RunnableLambda(lambda x: ids(x["context"]))
    assert await call(chain, FOLLOW_UP, CONFIG) == ["x", "y"]
    tool = create_retriever_tool(make(), "docs", "Finds documents.", response_format="content_and_artifact")
    answer = {"type": "tool_call", "id": "1", "name": "docs", "args": {"query": FOLLOW_UP}}
    message = await call(tool, answer, CONFIG)
    assert (message.content, ids(message.artifact)) == ("one\n\ntwo", ["x", "y"])


async def test_every_way_of_calling_gives_the_same(make) -> None:
    retriever = make()
    both = [["x", "y"], ["d0", "d1", "d2", "d3", "d4"]]
    assert list(map(ids, retriever.batch([FOLLOW_UP, ON_ITS_OWN], CONFIG))) == both
    assert list(map(ids, await retriever.abatch([FOLLOW_UP, ON_ITS_OWN], CONFIG))) == both
    assert [ids(chunk) for chunk in retriever.stream(FOLLOW_UP, CONFIG)] == both[:1]
    assert [ids(chunk) async for chunk in retriever.astream(FOLLOW_UP, CONFIG)] == both[:1]


async def test_a_batch_gives_each_config_its_own_session(make_reader, make_retriever) -> None:
    sessions = [SessionKey(f"u{n}", "same") for n in range(8)]
    wrapped = make_retriever(found={f"clue-{key.user_id}": [Document(key.user_id)] for key in sessions})
    manager = make_reader({key: f"clue-{key.user_id}" for key in sessions})
    retriever = GuardedRouterRetriever(retriever=wrapped, manager=manager, composition="replace")
    configs = [{"configurable": {"user_id": key.user_id, "session_id": "same"}} for key in sessions]
    for found in (
        retriever.batch([FOLLOW_UP] * 8, configs),
        await retriever.abatch([FOLLOW_UP] * 8, configs),
    ):
        assert [one.page_content for (one,) in found] == [key.user_id for key in sessions]


async def test_the_history_says_how_old_the_state_is(make, call) -> None:
    retriever = make(explain=True)
    value = {"input": FOLLOW_UP, "chat_history": [("human", "one"), ("ai", "two")]}
    found = await call(retriever, value, CONFIG)
    assert found[0].metadata["pss_messages_behind"] == 2
    assert retriever.last_decision.messages_behind == 2
    assert value == {"input": FOLLOW_UP, "chat_history": [("human", "one"), ("ai", "two")]}


@pytest.mark.parametrize("value", [None, {"query": "x"}])
async def test_an_input_of_another_shape_is_refused(make, call, value: object) -> None:
    with pytest.raises(InvalidInput):
        await call(make(), value, CONFIG)


def test_one_instance_works_in_two_event_loops(make) -> None:
    retriever = make(composition="rrf")
    first, second = (asyncio.run(retriever.ainvoke(FOLLOW_UP, CONFIG)) for _ in range(2))
    assert first == second


async def test_the_decision_can_be_seen_in_its_context_only(make, call) -> None:
    retriever = make()

    async def elsewhere() -> object:
        await call(retriever, ON_ITS_OWN, CONFIG)
        return retriever.last_decision.reason

    await call(retriever, FOLLOW_UP, CONFIG)
    assert await asyncio.create_task(elsewhere()) == "self_contained"
    assert (retriever.last_decision.reason, retriever.last_decision.clue.text) == ("clue", CLUE)
    assert make().last_decision is None


async def test_errors_are_reported_and_raised(make, call, listener) -> None:
    retriever = make()
    retriever.manager.error = StateCorrupt("truncated")
    with pytest.raises(StateCorrupt):
        await call(retriever, FOLLOW_UP, {**CONFIG, "callbacks": [listener]})
    assert listener.errors == [retriever.manager.error]


async def test_a_cancelled_call_searches_no_further_and_the_next_one_works(make, wrapped) -> None:
    retriever, reading = make(), asyncio.Event()
    aread = retriever.manager.aread

    async def read_forever(*_: object) -> None:
        reading.set()
        await asyncio.Future()

    retriever.manager.aread = read_forever
    task = asyncio.create_task(retriever.ainvoke(FOLLOW_UP, CONFIG))
    await reading.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert wrapped.calls == [("async", FOLLOW_UP)]
    retriever.manager.aread = aread
    assert ids(await retriever.ainvoke(FOLLOW_UP, CONFIG)) == ["x", "y"]


async def test_the_loop_runs_on_while_a_clue_is_read(make) -> None:
    retriever, ticked = make(), asyncio.Event()
    aread = retriever.manager.aread

    async def read_after_a_tick(*args: Any) -> Any:
        await asyncio.wait_for(ticked.wait(), timeout=60)
        return await aread(*args)

    retriever.manager.aread = read_after_a_tick
    asyncio.get_running_loop().call_later(0.01, ticked.set)
    assert ids(await retriever.ainvoke(FOLLOW_UP, CONFIG)) == ["x", "y"]


async def test_the_sync_call_works_inside_a_running_loop(make) -> None:
    assert ids(make().invoke(FOLLOW_UP, CONFIG)) == ["x", "y"]


async def test_a_missing_identity_searches_raw_and_warns_once(make, wrapped, call) -> None:
    retriever = make()
    with pytest.warns(UserWarning, match="no complete identity"):
        assert await call(retriever, FOLLOW_UP) == wrapped.default
    assert await call(retriever, FOLLOW_UP) == wrapped.default
    assert retriever.last_decision.reason == "no_session"


async def test_a_missing_identity_raises_where_told_so(make, call, listener) -> None:
    retriever = make(on_missing_identity="raise")
    with pytest.raises(MissingIdentity, match="user_id"):
        await call(retriever, ON_ITS_OWN, {"callbacks": [listener]})
    assert len(listener.errors) == 1


async def test_a_conflict_raises_even_for_a_query_on_its_own(make, call) -> None:
    with pytest.raises(IdentityConflict), pss_session(user_id="bob", session_id="s"):
        await call(make(), ON_ITS_OWN, CONFIG)


@pytest.mark.parametrize(
    "options",
    [
        {"composition": "both"},
        {"k": 0},
        {"routes": "raw"},
        {"routes": ["raw", "clue"]},
        {"kind": "fuzzy"},
        {"vocabulary": ["Marlowe"]},
        {"cards": object()},
        {"compressor": object()},
        {"session_from": "run_id"},
        {"top_k": 3},
    ],
)
def test_options_are_checked_when_it_is_made(make, options: dict) -> None:
    with pytest.raises(ValidationError):
        make(**options)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"query_weight": 0}, "query_weight"), ({"certificate": "nowhere.json"}, "holds no certificate")],
)
def test_so_is_what_only_the_router_can_judge(make, options: dict, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        make(**options)


def test_it_is_frozen_and_serializes_no_manager(make) -> None:
    retriever = make()
    with pytest.raises(ValidationError):
        retriever.composition = "rrf"
    assert "manager" not in retriever.model_dump()
    assert "FakeReader" not in repr(retriever) + dumps(retriever)


@pytest.mark.parametrize("copied", [copy, deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_searches_alike_and_decides_apart(make, copied) -> None:
    retriever = make()
    found = retriever.invoke(FOLLOW_UP, CONFIG)
    other = copied(retriever)
    assert other.last_decision is None
    assert other.invoke(FOLLOW_UP, CONFIG) == found
    assert other.invoke(ON_ITS_OWN, CONFIG)
    assert (other.last_decision.reason, retriever.last_decision.reason) == ("self_contained", "clue")


def test_a_copy_with_other_fields_goes_by_them(make, wrapped) -> None:
    retriever = make()
    raw_only = retriever.model_copy(update={"routes": ("raw",)})
    assert raw_only.invoke(FOLLOW_UP, CONFIG) == wrapped.default
    assert ids(retriever.invoke(FOLLOW_UP, CONFIG)) == ["x", "y"]
    with pytest.raises(InvalidInput, match="query_weight"):
        retriever.model_copy(update={"query_weight": 0}).invoke(FOLLOW_UP, CONFIG)


# -- cards, routes and certificates --------------------------------------------------------------------------

MARLOWE = "Marlowe billing"
TALK = {"input": FOLLOW_UP, "chat_history": [("human", f"Tell me about {MARLOWE}."), ("ai", "It sends invoices.")]}
CARD_APPENDED = f"{FOLLOW_UP} {FOLLOW_UP} {MARLOWE}"
NEVER = Certificate(weights={"support": 1.0}, threshold=9.0)


async def test_without_a_manager_live_messages_give_a_card_and_no_identity_is_needed(wrapped, call) -> None:
    wrapped.found[CARD_APPENDED] = [Document("invoices", id="m")]
    retriever = GuardedRouterRetriever(retriever=wrapped, vocabulary=Vocabulary([MARLOWE]), explain=True)
    (found,) = await call(retriever, TALK)
    assert (found.metadata["pss_route"], found.metadata["pss_card"]) == ("card", MARLOWE)
    assert await call(retriever, FOLLOW_UP) == wrapped.default
    assert retriever.last_decision.reason == "nothing_to_add"


async def test_a_card_is_told_only_if_asked_for(wrapped, call, listener) -> None:
    retriever = GuardedRouterRetriever(retriever=wrapped, vocabulary=Vocabulary([MARLOWE]))
    found = await call(retriever, TALK, {"callbacks": [listener]})
    assert {name for name in found[0].metadata if name.startswith("pss_")} == {"pss_route", "pss_reason"}
    assert MARLOWE not in str(listener.events)


async def test_routes_weights_kinds_and_certificates_reach_the_router(make, wrapped, call, tmp_path) -> None:
    NEVER.save(tmp_path / "never.json")
    for options, searched, reason in (
        ({"routes": ["raw"]}, [FOLLOW_UP], "nothing_to_add"),
        ({"routes": ("raw", "card")}, [FOLLOW_UP, CARD_APPENDED], "card"),
        ({"query_weight": 2.0, "routes": ("pss",)}, [FOLLOW_UP, f"{FOLLOW_UP} {APPENDED}"], "clue"),
        ({"kind": "dense", "routes": ("card",)}, [FOLLOW_UP, CARD_APPENDED], "card"),
        ({"certificate": NEVER}, [FOLLOW_UP, CARD_APPENDED, APPENDED], "guarded"),
        ({"certificate": tmp_path / "never.json"}, [FOLLOW_UP, CARD_APPENDED, APPENDED], "guarded"),
    ):
        wrapped.calls.clear()
        retriever = make(vocabulary=Vocabulary([MARLOWE]), **options)
        await call(retriever, TALK, CONFIG)
        assert [text for _, text in wrapped.calls] == searched
        assert retriever.last_decision.reason == reason


async def test_a_certificate_for_another_index_gives_way_with_a_warning(make, call) -> None:
    bound = NEVER.model_copy(update={"binding": Binding(index_id="mine", engine="fake engine")})
    fitting = make(certificate=bound, index_id="mine")
    await call(fitting, FOLLOW_UP, CONFIG)
    assert (fitting.last_decision.reason, fitting.last_decision.calibrated) == ("guarded", True)
    other = make(certificate=bound, index_id="other")
    with pytest.warns(UserWarning, match="going on with the built-in one"):
        await call(other, FOLLOW_UP, CONFIG)
    assert (other.last_decision.reason, other.last_decision.calibrated) == ("clue", False)


# -- reranking -----------------------------------------------------------------------------------------------


class Backwards(BaseDocumentCompressor):
    """Turns a list round; notes what it was asked, and by whom."""

    asked: list[tuple[str, str, Any]] = Field(default_factory=list)

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        self.asked.append(("sync", query, callbacks))
        return tuple(reversed(documents))

    async def acompress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        self.asked.append(("async", query, callbacks))
        return tuple(reversed(documents))


async def test_each_search_is_reranked_by_its_own_text(make, wrapped, call) -> None:
    compressor = Backwards()
    retriever = make(compressor=compressor, explain=True)
    assert ids(await call(retriever, FOLLOW_UP, CONFIG)) == ["y", "x"]
    assert [asked[:2] for asked in compressor.asked] == [(call.mode, FOLLOW_UP), (call.mode, APPENDED)]
    assert [callbacks.tags for _, _, callbacks in compressor.asked] == [["raw"], ["pss"]]


async def test_a_reranker_of_a_clue_has_nobody_to_tell(make, call, listener) -> None:
    compressor = Backwards()
    await call(make(compressor=compressor), FOLLOW_UP, {**CONFIG, "callbacks": [listener]})
    assert [callbacks.handlers for _, _, callbacks in compressor.asked] == [[listener], []]


class Scoring(BaseDocumentCompressor):
    """Writes on what it was given."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        for document in documents:
            document.metadata["relevance_score"] = 0.5
            document.page_content = "shortened"
        return documents


@pytest.mark.parametrize("query", [ON_ITS_OWN, FOLLOW_UP])
async def test_a_reranker_writes_on_copies(make, wrapped, call, query: str) -> None:
    kept = [*wrapped.default, *wrapped.found[APPENDED]]
    before = [document.model_copy(deep=True) for document in kept]
    found = await call(make(compressor=Scoring()), query, CONFIG)
    assert {(one.page_content, one.metadata["relevance_score"]) for one in found} == {("shortened", 0.5)}
    assert kept == before


async def test_the_raw_route_returns_the_reranked_list(make, wrapped, call) -> None:
    compressor = Backwards()
    found = await call(make(compressor=compressor), ON_ITS_OWN, CONFIG, k=2)
    assert found == wrapped.default[:2:-1]
    assert [asked[:2] for asked in compressor.asked] == [(call.mode, ON_ITS_OWN)]


async def test_nothing_found_is_not_reranked(make_reader, make_retriever, call) -> None:
    compressor = Backwards()
    retriever = GuardedRouterRetriever(retriever=make_retriever(default=[]), compressor=compressor)
    assert await call(retriever, FOLLOW_UP) == []
    assert compressor.asked == []


# -- bad wrapped retrievers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "got NoneType"),
        ("text", "got str"),
        ([Document("x"), "text"], "a list with a str"),
        ([None], "a list with a NoneType"),
    ],
)
async def test_what_is_no_list_of_documents_is_refused_or_left_out(make_reader, call, found: Any, said: str) -> None:
    always = RunnableLambda(lambda _: found)
    for query in (FOLLOW_UP, ON_ITS_OWN):
        with pytest.raises(InvalidInput, match=f"must return a list of Document.*{said}"):
            await call(GuardedRouterRetriever(retriever=always, manager=make_reader({ADA: CLUE})), query, CONFIG)
    plain = Document("plain")
    for_clues = RunnableLambda(lambda text: found if CLUE in text else [plain])
    retriever = GuardedRouterRetriever(retriever=for_clues, manager=make_reader({ADA: CLUE}))
    assert await call(retriever, FOLLOW_UP, CONFIG) == [plain]
    assert retriever.last_decision.reason == "search_failed"


async def test_what_the_wrapped_one_raises_is_raised_on_as_it_is(make_reader, call, listener) -> None:
    def fail(text: str) -> list[Document]:
        raise ConnectionError("the index is away")

    retriever = GuardedRouterRetriever(retriever=RunnableLambda(fail), manager=make_reader({ADA: CLUE}))
    with pytest.raises(ConnectionError, match="the index is away"):
        await call(retriever, FOLLOW_UP, {**CONFIG, "callbacks": [listener]})
    assert isinstance(listener.errors[-1], ConnectionError)


@given(
    texts=st.lists(st.text(), max_size=8),
    score=st.none() | st.floats() | st.text(max_size=3),
    query=st.text() | st.sampled_from(["設定", "🎉", "أين", "", FOLLOW_UP]),
    k=st.none() | st.integers(1, 9),
)
def test_the_raw_route_is_the_wrapped_list_whatever_it_holds(texts, score, query: str, k: int | None) -> None:
    documents = [Document(text, id=text[:1] or None, metadata={"pss_score": score, "title": score}) for text in texts]
    retriever = GuardedRouterRetriever(retriever=RunnableLambda(lambda _: documents), k=k)
    found = retriever.invoke({"input": query, "chat_history": []})
    assert len(found) == len(documents[:k])
    assert all(one is other for one, other in zip(found, documents, strict=False))


# -- an index of ours ----------------------------------------------------------------------------------------

PASSAGES = [
    Passage("a", "It sends invoices.", MARLOWE, {"year": 2020}),
    Passage("b", "Nothing configures it."),
    Passage("c", "the configuration"),
]


async def test_an_index_of_ours_needs_no_retriever_around_it(call) -> None:
    index = BM25Index(PASSAGES)
    retriever = GuardedRouterRetriever(retriever=index, k=2)
    raw = await call(retriever, "invoices")
    assert [(one.id, one.page_content, one.metadata["title"]) for one in raw] == [("a", "It sends invoices.", MARLOWE)]
    assert [one.metadata["pss_score"] for one in raw] == [hit.score for hit in index.search("invoices", 2)]
    found = await call(retriever, TALK)
    hits = index.search_expanded(FOLLOW_UP, MARLOWE, 2, query_weight=2.0)
    assert retriever.last_decision.card == MARLOWE  # which the index names
    assert [(one.id, one.metadata["pss_score"]) for one in found] == [(hit.doc_id, hit.score) for hit in hits]
    assert "year" in str([one.metadata for one in found])
    assert retriever.last_decision.features["gap"] > 0
    assert len(await call(retriever, TALK, k=3)) == 3


def test_an_index_of_ours_says_what_it_is() -> None:
    index = BM25Index(PASSAGES)
    bound = NEVER.model_copy(update={"binding": Binding(index_id=index.index_id)})
    retriever = GuardedRouterRetriever(retriever=index, k=2, certificate=bound)
    retriever.invoke(TALK)
    assert (retriever.last_decision.reason, retriever.last_decision.calibrated) == ("guarded", True)
    with pytest.raises(ValidationError, match="give k"):
        GuardedRouterRetriever(retriever=index)
