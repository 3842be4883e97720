"""LangChain's own conformance suite for retrievers, on the route of a clue."""

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

from pss_integrations.langchain import GuardedRouterRetriever
from pss_integrations.types import SessionKey


class TestGuardedRouterRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True, params=["append", "replace", "rrf"])
    def _build(self, request: pytest.FixtureRequest, make_reader, make_retriever) -> None:
        self.params = {
            "retriever": make_retriever(default=[Document(f"text {n}") for n in range(4)]),
            "manager": make_reader({SessionKey(None, "s"): "Kestrel v2.4"}),
            "composition": request.param,
            "user_id": None,
            "session_id": "s",
        }

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return GuardedRouterRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return self.params

    @property
    def retriever_query_example(self) -> str:
        return "use the previous configuration"
