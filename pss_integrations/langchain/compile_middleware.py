"""Compiles the threads of an agent in the background, as a middleware of ``langchain.agents.create_agent``."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Literal, get_args

from pss_integrations.errors import InvalidInput, MissingExtra

if find_spec("langchain") is None:
    raise MissingExtra("langgraph", "langchain")

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.runtime import Runtime

from pss_integrations.identity import MISSING_IDENTITY, UNSET, PartialIdentity, Unset, require, resolve
from pss_integrations.langchain.belief_messages import heard
from pss_integrations.langchain.session import SessionFrom, identity_sources, is_nested, unheard
from pss_integrations.routing.rewriter import check_choice
from pss_integrations.states.growth import BackgroundCompiler, CompileStatus
from pss_integrations.types import Message, SessionKey

_LOG = logging.getLogger(__name__)
OnMissing = Literal["warn", "raise"]


class SessionCompileMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Has the session of an agent's thread compiled when the thread has grown; no run waits for that, or fails by it.

    After each run that ended well, the compiler is shown the thread. What goes wrong with that is logged, and seen by
    :meth:`status`. With a retriever that reads the states::

        compiler = BackgroundCompiler(manager, GrowthPolicy(min_messages=8))
        retriever = GuardedRouterRetriever(retriever=docs, manager=manager, session_from="thread_id")
        agent = create_agent(
            model,
            [create_retriever_tool(retriever, "docs", "Finds documents.")],
            middleware=[SessionCompileMiddleware(compiler, session_from="thread_id")],
            checkpointer=checkpointer,
        )
        agent.invoke({"messages": [...]}, {"configurable": {"user_id": "ada", "thread_id": "1"}})

    Whose words make clue targets is up to the compiler's target builder: by default the user's. Summaries written by a
    middleware are left out, and what comes in as the user's under another name counts as the assistant's. A middleware
    that summarises should do so later than the compiler's policy compiles: what it removes before is never compiled.

    :param compiler: Any number of agents may share one; close it, then its manager, at the end.
    :param user_id: The user; ``None`` counts only if it is given.
    :param session_id: The session.
    :param session_from: ``"thread_id"`` takes the id of the thread for that of the session.
    :param on_missing_identity: ``"warn"`` compiles nothing and warns once, ``"raise"`` raises before a model is asked.
    :param trusted_names: Names under which the user speaks.
    :param trust_nested: Observe the agent also where it runs inside another graph. By default it is not: a sub-agent's
        thread is another conversation than the session that the call names, and its prompt is written by a model.
    :raises InvalidInput: If the compiler is none, or an option is not one of its choices.
    """

    def __init__(
        self,
        compiler: BackgroundCompiler,
        *,
        user_id: str | Unset | None = UNSET,
        session_id: str | None = None,
        session_from: SessionFrom | None = None,
        on_missing_identity: OnMissing = "warn",
        trusted_names: tuple[str, ...] = (),
        trust_nested: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(compiler, BackgroundCompiler):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"compiler must be a BackgroundCompiler(manager), got {type(compiler).__name__}")
        check_choice("on_missing_identity", on_missing_identity, get_args(OnMissing))
        if session_from is not None:
            check_choice("session_from", session_from, get_args(SessionFrom))
        self._compiler = compiler
        self._by_argument = PartialIdentity(user_id, session_id)
        self._session_from: SessionFrom | None = session_from
        self._raises = on_missing_identity == "raise"
        self._trusted_names, self._trust_nested = trusted_names, trust_nested
        self._warned = False

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Find out whose session it is, before anything is paid for.

        :raises MissingIdentity: If nothing says so, and it was to raise.
        :raises IdentityConflict: If two sources name different users or sessions.
        """
        if self._observes and self._key(runtime) is None:
            self._miss()

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Do the same, which takes no time."""
        self.before_agent(state, runtime)

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Show the thread to the compiler, which at most reads the manifest of the session's state."""
        if self._observes and (key := self._key(runtime)) is not None:
            with _quiet():
                self._compiler.observe(key, self._messages(state))

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Do the same without blocking the event loop."""
        if self._observes and (key := self._key(runtime)) is not None:
            with _quiet():
                await self._compiler.aobserve(key, self._messages(state))

    def status(self, config: RunnableConfig | None = None) -> CompileStatus:
        """Where the session of a call stands, and what went wrong with it.

        :raises MissingIdentity: If neither the config nor another source names it.
        """
        return self._compiler.status(self._named(config))

    def flush(self, config: RunnableConfig | None = None, timeout: float | None = None) -> bool:
        """Compile what was observed of the session of a call, enough or not; and wait for it.

        :param timeout: Seconds to wait.
        :return: Whether it is done. To wait for everybody's, flush the compiler.
        :raises MissingIdentity: If neither the config nor another source names the session.
        :raises Exception: What went wrong with it.
        """
        return self._compiler.flush(self._named(config), timeout)

    async def aflush(self, config: RunnableConfig | None = None, timeout: float | None = None) -> bool:  # noqa: ASYNC109
        """Do the same without blocking the event loop."""
        return await self._compiler.aflush(self._named(config), timeout)

    @property
    def _observes(self) -> bool:
        return self._trust_nested or not is_nested(ensure_config())

    def _key(self, runtime: Runtime[Any]) -> SessionKey | None:
        return self._resolved(ensure_config(), runtime)

    def _named(self, config: RunnableConfig | None) -> SessionKey:
        return require(self._resolved(ensure_config(config)))

    def _resolved(self, config: RunnableConfig, runtime: object = None) -> SessionKey | None:
        return resolve(*identity_sources(config, self._by_argument, runtime=runtime, session_from=self._session_from))

    def _messages(self, state: AgentState[Any]) -> list[Message]:
        return heard(state["messages"], self._trusted_names)

    def _miss(self) -> None:
        if self._raises:
            require(None)
        if not self._warned:
            self._warned = True
            warnings.warn(f"{MISSING_IDENTITY}; the thread is not compiled", UserWarning, 2)


@contextmanager
def _quiet() -> Generator[None]:
    """Let nothing of the compile reach the run: no error, and none of what a model says that makes targets."""
    with unheard(ensure_config()):
        try:
            yield
        except Exception:
            _LOG.exception("a thread could not be observed")
