"""A workflow that retrieves for a session: the query and whose it is come in, nodes and the decision go out."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field
from llama_index.core.schema import NodeWithScore
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

from pss_integrations.errors import InvalidInput
from pss_integrations.llama_index.session import PSSDecisionEvent, SessionQueryBundle
from pss_integrations.llama_index.session_retriever import SessionRetriever


class RetrieveEvent(StartEvent):
    """What is asked, and whose question it is; what it leaves open of that, others may say.

    :param query: The query.
    :param user_id: The user, or ``None`` for a session without one, which counts only if it is given.
    :param session_id: The session within that user.
    :param chat_history: The live messages.
    """

    query: str
    user_id: str | None = None
    session_id: str | None = None
    chat_history: list[ChatMessage] = Field(default_factory=list[ChatMessage])


class RetrievedEvent(StopEvent):
    """What was found.

    :param query: The query as it was asked, which is what is to be answered.
    :param nodes: What was found, best first.
    :param decision: What was decided, its texts only with ``explain=True``; ``None`` if nothing decides.
    """

    query: str
    nodes: list[NodeWithScore]
    decision: PSSDecisionEvent | None = None


class PSSRetrievalWorkflow(Workflow):
    """Retrieves for one session after another, which each run names.

    It takes the place of a query pipeline from LlamaIndex 0.13 on::

        workflow = PSSRetrievalWorkflow(GuardedRouterRetriever(index.as_retriever(), manager))
        found = await workflow.run(query="use the previous configuration", user_id="ada", session_id="s1")
        found.nodes, found.decision.route

    The session is that of the run, of ``bind()`` of the retriever, or of the ``pss_session`` around ``run``.

    :param retriever: A :class:`GuardedRouterRetriever` or :class:`PSSTransformRetriever`.
    :param explain: Put the texts of query, card and clue into the decision too; events may be recorded.
    :param options: Those of any workflow, such as ``timeout`` in seconds.
    :raises InvalidInput: If ``retriever`` is another one.
    """

    def __init__(self, retriever: BaseRetriever, *, explain: bool = False, **options: Any) -> None:
        super().__init__(**options)
        if not isinstance(retriever, SessionRetriever):
            raise InvalidInput(
                f"{type(retriever).__name__} knows no sessions: "
                "wrap it in a GuardedRouterRetriever or a PSSTransformRetriever"
            )
        self._retriever = retriever
        self._explain = explain

    @step
    async def retrieve(self, event: RetrieveEvent) -> RetrievedEvent:
        """Retrieve without blocking the event loop.

        :raises IdentityConflict: If two sources name different users or sessions.
        """
        said = event.model_fields_set & {"user_id", "session_id"}
        bundle = SessionQueryBundle(
            event.query, chat_history=event.chat_history, **{name: getattr(event, name) for name in said}
        )
        nodes = await self._retriever.aretrieve(bundle)
        decision = self._retriever.last_event(event.query, explain=self._explain)
        return RetrievedEvent(query=event.query, nodes=nodes, decision=decision)
