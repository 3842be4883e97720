"""What is known of a stored state: its manifest, and the cursor that notices edited or forked histories."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib.metadata import version
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from pss_integrations.errors import HistoryDiverged
from pss_integrations.states.config import KeepText
from pss_integrations.states.targets import TargetBuilder, folded
from pss_integrations.types import ClueTarget, Message, SessionKey

if TYPE_CHECKING:
    from pss_integrations.states.compiler import CompileResult

SCHEMA_VERSION = 1


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BackboneInfo(_Frozen):
    """The backbone a state belongs to."""

    name: str
    fingerprint: str


class Cursor(_Frozen):
    """Up to where a session was compiled.

    :param digests: One digest per compiled message, in order.
    :param last_id: The caller's id of the last one.
    """

    digests: tuple[str, ...]
    last_id: str | None = None

    @classmethod
    def after(cls, messages: Sequence[Message]) -> Cursor:
        """The cursor behind the last of these messages."""
        return cls(digests=_digests(messages), last_id=messages[-1].id if messages else None)

    def behind(self, messages: Sequence[Message]) -> int:
        """How many of a session's messages came after this cursor.

        :raises HistoryDiverged: If what was compiled is no longer the beginning of the session.
        """
        now = _digests(messages)
        if now[: len(self.digests)] != self.digests:
            same = next((i for i, (a, b) in enumerate(zip(self.digests, now, strict=False)) if a != b), len(now))
            raise HistoryDiverged(
                f"{len(self.digests)} messages were compiled, but number {same + 1} was edited, removed or moved "
                "since; compile the session afresh"
            )
        return len(now) - len(self.digests)

    def count_after(self, messages: Sequence[Message]) -> int:
        """How many of these messages came after this cursor, where they may be only the latest of the session.

        All of them, if the last compiled message is not among them.
        """
        now = _digests(messages)
        return len(now) - _overlap(self.digests, now).stop

    def continued(self, messages: Sequence[Message]) -> Continuation:
        """How a session goes on from this cursor.

        It was shortened if fewer messages, or none, stand where its beginning was, and what follows them is known up to
        the cursor: it was trimmed, or summarised. Only the system's messages may have stayed at its beginning: where
        it begins as it did, something was removed later on.

        :param messages: Those that have a text.
        """
        now = _digests(messages)
        if now[: len(self.digests)] == self.digests:
            return Continuation("grown", tuple(messages), len(now) - len(self.digests))
        known = _overlap(self.digests, now)
        kept = _same_system(messages, now, self.digests)
        replaced = len(self.digests) - len(known)
        if known and known.start < replaced and now[kept : kept + 1] != self.digests[kept : kept + 1]:
            earlier = [messages[place] for place in range(known.start) if now[place] in self.digests]
            return Continuation("shortened", (*earlier, *messages[known.start :]), len(now) - known.stop)
        return Continuation("diverged", tuple(messages), len(now) - known.stop)

    def extended(self, messages: Sequence[Message]) -> Cursor:
        """The cursor behind the last of some messages that came after this one."""
        last_id = messages[-1].id if messages else self.last_id
        return Cursor(digests=(*self.digests, *_digests(messages)), last_id=last_id)


class Continuation(NamedTuple):
    """How a session goes on from a cursor.

    :param kind: ``"grown"`` if it begins with what was compiled; ``"shortened"`` if only its latest messages are left,
        or a summary stands for the others; ``"diverged"`` if it is not what was compiled.
    :param messages: What there is to go on from: without what took the place of known messages.
    :param behind: How many of them, the last ones, came after the cursor.
    """

    kind: Literal["grown", "shortened", "diverged"]
    messages: tuple[Message, ...]
    behind: int


class TargetInfo(_Frozen):
    """Where the clue targets came from; their text only if it is kept."""

    builder: str
    trusted_roles: tuple[str, ...]
    count: int
    digest: str
    kept: tuple[tuple[str, str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, builder: TargetBuilder, targets: Sequence[ClueTarget], keep: KeepText) -> TargetInfo:
        """Describe the targets that a builder made."""
        plain = tuple((target.request, target.clue, target.conflicts) for target in targets)
        trusted: Iterable[str] = getattr(builder, "trusted_roles", ())
        kept = () if keep == "none" else plain
        return cls(
            builder=builder.name,
            trusted_roles=tuple(sorted(trusted)),
            count=len(plain),
            digest=digest_of(plain),
            kept=kept,
        )

    def split(self, targets: Iterable[ClueTarget]) -> tuple[list[ClueTarget], list[ClueTarget]]:
        """Split the targets of a recompile into what is to be learnt, and what was taught and still holds.

        Whatever was taught still holds unless one of the targets answers its request in another way.
        """
        taught = {folded(kept[0]): ClueTarget(*kept) for kept in self.kept}
        new = [target for target in targets if taught.get(folded(target.request)) != target]
        answered = {folded(target.request) for target in new}
        return new, [target for request, target in taught.items() if request not in answered]


class WriteInfo(_Frozen):
    """How the writing went."""

    history_tokens: int
    windows: int
    window_tokens: int
    history_losses: tuple[float, ...]
    target_losses: tuple[float, ...]
    reproduced: int
    confirmed: bool
    steps: int
    seconds: float
    versions: dict[str, str]

    @classmethod
    def of(cls, result: CompileResult, window_tokens: int) -> WriteInfo:
        """Describe a compile.

        :param window_tokens: The most tokens of one window.
        """
        return cls(
            history_tokens=result.history_tokens,
            windows=result.windows,
            window_tokens=window_tokens,
            history_losses=tuple(result.history_losses),
            target_losses=tuple(result.target_losses),
            reproduced=result.reproduced,
            confirmed=result.confirmed,
            steps=result.steps,
            seconds=result.seconds,
            versions={name: version(name) for name in ("pss-integrations", "torch", "transformers")},
        )


class StateInfo(_Frozen):
    """The manifest of a state.

    :param state_id: Content hash: the same backbone, configuration, messages and weights give the same id.
    :param parent: The state that a recompile went on from.
    :param windows: More than one where the history was longer than the backbone's context.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    state_id: str = ""
    user_id: str | None
    session_id: str
    backbone: BackboneInfo
    state: dict[str, Any]
    compile: dict[str, Any]
    cursor: Cursor
    targets: TargetInfo
    write: WriteInfo
    adapter_sha256: str
    adapter_bytes: int
    created_at: datetime
    parent: str | None = None
    history: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> SessionKey:
        """Whose session it is."""
        return SessionKey(user_id=self.user_id, session_id=self.session_id)

    @property
    def messages(self) -> int:
        """How many messages were compiled."""
        return len(self.cursor.digests)

    @property
    def engine_digest(self) -> str:
        """What tells the backbone and the configuration that it was written with from all others: 64 hex digits."""
        return digest_of([self.backbone.fingerprint, self.state, self.compile])

    def content_id(self) -> str:
        """The content hash that ``state_id`` has to be; times and timings do not enter."""
        content = self.model_dump(mode="json", exclude={"state_id", "created_at", "write"})
        return digest_of(content)[:40]


