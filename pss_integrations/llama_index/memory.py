"""A memory that tells a model what its user has settled, and keeps what a conversation settles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.memory.memory import DEFAULT_TOKEN_LIMIT

from pss_integrations.beliefs.aware import Caller
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.errors import InvalidInput
from pss_integrations.llama_index.belief_identity import BeliefAware
from pss_integrations.llama_index.belief_messages import (
    InsertMethod,
    is_new,
    last_query,
    said_by_user,
    until_answer,
    with_told,
)
from pss_integrations.llama_index.wrapping_memory import WrappingMemory, text_of
from pss_integrations.types import Message


class BeliefStateMemory(BeliefAware, WrappingMemory):
    """Adds what is recalled to the messages of another memory, and keeps what they settle.

    Chat engines and agents take it as ``memory=``::

        beliefs = BeliefMemory(BeliefStore(), scopes=["project:{project}"])
        memory = BeliefStateMemory(memory=beliefs, user_id="ada", context={"project": "atlas"})
        SimpleChatEngine.from_defaults(memory=memory).chat("Which cache?")

    Like any memory of LlamaIndex it holds the messages of one conversation: make one for each, all over the same
    ``beliefs``. What is recalled comes on top of the token limit of ``primary_memory``, up to the budget of
    ``beliefs``; where that is short, the beliefs of the lowest rank are left out. A ``CondensePlusContextChatEngine``
    lets its model rewrite each question once the history is not empty, as it never is with pinned beliefs: give it
    ``skip_condense=True`` where that call should be saved.

    :param primary_memory: Where the messages are; a new ``Memory`` by default. Reset, it loses them; beliefs stay.
    :param insert_method: ``"system"`` adds to the first system message, or makes one; ``"user"`` adds to the last
        message of the user, for models whose chat template refuses a second system message.
    :param observe: Keep what the user says; it is read together with the answer that it replies to.
    :raises InvalidInput: If it is to observe and the memory reads the blocks that only :class:`SidecarLLM` sees.
    """

    insert_method: InsertMethod = "system"
    observe: bool = True

    _conversation: str = PrivateAttr(default_factory=lambda: uuid4().hex)

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        if self.observe:
            self.refuse_sidecars()

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "BeliefStateMemory"

    @classmethod
    def from_defaults(
        cls,
        *,
        chat_history: list[ChatMessage] | None = None,
        token_limit: int = DEFAULT_TOKEN_LIMIT,
        memory: BeliefMemory | None = None,
        **fields: Any,
    ) -> Self:
        """Make one over a new ``Memory``.

        :param chat_history: Its first messages; they are not observed.
        :param token_limit: Its token limit.
        :param fields: Other fields of this class.
        :raises InvalidInput: If ``memory`` is missing: where beliefs are and hold has no default.
        """
        if memory is None:
            raise InvalidInput("give memory=BeliefMemory(store, scopes=[...]): where beliefs hold has no default")
        return super().from_defaults(chat_history=chat_history, token_limit=token_limit, memory=memory, **fields)

    def get(self, input: str | ChatMessage | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Return copies of the messages, with what is recalled for ``input``, or for the last message of the user.

        Beliefs that cannot be read are left out, and the error is logged.

        :param kwargs: Passed on to ``primary_memory``.
        :raises MissingIdentity: If nothing says who the user is.
        :raises AccessDenied: If the user may not read the beliefs of the team.
        """
        asked = text_of(input)
        history = super().get(asked, **kwargs)
        return with_told(history, self.recall(self.caller(), asked or last_query(history)), self.insert_method)

    async def aget(self, input: str | ChatMessage | None = None, **kwargs: Any) -> list[ChatMessage]:
        """Do the same without blocking the event loop."""
        asked = text_of(input)
        history = await super().aget(asked, **kwargs)
        return with_told(history, await self.arecall(self.caller(), asked or last_query(history)), self.insert_method)

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages, and keep what they settle; what cannot be kept is lost, and the error is logged.

        What is said again without an answer in between, as when a call is tried again, counts once.

        :raises MissingIdentity: If nothing says who the user is; nothing is added then.
        """
        if not (said := self._to_observe(messages)):
            self.primary_memory.put_messages(messages)
            return
        caller, reply = self.caller(), self._reply(self.primary_memory.get_all(), said)
        # put first: after an error of the other memory nothing is done yet, and all of it may be tried again
        self.primary_memory.put_messages(messages)
        self.keep(caller, *reply)

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Do the same without blocking the event loop."""
        if not (said := self._to_observe(messages)):
            await self.primary_memory.aput_messages(messages)
            return
        caller, reply = self.caller(), self._reply(await self.primary_memory.aget_all(), said)
        await self.primary_memory.aput_messages(messages)
        await self.akeep(caller, *reply)

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace all messages, and keep what the last one settles if it is the user's and was not held before.

        An agent sets the history that its caller gives, and the user's new message may be the end of that.
        """
        said = self._to_observe(messages[-1:])
        if not said or not is_new(messages[-1], messages, self.primary_memory.get_all()):
            self.primary_memory.set(messages)
            return
        caller = self.caller()
        self.primary_memory.set(messages)
        self.keep(caller, *self._reply(messages[:-1], said))

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Do the same without blocking the event loop."""
        said = self._to_observe(messages[-1:])
        if not said or not is_new(messages[-1], messages, await self.primary_memory.aget_all()):
            await self.primary_memory.aset(messages)
            return
        caller = self.caller()
        await self.primary_memory.aset(messages)
        await self.akeep(caller, *self._reply(messages[:-1], said))

    def caller(self) -> Caller:
        """Resolve who asks; the conversation, if no session is named, is that of this memory."""
        caller = super().caller()
        return replace(caller, session_id=caller.session_id or self._conversation)

    def _to_observe(self, messages: list[ChatMessage]) -> Sequence[Message]:
        return said_by_user(self.spoken(messages)) if self.observe else []

    def _reply(self, held: Sequence[ChatMessage], said: Sequence[Message]) -> tuple[list[Message], int]:
        """What was said, behind the answer that it replies to, and how many messages came before."""
        before = until_answer(self.spoken(held))
        answer = before[-1:] if self.spoken(held[-1:]) == list(before[-1:]) else []
        return [*answer, *said], len(before) - len(answer)
