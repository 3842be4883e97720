import asyncio
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.workflow import Context, StartEvent, StopEvent, Workflow, WorkflowRuntimeError, step

from pss_integrations.errors import IdentityConflict, InvalidInput
from pss_integrations.identity import pss_session
from pss_integrations.llama_index import (
    GuardedRouterRetriever,
    PSSQueryTransformer,
    PSSRetrievalWorkflow,
    PSSTransformRetriever,
    RetrievedEvent,
    RetrieveEvent,
)
from pss_integrations.types import SessionKey
from pss_integrations.vocabulary import Vocabulary

# of workflows 1, which LlamaIndex 0.12 runs on
pytestmark = pytest.mark.filterwarnings("ignore:ServiceManager is deprecated:DeprecationWarning")

ADA = SessionKey("ada", "s")
WHO = {"user_id": "ada", "session_id": "s"}
FOLLOW_UP = "use the previous configuration"
CLUE = "Kestrel v2.4 retry_limit"
CONFLICT = (IdentityConflict, WorkflowRuntimeError)  # workflows 1 raises what a step raised as an error of its own
APPENDED = f"{FOLLOW_UP} {CLUE}"


@pytest.fixture(params=[GuardedRouterRetriever, PSSTransformRetriever])
def retriever(request: pytest.FixtureRequest, make_reader, make_retriever, make_node) -> Any:
    """Knows a clue of Ada's session, and one of the session without a user."""
    reader = make_reader({ADA: CLUE, SessionKey(None, "s"): "Marlowe"}, compiled=1)
    found = {APPENDED: [make_node("x", 0.5)], f"{FOLLOW_UP} Marlowe": [make_node("m", 0.5)]}
    wrapped = make_retriever(found=found)
    if request.param is GuardedRouterRetriever:
        return GuardedRouterRetriever(wrapped, reader)
    return PSSTransformRetriever(wrapped, PSSQueryTransformer(reader))


def ids(found: RetrievedEvent) -> list[str]:
    return [node.node_id for node in found.nodes]


async def test_the_run_says_whose_it_is(retriever: Any) -> None:
    workflow = PSSRetrievalWorkflow(retriever)
    found = await workflow.run(query=FOLLOW_UP, **WHO)
    assert isinstance(found, RetrievedEvent)
    assert (found.query, ids(found), found.decision.route) == (FOLLOW_UP, ["x"], "pss")
    without_a_user = await workflow.run(start_event=RetrieveEvent(query=FOLLOW_UP, user_id=None, session_id="s"))
    assert ids(without_a_user) == ["m"]


async def test_a_bound_retriever_says_it(retriever: Any) -> None:
    assert ids(await PSSRetrievalWorkflow(retriever.bind(**WHO)).run(query=FOLLOW_UP)) == ["x"]


async def test_the_session_around_the_run_says_it(retriever: Any) -> None:
    workflow = PSSRetrievalWorkflow(retriever)
    with pss_session(**WHO):
        handler = workflow.run(query=FOLLOW_UP)
        half = workflow.run(query=FOLLOW_UP, session_id="s")
    assert (ids(await handler), ids(await half)) == (["x"], ["x"])


def test_sync_callers_run_a_loop_of_their_own(retriever: Any) -> None:
    async def ask() -> RetrievedEvent:
        return await PSSRetrievalWorkflow(retriever).run(query=FOLLOW_UP)

    with pss_session(**WHO):
        assert ids(asyncio.run(ask())) == ["x"]
        assert ids(asyncio.run(ask())) == ["x"]


async def test_sources_that_disagree_raise(retriever: Any) -> None:
    workflow = PSSRetrievalWorkflow(retriever)
    with pss_session(**WHO), pytest.raises(CONFLICT, match="the query bundle and pss_session"):
        await workflow.run(query=FOLLOW_UP, user_id="bob")
    with pytest.raises(CONFLICT, match=r"bind\(\) and the query bundle"):
        await PSSRetrievalWorkflow(retriever.bind(**WHO)).run(query=FOLLOW_UP, session_id="t")


async def test_without_a_session_the_query_is_searched_as_it_is(retriever: Any) -> None:
    with pytest.warns(UserWarning, match="no complete identity"):
        found = await PSSRetrievalWorkflow(retriever).run(query=FOLLOW_UP, session_id="s")
    assert (ids(found)[0], found.decision.route, found.decision.reason) == ("d0", "raw", "no_session")


async def test_runs_side_by_side_keep_their_sessions(retriever: Any) -> None:
    workflow = PSSRetrievalWorkflow(retriever)
    runs = [workflow.run(query=FOLLOW_UP, user_id=user, session_id="s") for user in ("ada", None) * 4]
    found = await asyncio.gather(*runs)
    assert [ids(one) for one in found] == [["x"], ["m"]] * 4
    assert {one.decision.route for one in found} == {"pss"}


async def test_texts_are_told_only_where_that_is_asked_for(retriever: Any) -> None:
    found = await PSSRetrievalWorkflow(retriever).run(query=FOLLOW_UP, **WHO)
    assert (found.decision.query, found.decision.clue) == (None, None)
    explained = await PSSRetrievalWorkflow(retriever, explain=True).run(query=FOLLOW_UP, **WHO)
    assert (explained.decision.query, explained.decision.clue) == (FOLLOW_UP, CLUE)


async def test_live_messages_count(retriever: Any) -> None:
    history = [ChatMessage(text, role="user") for text in ("Set it.", "Thanks!", "So,")]
    found = await PSSRetrievalWorkflow(retriever).run(query=FOLLOW_UP, **WHO, chat_history=history)
    assert found.decision.messages_behind == 2


async def test_cards_need_no_session(make_retriever) -> None:
    retriever = GuardedRouterRetriever(make_retriever(), vocabulary=Vocabulary(["Marlowe"]), routes=("card",))
    history = [ChatMessage("Tell me about Marlowe.", role="user")]
    found = await PSSRetrievalWorkflow(retriever).run(query=FOLLOW_UP, chat_history=history)
    assert found.decision.route == "card"


async def test_a_step_of_another_workflow_runs_it(retriever: Any) -> None:
    class Answer(Workflow):
        @step
        async def answer(self, context: Context, event: StartEvent) -> StopEvent:
            found = await PSSRetrievalWorkflow(retriever).run(query=event.query)
            return StopEvent(result=(found.query, ids(found)))

    with pss_session(**WHO):
        handler = Answer().run(query=FOLLOW_UP)
    assert await handler == (FOLLOW_UP, ["x"])


def test_a_retriever_that_knows_no_sessions_is_refused(make_retriever) -> None:
    with pytest.raises(InvalidInput, match="wrap it in a GuardedRouterRetriever"):
        PSSRetrievalWorkflow(make_retriever())