def digest_of(value: Any) -> str:
    """SHA-256 of plain data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def spoken(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages that have a text; tool calls, for instance, have none, and some sources leave them out."""
    return tuple(message for message in messages if message.text.strip())


def _digests(messages: Sequence[Message]) -> tuple[str, ...]:
    """Digests of roles and words; ids and spacing are left out, since live messages often come with others."""
    return tuple(digest_of([message.role, *message.text.split()])[:16] for message in spoken(messages))


def _overlap(old: Sequence[str], now: Sequence[str]) -> range:
    """Where ``now`` repeats the end of ``old``: the longest such stretch, and the first of those; empty if none is.

    Of equally long ones the first, since what comes after it may be said again.
    """
    best = range(0)
    for stop in (place for place, one in enumerate(now, start=1) if one == old[-1]):
        pairs = zip(reversed(old), reversed(now[:stop]), strict=False)
        best = max(best, range(stop - sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)), stop), key=len)
    return best


def _same_system(messages: Sequence[Message], now: Sequence[str], old: Sequence[str]) -> int:
    """How many messages of the system, that were there before, a session begins with."""
    pairs = zip(messages, now, old, strict=False)
    return sum(1 for _ in takewhile(lambda one: one[0].role == "system" and one[1] == one[2], pairs))
