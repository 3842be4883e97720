"""Router, LangChain and LlamaIndex run the same path: same ids, same clue, same route, sync and async."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from pss_integrations.identity import pss_session
from pss_integrations.langchain import GuardedRouterRetriever as LangChainRetriever
from pss_integrations.langchain import PSSQueryTransformer as LangChainTransformer
from pss_integrations.llama_index import GuardedRouterRetriever as LlamaIndexRetriever
from pss_integrations.llama_index import PSSQueryTransformer as LlamaIndexTransformer
from pss_integrations.llama_index import SessionQueryBundle
from pss_integrations.routing import Router
from pss_integrations.types import Message, SessionKey

ADA = SessionKey("ada", "s")
FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4? "
CLUE = "Kestrel v2.4 retry_limit"
HISTORY = [("user", "Set the retry limit."), ("assistant", "Done."), ("user", "Thanks!")]
INDEX = {
    FOLLOW_UP: ["a", "b", "c"],
    ON_ITS_OWN: ["c", "b"],
    CLUE: ["d", "b"],
    f"{FOLLOW_UP} {CLUE}": ["d", "e", "a", "b"],
}

Search = Callable[[str], list[str]]


@dataclass(frozen=True)
class Outcome:
    """What all faces must agree on."""

    ids: tuple[str, ...]
    route: str
    reason: str
    composition: str | None
    clue: str | None
    messages_behind: int | None


def outcome(ids: list[str], decision: Any) -> Outcome:
    clue = decision.clue.text if decision.clue else None
    return Outcome(tuple(ids), decision.route, decision.reason, decision.composition, clue, decision.messages_behind)


async def by_router(is_async: bool, find: Search, query: str, reader: Any, k: int | None, **options: Any):
    router = Router(reader, key=str, rescore=lambda one, _: one, **options)
    messages = [Message(role, text) for role, text in HISTORY]

    async def afind(text: str, _: str) -> list[str]:
        return find(text)

    if is_async:
        routed = await router.aroute(query, ADA, afind, k=k, messages=messages)
    else:
        routed = router.route(query, ADA, lambda text, _: find(text), k=k, messages=messages)
    return outcome(list(routed.documents), routed)


async def by_langchain(is_async: bool, find: Search, query: str, reader: Any, k: int | None, **options: Any):
    wrapped = RunnableLambda(lambda text: [Document(one, id=one) for one in find(text)])
    retriever = LangChainRetriever(retriever=wrapped, manager=reader, k=k, **options)
    value = {"input": query, "chat_history": HISTORY}
    config = {"configurable": {"user_id": "ada", "session_id": "s"}}
    found = await retriever.ainvoke(value, config) if is_async else retriever.invoke(value, config)
    return outcome([one.id for one in found], retriever.last_decision)


async def by_llama_index(is_async: bool, find: Search, query: str, reader: Any, k: int | None, **options: Any):
    class Wrapped(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(id_=one, text=one)) for one in find(query_bundle.query_str)]

    retriever = LlamaIndexRetriever(Wrapped(), reader, similarity_top_k=k, **options)
    history = [ChatMessage(role=role, content=text) for role, text in HISTORY]
    bundle = SessionQueryBundle(query, user_id="ada", session_id="s", chat_history=history)
    found = await retriever.aretrieve(bundle) if is_async else retriever.retrieve(bundle)
    return outcome([one.node_id for one in found], retriever.last_decision)


FACES = [by_router, by_langchain, by_llama_index]


async def everywhere(find: Search, query: str, make_reader: Any, clue: str | None, **options: Any) -> Outcome:
    """Run one scenario on every face, both ways; return the one outcome they must share."""
    clues = {} if clue is None else {ADA: clue}
    outcomes = [
        await face(is_async, find, query, make_reader(clues, compiled=1), **options)
        for face in FACES
        for is_async in (False, True)
    ]
    assert set(outcomes) == {outcomes[0]}
    return outcomes[0]


@pytest.mark.parametrize("k", [None, 1, 3, 9])
@pytest.mark.parametrize(
    "options",
    [{"composition": "replace"}, {"composition": "append"}, {"composition": "rrf"}, {"query_weight": 2}],
)
@pytest.mark.parametrize("clue", [CLUE, "# Heading", None])
@pytest.mark.parametrize("query", [FOLLOW_UP, ON_ITS_OWN, " "])
async def test_all_faces_agree(make_reader, query: str, clue: str | None, options: dict, k: int | None) -> None:
    def find(text: str) -> list[str]:
        return INDEX.get(text, ["z"])

    agreed = await everywhere(find, query, make_reader, clue, k=k, **options)
    assert agreed.route == ("pss" if query == FOLLOW_UP and clue == CLUE else "raw")
    assert agreed.messages_behind == (2 if query == FOLLOW_UP and clue is not None else None)


async def test_the_scenario_in_numbers(make_reader) -> None:
    agreed = await everywhere(lambda text: INDEX[text], FOLLOW_UP, make_reader, CLUE, k=2, composition="rrf")
    assert agreed == Outcome(("b", "a"), "pss", "clue", "rrf", CLUE, 2)


@given(
    query=st.sampled_from(["", " \n", ON_ITS_OWN, FOLLOW_UP]) | st.text(),
    found=st.lists(st.text("abc", min_size=1, max_size=2), unique=True, max_size=5),
    clue=st.sampled_from([None, "", "# Heading", "...", "go go go go"]),
    k=st.none() | st.integers(1, 6),
    composition=st.sampled_from(["append", "replace", "rrf"]),
)
def test_the_raw_route_returns_exactly_the_wrapped_list(make_reader, query, found, clue, k, composition) -> None:
    asked: list[str] = []

    def find(text: str) -> list[str]:
        asked.append(text)
        return found

    agreed = asyncio.run(everywhere(find, query, make_reader, clue, k=k, composition=composition))
    assert (agreed.route, agreed.ids) == ("raw", tuple(found[:k]))
    assert asked == [query] * 6


@pytest.mark.parametrize("composition", ["append", "replace"])
@pytest.mark.parametrize("query", [FOLLOW_UP, ON_ITS_OWN, ""])
async def test_both_transformers_give_the_text_that_the_retrievers_search(
    make_reader, query: str, composition: str
) -> None:
    asked: list[str] = []

    def find(text: str) -> list[str]:
        asked.append(text)
        return []

    await everywhere(find, query, make_reader, CLUE, k=None, composition=composition)
    chain = LangChainTransformer(manager=make_reader({ADA: CLUE}), composition=composition)
    transform = LlamaIndexTransformer(make_reader({ADA: CLUE}), composition=composition)
    with pss_session(user_id="ada", session_id="s"):
        texts = [chain.invoke(query), await chain.ainvoke(query)]
        texts += [transform.run(query).query_str, (await transform.arun(query)).query_str]
    assert set(texts) == set(asked)
    assert len(set(texts)) == 1


@pytest.mark.parametrize(
    ("face", "package", "extra"),
    [("langchain", "langchain_core", "langchain"), ("llama_index", "llama_index", "llama-index")],
)
def test_a_missing_framework_names_its_extra(face: str, package: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None
from pss_integrations.errors import MissingExtra
try:
    import pss_integrations.{face}
except MissingExtra as error:
    assert "pip install 'pss-integrations[{extra}]'" in str(error), error
else:
    sys.exit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
