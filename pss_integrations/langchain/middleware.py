"""The belief memory of an agent, as a middleware of ``langchain.agents.create_agent``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Annotated, Any, NotRequired
from urllib.parse import quote

from pss_integrations.errors import MissingExtra

if find_spec("langchain") is None:
    raise MissingExtra("langgraph", "langchain")

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.runtime import Runtime

from pss_integrations.beliefs.aware import Caller
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.beliefs.principals import Principal
from pss_integrations.langchain.belief_identity import BeliefAware
from pss_integrations.langchain.belief_messages import extended, is_asked, last_query, led_up, turn_start
from pss_integrations.types import Message

_NONE = ""  # id of the message before the first


class BeliefAgentState(AgentState[Any]):
    """What an agent's thread remembers for the middlewares, by the name of each.

    :param pss_observed: The last message that was observed.
    :param pss_asked: During a run, what the user said that was not observed yet, behind what the assistant said before
        it: a middleware that shortens the thread may remove these messages.
    """

    pss_observed: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    pss_asked: NotRequired[Annotated[dict[str, list[BaseMessage]], PrivateStateAttr]]


class BeliefStateMiddleware(AgentMiddleware[BeliefAgentState, Any, Any]):
    """Tells an agent's model what its user has settled, and keeps what is settled in its runs.

    The model sees what is recalled at the end of its system message; the thread keeps none of it. After a run its
    messages are observed, each once, behind the answer that they reply to: the thread remembers how far that came, also
    when a run failed. Without a checkpointer that is the last turn. A database that fails is logged, and the agent
    answers without beliefs. It goes last in the list, after ``dynamic_prompt``, which would put another system message
    in place of the one that it extends. Several stand side by side, such as a user's and a team's::

        create_agent(model, middleware=[
            BeliefStateMiddleware(memory),
            BeliefStateMiddleware(memory, principal=Principal.team("core"), observe=False),
        ])

    :param memory: Recalls and keeps.
    :param principal: Whose beliefs; by default those of the user whom the call names. For a team that user is the
        actor.
    :param context: Values for the places of scopes; they win over those of the call.
    :param observe: Keep what is settled.
    :param name: Tells the middlewares of one agent apart; by default their principals do.
    :param trusted_names: Names under which the user speaks: what comes in under another name is another agent's.
    :param trust_nested: Whether what comes in as the user's is that too where the agent runs inside another graph: a
        sub-agent's prompt is written by a model.
    :raises InvalidInput: If it is to observe and the memory reads the blocks of :class:`SidecarChatModel`, which alone
        keeps them out of what a user sees.
    """

    state_schema = BeliefAgentState

    def __init__(
        self,
        memory: BeliefMemory,
        *,
        principal: Principal | None = None,
        context: Mapping[str, str] | None = None,
        observe: bool = True,
        name: str | None = None,
        trusted_names: tuple[str, ...] = (),
        trust_nested: bool = False,
    ) -> None:
        super().__init__()
        self._beliefs = BeliefAware(
            memory=memory,
            principal=principal,
            context=context or {},
            trusted_names=trusted_names,
            trust_nested=trust_nested,
        )
        self._observe = observe
        self._name = name or _name(type(self).__name__, principal)
        if observe:
            self._beliefs.refuse_sidecars()

    @property
    def name(self) -> str:
        """The name of its nodes in the agent's graph."""
        return self._name

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Let the model see what is recalled for the last message of the user."""
        text = self._beliefs.recall(self._caller(request.runtime), self._query(request))
        return handler(_told(request, text))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Do the same without blocking the event loop."""
        text = await self._beliefs.arecall(self._caller(request.runtime), self._query(request))
        return await handler(_told(request, text))

    def before_agent(self, state: BeliefAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Note what the user asks, and in a new thread which messages came before; raise if nothing names a user."""
        self._caller(runtime)
        messages, start = state["messages"], self._start(state)
        said = [one for one in messages[start:] if is_asked(one)]
        new = [*led_up(messages, start), *said] if said else []
        asked = self._asked(state, [*self._lost(state, start), *new])
        if not self._observe or self.name in state.get("pss_observed", {}):
            return asked
        return {**asked, **self._up_to(state, start)}

    async def abefore_agent(self, state: BeliefAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Do the same, which takes no time."""
        return self.before_agent(state, runtime)

    def after_agent(self, state: BeliefAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Keep what the messages settle that were not observed before."""
        if not self._observe:
            return self._asked(state, [])
        caller = self._caller(runtime)
        self._beliefs.keep(caller, self._new(caller, state))
        return {**self._asked(state, []), **self._up_to(state, len(state["messages"]))}

    async def aafter_agent(self, state: BeliefAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Do the same without blocking the event loop."""
        if not self._observe:
            return self._asked(state, [])
        caller = self._caller(runtime)
        await self._beliefs.akeep(caller, self._new(caller, state))
        return {**self._asked(state, []), **self._up_to(state, len(state["messages"]))}

    def flush(self, config: RunnableConfig | None = None) -> None:
        """Wait until everything that was observed of the caller's is kept.

        :param config: Names the user, where neither the principal nor ``pss_session`` does.
        :raises MissingIdentity: If nothing names a user; to wait for everybody's, flush the :class:`BeliefMemory`.
        :raises Exception: What went wrong first meanwhile; the errors of others are theirs.
        """
        self._beliefs.flush(config)

    async def aflush(self, config: RunnableConfig | None = None) -> None:
        """Do the same without blocking the event loop."""
        await self._beliefs.aflush(config)

    def _caller(self, runtime: Runtime[Any]) -> Caller:
        return self._beliefs.caller(ensure_config(), runtime)

    def _query(self, request: ModelRequest[Any]) -> str:
        return last_query(request.messages) or last_query(request.state.get("pss_asked", {}).get(self.name, []))

    def _new(self, caller: Caller, state: BeliefAgentState) -> list[Message]:
        """What was not observed before, with what was removed of it meanwhile."""
        new = state["messages"][self._start(state) :]
        asked = state.get("pss_asked", {}).get(self.name, [])
        return self._beliefs.spoken(caller, [*_not_in(new, asked), *new])

    def _lost(self, state: BeliefAgentState, start: int) -> list[BaseMessage]:
        """What a run that failed noted, and does not stand in a thread that was shortened meanwhile from there on."""
        noted = _not_in(state["messages"][start:], state.get("pss_asked", {}).get(self.name, []))
        return noted if any(map(is_asked, noted)) else []

    def _start(self, state: BeliefAgentState) -> int:
        """Where in the thread the messages begin that were not observed before."""
        last = state.get("pss_observed", {}).get(self.name)
        if last == _NONE:
            return 0
        ids = [one.id for one in state["messages"]]
        # A middleware that shortens the thread may have removed it.
        return ids.index(last) + 1 if last in ids else turn_start(state["messages"])

    def _asked(self, state: BeliefAgentState, messages: Sequence[BaseMessage]) -> dict[str, Any]:
        return {"pss_asked": {**state.get("pss_asked", {}), self.name: [*messages]}}

    def _up_to(self, state: BeliefAgentState, end: int) -> dict[str, Any]:
        last = state["messages"][end - 1].id if end else _NONE
        return {"pss_observed": {**state.get("pss_observed", {}), self.name: last}}


def _not_in(messages: Sequence[BaseMessage], asked: Sequence[BaseMessage]) -> list[BaseMessage]:
    """What was noted without the questions that are left: who rewrites a thread may change the ids."""
    left = {str(one.text) for one in messages if is_asked(one)}
    return [one for one in asked if not is_asked(one) or str(one.text) not in left]


def _name(base: str, principal: Principal | None) -> str:
    # LangGraph keeps ":" and "|" for itself; quoted, two principals never have one name.
    return base if principal is None else f"{base}-{principal.kind}-{quote(principal.id, safe='')}"


def _told(request: ModelRequest[Any], text: str) -> ModelRequest[Any]:
    return request.override(system_message=extended(request.system_message, text)) if text else request
