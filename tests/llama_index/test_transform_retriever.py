import asyncio
import threading
from typing import Any

import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.query.query_transform.base import BaseQueryTransform, IdentityQueryTransform
from llama_index.core.schema import IndexNode, NodeWithScore, QueryBundle, TextNode

from pss_integrations.errors import IdentityConflict, InvalidInput, StateCorrupt
from pss_integrations.identity import pss_session
from pss_integrations.llama_index import PSSQueryTransformer, PSSTransformRetriever, SessionQueryBundle
from pss_integrations.types import SessionKey

ADA = SessionKey("ada", "s")
WHO = {"user_id": "ada", "session_id": "s"}
FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4? "
CLUE = "Kestrel v2.4 retry_limit"
APPENDED = f"{FOLLOW_UP} {CLUE}"


async def run(mode: str, retriever: BaseRetriever, query: Any) -> list[NodeWithScore]:
    return retriever.retrieve(query) if mode == "sync" else await retriever.aretrieve(query)


@pytest.fixture
def wrapped(make_retriever, make_node):
    return make_retriever(found={APPENDED: [make_node("x", 0.0), make_node("y")]})


@pytest.fixture
def make(make_reader, wrapped):
    """Make a retriever that knows a clue of Ada's session, and is bound to none."""

    def make(clue: str = CLUE, **options: Any) -> PSSTransformRetriever:
        return PSSTransformRetriever(wrapped, PSSQueryTransformer(make_reader({ADA: clue}), **options))

    return make


async def test_it_searches_with_the_transformed_query_in_its_own_way(make, wrapped, mode: str) -> None:
    found = await run(mode, make().bind(**WHO), FOLLOW_UP)
    assert found == wrapped.found[APPENDED]
    assert wrapped.searched == [(mode, APPENDED)]
    assert wrapped.calls[0][1].embedding_strs == [APPENDED]


async def test_a_query_on_its_own_gives_the_wrapped_nodes_themselves(make, wrapped, mode: str) -> None:
    bundle = QueryBundle(ON_ITS_OWN, custom_embedding_strs=["hypothetical"], embedding=[1.0])
    found = await run(mode, make().bind(**WHO), bundle)
    assert all(one is other for one, other in zip(found, wrapped.default, strict=True))
    assert wrapped.calls == [(mode, QueryBundle(ON_ITS_OWN, custom_embedding_strs=["hypothetical"], embedding=[1.0]))]
    assert bundle.embedding == [1.0]  # which the wrapped one overwrites in what it gets


async def test_each_source_of_identity_serves(make, wrapped, mode: str) -> None:
    await run(mode, make().bind(**WHO), FOLLOW_UP)
    await run(mode, make(), SessionQueryBundle(FOLLOW_UP, **WHO))
    with pss_session(**WHO):
        await run(mode, make(), FOLLOW_UP)
        await run(mode, make().bind(**WHO), SessionQueryBundle(FOLLOW_UP, session_id="s"))
    of_transform = make()._query_transform.bind(**WHO)
    await run(mode, PSSTransformRetriever(wrapped, of_transform), FOLLOW_UP)
    assert wrapped.searched == [(mode, APPENDED)] * 5


@pytest.mark.parametrize("query", [FOLLOW_UP, ON_ITS_OWN])
async def test_sources_that_disagree_raise_before_any_search(make, wrapped, mode: str, query: str) -> None:
    bound = make().bind(**WHO)
    with pytest.raises(IdentityConflict, match=r"bind\(\) and the query bundle"):
        await run(mode, bound, SessionQueryBundle(query, user_id="bob", session_id="s"))
    with pss_session(user_id="ada", session_id="t"), pytest.raises(IdentityConflict, match="session_ids"):
        await run(mode, bound, query)
    both = PSSTransformRetriever(wrapped, bound._query_transform.bind(user_id="bob", session_id="s")).bind(**WHO)
    with pytest.raises(IdentityConflict, match="user_ids"):
        await run(mode, both, query)
    assert wrapped.calls == []


