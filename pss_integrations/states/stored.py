"""What is stored of sessions; to look at it needs no model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from pss_integrations.errors import InvalidInput, StateNotFound
from pss_integrations.home import home_dir
from pss_integrations.identity import UNSET, Unset
from pss_integrations.states.manifest import StateInfo
from pss_integrations.states.store import StateStore
from pss_integrations.types import Message, SessionKey


class StoredStates:
    """The states that lie in a directory.

    :param path: The directory; ``PSS_HOME`` or the user's data directory by default.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else home_dir()
        self._store = StateStore(self.path)

    def has_state(self, key: SessionKey) -> bool:
        """Whether a state was compiled for this session."""
        try:
            self._store.directory(key)
        except StateNotFound:
            return False
        return True

    def messages_behind(self, key: SessionKey, messages: Sequence[Message]) -> int:
        """How many of these messages, the whole session or its latest part, came after the last compile.

        :raises StateNotFound: If nothing was compiled for the session.
        """
        return self._store.info(key).cursor.count_after(messages)

    def engine_of(self, key: SessionKey) -> str:
        """What tells backbone and configuration of a session's state from all others: 64 hex digits.

        :raises StateNotFound: If nothing was compiled for the session.
        """
        return self._store.info(key).engine_digest

    def info(self, key: SessionKey) -> StateInfo:
        """Manifest of a session's state.

        :raises StateNotFound: If nothing was compiled for the session.
        """
        return self._store.info(key)

    def list(
        self, *, user_id: str | Unset | None = UNSET, limit: int | None = None, after: SessionKey | None = None
    ) -> list[StateInfo]:
        """Manifests of all states, or of one user's, whole or page by page.

        They come in the order of their directories: it means nothing, but it is the same for every page and does not
        change when other states come or go. A page reads no manifests but its own.

        :param user_id: Only this user's; ``None`` is those of sessions without a user.
        :param limit: The most that are returned.
        :param after: The session of the last manifest of the page before.
        :raises InvalidInput: If ``limit`` is below one, or ``after`` is of another user.
        """
        if limit is not None and limit < 1:
            raise InvalidInput(f"limit must be at least 1, got {limit}")
        if after is not None and user_id is not UNSET and after.user_id != user_id:
            raise InvalidInput(f"after names a session of user {after.user_id!r}, the list is of user {user_id!r}")
        return [*islice(self._store.all(user_id=user_id, after=after), limit)]

    def versions(self, key: SessionKey) -> Sequence[StateInfo]:
        """Manifests of all states of a session that are kept, the newest first; none if there are none."""
        return self._store.versions(key)

    def export(self, key: SessionKey, target: str | Path) -> Path:
        """Copy a state into a new directory that ``PeftModel.from_pretrained`` and vLLM load.

        :raises StateNotFound: If nothing was compiled for the session.
        :raises InvalidInput: If the directory exists and is not empty.
        """
        return self._store.export(key, Path(target))

    async def ainfo(self, key: SessionKey) -> StateInfo:
        """Do :meth:`info` without blocking the event loop."""
        return await asyncio.to_thread(self.info, key)

    async def alist(
        self, *, user_id: str | Unset | None = UNSET, limit: int | None = None, after: SessionKey | None = None
    ) -> list[StateInfo]:
        """Do :meth:`list` without blocking the event loop."""
        return await asyncio.to_thread(self.list, user_id=user_id, limit=limit, after=after)

    async def aexport(self, key: SessionKey, target: str | Path) -> Path:
        """Do :meth:`export` without blocking the event loop."""
        return await asyncio.to_thread(self.export, key, target)
