"""Options of the commands about beliefs, and what is made of them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar

import typer

from pss_integrations.errors import BeliefNotFound, InvalidInput
from pss_integrations.home import home_dir

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pss_integrations.beliefs import Belief, BeliefStore, Principal

ModelT = TypeVar("ModelT", bound="BaseModel")

Owner = Annotated[
    str, typer.Option("--principal", envvar="PSS_PRINCIPAL", help="Whose they are: user:ada or team:core.")
]
Actor = Annotated[
    str | None, typer.Option("--actor", help="Which user acts; a team's beliefs need it.", show_default=False)
]
BeliefHome = Annotated[
    Path | None,
    typer.Option("--home", help="Directory of beliefs.db. [default: PSS_HOME, or the user's data directory]"),
]
Url = Annotated[
    str | None, typer.Option("--url", help="URL of another database of beliefs: postgresql+psycopg://host/name.")
]
Scopes = Annotated[
    list[str], typer.Option("--scope", help="user:universal, domain:x, domain:x/y or project:x; repeatable.")
]
BeliefId = Annotated[str, typer.Argument(metavar="ID", help="Id of a belief, or the first 6 characters or more.")]
Name = Annotated[str | None, typer.Option("--name", help="What it is about, in a word or a few.", show_default=False)]
Aliases = Annotated[
    list[str] | None, typer.Option("--alias", help="Another name, by which it is found too; repeatable.")
]
Why = Annotated[str | None, typer.Option("--why", help="What a model should do because of it.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

SHORTEST_PREFIX = 6
_OPTIONS = {
    "aliases": "--alias",
    "canonical_name": "--name",
    "participants": "--participant",
    "provenance": "--source",
    "scopes": "--scope",
    "why_it_matters": "--why",
}


class Who(TypedDict):
    """Arguments that every method of the store takes."""

    principal: Principal
    actor: Principal | None


def who_acts(principal: str, actor: str | None) -> Who:
    """Read ``--principal`` and ``--actor``.

    :raises InvalidInput: If one of them has another form.
    """
    from pss_integrations.beliefs import Principal

    return Who(principal=Principal.parse(principal), actor=None if actor is None else Principal.parse(actor))


def database_of(home: Path | None, url: str | None) -> Path | str:
    """Where the beliefs lie."""
    return (home_dir() if home is None else home) / "beliefs.db" if url is None else url


@contextmanager
def open_beliefs(
    principal: str, actor: str | None, home: Path | None, url: str | None
) -> Generator[tuple[BeliefStore, Who]]:
    """Open the store; it is closed at the end of the block.

    :raises BadParameter: If both ``--home`` and ``--url`` were given.
    """
    from pss_integrations.beliefs import BeliefStore

    if home is not None and url is not None:
        raise typer.BadParameter("give one of them: each says where the beliefs lie", param_hint=["--home", "--url"])
    who = who_acts(principal, actor)
    with BeliefStore(database_of(home, url)) as store:
        yield store, who


def find(store: BeliefStore, who: Who, text: str) -> Belief:
    """The belief of an id, or of the beginning of one.

    :raises InvalidInput: If the beginning is too short, or that of several ids.
    :raises BeliefNotFound: If this principal has no such belief.
    """
    with suppress(BeliefNotFound):
        return store.get(**who, belief_id=text)
    if len(text) < SHORTEST_PREFIX:
        raise InvalidInput(f"id {text!r} is too short: give {SHORTEST_PREFIX} characters of it, or more")
    found = [one for one in store.list(**who, live=None, limit=None) if one.id.startswith(text)]
    if not found:
        raise BeliefNotFound(f"{who['principal']} has no belief whose id is, or begins with, {text!r}")
    if len(found) > 1:
        raise InvalidInput(f"{len(found)} ids begin with {text!r}: give more of it; --json shows whole ids")
    return found[0]


def checked(model: type[ModelT], **fields: Any) -> ModelT:
    """Make a value of what was given on the command line.

    :raises BadParameter: If a field cannot be used; it names the option.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        option = [_OPTIONS.get(field, f"--{field}") for field in map(str, first["loc"][:1])]
        raise typer.BadParameter(first["msg"].removeprefix("Value error, "), param_hint=option or None) from error


def must_not_ask(as_json: bool, yes: bool) -> None:
    """Refuse to ask where one JSON document is expected.

    :raises BadParameter: If ``--yes`` was not given with ``--json``.
    """
    if as_json and not yes:
        raise typer.BadParameter("with --json nothing is asked: give --yes too", param_hint=["--yes"])
