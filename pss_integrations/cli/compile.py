"""``pssi compile`` and ``pssi read``: write a session's state, and read clues from it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pss_integrations import loaders, weights
from pss_integrations.cli.options import (
    DEFAULT_MODEL,
    Backbone,
    Device,
    Download,
    Dtype,
    Home,
    Json,
    NoUser,
    SessionId,
    StateBackbone,
    Trust,
    UserId,
    fetch_weights,
    reading_manager,
    session_key,
    trusted_roles,
)
from pss_integrations.cli.output import compile_bar, print_json, print_pairs, progress_bars
from pss_integrations.cli.states import description, summary
from pss_integrations.types import SessionKey

if TYPE_CHECKING:
    from pss_integrations.states import StateConfig
    from pss_integrations.states.manager import Targets


def compile_session(
    session: Annotated[
        Path, typer.Argument(help='The messages, one JSON object a line: {"role": "user", "text": "..."}')
    ],
    session_id: SessionId,
    user_id: UserId = None,
    no_user: NoUser = False,
    fields: Annotated[
        Path | None,
        typer.Option(
            "--fields",
            help='Make the clue targets from session fields: {"project": "...", "active": {"version": "..."}, ...}.',
        ),
    ] = None,
    targets: Annotated[
        Path | None, typer.Option("--targets", help="Clue targets of your own, one JSON object a line.")
    ] = None,
    trust: Trust = None,
    warm: Annotated[
        bool, typer.Option("--warm", help="Go on from the current state; SESSION holds all messages so far.")
    ] = False,
    store_key: Annotated[
        str | None, typer.Option("--store-key", help="Which session of a LlamaIndex chat store dump.")
    ] = None,
    rank: Annotated[int | None, typer.Option("--rank", help="LoRA rank; alpha is twice that. [default: 32]")] = None,
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

    Clue targets are made from the messages of user and system, unless --fields or --targets says otherwise.
    """
    from pss_integrations.states import CompileConfig, StateManager

    key = session_key(session_id, user_id, no_user)
    source = _targets(fields, targets, trust)
    messages = loaders.load_messages(session, store_key=store_key)
    config = CompileConfig(history_steps=history_steps, max_epochs=max_epochs, seed=seed)
    state = _shape(home, key, rank, layers, warm=warm)
    if download and (name := backbone or DEFAULT_MODEL) in weights.MODELS:
        fetch_weights(name)
    with (
        StateManager(
            home, backbone=backbone, state=state, config=config, device=device, dtype=dtype, download=download
        ) as manager,
        progress_bars() as bars,
    ):
        write = manager.recompile if warm else manager.compile
        info = write(key, messages, targets=source, progress=compile_bar(bars, key.session_id))
    if as_json:
        print_json(summary(info))
    else:
        print_pairs(description(info))


def read(
    query: Annotated[str, typer.Argument(help="A question, as a user would ask it in the session.")],
    session_id: SessionId,
    user_id: UserId = None,
    no_user: NoUser = False,
    backbone: StateBackbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Print the search clue that a session's state gives for a query.

    The state is read whatever the query is; when to leave a query alone is decided by search and by the retrievers.
    """
    key = session_key(session_id, user_id, no_user)
    with reading_manager(key, home, backbone, device, dtype) as manager:
        clue = manager.read(key, query)
    if as_json:
        told = asdict(clue)
        print_json({"clue": told.pop("text"), **told, "mean_logprob": clue.mean_logprob})
    else:
        typer.echo(clue.text)


def _targets(fields: Path | None, targets: Path | None, trust: list[str] | None) -> Targets:
    from pss_integrations.states.field_targets import FieldTargets
    from pss_integrations.states.history_targets import HistoryTargets

    if sum(map(bool, (fields, targets, trust))) > 1:
        raise typer.BadParameter(
            "give only one of them: fields and targets do not come from the messages",
            param_hint=["--fields", "--targets", "--trust"],
        )
    if fields:
        return FieldTargets(loaders.load_fields(fields))
    if targets:
        return loaders.load_targets(targets)
    return HistoryTargets(trusted_roles=trusted_roles(trust))


def _shape(home: Path | None, key: SessionKey, rank: int | None, layers: int | None, *, warm: bool) -> StateConfig:
    """The shape that was asked for; what was left open is as in the state that is gone on from."""
    from pss_integrations.states import StateConfig, StateManager

    base = StateConfig(**StateManager(home).info(key).state) if warm else StateConfig()
    if rank is None and layers is None:
        return base
    rank = base.rank if rank is None else rank
    alpha = 2.0 * rank if rank != base.rank else base.alpha
    return StateConfig(rank, alpha, base.layers if layers is None else layers, base.segments, base.dtype)
