"""Records made by hand, for tests of what is inspected of a run."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from pss_integrations.evaluation.record import Family, ProbeRecord, RunRecord, SessionRecord

ARM = "correct/append"
Ranks = list[int | None]


def probe(
    query: str,
    clue: str | Mapping[str, str] = "Heron kit-9",
    ranks: Ranks | None = None,
    *,
    category: str = "exact_fact",
    raw: Ranks | None = None,
    left_alone: Sequence[str] = ("raw",),
) -> ProbeRecord:
    found = [None] if ranks is None else ranks
    return ProbeRecord(
        query=query,
        category=category,
        groups=len(found),
        clues={"correct": clue} if isinstance(clue, str) else clue,
        left_alone=list(left_alone),
        ranks={"bm25": {"raw": raw or [None] * len(found), ARM: found}} if found else {},
    )


def record(sessions: Mapping[str, Sequence[ProbeRecord]], *, kind: str = "garden", k: int = 4) -> RunRecord:
    return RunRecord(
        kind=kind,
        created_at=datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
        config={"seed": 0, "groups": 2},
        metric="All-Recall",
        k=k,
        depth=100,
        arms=["raw", ARM],
        searchers=["bm25"],
        families=[Family(question="Does it help?", treatment=ARM, controls=["raw"])],
        sessions=[
            SessionRecord(session_id=name, group=f"group {name}", states={"correct": {"steps": 3}}, probes=list(probes))
            for name, probes in sessions.items()
        ],
    )
