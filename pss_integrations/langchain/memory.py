"""The belief memory of a chain: a runnable between prompt and model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.messages import AIMessage, BaseMessage, MessageLikeRepresentation, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableConfig, RunnableSerializable, ensure_config
from pydantic import Field

from pss_integrations.beliefs.aware import Caller
from pss_integrations.errors import InvalidInput
from pss_integrations.langchain.belief_identity import BeliefAware
from pss_integrations.langchain.belief_messages import last_query, led_up, turn_start, with_told
from pss_integrations.types import Message

if TYPE_CHECKING:
    from pss_integrations.langchain.middleware import BeliefStateMiddleware

PromptInput = PromptValue | str | Sequence[MessageLikeRepresentation]


class BeliefStateMemory(RunnableSerializable[PromptInput, list[BaseMessage]], BeliefAware):
    """Tells a model what its user has settled, and keeps what the user says.

    It stands before the model, and needs to be told the user::

        chain = prompt | BeliefStateMemory(memory=memory) | model
        chain.invoke({"question": "Which cache?"}, {"configurable": {"user_id": "ada"}})

    What is recalled for the last message of the user goes to the end of the first system message, and so into traces;
    if there is nothing to tell, the messages come through as they are. For an agent, see :meth:`as_middleware`; in a
    tool, whose input a model writes, give it ``observe=False``.

    :param observe: Keep what the user says in the messages that come in; for answers, call :meth:`observe`.
    :raises ValidationError: If it is to observe and the memory reads the blocks of :class:`SidecarChatModel`, which
        alone keeps them out of what a user sees.
    """

    observes: bool = Field(default=True, alias="observe")

    def model_post_init(self, context: Any, /) -> None:
        """Refuse what only :class:`SidecarChatModel` may observe."""
        super().model_post_init(context)
        if self.observes:
            self.refuse_sidecars()

    def invoke(self, input: PromptInput, config: RunnableConfig | None = None, **kwargs: Any) -> list[BaseMessage]:
        """Return copies of the messages, with what is recalled.

        :raises InvalidInput: If the input is neither a prompt, a text nor a list of messages.
        :raises MissingIdentity: If nothing names a user.
        :raises AccessDenied: If the user may not read the beliefs of the principal. A database that fails is logged,
            and the messages go on without beliefs.
        """
        return self._call_with_config(self._told, input, config, **kwargs)

    async def ainvoke(
        self, input: PromptInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[BaseMessage]:
        """Do the same without blocking the event loop."""
        return await self._acall_with_config(self._atold, input, config, **kwargs)

    def observe(self, messages: Sequence[MessageLikeRepresentation], config: RunnableConfig | None = None) -> None:
        """Keep what messages settle, such as answers; each message once.

        :param messages: New ones, oldest first; only those of user and assistant are read.
        """
        caller = self.caller(ensure_config(config))
        said = self.spoken(caller, convert_to_messages(messages))
        self.memory.observe(caller.principal, said, caller.context, actor=caller.actor, session_id=caller.session_id)

    async def aobserve(
        self, messages: Sequence[MessageLikeRepresentation], config: RunnableConfig | None = None
    ) -> None:
        """Do the same without blocking the event loop."""
        caller = self.caller(ensure_config(config))
        said = self.spoken(caller, convert_to_messages(messages))
        await self.memory.aobserve(
            caller.principal, said, caller.context, actor=caller.actor, session_id=caller.session_id
        )

    def as_middleware(self) -> BeliefStateMiddleware:
        """Return the same for an agent.

        :raises MissingExtra: If the package ``langchain`` is not installed.
        """
        from pss_integrations.langchain.middleware import BeliefStateMiddleware

        return BeliefStateMiddleware(
            self.memory,
            principal=self.principal,
            context=self.context,
            observe=self.observes,
            trusted_names=self.trusted_names,
            trust_nested=self.trust_nested,
        )

    def _told(
        self, value: PromptInput, run_manager: CallbackManagerForChainRun, config: RunnableConfig
    ) -> list[BaseMessage]:
        caller, messages = self.caller(config), _messages(value)
        told = with_told(messages, self.recall(caller, last_query(messages)))
        self.keep(caller, *self._new(caller, messages))
        return told

    async def _atold(
        self, value: PromptInput, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig
    ) -> list[BaseMessage]:
        caller, messages = self.caller(config), _messages(value)
        told = with_told(messages, await self.arecall(caller, last_query(messages)))
        await self.akeep(caller, *self._new(caller, messages))
        return told

    def _new(self, caller: Caller, messages: Sequence[BaseMessage]) -> tuple[list[Message], int]:
        """What the user has just said, and to what; in a loop of tool calls, that was read before.

        :return: With it, how many messages came before.
        """
        start = turn_start(messages)
        said = self.spoken(caller, messages[start:])
        answered = any(isinstance(one, AIMessage) for one in messages[start:])
        if not self.observes or not said or answered:
            return [], 0
        reply_to = self.spoken(caller, led_up(messages, start))
        return [*reply_to, *said], len(self.spoken(caller, messages[:start])) - len(reply_to)


def _messages(value: PromptInput) -> list[BaseMessage]:
    if isinstance(value, PromptValue):
        return value.to_messages()
    if isinstance(value, str):
        return convert_to_messages([("user", value)])
    if isinstance(value, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        return convert_to_messages(value)
    raise InvalidInput(f"the input must be a prompt, a text or a list of messages, got {type(value).__name__}")
