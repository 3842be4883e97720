"""Router, LangChain and LlamaIndex run the same path: same ids, same clue, same route, sync and async."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
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
from pss_integrations.routing import Binding, Certificate, Router
from pss_integrations.routing.wording import Wording
from pss_integrations.types import Hit, Message, Passage, SessionKey
from pss_integrations.vocabulary import Vocabulary

ADA = SessionKey("ada", "s")
FOLLOW_UP = "use the previous configuration"
ON_ITS_OWN = "How is retry_limit set in Kestrel v2.4? "
CLUE = "Kestrel v2.4 retry_limit"
HISTORY = [("user", "Set the retry limit."), ("assistant", "Done."), ("user", "Thanks!")]
NAMED = [("user", "Tell me about Marlowe."), ("assistant", "It sends invoices.")]
NAMES = Vocabulary(["Marlowe"])
INDEX = {
    FOLLOW_UP: ["a", "b", "c"],
    ON_ITS_OWN: ["c", "b"],
    CLUE: ["d", "b"],
    f"{FOLLOW_UP} {CLUE}": ["d", "e", "a", "b"],
    f"{FOLLOW_UP} {FOLLOW_UP} Marlowe": ["m", "a"],
    "Marlowe": ["m"],
}

Search = Callable[[str], list[str]]
Call = tuple[str, list[tuple[str, str]]]
"""A query, and what was said before it."""


@dataclass(frozen=True)
class Outcome:
    """What all faces must agree on."""

    ids: tuple[str, ...]
    route: str
    reason: str
    composition: str | None
    clue: str | None
    messages_behind: int | None
    card: str = ""
    calibrated: bool = False
    supported: bool | None = None
    features: tuple[tuple[str, float], ...] = field(default=(), repr=False)


def outcome(ids: list[str], decision: Any) -> Outcome:
    clue = decision.clue.text if decision.clue else None
    return Outcome(
        tuple(ids),
        decision.route,
        decision.reason,
        decision.composition,
        clue,
        decision.messages_behind,
        decision.card,
        decision.calibrated,
        decision.supported,
        tuple(sorted(decision.features.items())),
    )


async def by_router(is_async: bool, find: Search, call: Call, reader: Any, k: int | None, **options: Any):
    query, said = call
    router = Router(reader, hit=lambda one: Hit(Passage(one, one), 0.0), rescore=lambda one, _: one, **options)
    messages = [Message(role, text) for role, text in said]

    async def afind(wording: Wording, _: str) -> list[str]:
        return find(wording.text)

    if is_async:
        routed = await router.aroute(query, ADA, afind, k=k, messages=messages)
    else:
        routed = router.route(query, ADA, lambda wording, _: find(wording.text), k=k, messages=messages)
    return outcome(list(routed.passages), routed)


async def by_langchain(is_async: bool, find: Search, call: Call, reader: Any, k: int | None, **options: Any):
    query, said = call
    wrapped = RunnableLambda(lambda text: [Document(one, id=one) for one in find(text)])
    retriever = LangChainRetriever(retriever=wrapped, manager=reader, k=k, **options)
    value = {"input": query, "chat_history": said}
    config = {"configurable": {"user_id": "ada", "session_id": "s"}}
    found = await retriever.ainvoke(value, config) if is_async else retriever.invoke(value, config)
    return outcome([one.id for one in found], retriever.last_decision)


async def by_llama_index(is_async: bool, find: Search, call: Call, reader: Any, k: int | None, **options: Any):
    query, said = call

    class Wrapped(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(id_=one, text=one)) for one in find(query_bundle.query_str)]

    retriever = LlamaIndexRetriever(Wrapped(), reader, similarity_top_k=k, **options)
    history = [ChatMessage(role=role, content=text) for role, text in said]
    bundle = SessionQueryBundle(query, user_id="ada", session_id="s", chat_history=history)
    found = await retriever.aretrieve(bundle) if is_async else retriever.retrieve(bundle)
    return outcome([one.node_id for one in found], retriever.last_decision)


FACES = [by_router, by_langchain, by_llama_index]


async def everywhere(
    find: Search, query: str, make_reader: Any, clue: str | None, history: Any = HISTORY, **options: Any
) -> Outcome:
    """Run one scenario on every face, both ways; return the one outcome they must share."""
    clues = {} if clue is None else {ADA: clue}
    outcomes = [
        await face(is_async, find, (query, history), make_reader(clues, compiled=1), **options)
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
    numbers = dict(agreed.features)
    assert replace(agreed, features=()) == Outcome(("b", "a"), "pss", "clue", "rrf", CLUE, 2, supported=False)
    assert (numbers["overlap"], numbers["behind"], numbers["logprob"]) == (0.5, 2.0, -0.375)


@pytest.mark.parametrize(
    ("options", "ids", "route", "reason", "calibrated"),
    [
        ({}, ("d", "e", "a"), "pss", "clue", False),
        ({"routes": ("raw", "card")}, ("m", "a"), "card", "card", False),
        ({"routes": ("card",), "composition": "rrf"}, ("a", "m", "b"), "card", "card", False),
        ({"routes": ("raw",)}, ("a", "b", "c"), "raw", "nothing_to_add", False),
        (
            {"certificate": Certificate(weights={"support": 1.0}, threshold=9.0)},
            ("a", "b", "c"),
            "raw",
            "guarded",
            False,
        ),
        (
            {
                "certificate": Certificate(
                    weights={"support": 1.0}, threshold=9.0, binding=Binding(index_id="mine", engine="fake engine")
                ),
                "index_id": "mine",
            },
            ("a", "b", "c"),
            "raw",
            "guarded",
            True,
        ),
    ],
)
async def test_all_faces_agree_on_cards_routes_and_certificates(
    make_reader, options: dict, ids: tuple, route: str, reason: str, calibrated: bool
) -> None:
    agreed = await everywhere(
        lambda text: INDEX[text], FOLLOW_UP, make_reader, CLUE, NAMED, k=3, vocabulary=NAMES, **options
    )
    assert (agreed.ids, agreed.route, agreed.reason, agreed.calibrated) == (ids, route, reason, calibrated)
    assert agreed.card == ("" if options.get("routes") == ("raw",) else "Marlowe")


@given(
    query=st.sampled_from(["", " \n", ON_ITS_OWN, FOLLOW_UP]) | st.text(),
    found=st.lists(st.text("abc", min_size=1, max_size=2), unique=True, max_size=5),
    clue=st.sampled_from([None, "", "# Heading", "...", "go go go go", CLUE]),
    k=st.none() | st.integers(1, 6),
    composition=st.sampled_from(["append", "replace", "rrf"]),
)
def test_the_raw_route_returns_exactly_the_wrapped_list(make_reader, query, found, clue, k, composition) -> None:
    asked: list[str] = []

    def find(text: str) -> list[str]:
        asked.append(text)
        return found

    never = Certificate(weights={}, threshold=None)
    options = {"k": k, "composition": composition, "certificate": never, "vocabulary": NAMES}
    agreed = asyncio.run(everywhere(find, query, make_reader, clue, NAMED, **options))
    assert (agreed.route, agreed.ids) == ("raw", tuple(found[:k]))
    assert asked[:: len(asked) // 6] == [query] * 6  # each of the six searched with the query first


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
    assert set(texts) == (set(asked) - {query} or {query})
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
