"""``pssi forget``: delete what is stored of a user or a team."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pss_integrations.cli.belief_changes import told
from pss_integrations.cli.belief_options import (
    Actor,
    Owner,
    Url,
    Yes,
    database_of,
    must_not_ask,
    open_beliefs,
    who_acts,
)
from pss_integrations.cli.belief_output import safe
from pss_integrations.cli.options import Home, Json
from pss_integrations.cli.output import print_json, print_table, size
from pss_integrations.errors import AccessDenied, StorageError
from pss_integrations.types import SessionKey

if TYPE_CHECKING:
    from pss_integrations.beliefs import Erasure, Principal

_IN_MEMORY = {
    "caches": "of a running process: each read looks at the files first, and finds nothing",
    "indexes": "of beliefs, of a running process: each search drops first what is gone",
}
_KEPT = {
    "log": "that beliefs were erased, when and by whom; not what they were",
    "teams": "rights to the beliefs of teams, and what a user who is forgotten wrote for a team",
    "your data": "your own passage index, and exported files, are not touched: delete there what has to go",
}


@dataclass(frozen=True, slots=True)
class Stored:
    """What is stored of a principal.

    :param beliefs: How many beliefs, past ones too.
    :param sessions: How many sessions have states, damaged ones too.
    :param state_bytes: Size of the files of these.
    """

    beliefs: int
    sessions: int
    state_bytes: int

    def __str__(self) -> str:
        return f"{self.beliefs} beliefs and the states of {self.sessions} sessions ({size(self.state_bytes)})"


def forget(
    principal: Owner,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be deleted, and change nothing.")] = False,
    yes: Yes = False,
    actor: Actor = None,
    home: Home = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Delete all beliefs of a user or a team, and the states of all sessions of the user.

    Stop what writes for them first: a first compile that runs meanwhile is written when it is done.
    """
    if not dry_run:
        must_not_ask(as_json, yes)
    who = who_acts(principal, actor)
    owner = who["principal"]
    states = _states_of(owner, home)
    if owner.kind == "user" and who["actor"] not in (None, owner):
        raise AccessDenied(f"{who['actor']} has no right to what is stored of {owner}")
    stored = Stored(_count_beliefs(principal, actor, home, url), *_measure(states))
    erasure = None
    if not dry_run:
        if not yes:
            typer.confirm(f"Delete {stored} of {safe(principal)}?", abort=True, err=True)
        _delete_states(owner, home, states)
        erasure = _erase_beliefs(principal, actor, home, url)
    if as_json:
        _print_json(owner, stored, erasure, dry_run=dry_run)
    else:
        _print(stored, erasure)


def _has_beliefs(home: Path | None, url: str | None) -> bool:
    from pss_integrations.beliefs.database import may_exist

    return may_exist(database_of(home, url))


def _count_beliefs(principal: str, actor: str | None, home: Path | None, url: str | None) -> int:
    if not _has_beliefs(home, url):
        return 0
    with open_beliefs(principal, actor, None if url else home, url) as (store, who):
        return len(store.list(**who, live=None, limit=None))


def _erase_beliefs(principal: str, actor: str | None, home: Path | None, url: str | None) -> Erasure:
    from pss_integrations.beliefs import Erasure

    if not _has_beliefs(home, url):
        return Erasure(0, "complete")
    with open_beliefs(principal, actor, None if url else home, url) as (store, who):
        return store.erase_all(**who)


def _states_of(principal: Principal, home: Path | None) -> Path | None:
    """Directory of all states of a user; a team has none."""
    from pss_integrations.states import StateManager
    from pss_integrations.states.store import StateStore

    if principal.kind != "user":
        return None
    return StateStore(StateManager(home).path).home(SessionKey(principal.id, "any")).parent


def _measure(states: Path | None) -> tuple[int, int]:
    if states is None or not states.exists():
        return 0, 0
    files = [path for path in states.rglob("*") if path.is_file()]
    return sum(path.is_dir() for path in states.iterdir()), sum(path.stat().st_size for path in files)


def _delete_states(principal: Principal, home: Path | None, states: Path | None) -> None:
    from pss_integrations.states import StateManager

    if states is None or not states.exists():
        return
    with StateManager(home) as manager:
        for info in manager.list(user_id=principal.id):
            manager.delete(info.key)
    try:
        if states.exists():  # damaged states, and superseded ones without a current one, are not in the list
            shutil.rmtree(states)
    except OSError as error:
        raise StorageError(f"{states} cannot be removed: {error.strerror or error}") from error


def _print(stored: Stored, erasure: Erasure | None) -> None:
    done = "would be deleted" if erasure is None else "deleted"
    rows = [
        ("beliefs", f"{stored.beliefs}", f"{done}, with all versions and their history"),
        ("states", f"{stored.sessions} sessions, {size(stored.state_bytes)}", f"{done}, superseded ones too"),
        *((what, "in memory", note) for what, note in _IN_MEMORY.items()),
        *((what, "kept", note) for what, note in _KEPT.items()),
    ]
    print_table(("what", "how much", "what becomes of it"), rows)
    typer.echo("nothing was changed" if erasure is None else f"erasure: {told(erasure)}")


def _print_json(principal: Principal, stored: Stored, erasure: Erasure | None, *, dry_run: bool) -> None:
    print_json(
        {
            "principal": str(principal),
            "dry_run": dry_run,
            "beliefs": stored.beliefs,
            "states": {"sessions": stored.sessions, "bytes": stored.state_bytes},
            "erasure": erasure.status if erasure else None,
            "in_memory": _IN_MEMORY,
            "kept": _KEPT,
        }
    )
