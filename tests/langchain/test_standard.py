"""LangChain's own conformance suites: for retrievers, on every route; for tools, around them.

Those of the belief tools are in ``test_belief_tools.py``.
"""

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import create_retriever_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from pss_integrations.langchain import GuardedRouterRetriever, PSSQueryTransformer
from pss_integrations.retrieval import BM25Index
from pss_integrations.types import Passage, SessionKey
from pss_integrations.vocabulary import Vocabulary

FOLLOW_UP = "use the previous configuration"
CLUE = "Kestrel v2.4"
SESSION = {"user_id": None, "session_id": "s"}
PASSAGES = [Passage(f"p{n}", f"Page {n} of the configuration of Kestrel v2.4.", "Kestrel") for n in range(4)]


class Routed(RetrieversIntegrationTests):
    """The suite, and that it went the way that it was to go."""

    route: str
    params: dict[str, Any]

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return GuardedRouterRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return self.params

    @property
    def retriever_query_example(self) -> str:
        return FOLLOW_UP

    def test_the_route(self, retriever: BaseRetriever) -> None:
        retriever.invoke(self.retriever_query_example)
        assert retriever.last_decision.route == self.route


class TestOverARetriever(Routed):
    route = "pss"

    @pytest.fixture(autouse=True, params=["append", "replace", "rrf"])
    def _build(self, request: pytest.FixtureRequest, make_reader, make_retriever) -> None:
        self.params = {
            "retriever": make_retriever(default=[Document(f"text {n}") for n in range(4)]),
            "manager": make_reader({SessionKey(None, "s"): CLUE}),
            "composition": request.param,
            **SESSION,
        }


class TestOverAnIndexWithClues(Routed):
    route = "pss"

    @pytest.fixture(autouse=True, params=["append", "replace", "rrf"])
    def _build(self, request: pytest.FixtureRequest, make_reader) -> None:
        reader = make_reader({SessionKey(None, "s"): CLUE})
        self.params = {
            "retriever": BM25Index(PASSAGES),
            "manager": reader,
            "composition": request.param,
            "k": 3,
            **SESSION,
        }


class WithHistory(GuardedRouterRetriever):
    """Hears of live messages, which the suite has none of."""

    def invoke(self, input: Any, *args: Any, **options: Any) -> list[Document]:
        return super().invoke(talked(input), *args, **options)

    async def ainvoke(self, input: Any, *args: Any, **options: Any) -> list[Document]:
        return await super().ainvoke(talked(input), *args, **options)


def talked(query: str) -> dict[str, Any]:
    return {"input": query, "chat_history": [("human", "Tell me about Kestrel."), ("ai", "It is configured.")]}


class TestOverAnIndexWithCards(Routed):
    route = "card"

    @pytest.fixture(autouse=True, params=["append", "replace", "rrf"])
    def _build(self, request: pytest.FixtureRequest) -> None:
        self.params = {
            "retriever": BM25Index(PASSAGES),
            "vocabulary": Vocabulary(["Kestrel"]),
            "composition": request.param,
            "k": 3,
        }

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return WithHistory


class TestOverAnIndexAsItIs(Routed):
    route = "raw"

    @pytest.fixture(autouse=True)
    def _build(self) -> None:
        self.params = {"retriever": BM25Index(PASSAGES), "k": 3}


class TestBehindATransformer(Routed):
    route = "raw"

    @pytest.fixture(autouse=True)
    def _build(self, make_reader) -> None:
        transformer = PSSQueryTransformer(manager=make_reader({SessionKey(None, "s"): CLUE}), **SESSION)
        index = GuardedRouterRetriever(retriever=BM25Index(PASSAGES), k=4)
        self.params = {"retriever": transformer | index}


class AsTool:
    """A retriever as core makes a tool of it."""

    @pytest.fixture(autouse=True)
    def _build(self, make_reader) -> None:
        manager = make_reader({SessionKey(None, "s"): CLUE})
        retriever = GuardedRouterRetriever(retriever=BM25Index(PASSAGES), k=3, manager=manager, **SESSION)
        self.tool_constructor = create_retriever_tool(retriever, "docs", "Finds documents.")
        self.tool_invoke_params_example = {"query": FOLLOW_UP}


class TestToolUnit(AsTool, ToolsUnitTests):
    tool_constructor = tool_invoke_params_example = None


class TestToolIntegration(AsTool, ToolsIntegrationTests):
    tool_constructor = tool_invoke_params_example = None
