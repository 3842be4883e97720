"""A memory whose session is compiled in the background as it grows."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr

from pss_integrations.identity import PartialIdentity, require, resolve
from pss_integrations.llama_index.convert import to_messages
from pss_integrations.llama_index.session import identity_sources
from pss_integrations.llama_index.wrapping_memory import WrappingMemory
from pss_integrations.states.growth import BackgroundCompiler
from pss_integrations.types import SessionKey

_LOG = logging.getLogger(__name__)


class SessionCompileMemory(WrappingMemory):
    """Shows a compiler the messages of another memory whenever some were added.

    Chat engines and agents take it as ``memory=``, and a retriever of the same manager then reads what it wrote::

        compiler = BackgroundCompiler(manager)
        memory = SessionCompileMemory(compiler=compiler, user_id="ada", session_id="s1")
        retriever = GuardedRouterRetriever(index.as_retriever(), manager).bind(user_id="ada", session_id="s1")
        ContextChatEngine.from_defaults(retriever, memory=memory).chat("Set the retry limit to 5.")

    Like any memory of LlamaIndex it holds the messages of one conversation: make one for each, all over the same
    ``compiler``. It goes around a :class:`BeliefStateMemory`, or into one. No chat waits for a compile or fails with
    it: what goes wrong is logged, and in the status of the compiler. Where the other memory cuts its messages or sums
    them up, ``StateUpdate.outcome`` and ``reason`` say what was made of that.

    :param primary_memory: Where the messages are; a new ``Memory`` by default. Reset, it loses them; the state stays.
    :param compiler: Compiles the session when it has grown. It is never serialized.
    :param user_id: The user, or ``None`` for a session without one.
    :param session_id: The session within that user.
    :raises MissingIdentity: If an id is empty.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    compiler: BackgroundCompiler = Field(exclude=True, repr=False)
    user_id: str | None
    session_id: str

    _ids: PartialIdentity = PrivateAttr()

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        key = SessionKey(self.user_id, self.session_id)
        self._ids = PartialIdentity(key.user_id, key.session_id, "the memory")

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "SessionCompileMemory"

    def session_key(self) -> SessionKey:
        """Return whose session it is, for ``compiler.status()`` and ``compiler.flush()``.

        :raises IdentityConflict: If the enclosing ``pss_session`` is another one.
        """
        return require(resolve(*identity_sources(self._ids)))

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages, and have the session compiled if it has grown enough.

        :raises IdentityConflict: If the enclosing ``pss_session`` is another one; nothing is added then.
        """
        key = self.session_key()
        self.primary_memory.put_messages(messages)
        self._observe(key)

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Do the same without blocking the event loop."""
        key = self.session_key()
        await self.primary_memory.aput_messages(messages)
        await self._aobserve(key)

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace all messages, and have the session compiled if it has grown enough.

        :raises IdentityConflict: If the enclosing ``pss_session`` is another one; nothing is replaced then.
        """
        key = self.session_key()
        self.primary_memory.set(messages)
        self._observe(key)

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Do the same without blocking the event loop."""
        key = self.session_key()
        await self.primary_memory.aset(messages)
        await self._aobserve(key)

    def _observe(self, key: SessionKey) -> None:
        with _logged():
            self.compiler.observe(key, to_messages(self.primary_memory.get_all()))

    async def _aobserve(self, key: SessionKey) -> None:
        with _logged():
            await self.compiler.aobserve(key, to_messages(await self.primary_memory.aget_all()))


@contextmanager
def _logged() -> Generator[None]:
    try:
        yield
    except Exception as error:  # the compiler may be closed, or another memory raise anything
        _LOG.error("a session could not be observed: %s", type(error).__name__, exc_info=error)