async def test_binding_copies(make, wrapped, mode: str) -> None:
    retriever = make()
    retriever.bind(**WHO)
    with pytest.warns(UserWarning, match="no complete identity"):
        await run(mode, retriever, FOLLOW_UP)
    assert wrapped.searched == [(mode, FOLLOW_UP)]


async def test_the_decision_can_be_seen(make, mode: str, events: list) -> None:
    retriever = make().bind(**WHO)
    assert retriever.last_decision is None
    await run(mode, retriever, FOLLOW_UP)
    assert (retriever.last_decision.route, retriever.last_decision.clue.text) == ("pss", CLUE)
    assert [(event.route, event.clue) for event in events] == [("pss", None)]


async def test_any_transform_serves_and_an_async_one_without_blocking(wrapped, mode: str) -> None:
    threads = []

    class Upper(IdentityQueryTransform):
        def _run(self, query_bundle: QueryBundle, metadata: dict) -> QueryBundle:
            threads.append(threading.current_thread())
            assert metadata == WHO
            return QueryBundle(query_bundle.query_str.upper())

    retriever = PSSTransformRetriever(wrapped, Upper()).bind(**WHO)
    await run(mode, retriever, "kestrel")
    assert wrapped.searched == [(mode, "KESTREL")]
    assert (threads[0] is threading.main_thread()) == (mode == "sync")
    assert retriever.last_decision is None


async def test_the_callers_bundle_is_never_handed_on(wrapped, mode: str) -> None:
    bundle = QueryBundle("kestrel")
    await run(mode, PSSTransformRetriever(wrapped, IdentityQueryTransform()), bundle)
    assert bundle == QueryBundle("kestrel")


async def test_a_sync_retriever_is_not_asked_in_the_event_loop(make, mode: str) -> None:
    threads = []

    class Sync(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            threads.append(threading.current_thread())
            return []

    await run(mode, PSSTransformRetriever(Sync(), make()._query_transform).bind(**WHO), FOLLOW_UP)
    assert (threads[0] is threading.main_thread()) == (mode == "sync")


async def test_errors_are_not_hidden(make_reader, wrapped, mode: str) -> None:
    reader = make_reader({ADA: CLUE}, StateCorrupt("truncated"))
    with pytest.raises(StateCorrupt):
        await run(mode, PSSTransformRetriever(wrapped, PSSQueryTransformer(reader)).bind(**WHO), FOLLOW_UP)

    class Broken(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> Any:
            return None

    with pytest.raises(InvalidInput, match="Broken must return a list"):
        await run(mode, PSSTransformRetriever(Broken(), IdentityQueryTransform()), "kestrel")


async def test_index_nodes_are_followed_once(make_retriever, make_node, mode: str) -> None:
    inner = make_retriever([make_node("inner", 0.5)])
    index_node = IndexNode(id_="i", text="leads on", index_id="i", obj=inner)
    outer = make_retriever([NodeWithScore(node=index_node, score=0.5)])
    found = await run(mode, PSSTransformRetriever(outer, IdentityQueryTransform()), "kestrel")
    assert [one.node_id for one in found] == ["inner"]
    assert len(inner.calls) == 1


async def test_it_wraps_a_vector_index(make_reader, mode: str) -> None:
    index = VectorStoreIndex([TextNode(id_="a", text="Kestrel")], embed_model=MockEmbedding(3))
    transform: BaseQueryTransform = PSSQueryTransformer(make_reader({ADA: CLUE}))
    bundle = QueryBundle(FOLLOW_UP, embedding=[1.0, 0.0, 0.0])
    found = await run(mode, PSSTransformRetriever(index.as_retriever(), transform).bind(**WHO), bundle)
    assert [one.node_id for one in found] == ["a"]
    assert bundle.embedding == [1.0, 0.0, 0.0]


def test_one_instance_works_in_two_event_loops(make, wrapped) -> None:
    retriever = make().bind(**WHO)
    for _ in range(2):
        asyncio.run(retriever.aretrieve(FOLLOW_UP))
    assert wrapped.searched == [("async", APPENDED)] * 2
