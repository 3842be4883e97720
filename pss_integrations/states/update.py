"""Brings a session's state up to date: compiles what has none, goes on where it has grown, else does nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Literal, get_args

from pss_integrations.errors import CompileInProgress, InvalidInput, StateMismatch, StateNotFound
from pss_integrations.states.intake import Built, Targets, build_targets, check_key, check_messages
from pss_integrations.states.manifest import Continuation, Cursor, StateInfo, spoken
from pss_integrations.states.redaction import Redact
from pss_integrations.states.scheduler import Work
from pss_integrations.states.store import StateStore
from pss_integrations.states.worker import Worker
from pss_integrations.types import Message, SessionKey

if TYPE_CHECKING:
    from pss_integrations.states.compiler import Progress

Outcome = Literal["compiled", "recompiled", "current", "diverged", "no_targets", "busy"]
OnDiverged = Literal["compile", "keep"]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True, slots=True)
class StateUpdate:
    """What became of a session.

    :param key: Whose session it is.
    :param outcome: ``"compiled"`` afresh, ``"recompiled"`` from the state before, or left as it was: ``"current"``
        if nothing came since; ``"diverged"`` if earlier messages changed, and the state was to be kept then;
        ``"no_targets"`` if there is nothing that a follow-up could refer to; ``"busy"`` if it is being compiled.
    :param behind: How many messages had come after the last compile, before this one.
    :param info: The manifest of what is the session's state now, if there is one.
    :param reason: Why, in words; never text of the session.
    """

    key: SessionKey
    outcome: Outcome
    behind: int
    info: StateInfo | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be compiled.

    :param messages: Those that have a text.
    :param base: The manifest of the current state.
    :param continued: How the session goes on from it; ``None`` to compile all of it afresh.
    """

    messages: tuple[Message, ...]
    base: StateInfo | None
    continued: Continuation | None
    behind: int
    reason: str


@dataclass(frozen=True, slots=True)
class Request:
    """A session whose state is to be brought up to date.

    :param messages: The session so far; what was trimmed from its beginning, or is summarised there, may be missing.
    :param on_diverged: What to do if earlier messages changed: compile the session afresh, or keep the state.
    :raises InvalidInput: If something is not of its type.
    """

    key: SessionKey
    messages: Sequence[Message]
    _: KW_ONLY
    targets: Targets | None = None
    on_diverged: OnDiverged = "compile"
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_key(self.key)
        check_messages(self.messages)
        check_on_diverged(self.on_diverged)

    def plan(self, base: StateInfo | None) -> Plan | StateUpdate:
        """What is to be done, or what became of the session where that is nothing.

        :param base: The manifest of the current state.
        """
        said = spoken(self.messages)
        if not said:
            return StateUpdate(self.key, "no_targets", 0, base, "no message has a text")
        if base is None:
            return Plan(said, None, None, len(said), "nothing was compiled before")
        continued = base.cursor.continued(said)
        if continued.kind == "diverged":
            return self.diverged(Plan(said, base, None, continued.behind, "messages that were compiled have changed"))
        if not continued.behind:
            return StateUpdate(self.key, "current", 0, base, "no message came since the last compile")
        reason = "messages came since the last compile"
        if continued.kind == "shortened":
            reason += ", and earlier ones were trimmed or summarised: what the state knows of them was kept"
        return Plan(said, base, continued, continued.behind, reason)

    def diverged(self, plan: Plan) -> Plan | StateUpdate:
        """Whether a session that is not what was compiled is compiled afresh."""
        if self.on_diverged == "compile":
            return plan
        return StateUpdate(self.key, "diverged", plan.behind, plan.base, f"{plan.reason}; the state was kept")


class Updates:
    """Updates of sessions: first what any thread may do, then what the scheduler's thread does.

    :param submit: Queues work that writes a session's state, at most one for each session.
    :param history_steps: Passes over the history.
    """

    def __init__(
        self,
        store: StateStore,
        worker: Worker,
        submit: Callable[[SessionKey, Work[StateUpdate]], Future[StateUpdate]],
        *,
        redact: Redact | None,
        history_steps: int,
    ) -> None:
        self._store, self._worker, self._submit = store, worker, submit
        self._redact, self._history_steps = redact, history_steps

    def prepare(self, request: Request) -> Built | StateUpdate:
        """Make the targets of a session that is to be compiled; no model is needed for that."""
        plan = request.plan(self._info(request.key))
        if isinstance(plan, StateUpdate):
            return plan
        messages = plan.continued.messages if plan.continued else plan.messages
        built = build_targets(messages, request.targets, self._redact)
        if built.found_nothing:
            return StateUpdate(request.key, "no_targets", plan.behind, plan.base, built.advice)
        built.check(self._history_steps)
        self._store.check_writable()
        return built

    def begin(self, request: Request, prepared: Built | StateUpdate) -> Future[StateUpdate]:
        """Queue what is to be done; without waiting."""
        if isinstance(prepared, Built):
            try:
                return self._submit(request.key, self._carry_out(request, prepared))
            except CompileInProgress as error:
                prepared = self._busy(request, error)
        done = Future[StateUpdate]()
        done.set_result(prepared)
        return done

    def _carry_out(self, request: Request, built: Built) -> Work[StateUpdate]:
        plan = request.plan(self._info(request.key))  # somebody else may have been at work since
        try:
            return (yield from self._compile(request, plan, built)) if isinstance(plan, Plan) else plan
        except CompileInProgress as error:
            return self._busy(request, error)

    def _compile(self, request: Request, plan: Plan, built: Built) -> Work[StateUpdate]:
        if plan.continued:
            since = Cursor.behind if plan.continued.kind == "grown" else Cursor.count_after
            with suppress(StateMismatch):
                messages = plan.continued.messages
                info = yield from self._worker.compile(request.key, messages, built, since, request.progress)
                return StateUpdate(request.key, "recompiled", plan.behind, info, plan.reason)
            reason = "the state before was of another backbone or shape"
            afresh = Plan(plan.messages, plan.base, None, plan.behind, reason)
            if plan.continued.kind == "shortened" and isinstance(kept := request.diverged(afresh), StateUpdate):
                return kept
            plan = afresh
        info = yield from self._worker.compile(request.key, plan.messages, built, None, request.progress)
        return StateUpdate(request.key, "compiled", plan.behind, info, plan.reason)

    def _busy(self, request: Request, error: CompileInProgress) -> StateUpdate:
        info = self._info(request.key)
        behind = info.cursor.count_after(request.messages) if info else len(spoken(request.messages))
        return StateUpdate(request.key, "busy", behind, info, str(error))

    def _info(self, key: SessionKey) -> StateInfo | None:
        try:
            return self._store.info(key)
        except StateNotFound:
            return None


def check_on_diverged(value: object) -> None:
    """Refuse what is neither ``"compile"`` nor ``"keep"``."""
    if value not in get_args(OnDiverged):
        raise InvalidInput(f"on_diverged must be 'compile' or 'keep', got {value!r}")
