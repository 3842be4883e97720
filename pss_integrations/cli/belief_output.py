"""How beliefs are shown. What a user stored may hold anything: a terminal gets nothing of it that it would obey."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from pss_integrations.cli.output import print_json, print_table, safe, say

if TYPE_CHECKING:
    from pss_integrations.beliefs import Belief, BeliefHit, Change, Explanation, PutResult

_CONTENT = 70


def clipped(text: str) -> str:
    """As much of a text as fits into a table."""
    text = safe(text)
    return text if len(text) <= _CONTENT else f"{text[:_CONTENT].rstrip()}..."


def short(belief_id: str) -> str:
    """The beginning of an id."""
    return safe(belief_id[:8])


def short_all(ids: Iterable[str]) -> str:
    """The beginnings of ids."""
    return ", ".join(map(short, ids)) or "-"


def record(belief: Belief) -> dict[str, Any]:
    """A belief as plain data."""
    return belief.model_dump(mode="json")


def standing(belief: Belief) -> str:
    """The status of a belief, or why it is past."""
    if belief.retracted_at is not None:
        return "retracted"
    if belief.resolved_at is not None:
        return "resolved"
    if belief.waiting:
        return f"contradicts {short(belief.contradicts or '')}"
    return f"{belief.epistemic_status}, pinned" if belief.pinned else belief.epistemic_status


def sentence(belief: Belief) -> str:
    """A belief on a line."""
    return f"{short(belief.id)}  {safe(belief.canonical_name)}: {safe(belief.content)}"


def print_change(done: str, belief: Belief, *, as_json: bool) -> None:
    """Say what was done to a belief."""
    if as_json:
        print_json({"belief": record(belief)})
    else:
        typer.echo(f"{done} {sentence(belief)}")


def print_put(result: PutResult, *, as_json: bool) -> None:
    """Say what became of a belief that was put, and ask for what is missing."""
    belief = result.belief
    if as_json:
        told = {"outcome": result.outcome, "belief": record(belief)}
        print_json(told | {"similar": list(result.similar), "asks_why": result.asks_why})
        return
    typer.echo(f"{result.outcome} {sentence(belief)}")
    if belief.contradicts is not None:
        typer.echo(f"it waits beside {short(belief.contradicts)}: pssi beliefs resolve {short(belief.id)}")
    if result.similar:
        typer.echo(f"other beliefs say the same: {short_all(result.similar)}")
    if result.asks_why:
        say(f'Why does it matter now? Say it: pssi beliefs correct {short(belief.id)} --why "..."')


def print_beliefs(beliefs: Sequence[Belief]) -> None:
    """Print beliefs as a table."""
    columns = ("id", "type", "name", "content", "status", "scopes")
    print_table(columns, [(*_columns(one), standing(one), safe(", ".join(one.scopes))) for one in beliefs])


def print_hits(hits: Sequence[BeliefHit]) -> None:
    """Print what a search found as a table, the best first."""
    rows = [
        (
            *_columns(hit.belief),
            standing(hit.belief),
            safe(", ".join(map(str, hit.names))) or "-",
            short(hit.via) if hit.via else "-",
            short_all(hit.contested_by),
        )
        for hit in hits
    ]
    print_table(("id", "type", "name", "content", "status", "names", "via", "contested by"), rows)


def print_explanations(explanations: Sequence[Explanation]) -> None:
    """Print why each belief came or did not, as a table."""
    rows = [(*_columns(one.belief), "yes" if one.returned else "no", safe(one.reason)) for one in explanations]
    print_table(("id", "type", "name", "content", "returned", "reason"), rows)


def print_changes(changes: Sequence[Change]) -> None:
    """Print entries of the log as a table."""
    rows = [
        (
            f"{change.at:%Y-%m-%d %H:%M:%S}",
            change.verb,
            safe(change.actor),
            f"{change.belief.version}",
            standing(change.belief),
            short(change.belief.id),
            safe(change.belief.canonical_name),
            clipped(change.belief.content),
        )
        for change in changes
    ]
    print_table(("at (UTC)", "change", "actor", "version", "status", "id", "name", "content"), rows)


def _columns(belief: Belief) -> tuple[str, str, str, str]:
    return short(belief.id), belief.type, safe(belief.canonical_name), clipped(belief.content)
