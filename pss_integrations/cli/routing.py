"""What commands about routing share: which routes, what is searched, and whose states are read."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from pss_integrations import loaders
from pss_integrations.cli.chats import Chat
from pss_integrations.cli.options import reading_manager, user_of
from pss_integrations.cli.output import say
from pss_integrations.identity import UNSET, PartialIdentity
from pss_integrations.types import ROUTES, Route, SessionKey

if TYPE_CHECKING:
    from pss_integrations.retrieval.index import PassageIndex
    from pss_integrations.states import StateManager

Routes = Annotated[  # typer takes no list of literals
    list[str] | None,
    typer.Option(
        "--route",
        metavar="ROUTE",
        help="What is tried besides raw: card, or pss where a session has a state; repeatable. [default: both]",
        show_default=False,
    ),
]
Chats = Annotated[
    list[Path],
    typer.Argument(help='Stored chats, one a line: {"session_id": "a", "messages": [...]}; or dumps of messages.'),
]
NoUser = Annotated[bool, typer.Option("--no-user", help="The sessions belong to no user.")]
CertificateFile = Annotated[
    Path | None,
    typer.Option("--certificate", help="What the guard decides by. [default: a built-in one, not calibrated]"),
]
Passages = Annotated[
    Path | None,
    typer.Option("--passages", help='What to search, one JSON object a line: {"doc_id": "a", "text": "..."}'),
]
Index = Annotated[Path | None, typer.Option("--index", help="A saved index to search instead.")]
Place = tuple[Path | None, str | None, str, str]
"""Home, backbone, device and dtype."""


def said_of_all(user_id: str | None, no_user: bool, session_id: str | None = None) -> PartialIdentity:
    """Return what the command line says of all chats; what is left out, they may say themselves."""
    user = UNSET if user_id is None and not no_user else user_of(user_id, no_user)
    return PartialIdentity(user, session_id, "the command line")


def checked_routes(names: Sequence[str] | None) -> list[Route]:
    """Return the routes by name; all of them by default."""
    if unknown := [name for name in names or () if name not in ROUTES]:
        raise typer.BadParameter(f"unknown {unknown[0]!r}: use one of {', '.join(ROUTES)}", param_hint=["--route"])
    return cast("list[Route]", list(names or ROUTES))


@contextmanager
def opened_index(passages: Path | None, index: Path | None) -> Generator[PassageIndex]:
    """Index passages for full-text search, or load an index of either kind.

    :raises InvalidInput: If there is no such file or index.
    """
    from pss_integrations.retrieval import BM25Index

    if (passages is None) == (index is None):
        raise typer.BadParameter("give one of them", param_hint=["--passages", "--index"])
    if passages is not None:
        yield BM25Index(loaders.load_passages(passages))
    elif index is not None and (index / "vectors.npy").exists():
        from pss_integrations.retrieval import ChromaIndex, TransformerEmbedder

        with ChromaIndex.load(index, TransformerEmbedder()) as dense:
            yield dense
    elif index is not None:
        yield BM25Index.load(index)


@contextmanager
def opened_states(chats: Sequence[Chat], routes: Sequence[Route], place: Place) -> Generator[StateManager | None]:
    """Open what reads the states of some chats; ``None`` if none of them has one, or none is to be read."""
    keys = list[SessionKey]()
    if "pss" in routes:
        from pss_integrations.states import StateManager

        with StateManager(place[0]) as known:
            keys = [key for key, _ in chats if key is not None and known.has_state(key)]
            if not keys and known.list(limit=1):
                say("There are states, and none is of these sessions: say whose they are, --user-id or --no-user")
    if not keys:
        yield None
        return
    with reading_manager(keys[0], *place) as manager:
        say(f"{len(keys)} of {len(chats)} sessions have a state: loading {manager.info(keys[0]).backbone.name}")
        manager.read(keys[0], "?")  # so that loading is no part of any query's latency
        yield manager
