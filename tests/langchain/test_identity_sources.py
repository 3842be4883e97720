from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from pss_integrations.errors import IdentityConflict, InvalidInput, MissingIdentity
from pss_integrations.identity import pss_session
from pss_integrations.langchain import PSSQueryTransformer
from pss_integrations.types import SessionKey


@pytest.fixture
def resolved(make_reader):
    """Resolve what a config and fields say, as a call would."""

    def resolved(configurable: dict[str, Any] | None = None, **fields: Any) -> SessionKey | None:
        transformer = PSSQueryTransformer(manager=make_reader({}), **fields)
        return transformer.session_key({"configurable": configurable or {}})

    return resolved


def runtime(context: object = None, user: object = None) -> dict[str, Any]:
    return {"__pregel_runtime": SimpleNamespace(context=context, server_info=SimpleNamespace(user=user))}


def test_nothing_is_assumed(resolved) -> None:
    assert resolved() is None
    assert resolved({"thread_id": "t"}) is None
    assert resolved({"session_id": "s"}) is None
    assert resolved(runtime(), user_id=None) is None
    assert resolved({"user_id": "ada", "session_id": None}) is None


def test_the_thread_serves_as_session_only_on_request(resolved) -> None:
    assert resolved({"user_id": "ada", "thread_id": "t"}) is None
    assert resolved({"user_id": "ada", "thread_id": "t"}, session_from="thread_id") == SessionKey("ada", "t")
    with pytest.raises(IdentityConflict, match="thread_id"):
        resolved({"user_id": "ada", "session_id": "s", "thread_id": "t"}, session_from="thread_id")


def test_a_user_of_none_counts_only_if_it_is_given(resolved) -> None:
    assert resolved({"session_id": "s"}, user_id=None) == SessionKey(None, "s")
    assert resolved({"session_id": "s", "user_id": None}) == SessionKey(None, "s")
    with pytest.raises(IdentityConflict):
        resolved({"session_id": "s", "user_id": "ada"}, user_id=None)


@pytest.mark.parametrize("user", [SimpleNamespace(identity="ada"), {"identity": "ada"}])
def test_the_authenticated_user_is_taken_and_cannot_be_overruled(resolved, user: object) -> None:
    for configurable in ({"langgraph_auth_user": user}, runtime(user=user)):
        assert resolved({**configurable, "session_id": "s"}) == SessionKey("ada", "s")
        with pytest.raises(IdentityConflict, match="authenticated user"):
            resolved({**configurable, "session_id": "s", "user_id": "bob"})


@dataclass
class Context:
    user_id: str | None = "ada"
    session_id: str = "s"
    language: str = "en"


@pytest.mark.parametrize("context", [Context(), {"user_id": "ada", "session_id": "s", "language": "en"}])
def test_the_runtime_context_is_taken(resolved, context: object) -> None:
    assert resolved(runtime(context)) == SessionKey("ada", "s")
    with pytest.raises(IdentityConflict, match="runtime context"):
        resolved(runtime(context), session_id="other")


def test_the_sources_complete_each_other(resolved) -> None:
    with pss_session(user_id="ada", session_id="s"):
        assert resolved({"langgraph_auth_user": {"identity": "ada"}}, session_id="s") == SessionKey("ada", "s")
        with pytest.raises(IdentityConflict, match="pss_session"):
            resolved({"user_id": "bob"})


def test_unusable_ids_raise(resolved) -> None:
    with pytest.raises(MissingIdentity):
        resolved({"user_id": "", "session_id": "s"})
    with pytest.raises(InvalidInput):
        resolved({"user_id": 7, "session_id": "s"})


async def test_a_node_of_a_graph_passes_its_context_on(make_reader, call) -> None:
    graphs = pytest.importorskip("langgraph.graph")
    transformer = PSSQueryTransformer(manager=make_reader({SessionKey("ada", "s"): "Kestrel v2.4"}))
    graph = graphs.StateGraph(dict, context_schema=Context)
    graph.add_node("search", lambda state: {"text": transformer.invoke(state["text"])})
    graph.set_entry_point("search")
    compiled = graph.compile()
    assert await call(compiled, {"text": "use that again"}, context=Context()) == {
        "text": "use that again Kestrel v2.4"
    }
