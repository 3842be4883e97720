"""``pssi search``: guarded full-text search with what a session is about."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from pss_integrations import loaders
from pss_integrations.cli.options import (
    Device,
    Dtype,
    Home,
    Json,
    NoUser,
    SessionId,
    StateBackbone,
    UserId,
    reading_manager,
    session_key,
)
from pss_integrations.cli.output import print_json, print_table
from pss_integrations.cli.routing import CertificateFile, Routes, checked_routes
from pss_integrations.types import Composition, Hit

_SNIPPET = 160


def search(
    query: Annotated[str, typer.Argument(help="A question, as a user would ask it in the session.")],
    passages: Annotated[
        Path, typer.Option("--passages", help='What to search, one JSON object a line: {"doc_id": "a", "text": "..."}')
    ],
    session_id: SessionId,
    user_id: UserId = None,
    no_user: NoUser = False,
    k: Annotated[int, typer.Option("-k", min=1, help="Most hits.")] = 4,
    composition: Annotated[
        Composition,
        typer.Option(
            "--composition",
            help="How card and clue meet the query: append (one text), replace (without it), rrf (rankings fused).",
        ),
    ] = "append",
    routes: Routes = None,
    history: Annotated[
        Path | None,
        typer.Option("--history", help="The messages so far, as for pssi compile: a card is made of them."),
    ] = None,
    certificate: CertificateFile = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the texts of query, card and clue, too.")] = False,
    backbone: StateBackbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Search passages with a query, and with what the session's messages or its state add to it.

    A query that stands for itself is searched as it is; so is any query while there is neither a history nor a state.
    """
    from pss_integrations.retrieval.bm25 import BM25Index
    from pss_integrations.routing.describe import describe
    from pss_integrations.routing.router import Router
    from pss_integrations.routing.searching import find, router_options

    key = session_key(session_id, user_id, no_user)
    index = BM25Index(loaders.load_passages(passages))
    messages = loaders.load_messages(history) if history else []
    chosen = checked_routes(routes)
    given = {"routes": chosen, "composition": composition, "certificate": certificate}
    with ExitStack() as opened:
        reads = "pss" in chosen
        router = Router[Hit](
            opened.enter_context(reading_manager(key, home, backbone, device, dtype)) if reads else None,
            hit=lambda hit: hit,
            rescore=lambda hit, score: replace(hit, score=score),
            **router_options(index, given),
        )
        routed = router.route(query, key, lambda wording, _: find(index, wording, k), k=k, messages=messages)
    said = describe(routed, query, explain=explain)
    if as_json:
        print_json(said | {"hits": [_record(hit) for hit in routed.passages]})
        return
    typer.echo(f"route {routed.route}, reason {routed.reason}")
    if explain and routed.card:
        typer.echo(f"card  {routed.card}")
    if explain and routed.clue:
        typer.echo(f"clue  {routed.clue.text}")
    print_table(
        ("score", "doc_id", "text"),
        [(f"{hit.score:.3f}", hit.doc_id, _snippet(hit)) for hit in routed.passages],
    )


def _record(hit: Hit) -> dict[str, str | float]:
    passage = hit.passage
    return {"doc_id": hit.doc_id, "score": hit.score, "title": passage.title, "text": passage.text}


def _snippet(hit: Hit) -> str:
    text = " ".join(f"{hit.passage.title}\n{hit.passage.text}".split())
    return text if len(text) <= _SNIPPET else f"{text[:_SNIPPET].rstrip()}..."
