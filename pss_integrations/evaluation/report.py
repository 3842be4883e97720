"""A record for people: Markdown, the same as one HTML file, and the plots as SVG (PSS, section 4)."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from pss_integrations.errors import MissingExtra
from pss_integrations.evaluation import paper, plots
from pss_integrations.evaluation.analysis import (
    METRICS,
    TITLE_HIT,
    activation,
    activations,
    categories,
    family_result,
    has_titles,
    nulls,
    retained_recall,
    scores,
)
from pss_integrations.evaluation.families import FamilyResult
from pss_integrations.evaluation.record import Family, RunRecord
from pss_integrations.evaluation.statistics import Interval
from pss_integrations.routing.learn_then_test import upper_bound

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .7rem;border-bottom:1px solid #ccc;"
    "text-align:left}svg{max-width:100%;height:auto}pre{overflow:auto;background:#f5f5f5;padding:1rem}"
)

_CONFIDENCE = 0.95
_PROMISE = (
    "Calibrated on sessions and texts that are not asked here, for each kind of text that a session does not answer; "
    "the bounds are exact (Clopper-Pearson) and take the texts of one session for independent."
)


def write_report(record: RunRecord, folder: Path) -> tuple[Path, Path]:
    """Write ``report.md``, ``report.html`` and the plots beside each other.

    :param folder: An existing directory; reports there are replaced, they can be made again from the record.
    :return: The Markdown and the HTML file.
    :raises MissingExtra: If matplotlib or markdown-it-py is not installed.
    """
    figures = plots.draw(record)
    for name, svg in figures.items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    text = markdown(record, list(figures))
    (folder / "report.md").write_text(text, encoding="utf-8")
    (folder / "report.html").write_text(_html(text, figures), encoding="utf-8")
    return folder / "report.md", folder / "report.html"


def markdown(record: RunRecord, figures: Sequence[str] = ()) -> str:
    """The report as Markdown.

    :param figures: Names of the plots, SVG files beside the report.
    """
    parts = [
        f"# {record.kind}: {_primary(record)}",
        *_overview(record),
        *(f"![{name.replace('-', ' ')}]({name}.svg)" for name in figures),
        *(part for searcher in record.searchers for part in _arms(record, searcher)),
        *(part for family in record.families for part in _family(record, family)),
        *(part for searcher in record.searchers for part in _categories(record, searcher)),
        *_guard(record),
        *_writing(record),
        *_beside_the_paper(record),
        "## Configuration",
        f"```json\n{json.dumps({**record.config, **record.versions, **record.machine}, indent=1)}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _overview(record: RunRecord) -> Iterator[str]:
    probes = [probe for session in record.sessions for probe in session.probes]
    groups = len({session.group for session in record.sessions})
    yield (
        f"Run on {record.created_at:%d %B %Y}. {len(probes)} probes, of which {sum(bool(p.groups) for p in probes)} "
        "have evidence and are scored. Figures are means over sessions; intervals are 95 % BCa bootstrap intervals, "
        f"p-values of two-sided sign-flip tests, with whole source groups ({groups}) drawn and flipped together."
    )
    yield "What the arms are: `pss_integrations/evaluation/arms.py` and `controls.py`."


def _arms(record: RunRecord, searcher: str) -> Iterator[str]:
    shown = [name for name in METRICS if name != TITLE_HIT or has_titles(record, record.focus)]
    others = [(name, 10 if name == "nDCG" else record.k) for name in shown if name != record.metric]
    rows = list[list[str]]()
    for arm in record.arms:
        primary = scores(record, searcher, arm, category=record.focus)
        rest = (scores(record, searcher, arm, metric=name, k=k, category=record.focus).mean for name, k in others)
        rows.append([arm, _interval(primary.mean, primary.interval()), *(f"{value:.3f}" for value in rest)])
    yield f"## All arms, {searcher}{_scope(record, record.focus)}"
    if (about := record.config.get("searchers", {}).get(searcher)) is not None:
        yield f"{searcher}: {about}"
    yield _table(["arm", _primary(record), *(name if name == "MRR" else f"{name}@{k}" for name, k in others)], rows)


def _family(record: RunRecord, family: Family) -> Iterator[str]:
    yield f"## {family.question}"
    left_out = f" Declared and not run: {', '.join(family.left_out)}." if family.left_out else ""
    yield (
        f"`{family.treatment}` minus each control{_scope(record, family.category)}; p-values are corrected within the "
        f"family and searcher (Holm).{left_out}"
    )
    results = {searcher: family_result(record, searcher, family) for searcher in record.searchers}
    rows = [
        [
            searcher,
            control,
            _interval(one.difference.value, one.difference, signed=True),
            _p(one.p_value),
            _p(one.p_holm),
        ]
        for searcher, result in results.items()
        if result
        for control, one in result.comparisons.items()
    ]
    yield _table(["searcher", "control", "difference", "p", "p (Holm)"], rows)
    if family.joint:
        yield f"Joint rule: {'; '.join(f'{searcher}: {_verdict(result)}' for searcher, result in results.items())}."


def _verdict(result: FamilyResult | None) -> str:
    if result is None:
        return "undecided, there is but one source group"
    if not result.decidable:
        return f"undecided, {result.units} units are too few for any difference to pass"
    return "better than every one" if result.passed else "NOT better than every one"


def _scope(record: RunRecord, category: str | None) -> str:
    scored = [[p for p in s.probes if p.groups and category in (None, p.category)] for s in record.sessions]
    name = f"{category}: " if category else ""
    return f" ({name}{sum(map(bool, scored))} sessions, {sum(map(len, scored))} probes)"


def _categories(record: RunRecord, searcher: str) -> Iterator[str]:
    names = categories(record)
    if len(names) > 1:
        arms = plots.shown_arms(record)
        yield f"## By category, {searcher}{_scope(record, None)}"
        yield _table(
            ["category", *arms],
            [[name, *(f"{scores(record, searcher, arm, category=name).mean:.3f}" for arm in arms)] for name in names],
        )


def _guard(record: RunRecord) -> Iterator[str]:
    is_calibrated = "certificate" in record.config
    guarded, unguarded = ("guarded", "clue") if is_calibrated else ("guarded/append", "correct/append")
    if not {guarded, unguarded, "raw"} <= set(record.arms):
        return
    yield "## The guard"
    yield _PROMISE if is_calibrated else "A plain rule, calibrated for nothing."
    yield "Activation alone means nothing: a closed guard never activates."
    rows = [[kind, *_activated(record, guarded, kind)] for kind in nulls(record)]
    rows.append(["with evidence", "", _share(activation(record, guarded, answerable=True)), ""])
    yield _table(["asked", "texts", "activated", "at most, 95 %"], rows)
    yield _table(
        ["retained recall", *record.searchers],
        [["", *(_share(_retained(record, searcher, guarded, unguarded)) for searcher in record.searchers)]],
    )


def _activated(record: RunRecord, arm: str, kind: str) -> list[str]:
    activated, asked = activations(record, arm, kind)
    return [str(asked), _share(activated / asked), _share(upper_bound(activated, asked, _CONFIDENCE))]


def _retained(record: RunRecord, searcher: str, guarded: str, unguarded: str) -> float | None:
    return retained_recall(*(scores(record, searcher, arm).mean for arm in ("raw", unguarded, guarded)))


def _writing(record: RunRecord) -> Iterator[str]:
    rows = list[list[str]]()
    for name in dict.fromkeys(name for session in record.sessions for name in session.states):
        written = [one for session in record.sessions if (one := session.states.get(name)) and "steps" in one]
        if written:
            rows.append(
                [
                    name,
                    str(len(written)),
                    *(
                        f"{statistics.median(one[what] for one in written):g}"
                        for what in ("targets", "steps", "seconds")
                    ),
                    f"{sum(bool(one['confirmed']) for one in written)}",
                ]
            )
    if rows:
        yield "## Writing the states"
        yield (
            "Medians. Seconds are those of the first time a state was written, whatever else the machine did then; "
            "`pssi bench compile` measures them. Confirmed: every target was reproduced by greedy decoding."
        )
        yield _table(["state", "written", "targets", "steps", "seconds", "confirmed"], rows)


def _beside_the_paper(record: RunRecord) -> Iterator[str]:
    rows = [
        [figure.what, figure.where, f"{figure.paper:.3f}", f"{ours:.3f}"]
        for figure in paper.FIGURES.get(record.kind, ())
        if (ours := figure.ours(record)) is not None
    ]
    if rows:
        yield "## Beside the paper"
        yield paper.NOT_COMPARABLE
        yield _table(["what", "section", "paper", "here"], rows)


def _html(text: str, figures: dict[str, str]) -> str:
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise MissingExtra("eval", error.name or "markdown_it") from error
    body = MarkdownIt("commonmark").enable("table").render(text)
    for name, svg in figures.items():
        inline = svg[svg.index("<svg") :]
        body = re.sub(rf'<img src="{re.escape(name)}\.svg"[^>]*>', lambda _, inline=inline: inline, body)
    title = text.partition("\n")[0].removeprefix("# ")
    return f"<!doctype html><meta charset=utf-8><title>{title}</title><style>{_STYLE}</style>\n{body}"


def _primary(record: RunRecord) -> str:
    return f"{record.metric}@{record.k}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _interval(value: float, one: Interval | None, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    bounds = f" [{one.low:{sign}.3f}, {one.high:{sign}.3f}]" if one else ""
    return f"{value:{sign}.3f}{bounds}"


def _p(value: float) -> str:
    return f"{value:.2g}"


def _share(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3f}"
