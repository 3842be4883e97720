"""The sessions that a LangGraph checkpointer holds, for :func:`~pss_integrations.routing.shadow.shadow`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig

from pss_integrations.errors import IdentityConflict, InvalidInput, MissingIdentity
from pss_integrations.langchain.convert import to_messages
from pss_integrations.types import Message, SessionKey

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

UserOf = str | Callable[["CheckpointTuple"], str | None]


def sessions_from_checkpointer(
    saver: BaseCheckpointSaver[Any],
    user: UserOf,
    *,
    threads: Iterable[str] | None = None,
    channel: str = "messages",
) -> Iterator[tuple[SessionKey, list[Message]]]:
    """Yield each thread's messages as its newest checkpoint has them; the thread's id is the session's.

    Only the outermost graph's checkpoints count, and only ``saver.list`` and ``saver.get_tuple`` are called. Threads
    without messages, and messages without text, are left out.

    :param saver: Any checkpointer; it is only read.
    :param user: The key of ``config["configurable"]`` that held the user's id, which checkpoints keep in their
        metadata; or what tells the user from a checkpoint, ``None`` for a session without one: ``lambda _: None``.
    :param threads: Ids of the threads to read; by default all, for which every checkpoint is listed once.
    :param channel: Where the graph's state keeps the messages.
    :raises MissingIdentity: If a thread's newest checkpoint does not hold the key.
    :raises IdentityConflict: If another of its checkpoints names another user.
    :raises InvalidInput: If ``threads`` is one string, or a message cannot be converted.
    """
    _check_threads(threads)
    for thread in list(dict.fromkeys(map(_thread, saver.list(None)))) if threads is None else threads:
        if (newest := saver.get_tuple(_config(thread))) and (messages := _messages(newest, channel)):
            yield _key(thread, newest, saver.list(_config(thread)), user), messages


async def asessions_from_checkpointer(
    saver: BaseCheckpointSaver[Any],
    user: UserOf,
    *,
    threads: Iterable[str] | None = None,
    channel: str = "messages",
) -> AsyncIterator[tuple[SessionKey, list[Message]]]:
    """Do the same by ``saver.alist`` and ``saver.aget_tuple``."""
    _check_threads(threads)
    if threads is None:
        threads = dict.fromkeys([_thread(one) async for one in saver.alist(None)])
    for thread in threads:
        if (newest := await saver.aget_tuple(_config(thread))) and (messages := _messages(newest, channel)):
            yield _key(thread, newest, [one async for one in saver.alist(_config(thread))], user), messages


def _check_threads(threads: Iterable[str] | None) -> None:
    if isinstance(threads, str):
        raise InvalidInput(f"threads must be ids of threads, got one string: give [{threads!r}]")


def _thread(checkpoint: CheckpointTuple) -> str:
    return checkpoint.config.get("configurable", {})["thread_id"]


def _config(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}


def _messages(checkpoint: CheckpointTuple, channel: str) -> list[Message]:
    said = checkpoint.checkpoint["channel_values"].get(channel) or []
    return [message for message in to_messages(said) if message.text.strip()]


def _key(thread: str, newest: CheckpointTuple, every: Iterable[CheckpointTuple], user: UserOf) -> SessionKey:
    """The session of a thread, whose messages are all one user's: older checkpoints may name nobody, but none else."""
    if isinstance(user, str) and user not in newest.metadata:
        raise MissingIdentity(
            f"the newest checkpoint of thread {thread!r} holds no {user!r}: name another key, or give a function that "
            "tells the user from a checkpoint"
        )
    owner = _user(newest, user)
    if {_user(checkpoint, user) for checkpoint in every} - {owner, None}:
        raise IdentityConflict(
            f"the checkpoints of thread {thread!r} name different users: leave it out of threads, or give a function "
            "that tells whose it is"
        )
    return SessionKey(owner, thread)


def _user(checkpoint: CheckpointTuple, user: UserOf) -> str | None:
    return checkpoint.metadata.get(user) if isinstance(user, str) else user(checkpoint)
