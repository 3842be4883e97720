"""Tells what was observed before, so that what is tried again counts once."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pss_integrations.beliefs.extraction import Observation
from pss_integrations.beliefs.principals import Principal
from pss_integrations.types import Message

_MOST = 20_000  # digests that are remembered


@dataclass(frozen=True, slots=True)
class Observed:
    """Messages of one conversation, told apart from all that is observed elsewhere.

    :param messages: Each with an id: one that came without gets a digest of its place, role, text and time.
    :param keys: A digest of each message, of whose it is and of where it will hold.
    """

    messages: tuple[Message, ...]
    keys: tuple[str, ...]

    @classmethod
    def of(
        cls,
        messages: Sequence[Message],
        whose: tuple[Principal, Principal | None],
        scopes: Sequence[str],
        session_id: str | None,
        before: int,
    ) -> Observed:
        """Tell messages apart.

        :param whose: Principal and actor: what two members of a team say counts twice.
        :param session_id: The conversation; ``None`` is one by itself.
        :param before: How many messages of the conversation came before them.
        """
        named = tuple(
            one if one.id is not None else replace(one, id=_unnamed(one, session_id, place))
            for place, one in enumerate(messages, before)
        )
        where = [*map(str, whose), sorted(scopes), session_id]
        return cls(named, tuple(_digest(where, one.id, one.role, one.text) for one in named))

    @property
    def turn(self) -> str:
        """Key of the last message of the user, which all that follows replies to; without one, of the last."""
        said = [key for one, key in zip(self.messages, self.keys, strict=True) if one.role == "user"]
        return (said or list(self.keys))[-1]


class Repeats:
    """Digests of what was kept before, of the last that were."""

    def __init__(self) -> None:
        self._seen = OrderedDict[str, None]()
        self.renew()

    def renew(self) -> None:
        """Share no lock with the process that this one was forked from."""
        self._lock = threading.Lock()

    def has_all(self, observed: Observed) -> bool:
        """Whether every one of the messages was observed before."""
        with self._lock:
            return all(key in self._seen for key in observed.keys)

    def new(self, found: Observation, observed: Observed) -> Observation:
        """Leave out what messages say that were observed before, and what was said already in the same turn."""
        keys = dict(zip((one.id for one in observed.messages), observed.keys, strict=True))
        with self._lock:
            beliefs = tuple(
                one
                for one, said in zip(found.beliefs, _beliefs(found, observed), strict=True)
                if said not in self._seen and keys.get(one.provenance.turn_id) not in self._seen
            )
            aliases = tuple(
                one
                for one, said in zip(found.aliases, _aliases(found, observed), strict=True)
                if said not in self._seen
            )
        return replace(found, beliefs=beliefs, aliases=aliases)

    def add(self, found: Observation, observed: Observed) -> None:
        """Remember what is kept now."""
        with self._lock:
            for key in (*observed.keys, *_beliefs(found, observed), *_aliases(found, observed)):
                self._seen[key] = None
                self._seen.move_to_end(key)
            while len(self._seen) > _MOST:
                self._seen.popitem(last=False)


def _unnamed(message: Message, session_id: str | None, place: int) -> str:
    at = message.created_at.isoformat() if message.created_at else None
    return _digest(session_id, place, message.role, message.text, at)[:32]


def _beliefs(found: Observation, observed: Observed) -> list[str]:
    return _in_turn(
        observed, ((one.type, one.canonical_name, one.content, one.provenance.source) for one in found.beliefs)
    )


def _aliases(found: Observation, observed: Observed) -> list[str]:
    return _in_turn(observed, ((one.name, *one.aliases) for one in found.aliases))


def _in_turn(observed: Observed, items: Iterable[tuple[str, ...]]) -> list[str]:
    return [_digest(observed.turn, item) for item in items]


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
