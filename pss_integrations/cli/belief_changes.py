"""``pssi beliefs``: change beliefs that are there, delete them, and say who may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pss_integrations.cli.belief_options import (
    Actor,
    Aliases,
    BeliefHome,
    BeliefId,
    Name,
    Owner,
    Url,
    Why,
    Yes,
    checked,
    find,
    must_not_ask,
    open_beliefs,
)
from pss_integrations.cli.belief_output import print_change, print_put, safe
from pss_integrations.cli.options import Json
from pss_integrations.cli.output import print_json

if TYPE_CHECKING:
    from pss_integrations.beliefs import Belief, Erasure, NewBelief

Content = Annotated[str, typer.Argument(help="What holds instead.")]

_OF_ITS_TYPE = ("subtype", "participants", "relation_type", "expertise_domain", "expertise_depth")
_PENDING = (
    "nobody can read them any more, but a file was in use and could not be rewritten: that is tried again when the "
    "beliefs are opened next"
)


def supersede(
    belief_id: BeliefId,
    content: Content,
    principal: Owner,
    name: Annotated[str | None, typer.Option("--name", help="Its name. [default: that of the old one]")] = None,
    why: Why = None,
    alias: Aliases = None,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Put something else in the place of a belief; the old one stays in the history."""
    from pss_integrations.beliefs import NewBelief

    with open_beliefs(principal, actor, home, url) as (store, who):
        old = find(store, who, belief_id)
        kept = {field: getattr(old, field) for field in _OF_ITS_TYPE}
        new = checked(
            NewBelief,
            type=old.type,
            canonical_name=old.canonical_name if name is None else name,
            content=content,
            scopes=old.scopes,
            why_it_matters=why,
            aliases=alias or (),
            **kept,
        )
        result = store.supersede(**who, belief_id=old.id, belief=new, version=old.version)
    print_put(result, as_json=as_json)


def correct(
    belief_id: BeliefId,
    principal: Owner,
    content: Annotated[str | None, typer.Option("--content", help="What holds.", show_default=False)] = None,
    name: Name = None,
    why: Why = None,
    alias: Aliases = None,
    scope: Annotated[
        list[str] | None, typer.Option("--scope", help="Where it holds, instead of where it did; repeatable.")
    ] = None,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Change a belief by hand; what is not given stays, and --alias and --scope replace all that were there."""
    from pss_integrations.beliefs import Correction

    given: dict[str, Any] = {"content": content, "canonical_name": name, "why_it_matters": why}
    correction = checked(Correction, **given, aliases=alias or None, scopes=scope or None)
    with open_beliefs(principal, actor, home, url) as (store, who):
        old = find(store, who, belief_id)
        corrected = store.correct(**who, belief_id=old.id, correction=correction, version=old.version)
    print_change("corrected", corrected, as_json=as_json)


def resolve(
    belief_id: BeliefId,
    principal: Owner,
    reject: Annotated[
        bool, typer.Option("--reject", help="Of a contradiction: drop it, the other belief stays.")
    ] = False,
    answer: Annotated[
        str | None, typer.Option("--answer", help="Of a question: what was decided; it is kept as a decision.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Of the decision. [default: the name of the question]")
    ] = None,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Close an open question, or let what contradicts a belief take its place; prints what holds now."""
    with open_beliefs(principal, actor, home, url) as (store, who):
        belief = find(store, who, belief_id)
        given = (("--reject", reject, "contradiction"), ("--answer", answer, "question"), ("--name", name, "question"))
        is_a = "question" if belief.contradicts is None else "contradiction"
        for option, value, meant in given:
            if value and meant != is_a:
                raise typer.BadParameter(f"this is for a {meant}, {belief_id!r} is none", param_hint=[option])
        decision = None if answer is None else _decision(belief, answer, name)
        now = store.resolve(**who, belief_id=belief.id, accept=not reject, answer=decision)
    print_change("resolved" if is_a == "question" else "holds", now, as_json=as_json)


def pin(
    belief_id: BeliefId,
    principal: Owner,
    off: Annotated[bool, typer.Option("--off", help="Unpin it.")] = False,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Pin a belief, so that it is always recalled, or unpin it."""
    with open_beliefs(principal, actor, home, url) as (store, who):
        pinned = store.pin(**who, belief_id=find(store, who, belief_id).id, pinned=not off)
    print_change("unpinned" if off else "pinned", pinned, as_json=as_json)


def retract(
    belief_id: BeliefId,
    principal: Owner,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Take a belief back: it is not found any more, but stays in the history. Erase deletes it."""
    with open_beliefs(principal, actor, home, url) as (store, who):
        retracted = store.retract(**who, belief_id=find(store, who, belief_id).id)
    print_change("retracted", retracted, as_json=as_json)


def erase(
    belief_id: BeliefId,
    principal: Owner,
    yes: Yes = False,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Delete a belief with all its versions, what contradicted them, their history, and what says the same."""
    must_not_ask(as_json, yes)
    with open_beliefs(principal, actor, home, url) as (store, who):
        belief = find(store, who, belief_id)
        if not yes:
            question = f"Erase '{safe(belief.canonical_name)}' with all versions and what says the same?"
            typer.confirm(question, abort=True, err=True)
        erasure = store.erase(**who, belief_id=belief.id)
    if as_json:
        print_json({"id": belief.id, "beliefs": erasure.beliefs, "status": erasure.status})
    else:
        typer.echo(f"erased {erasure.beliefs} {'belief' if erasure.beliefs == 1 else 'beliefs'}: {told(erasure)}")


def grant(
    user: Annotated[str, typer.Argument(help="To whom: user:bob.")],
    right: Annotated[
        Literal["read", "write", "admin", "none"],
        typer.Argument(help="Each holds those before it; none takes the right away."),
    ],
    principal: Owner,
    actor: Annotated[str, typer.Option("--actor", help="Who grants it: an admin of the team, or its founder.")],
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Give a user a right to a team's beliefs; whoever makes himself admin of a team without one founds it."""
    from pss_integrations.beliefs import Principal

    grantee = Principal.parse(user)
    with open_beliefs(principal, actor, home, url) as (store, who):
        given = None if right == "none" else right
        store.grant(who["principal"], grantee, given, actor=Principal.parse(actor))
    if as_json:
        print_json({"team": principal, "user": user, "right": given})
    else:
        typer.echo(f"{safe(user)} may {given or 'do nothing with'} the beliefs of {safe(principal)}")


def told(erasure: Erasure) -> str:
    """How far an erasure came, for people."""
    return erasure.status if erasure.status == "complete" else f"{erasure.status}; {_PENDING}"


def _decision(question: Belief, answer: str, name: str | None) -> NewBelief:
    from pss_integrations.beliefs import NewBelief

    return checked(
        NewBelief,
        type="decision",
        canonical_name=question.canonical_name if name is None else name,
        content=answer,
        scopes=question.scopes,
    )
