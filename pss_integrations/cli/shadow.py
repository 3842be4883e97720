"""``pssi shadow``: what the router would have done with stored chats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pss_integrations.cli.chats import Chat, load_chats
from pss_integrations.cli.options import (
    Device,
    Dtype,
    Home,
    Json,
    StateBackbone,
    UserId,
)
from pss_integrations.cli.output import print_json, print_pairs, print_table, progress_bars, safe
from pss_integrations.cli.routing import (
    CertificateFile,
    Chats,
    Index,
    NoUser,
    Passages,
    Routes,
    checked_routes,
    opened_index,
    opened_states,
    said_of_all,
)
from pss_integrations.cli.shadow_page import figures, label, page, percent
from pss_integrations.errors import InvalidInput

if TYPE_CHECKING:
    from pss_integrations.protocols import ClueReader
    from pss_integrations.retrieval.index import PassageIndex
    from pss_integrations.routing.router import RouterOptions
    from pss_integrations.routing.shadow_report import Example, ShadowReport


def shadow(
    chats: Chats,
    passages: Passages = None,
    index: Index = None,
    session_id: Annotated[
        str | None, typer.Option("--session-id", help="Which session it is, if CHATS is one and does not say.")
    ] = None,
    user_id: UserId = None,
    no_user: NoUser = False,
    routes: Routes = None,
    k: Annotated[
        int, typer.Option("-k", min=1, help="Hits of a search: as many as where the router will be used.")
    ] = 4,
    certificate: CertificateFile = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the report to this file, too.")] = None,
    no_examples: Annotated[
        bool, typer.Option("--no-examples", help="Show no text of chats and passages, only figures and ids.")
    ] = False,
    backbone: StateBackbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Replay stored chats, and report what the router would have done with each query.

    It runs offline, needs no labels and changes nothing. Sessions whose user is not said are replayed without a state.
    """
    tried = checked_routes(routes)
    if html and not html.absolute().parent.is_dir():
        raise InvalidInput(f"{html.absolute().parent} is no directory to write {html.name} in")
    stored = load_chats(chats, said_of_all(user_id, no_user, session_id))
    with (
        opened_index(passages, index) as searcher,
        opened_states(stored, tried, (home, backbone, device, dtype)) as reader,
    ):
        options: RouterOptions = {
            "routes": [route for route in tried if reader is not None or route != "pss"],
            "certificate": certificate,
        }
        report = _replay(stored, searcher, reader, options, k=k, examples=not no_examples)
    if html:
        _write(html, page(report))
    if as_json:
        print_json(report.to_dict())
    else:
        _print(report)


def _replay(
    chats: Sequence[Chat],
    searcher: PassageIndex,
    reader: ClueReader | None,
    options: RouterOptions,
    *,
    k: int,
    examples: bool,
) -> ShadowReport:
    from pss_integrations.routing.shadow import asked
    from pss_integrations.routing.shadow import shadow as replay

    with progress_bars() as bars:
        task = bars.add_task("replay", total=sum(len(asked(messages)) for _, messages in chats))
        return replay(
            chats,
            searcher,
            reader,
            k=k,
            examples=examples,
            progress=lambda done: bars.update(task, completed=done),
            **options,
        )


def _write(path: Path, text: str) -> None:
    try:
        # A title may hold what UTF-8 cannot.
        path.write_text(text, encoding="utf-8", errors="xmlcharrefreplace")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}") from error


def _print(report: ShadowReport) -> None:
    print_pairs(figures(report))
    typer.echo()
    print_table(("", "compared", "another first hit", f"other hits in {report.k}", "in common"), _differences(report))
    typer.echo()
    print_table(("reason", "queries"), [(reason, f"{count}") for reason, count in report.reasons.items()])
    for example in report.examples:
        typer.echo(f"\n{label(example)}: {safe(example.query)}")
        print_table(*_side_by_side(example))


def _differences(report: ShadowReport) -> list[tuple[str, ...]]:
    return [
        (
            " / ".join(one.routes),
            f"{one.compared}",
            percent(one.first, one.compared),
            percent(one.any, one.compared),
            "-" if one.overlap is None else f"{one.overlap:.2f}",
        )
        for one in report.differences
    ]


def _side_by_side(example: Example) -> tuple[list[str], list[list[str]]]:
    """A column for each route, a row for what it added and for each hit."""
    routes = list(example.found)
    columns = [f"{route}, used" if route == example.replayed.route else route for route in routes]
    hits = [[f"{one.doc_id}: {one.title}" for one in example.found[route]] for route in routes]
    rows = [[f"+ {added}" if (added := example.added.get(route)) else "" for route in routes]]
    rows += [[of[rank] if rank < len(of) else "" for of in hits] for rank in range(max(map(len, hits)))]
    return columns, [[safe(cell) for cell in row] for row in rows]
