"""A runnable that turns a query into the text to search with."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    CallbackManagerForChainRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.runnables import RunnableConfig, RunnableSerializable
from pydantic import Field, PositiveInt

from pss_integrations.langchain.convert import QueryInput, split_input
from pss_integrations.langchain.session import DECISION_EVENT, SessionAware
from pss_integrations.protocols import ClueReader
from pss_integrations.routing.describe import describe
from pss_integrations.routing.rewriter import Rewriter
from pss_integrations.types import Routed


class PSSQueryTransformer(RunnableSerializable[QueryInput, str], SessionAware):
    """Adds to a query what its session knows; leaves it byte-identical when it abstains.

    It takes a string, or ``{"input": ..., "chat_history": [...]}``, and stands before any retriever::

        chain = PSSQueryTransformer(manager=manager) | retriever

    Each call sends the custom event ``pss_decision``. The text itself is the output, and so is in traces.

    :param manager: Reads the states; never serialized.
    :param composition: ``"append"`` (query and clue) or ``"replace"`` (the clue alone).
    :param query_weight: How often ``append`` repeats the query before the clue.
    """

    manager: ClueReader = Field(exclude=True, repr=False)
    composition: Literal["append", "replace"] = "append"
    query_weight: PositiveInt = 1

    def model_post_init(self, context: Any, /) -> None:
        """Make the rewriter, whose options are checked by now."""
        super().model_post_init(context)
        self._made = self._make()

    def _make(self) -> Rewriter:
        return Rewriter(
            self.manager,
            composition=self.composition,
            query_weight=self.query_weight,
            on_missing_identity=self.on_missing_identity,
        )

    @property
    def _rewriter(self) -> Rewriter:
        return self._decider()

    @property
    def last_decision(self) -> Routed[Any] | None:
        """The last decision made in this context (task or thread), without documents."""
        return self._rewriter.last_decision

    def invoke(self, input: QueryInput, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Return the text to search with.

        :raises InvalidInput: If the input has another shape.
        :raises IdentityConflict: If two sources name different sessions.
        :raises StateError: If a state is there and cannot be read.
        """
        made: list[Routed[Any]] = []
        try:
            return self._call_with_config(partial(self._rewrite, made), input, config, **kwargs)
        finally:  # the work ran in a copy of this context
            self._rewriter.last_decision = made[0] if made else None

    async def ainvoke(self, input: QueryInput, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """Do the same without blocking the event loop."""
        made: list[Routed[Any]] = []
        try:
            return await self._acall_with_config(partial(self._arewrite, made), input, config, **kwargs)
        finally:
            self._rewriter.last_decision = made[0] if made else None

    def _rewrite(
        self,
        made: list[Routed[Any]],
        value: QueryInput,
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
    ) -> str:
        query, messages = split_input(value)
        made.append(decision := self._rewriter.decide(query, self.session_key(config), messages))
        said = describe(decision, query, explain=self.explain)
        dispatch_custom_event(DECISION_EVENT, said, config={"callbacks": run_manager.get_child()})
        return self._rewriter.text(query, decision)

    async def _arewrite(
        self,
        made: list[Routed[Any]],
        value: QueryInput,
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
    ) -> str:
        query, messages = split_input(value)
        made.append(decision := await self._rewriter.adecide(query, self.session_key(config), messages))
        said = describe(decision, query, explain=self.explain)
        await adispatch_custom_event(DECISION_EVENT, said, config={"callbacks": run_manager.get_child()})
        return self._rewriter.text(query, decision)
