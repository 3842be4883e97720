"""``pssi compile`` and ``pssi read``: write a session's state, and read clues from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pss_integrations import loaders, weights
from pss_integrations.cli.options import (
    Backbone,
    Device,
    Download,
    Dtype,
    Home,
    Json,
    NoUser,
    SessionId,
    StateBackbone,
    UserId,
    fetch_weights,
    reading_manager,
    session_key,
)
from pss_integrations.cli.output import compile_bar, print_json, print_pairs, progress_bars
from pss_integrations.cli.states import describe, summary
from pss_integrations.types import Role

if TYPE_CHECKING:
    from pss_integrations.states.targets import TargetBuilder


def compile_session(
    session: Annotated[
        Path, typer.Argument(help='The messages, one JSON object a line: {"role": "user", "text": "..."}.')
    ],
    session_id: SessionId,
    user_id: UserId = None,
    no_user: NoUser = False,
    fields: Annotated[
        Path | None, typer.Option("--fields", help="Session fields (JSON) to make the clue targets from.")
    ] = None,
    targets: Annotated[
        Path | None, typer.Option("--targets", help="Clue targets of your own, one JSON object a line.")
    ] = None,
    trust: Annotated[
        list[Role] | None,
        typer.Option("--trust", help="Let this role make clue targets too, besides user and system."),
    ] = None,
    warm: Annotated[
        bool, typer.Option("--warm", help="Go on from the current state; SESSION holds all messages so far.")
    ] = False,
    rank: Annotated[int | None, typer.Option("--rank", help="LoRA rank. [default: 32]")] = None,
    layers: Annotated[
        int | None, typer.Option("--layers", help="How many of the last layers are adapted. [default: 8]")
    ] = None,
    history_steps: Annotated[int, typer.Option("--history-steps", help="Passes over the history.")] = 2,
    max_epochs: Annotated[int, typer.Option("--max-epochs", help="Most passes over the clue targets.")] = 40,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same state.")] = 0,
    backbone: Backbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    download: Download = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Write a session's state from its messages, and make it the current one.

    The clue targets come from the messages of user and system, unless --fields or --targets gives them.
    """
    key = session_key(session_id, user_id, no_user)
    builder = _builder(fields, targets, trust)
    messages = loaders.load_messages(session)
    ...
