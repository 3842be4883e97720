"""``pssi beliefs``: put and find what a user or a team has settled."""

from __future__ import annotations

from typing import Annotated

import typer

from pss_integrations.cli import belief_changes, belief_transfer
from pss_integrations.cli.belief_options import (
    Actor,
    Aliases,
    BeliefHome,
    BeliefId,
    Owner,
    Scopes,
    Url,
    Why,
    checked,
    find,
    open_beliefs,
)
from pss_integrations.cli.belief_output import (
    print_beliefs,
    print_changes,
    print_explanations,
    print_hits,
    print_put,
    record,
)
from pss_integrations.cli.options import Json
from pss_integrations.cli.output import print_json, say

Query = Annotated[str, typer.Argument(help="What is asked, as a user would write it.")]

app = typer.Typer(no_args_is_help=True, help="Keep beliefs: what a user or a team has settled, across sessions.")


@app.command()
def add(
    content: Annotated[str, typer.Argument(help="What holds.")],
    principal: Owner,
    kind: Annotated[
        str, typer.Option("--type", help="preference, decision, entity, relation or open_question.", metavar="TYPE")
    ],
    name: Annotated[str, typer.Option("--name", help="What it is about, in a word or a few: redis_cache.")],
    scope: Scopes,
    alias: Aliases = None,
    replaces: Annotated[
        list[str] | None, typer.Option("--replaces", help="Name of what was given up for it; repeatable.")
    ] = None,
    why: Why = None,
    pin: Annotated[bool, typer.Option("--pin", help="Always recall it.")] = False,
    tentative: Annotated[bool, typer.Option("--tentative", help="It is being considered, not settled.")] = False,
    participant: Annotated[
        list[str] | None,
        typer.Option("--participant", help="Of a relation: id or name of a belief that it relates; repeatable."),
    ] = None,
    relation_type: Annotated[
        str | None, typer.Option("--relation-type", help="Of a relation: how they are related.", show_default=False)
    ] = None,
    source: Annotated[str, typer.Option("--source", help="Who said it: user, assistant, tool or import.")] = "user",
    confidence: Annotated[float, typer.Option("--confidence", help="How sure it is, from 0 to 1.")] = 1.0,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Add a belief; what is known is reinforced, and what it contradicts is superseded, or waits for a decision."""
    from pss_integrations.beliefs import NewBelief

    belief = checked(
        NewBelief,
        type=kind,
        canonical_name=name,
        content=content,
        scopes=scope,
        aliases=alias or (),
        replaces=replaces or (),
        why_it_matters=why,
        participants=participant or (),
        relation_type=relation_type,
        confidence=confidence,
        pinned=pin,
        tentative=tentative,
        provenance={"source": source},
    )
    with open_beliefs(principal, actor, home, url) as (store, who):
        print_put(store.put(**who, belief=belief), as_json=as_json)


@app.command()
def search(
    query: Query,
    principal: Owner,
    scope: Scopes,
    k: Annotated[int | None, typer.Option("-k", min=1, help="Most beliefs. [default: all]")] = None,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Find current beliefs that a query names; none if it names none."""
    with open_beliefs(principal, actor, home, url) as (store, who):
        hits = store.search(**who, scopes=scope, query=query, k=k)
    if as_json:
        print_json(
            {
                "hits": [
                    {
                        "belief": record(hit.belief),
                        "score": hit.score,
                        "names": [str(name) for name in hit.names],
                        "via": hit.via,
                        "contested_by": list(hit.contested_by),
                    }
                    for hit in hits
                ]
            }
        )
    elif hits:
        print_hits(hits)
    else:
        typer.echo("no belief is named by the query in these scopes; pssi beliefs explain says why")


@app.command()
def explain(
    query: Query,
    principal: Owner,
    scope: Scopes,
    belief_id: Annotated[
        str | None, typer.Option("--id", help="Only about this belief; its id, or 6 characters of it or more.")
    ] = None,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Say of each belief, past ones too, why a search finds it or does not."""
    with open_beliefs(principal, actor, home, url) as (store, who):
        one = None if belief_id is None else find(store, who, belief_id).id
        found = store.explain(**who, scopes=scope, query=query, belief_id=one)
    if as_json:
        told = [{"belief": record(one.belief), "returned": one.returned, "reason": one.reason} for one in found]
        print_json({"explanations": told})
    elif found:
        print_explanations(found)
    else:
        typer.echo("no beliefs")


@app.command("list")
def list_beliefs(
    principal: Owner,
    scope: Annotated[list[str] | None, typer.Option("--scope", help="Only those of this scope; repeatable.")] = None,
    past: Annotated[bool, typer.Option("--past", help="Those that are not current any more, or wait.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Current and past ones.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Most beliefs.")] = 100,
    after: Annotated[
        str | None, typer.Option("--after", help="Go on after the belief of this id.", show_default=False)
    ] = None,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """List beliefs in the order in which they were made, page by page."""
    if past and everything:
        raise typer.BadParameter("give one of them: --all holds the past ones too", param_hint=["--past", "--all"])
    live = None if everything else not past
    with open_beliefs(principal, actor, home, url) as (store, who):
        begin = None if after is None else find(store, who, after).id
        found = store.list(**who, scopes=scope or None, live=live, limit=limit + 1, after=begin)
    page, more = found[:limit], len(found) > limit
    if as_json:
        print_json({"beliefs": [record(one) for one in page], "after": page[-1].id if more else None})
        return
    if not page:
        typer.echo("no beliefs")
        return
    print_beliefs(page)
    if more:
        say(f"There are more: --after {page[-1].id}")


@app.command()
def history(
    belief_id: BeliefId,
    principal: Owner,
    actor: Actor = None,
    home: BeliefHome = None,
    url: Url = None,
    as_json: Json = False,
) -> None:
    """Show all changes to a belief, to what came before and after it, and to what contradicted it."""
    with open_beliefs(principal, actor, home, url) as (store, who):
        changes = store.history(**who, belief_id=find(store, who, belief_id).id)
    if as_json:
        print_json({"changes": [change.model_dump(mode="json") for change in changes]})
    else:
        print_changes(changes)


for _command in (
    belief_changes.supersede,
    belief_changes.correct,
    belief_changes.resolve,
    belief_changes.pin,
    belief_changes.retract,
    belief_changes.erase,
    belief_transfer.export,
    belief_changes.grant,
):
    app.command()(_command)
app.command("import")(belief_transfer.import_beliefs)
