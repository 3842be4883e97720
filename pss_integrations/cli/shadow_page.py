"""The report of ``pssi shadow`` as one HTML file; it loads nothing, and all that chats say in it is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pss_integrations.routing.shadow_report import Difference, Example, Latency, ShadowReport
    from pss_integrations.types import Route

_HEAD = (
    '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
    # Nothing is run and nothing is fetched, whatever slipped through.
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    '<meta name="viewport" content="width=device-width">\n<title>pssi shadow</title>\n'
)
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .7rem;border-bottom:1px solid #ccc;"
    "text-align:left;vertical-align:top;overflow-wrap:anywhere}svg{max-width:100%;height:auto;font:13px sans-serif}"
    ".sides{table-layout:fixed;width:100%}.used{background:#eef6ee}.added{font-style:italic;color:#555}"
    "blockquote{margin:0;padding:.3rem 1rem;border-left:3px solid #4477aa}"
)
_COLOURS = ("#4477aa", "#aac4dd")
_LEFT, _WIDTH, _ROW = 110, 400, 44  # pixels: names, bars, and the height of a pair of bars


def page(report: ShadowReport) -> str:
    """Draw up the whole page."""
    parts = [
        _HEAD,
        f"<style>{_STYLE}</style>\n<h1>What the router would have done</h1>",
        _table([[name, value] for name, value in figures(report).items()]),
        f"<h2>How often the routes differ</h2>\n{_picture(report.differences, report.k)}",
        "<h2>Why</h2>",
        _table([[reason, f"{count}"] for reason, count in report.reasons.items()]),
        *_examples(report),
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def figures(report: ShadowReport) -> dict[str, str]:
    """The figures for people, by name."""
    count = len(report.queries)
    told = {
        "sessions": f"{report.sessions}, {report.with_state} with a state",
        "queries": f"{count}",
        "underspecified": percent(sum(one.is_underspecified for one in report.queries), count),
        **{f"route {route}": percent(chosen, count) for route, chosen in report.routes.items()},
        "unsupported in its session": percent(sum(one.is_supported is False for one in report.queries), count),
        "searches per query": f"{report.searches_per_query:.2f}",
        "generations per query": f"{report.generations_per_query:.2f}",
        "raw search": _latency(report.raw_latency),
        "added latency": _latency(report.added_latency),
    }
    if hindsight := sum(one.in_hindsight for one in report.queries):
        told["asked before the state was compiled"] = (
            f"{percent(hindsight, count)}: there the state knows what came later"
        )
    if report.failures:
        failed = percent(count - len(report.answered), count)
        told["failed"] = f"{failed}; {', '.join(f'{what} ({times})' for what, times in report.failures.items())}"
    return told


def percent(part: int, whole: int) -> str:
    """A count and its share: ``"3 (25 %)"``."""
    return f"{part} ({part / whole:.0%})".replace("%", " %") if whole else f"{part}"


def label(example: Example) -> str:
    """Name the place of an example."""
    one = example.replayed
    session = repr(one.key.session_id) if one.key else f"number {one.session + 1}"
    return f"session {session}, message {one.position + 1}"


def _latency(latency: Latency | None) -> str:
    return f"median {latency.median:.1f} ms, 95th percentile {latency.p95:.1f} ms" if latency else "-"


def _picture(differences: Sequence[Difference], k: int) -> str:
    """Two bars for each pair of routes: the share with another first hit, and with other hits at all."""
    height = _ROW * len(differences) + 20
    shapes = [shape for row, one in enumerate(differences) for shape in _bars(one, _ROW * row)]
    legend = f"another first hit (dark), other passages among the first {k} (light)"
    caption = f'<text x="{_LEFT}" y="{height - 4}">{legend}</text>'
    width = _LEFT + _WIDTH + 150
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        f"{''.join(shapes)}{caption}</svg>"
    )


def _bars(one: Difference, top: int) -> Iterator[str]:
    yield f'<text x="0" y="{top + 22}">{" / ".join(one.routes)}</text>'
    for number, (part, colour) in enumerate(zip((one.first, one.any), _COLOURS, strict=True)):
        length = _WIDTH * part / one.compared if one.compared else 0
        y = top + 4 + 16 * number
        said = f"{percent(part, one.compared)} of {one.compared}"
        yield f'<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="14" fill="{colour}"/>'
        yield f'<text x="{_LEFT + length + 6:.1f}" y="{y + 12}">{said}</text>'


def _examples(report: ShadowReport) -> Iterator[str]:
    if report.examples:
        yield "<h2>Where they differ most</h2>"
    for example in report.examples:
        yield f"<h3>{escape(label(example))}</h3>\n<blockquote>{_text(example.query)}</blockquote>"
        yield f'<table class="sides"><tr>{"".join(_column(example, route) for route in example.found)}</tr></table>'


def _column(example: Example, route: Route) -> str:
    is_used = route == example.replayed.route
    added = example.added.get(route, "")
    hits = (f"<li>{_text(one.title)}<br><small>{_text(one.doc_id)}</small>" for one in example.found[route])
    return (
        f"<td{' class=used' if is_used else ''}><strong>{route}</strong>{', used' if is_used else ''}"
        f'<div class="added">{_text(added)}</div><ol>{"".join(hits)}</ol></td>'
    )


def _table(rows: Sequence[Sequence[str]]) -> str:
    return f"<table>{''.join(f'<tr>{_cells(row)}' for row in rows)}</table>"


def _cells(row: Sequence[str]) -> str:
    return "".join(f"<td>{escape(cell)}" for cell in row)


def _text(text: str) -> str:
    """What a chat or a passage says; text of the other direction turns nothing around it."""
    return f"<bdi>{escape(text)}</bdi>"
