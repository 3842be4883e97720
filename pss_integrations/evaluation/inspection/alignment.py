"""Do clues mean what the gold rewrites mean? Their direction in an embedder's own space (PSS, sections 3.4 and C).

Whether a clue finds evidence depends on the searcher too. This asks of the text alone how much nearer it is to the gold
rewrite than the raw query is, and whether that is the doing of the session's own state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.families import FamilyResult, compare
from pss_integrations.evaluation.record import ProbeRecord, RunRecord
from pss_integrations.evaluation.statistics import Interval, mean_interval, paired_difference
from pss_integrations.protocols import Embedder

RAW: Final = "raw"
CORRECT: Final = "correct"
CONTROLS: Final = (RAW, "matched_wrong", "shuffled")
"""What the correct state's clue is declared to be nearer to the gold rewrite than, corrected together."""

Rewrites: TypeAlias = Mapping[tuple[str, str], str]
"""Session id and query to gold rewrite."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """How near texts are to the gold rewrites: cosines, a mean over the probes of each session.

    :param embedder: Whose space it is.
    :param probes: How many probes have evidence and a gold rewrite.
    :param sessions: How many sessions they are of.
    :param cosines: ``"raw"`` and state names to the cosine of query or clue with the gold rewrite.
    :param progress: State name to the cosine of its clue minus that of the query.
    :param family: The correct state's clue against the query and the clues of wrong states.
    """

    embedder: str
    probes: int
    sessions: int
    cosines: Mapping[str, Interval]
    progress: Mapping[str, Interval]
    family: FamilyResult

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {**asdict(self), "family": self.family.to_dict()}


def align(record: RunRecord, rewrites: Rewrites, embedder: Embedder) -> Alignment:
    """Compare the clues of a record with the gold rewrites. A blank clue counts as the query, which arms then search.

    :param rewrites: Gold rewrites; probes without one or with a blank one are left out.
    :param embedder: Embeds all texts as queries.
    :raises InvalidInput: If no state is the correct one, or there are not two sessions, of two groups, with rewrites.
    """
    asked = [
        (number, probe, gold)
        for number, session in enumerate(record.sessions)
        for probe in session.probes
        if probe.groups and (gold := rewrites.get((session.session_id, probe.query), "")).strip()
    ]
    states = list(dict.fromkeys(state for _, probe, _ in asked for state in probe.clues))
    if CORRECT not in states:
        raise InvalidInput("there is nothing to align: no probe with a gold rewrite has a clue of the correct state")
    cosine = _Cosines(embedder, [text for _, probe, gold in asked for text in (gold, *_texts(probe).values())])
    of_session = defaultdict[int, list[list[float]]](list)
    for number, probe, gold in asked:
        texts = _texts(probe)
        of_session[number].append([cosine(texts.get(name, probe.query), gold) for name in (RAW, *states)])
    means = np.array([np.mean(rows, axis=0) for rows in of_session.values()])  # (sessions, 1 + states)
    values = dict(zip((RAW, *states), means.T, strict=True))
    groups = [record.sessions[number].group for number in of_session]
    return Alignment(
        embedder=embedder.name,
        probes=len(asked),
        sessions=len(groups),
        cosines={name: mean_interval(one, groups=groups) for name, one in values.items()},
        progress={name: paired_difference(values[name], values[RAW], groups=groups) for name in states},
        family=compare(values, CORRECT, [name for name in CONTROLS if name in values], groups=groups),
    )


def _texts(probe: ProbeRecord) -> dict[str, str]:
    return {RAW: probe.query, **{state: clue if clue.strip() else probe.query for state, clue in probe.clues.items()}}


class _Cosines:
    """Cosines of texts, each of which is embedded once."""

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        distinct = list(dict.fromkeys(texts))
        vectors = np.asarray(embedder.embed_queries(distinct), dtype=np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        self._unit = dict(zip(distinct, vectors / np.where(lengths > 0, lengths, 1.0), strict=True))

    def __call__(self, one: str, other: str) -> float:
        return float(self._unit[one] @ self._unit[other])
