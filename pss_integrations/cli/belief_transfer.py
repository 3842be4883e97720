"""``pssi beliefs export`` and ``import``: take beliefs elsewhere and back, or from another system."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pss_integrations.cli.belief_options import Actor, BeliefHome, Owner, Url, Who, open_beliefs
from pss_integrations.cli.belief_output import safe
from pss_integrations.cli.options import Json
from pss_integrations.cli.output import print_json, say
from pss_integrations.errors import BeliefConflict, InvalidInput

if TYPE_CHECKING:
    from pss_integrations.beliefs import BeliefStore, NewBelief


def export(
    principal: Owner,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write this file, for its owner's eyes only. [default: stdout]")
    ] = None,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Write all beliefs, past ones too, and their history as lines of JSON, which import reads."""
    if as_json and out is None:
        raise typer.BadParameter("stdout holds either lines or one document: give --out too", param_hint=["--json"])
    with open_beliefs(principal, actor, home, url) as (store, who):
        lines = store.export(**who)
    if out is None:
        for line in lines:
            typer.echo(_ascii(line))
        return
    _write(out, lines)
    count = len(lines) - 1
    if as_json:
        print_json({"path": str(out), "beliefs": count})
    else:
        say(f"wrote {count} beliefs to {out}")


def import_beliefs(
    file: Annotated[Path, typer.Argument(help="What was exported.")],
    principal: Owner,
    form: Annotated[Literal["pss", "mem0"], typer.Option("--from", help="What wrote it.")] = "pss",
    on_conflict: Annotated[
        Literal["error", "skip", "replace"],
        typer.Option("--on-conflict", help="If a belief is there already and differs; of pss."),
    ] = "error",
    scope: Annotated[
        list[str] | None, typer.Option("--scope", help="Where the memories shall hold; of mem0; repeatable.")
    ] = None,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Read beliefs that were exported, whole or not at all; memories of mem0 are put one by one, as exploratory."""
    if (form == "mem0") != bool(scope):
        raise typer.BadParameter("memories of mem0 need a scope, beliefs of pss have theirs", param_hint=["--scope"])
    text = _read(file)
    memories = _memories(text, scope) if scope else []
    with open_beliefs(principal, actor, home, url) as (store, who):
        if form == "mem0":
            counts = _put_each(store, who, memories)
        else:
            counts = {"imported": store.import_lines(**who, lines=text.split("\n"), on_conflict=on_conflict)}
    if as_json:
        print_json(dict(counts))
    else:
        typer.echo(", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "nothing to import")


def _memories(text: str, scopes: Sequence[str]) -> list[NewBelief]:
    from pydantic import ValidationError

    from pss_integrations.beliefs.mem0 import read_mem0

    try:
        return read_mem0(_parsed(text), scopes)
    except ValidationError as error:
        raise InvalidInput(f"a memory makes no belief: {error.errors()[0]['msg']}") from error


def _put_each(store: BeliefStore, who: Who, beliefs: Sequence[NewBelief]) -> Counter[str]:
    counts = Counter[str]()
    for belief in beliefs:
        try:
            counts[store.put(**who, belief=belief).outcome] += 1
        except BeliefConflict as error:  # the others are no worse for it
            counts["refused"] += 1
            say(f"refused {safe(belief.canonical_name)!r}: {safe(str(error))}")
    return counts


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"this is no JSON: {error}") from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from error


def _write(path: Path, lines: Sequence[str]) -> None:
    """Write a file that is there as a whole or not at all, and that others cannot read."""
    temporary: Path | None = None
    try:
        with NamedTemporaryFile("w", encoding="utf-8", newline="\n", dir=path.parent, delete=False) as file:
            temporary = Path(file.name)
            file.writelines(f"{line}\n" for line in lines)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}") from error


def _ascii(line: str) -> str:
    """The same JSON in characters that no terminal takes for a command, and that every encoding has."""
    return "".join(char if " " <= char <= "~" else json.dumps(char)[1:-1] for char in line)
