"""``pssi calibrate``: a certificate for the guard, from stored chats and the index that is searched."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pss_integrations.cli.chats import Chat, load_chats
from pss_integrations.cli.options import Device, Dtype, Home, Json, StateBackbone, UserId, trusted_roles
from pss_integrations.cli.output import print_json, print_pairs, print_table, progress_bars, say
from pss_integrations.cli.routing import (
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
from pss_integrations.errors import InvalidInput, MissingExtra
from pss_integrations.types import Route, SessionKey

if TYPE_CHECKING:
    from pss_integrations.retrieval.index import PassageIndex
    from pss_integrations.routing.calibration import Calibration
    from pss_integrations.states import StateManager

_TARGETS = 64  # built of a session: more than are written into its state


def calibrate(
    chats: Chats,
    passages: Passages = None,
    index: Index = None,
    user_id: UserId = None,
    no_user: NoUser = False,
    max_activation: Annotated[
        float, typer.Option("--max-activation", help="Share of the queries to be left alone that may be changed.")
    ] = 0.05,
    confidence: Annotated[float, typer.Option("--confidence", help="How sure that has to be.")] = 0.95,
    routes: Routes = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Hits of a search: as many as where the guard decides.")] = 4,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            "--trust",
            metavar="ROLE",
            help="Take names from this role's messages, too, besides user and system; so must the router's cards.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Where the certificate is written.")] = Path("certificate.json"),
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw what there was to choose from: .svg, .png or .pdf.")
    ] = None,
    backbone: StateBackbone = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Set the guard's threshold so that it changes at most so many queries that it should leave alone.

    It takes 59 sessions and up, better 320, and no labels. What must not change is made of texts that come with the
    package and of other sessions' requests; what should, of the chats themselves. States that were compiled are read.
    """
    from pss_integrations.routing.learn_then_test import check_share

    check_share("max_activation", max_activation)
    check_share("confidence", confidence)
    plot = _check_places(out, plot)
    tried = checked_routes(routes)
    stored = load_chats(chats, said_of_all(user_id, no_user))
    place = (home, backbone, device, dtype)
    with opened_index(passages, index) as searched, opened_states(stored, tried, place) as states:
        if states is None and routes and "pss" in routes:
            raise InvalidInput("none of these chats has a state: compile them, or leave out the route pss")
        usable: list[Route] = [route for route in tried if states is not None or route != "pss"]
        result = _calibrated(stored, searched, states, usable, trust or [], k, (max_activation, confidence))
    if result.certificate:
        result.certificate.save(out)
    if plot and result.certificate:
        from pss_integrations.evaluation.calibration_plot import save_calibration

        save_calibration(result, plot)
    if as_json:
        print_json(_told(result, out))
    else:
        _print(result, out)
    if not result.certificate:
        raise typer.Exit(1)


def _check_places(out: Path, plot: Path | None) -> Path | None:
    """Refuse what cannot be written, before any work; returns where to draw, if that can be done."""
    if not out.absolute().parent.is_dir() or out.is_dir():
        raise InvalidInput(f"cannot write {out}: give a file in a directory that exists")
    if plot is None:
        return None
    try:
        from pss_integrations.evaluation.calibration_plot import check_place
    except MissingExtra as error:
        say(f"No plot: {error}")
        return None
    check_place(plot)
    return plot


def _calibrated(
    chats: Sequence[Chat],
    index: PassageIndex,
    states: StateManager | None,
    routes: Sequence[Route],
    trust: Sequence[str],
    k: int,
    limits: tuple[float, float],
) -> Calibration:
    from pss_integrations.routing import SessionCards
    from pss_integrations.routing.calibration import calibrate as calibrate_guard
    from pss_integrations.states.history_targets import HistoryTargets

    trusted = trusted_roles(trust)

    def taught(key: SessionKey) -> Collection[str]:
        return [request for request, *_ in states.info(key).targets.kept] if states and states.has_state(key) else ()

    with progress_bars() as bars:
        task = bars.add_task("calibrate", total=len(chats))
        return calibrate_guard(
            chats,
            index,
            states,
            k=k,
            builder=HistoryTargets(trusted_roles=trusted, vocabulary=index.vocabulary, max_targets=_TARGETS),
            taught=taught,
            max_activation=limits[0],
            confidence=limits[1],
            progress=lambda done, total: bars.update(task, completed=done, total=total),
            routes=routes,
            cards=SessionCards(index.vocabulary, trusted_roles=trusted),
        )


def _told(result: Calibration, out: Path) -> dict[str, Any]:
    certificate = result.certificate
    return {
        "calibrated": certificate is not None,
        "sessions": dict(result.sessions),
        "missing": dict(result.missing),
        "missing_texts": dict(result.missing_texts),
        "skipped": result.skipped,
        "retained": result.retained if certificate else None,
        "certificate": certificate.model_dump(mode="json", exclude={"digest"}) if certificate else None,
        "file": str(out) if certificate else None,
    }


def _lacking(result: Calibration) -> str:
    """What is needed: sessions, texts that they do not answer, or both."""
    few = {kind: count for kind, count in result.missing.items() if count > result.missing_texts.get(kind, 0)}
    needed = [f"more sessions are needed, {_each(few)}"] if few else []
    if result.missing_texts:
        needed.append(
            "there are too few texts for this promise, however many sessions are given: missing are "
            f"{_each(result.missing_texts)}; promise less, or give calibrate() nulls of your own"
        )
    return "; ".join(needed)


def _each(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} for {kind}" for kind, count in counts.items())


def _print(result: Calibration, out: Path) -> None:
    if not (certificate := result.certificate):
        typer.echo(f"Not calibrated, and nothing written: {_lacking(result)}.")
        return
    limit, confidence = (
        f"{100 * (share or 0):.4g} %" for share in (certificate.max_activation, certificate.confidence)
    )
    print_table(
        ("nulls", "sessions", "activated"),
        [(kind, f"{one.sessions}", f"{one.activated}") for kind, one in certificate.nulls.items()],
    )
    print_pairs(
        {
            "promise": f"at most {limit} of each kind activate, at {confidence} confidence",
            "retained": f"{100 * result.retained:.0f} % of what the added text gains",
            "certificate": str(out),
        }
    )
