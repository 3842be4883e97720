"""``pssi sync``: bring the states of stored chats up to date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pss_integrations import weights
from pss_integrations.cli.chats import Chat, load_chats
from pss_integrations.cli.options import (
    DEFAULT_MODEL,
    Backbone,
    Device,
    Download,
    Dtype,
    Home,
    Json,
    Trust,
    UserId,
    fetch_weights,
    owner,
    trusted_roles,
)
from pss_integrations.cli.output import print_json, print_table, progress_bars, safe
from pss_integrations.cli.routing import Chats, NoUser, said_of_all
from pss_integrations.errors import MissingIdentity
from pss_integrations.types import Message, SessionKey

if TYPE_CHECKING:
    from pss_integrations.states import StateManager, StateUpdate, SyncReport, TargetBuilder


def sync(
    chats: Chats,
    session_id: Annotated[
        str | None, typer.Option("--session-id", help="Which session it is, if CHATS is one and does not say.")
    ] = None,
    user_id: UserId = None,
    no_user: NoUser = False,
    trust: Trust = None,
    keep_diverged: Annotated[
        bool,
        typer.Option("--keep-diverged", help="Keep the state of a session whose earlier messages have changed."),
    ] = False,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    download: Download = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Compile the stored chats that have no state, and go on where a chat has grown since.

    What is current is left alone, so a run that was interrupted can be made again.
    """
    from pss_integrations.states import HistoryTargets, StateManager

    targets = HistoryTargets(trusted_roles=trusted_roles(trust))
    sessions = _named(load_chats(chats, said_of_all(user_id, no_user, session_id)))
    if download and (name := backbone or DEFAULT_MODEL) in weights.MODELS:
        fetch_weights(name)
    with StateManager(home, backbone=backbone, device=device, dtype=dtype, download=download) as manager:
        report = _sync(manager, sessions, targets, keep_diverged)
    if as_json:
        print_json(_summary(report))
    else:
        _print(report)
    if report.failures:
        raise typer.Exit(1)


def _named(chats: Sequence[Chat]) -> list[tuple[SessionKey, Sequence[Message]]]:
    named = [(key, messages) for key, messages in chats if key is not None]
    if missing := len(chats) - len(named):
        raise MissingIdentity(
            f"{missing} of {len(chats)} chats do not say whose they are: give --user-id or --no-user, and --session-id "
            "where there is one chat that does not say its own"
        )
    return named


def _sync(
    manager: StateManager,
    sessions: Sequence[tuple[SessionKey, Sequence[Message]]],
    targets: TargetBuilder,
    keep_diverged: bool,
) -> SyncReport:
    with progress_bars() as bars:
        task = bars.add_task("sync", total=len(sessions))

        def show(done: int, total: int | None, update: StateUpdate) -> None:
            bars.update(task, completed=done)

        return manager.sync(
            sessions,
            targets=targets,
            on_diverged="keep" if keep_diverged else "compile",
            progress=show,
        )


def _summary(report: SyncReport) -> dict[str, Any]:
    return {
        "sessions": report.sessions,
        "counts": dict(report.counts),
        "failures": [
            {
                "user_id": key.user_id,
                "session_id": key.session_id,
                "error": {"type": type(error).__name__, "message": str(error)},
            }
            for key, error in report.failures
        ],
    }


def _print(report: SyncReport) -> None:
    counts = {outcome.replace("_", " "): count for outcome, count in report.counts.items()}
    rows = [*counts.items(), ("failed", len(report.failures))]
    print_table(("outcome", "sessions"), [(outcome, f"{count}") for outcome, count in rows if count])
    if report.failures:
        typer.echo()
        print_table(("session", "error"), [(owner(key), safe(str(error))) for key, error in report.failures])
