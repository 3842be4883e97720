"""``pssi states``: what is stored, and removing or taking it out."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pss_integrations.cli.options import Home, Json, NoUser, SessionId, UserId, owner, session_key, user_of
from pss_integrations.cli.output import print_json, print_pairs, print_table, size
from pss_integrations.errors import StateNotFound
from pss_integrations.identity import UNSET

if TYPE_CHECKING:
    from pss_integrations.states import StateInfo, StateManager

app = typer.Typer(no_args_is_help=True, help="List, look at, remove or export stored states.")


@app.command("list")
def list_states(
    user_id: Annotated[str | None, typer.Option("--user-id", help="Only this user's.", show_default=False)] = None,
    no_user: Annotated[bool, typer.Option("--no-user", help="Only those of sessions without a user.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many, in the store's order.")] = None,
    after: Annotated[
        str | None, typer.Option("--after", help="Only what comes after this session of the user in the store's order.")
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """List the stored states by user and session, or page by page in the store's order."""
    everyone = user_id is None and not no_user
    begin = None if after is None else session_key(after, user_id, no_user)
    found = _manager(home).list(user_id=UNSET if everyone else user_of(user_id, no_user), limit=limit, after=begin)
    if limit is None and begin is None:
        found.sort(key=lambda info: (info.user_id is not None, info.user_id or "", info.session_id))
    if as_json:
        print_json({"states": [summary(info) for info in found]})
    elif not found:
        typer.echo("no states")
    else:
        columns = ("user", "session", "state", "messages", "targets", "size", "written (UTC)")
        print_table(columns, [_row(info) for info in found])


@app.command("info")
def show_info(
    session_id: SessionId, user_id: UserId = None, no_user: NoUser = False, home: Home = None, as_json: Json = False
) -> None:
    """Show the manifest of a session's state, without any text of the session."""
    info = _manager(home).info(session_key(session_id, user_id, no_user))
    if as_json:
        print_json(manifest(info))
    else:
        print_pairs(description(info))


@app.command("delete")
def delete(
    session_id: SessionId,
    user_id: UserId = None,
    no_user: NoUser = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Remove all states of a session from disk."""
    key = session_key(session_id, user_id, no_user)
    if as_json and not yes:
        raise typer.BadParameter("with --json nothing is asked: give --yes too", param_hint=["--yes"])
    if not yes:
        typer.confirm(f"Delete the state of {owner(key)}?", abort=True, err=True)
    with _manager(home) as manager:
        if not manager.delete(key):
            raise StateNotFound(f"no state was compiled for {owner(key)}")
    if as_json:
        print_json({"user_id": key.user_id, "session_id": key.session_id, "deleted": True})
    else:
        typer.echo(f"deleted the state of {owner(key)}")


@app.command("rollback")
def rollback(
    session_id: SessionId,
    user_id: UserId = None,
    no_user: NoUser = False,
    state_id: Annotated[
        str | None, typer.Option("--state", help="Which one. [default: the one before the current one]")
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Make an earlier state of a session the current one; the later ones stay."""
    with _manager(home) as manager:
        info = manager.rollback(session_key(session_id, user_id, no_user), state_id)
    if as_json:
        print_json(summary(info))
    else:
        typer.echo(f"{owner(info.key)} is read from state {info.state_id} now")


@app.command("prune")
def prune(
    max_bytes: Annotated[int | None, typer.Option("--max-bytes", min=0, help="Most bytes that may stay.")] = None,
    max_days: Annotated[float | None, typer.Option("--max-days", min=0, help="States that are older go.")] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Remove states until the rest is small and young enough, superseded states first, then the oldest."""
    with _manager(home) as manager:
        gone = manager.prune(max_bytes=max_bytes, max_age=None if max_days is None else timedelta(days=max_days))
    if as_json:
        print_json({"removed": [summary(info) for info in gone]})
    else:
        typer.echo(f"removed {len(gone)} states, {size(sum(info.adapter_bytes for info in gone))}")


@app.command("export")
def export(
    target: Annotated[Path, typer.Argument(help="A directory that does not exist yet, or is empty.")],
    session_id: SessionId,
    user_id: UserId = None,
    no_user: NoUser = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Copy a session's state into a directory that PEFT and vLLM load."""
    written = _manager(home).export(session_key(session_id, user_id, no_user), target)
    if as_json:
        print_json({"path": str(written)})
    else:
        typer.echo(str(written))


def _manager(home: Path | None) -> StateManager:
    from pss_integrations.states import StateManager

    return StateManager(home)


def _row(info: StateInfo) -> tuple[str, ...]:
    return (
        "-" if info.user_id is None else info.user_id,
        info.session_id,
        info.state_id[:12],
        f"{info.messages}",
        f"{info.write.reproduced}/{info.targets.count}",
        size(info.adapter_bytes),
        f"{info.created_at:%Y-%m-%d %H:%M}",
    )


def summary(info: StateInfo) -> dict[str, Any]:
    """What is worth knowing of a state, as plain data; sizes in bytes."""
    return {
        "user_id": info.user_id,
        "session_id": info.session_id,
        "state_id": info.state_id,
        "backbone": info.backbone.name,
        "messages": info.messages,
        "builder": info.targets.builder,
        "trusted_roles": info.targets.trusted_roles,
        "targets": info.targets.count,
        "reproduced": info.write.reproduced,
        "confirmed": info.write.confirmed,
        "seconds": info.write.seconds,
        "adapter_bytes": info.adapter_bytes,
        "created_at": info.created_at.isoformat(),
        "parent": info.parent,
    }


def description(info: StateInfo) -> dict[str, str]:
    """The same for people."""
    source = f" ({info.targets.builder}: {', '.join(info.targets.trusted_roles)})" if info.targets.trusted_roles else ""
    confirmed = ", confirmed by decoding" if info.write.confirmed else ""
    return {
        "session": owner(info.key).removeprefix("session "),
        "state": info.state_id,
        "backbone": f"{info.backbone.name} ({info.backbone.fingerprint[:12]})",
        "messages": f"{info.messages}, {info.write.history_tokens} tokens in {info.write.windows} windows",
        "targets": f"{info.targets.count}{source}",
        "reproduced": f"{info.write.reproduced}{confirmed}",
        "written": f"{info.created_at:%Y-%m-%d %H:%M} UTC, in {info.write.seconds:.1f} s and {info.write.steps} steps",
        "size": size(info.adapter_bytes),
        "follows": info.parent or "nothing",
    }


def manifest(info: StateInfo) -> dict[str, Any]:
    """The whole manifest as plain data, but for what the session said."""
    told = info.model_dump(mode="json", exclude={"history": True, "targets": {"kept"}, "cursor": {"digests"}})
    return told | {"messages": info.messages}
