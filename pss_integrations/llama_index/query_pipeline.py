"""A component for the query pipelines of LlamaIndex 0.12; 0.13 has none.

Transformers and retrievers are components there by their own ``as_query_component()``: bound to a session, or inside
``pss_session``.
"""

from __future__ import annotations

from typing import Any

from pss_integrations.errors import UnsupportedVersion

try:
    from llama_index.core.base.query_pipeline.query import (  # pyright: ignore[reportMissingImports]
        CustomQueryComponent,
        validate_and_convert_stringable,
    )
except ModuleNotFoundError as error:
    raise UnsupportedVersion(
        "LlamaIndex has no query pipelines since 0.13: use pss_integrations.llama_index.PSSRetrievalWorkflow, "
        "or install 'llama-index-core>=0.12.52,<0.13'"
    ) from error

from llama_index.core.schema import NodeWithScore

from pss_integrations.llama_index.session import SessionQueryBundle
from pss_integrations.llama_index.session_retriever import SessionRetriever


class PSSQueryComponent(CustomQueryComponent):  # pyright: ignore[reportUntypedBaseClass]
    """Retrieves for the session that each run names: its inputs are the query and whose it is.

    ::

        pipeline = QueryPipeline()
        pipeline.add_modules({"ask": InputComponent(), "search": PSSQueryComponent(retriever=retriever)})
        pipeline.add_link("ask", "search", src_key="query_str", dest_key="query_str")
        pipeline.add_link("ask", "search", src_key="session_id", dest_key="session_id")

    Inputs are ``query_str`` and, if they are linked, ``user_id``, ``session_id`` and ``chat_history``; outputs are
    ``nodes`` and ``decision``, a :class:`PSSDecisionEvent`. A synthesizer takes the original query from where this
    does.

    :param retriever: A :class:`GuardedRouterRetriever` or :class:`PSSTransformRetriever`.
    :param explain: Put the texts of query, card and clue into the decision too.
    """

    retriever: SessionRetriever
    explain: bool = False

    @property
    def _input_keys(self) -> set[str]:
        return {"query_str"}

    @property
    def _optional_input_keys(self) -> set[str]:
        return {"user_id", "session_id", "chat_history"}

    @property
    def _output_keys(self) -> set[str]:
        return {"nodes", "decision"}

    def _validate_component_inputs(self, input: dict[str, Any]) -> dict[str, Any]:
        return input | {"query_str": validate_and_convert_stringable(input["query_str"])}

    def _run_component(self, **inputs: Any) -> dict[str, Any]:
        bundle = SessionQueryBundle(**inputs)
        return self._outputs(bundle, self.retriever.retrieve(bundle))

    async def _arun_component(self, **inputs: Any) -> dict[str, Any]:
        bundle = SessionQueryBundle(**inputs)
        return self._outputs(bundle, await self.retriever.aretrieve(bundle))

    def _outputs(self, bundle: SessionQueryBundle, nodes: list[NodeWithScore]) -> dict[str, Any]:
        return {"nodes": nodes, "decision": self.retriever.last_event(bundle.query_str, explain=self.explain)}
