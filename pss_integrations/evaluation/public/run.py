"""Runs published sets: the correct state against the raw query, a wrong and a shuffled state (PSS, section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.pss320_facts import Split
from pss_integrations.evaluation.public.activity import ActiveRequestTargets
from pss_integrations.evaluation.public.audit import audit
from pss_integrations.evaluation.public.requests import Evidence
from pss_integrations.evaluation.public.rows import Kind
from pss_integrations.evaluation.public.sessions import PublicData, load_public, subjects_of
from pss_integrations.evaluation.record import Family, RunRecord
from pss_integrations.evaluation.subjects import Subject
from pss_integrations.evaluation.suites import Setup, arms_of
from pss_integrations.states.history_targets import HistoryTargets

PUBLIC_STATES: Final = ("correct", "matched_wrong", "shuffled", "zero")
PUBLIC_FAMILIES: Final = (
    Family(
        question="Does the right state find what the follow-up hides, and neither a wrong nor a shuffled one?",
        treatment="correct/replace",
        controls=["raw", "matched_wrong/replace", "shuffled/replace"],
        joint=True,
    ),
    Family(
        question="Is it better than text?",
        treatment="correct/replace",
        controls=["card/replace", "target_card/replace", "user_history", "full_history", "concatenation"],
    ),
    Family(
        question="Does it take a state, and does it matter how the clue meets the query?",
        treatment="correct/replace",
        controls=["zero/replace", "correct/append", "correct/rrf"],
    ),
    Family(
        question="Does the guarded choice help, and not with a wrong or a shuffled state?",
        treatment="guarded",
        controls=["raw", "guarded_matched_wrong", "guarded_shuffled"],
        joint=True,
    ),
)
"""Declared before any run. The first is the paper's rule, on the clue alone; ``gold`` is its parsed reference in full,
and ``concatenation`` the same as a clue."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is to be run, read and audited.

    :param data: All that was read.
    :param subjects: The sessions that were chosen.
    """

    data: PublicData
    subjects: tuple[Subject, ...]
    split: Split
    evidence: Evidence

    def run(self, setup: Setup, *, states: bool, k: int) -> RunRecord:
        """Run it; a probe's category is its task.

        :param states: Whether to compile states; without, only the text arms are run.
        :param k: Cut-off of the primary metric, All-Recall; 3 in the paper.
        """
        run = PUBLIC_STATES if states else ()
        arms = arms_of(run)
        found = setup.run(self.subjects, setup.index(self.data.passages), arms, HistoryTargets())
        config = {**self._describe(), "states": states}
        return setup.record(self.data.kind, found, PUBLIC_FAMILIES, arms, metric="All-Recall", k=k, config=config)

    def _describe(self) -> dict[str, Any]:
        data = self.data
        ids = [*(session.session_id for session in data.sessions), *(passage.doc_id for passage in data.passages)]
        return {
            "data": sha256("\n".join(ids).encode()).hexdigest(),
            "rows": data.rows,
            "left_out": data.left_out,
            "pool": len(data.passages),
            "targets": ActiveRequestTargets().name,
            "split": self.split,
            "evidence": self.evidence,
            "sessions": len(self.subjects),
        }


def prepare_public(
    path: str | Path,
    *,
    kind: Kind | None = None,
    sessions: int | None = None,
    split: Split = "test",
    evidence: Evidence = "passage",
) -> Prepared:
    """Read a published set and check what is to be run; nothing is indexed or compiled.

    :param path: A file, or a folder of ``*.jsonl``.
    :param kind: Which set; by default told by the first record.
    :param sessions: A fixed choice of so many sessions of the split, by hash; all by default.
    :param evidence: What has to be found, see :func:`~pss_integrations.evaluation.public.sessions.load_public`.
    :raises InvalidInput: As ``load_public``, or if the sessions are of fewer than two groups, since a wrong state is
        of a session that shares no document, or if the audit finds a problem.
    """
    data = load_public(path, kind, evidence=evidence)
    chosen = data.chosen(split, sessions)
    if (groups := len({session.group for session in chosen})) < 2:
        there = f"{len(data.sessions)} sessions in both splits, left out: {data.left_out or 'nothing'}"
        raise InvalidInput(f"the {split} split gives {len(chosen)} sessions of {groups} groups, 2 are needed ({there})")
    subjects = subjects_of(chosen)
    if problems := audit(data, chosen, subjects):
        raise InvalidInput(f"the audit of {path} found {len(problems)} problems, such as: {problems[0]}")
    return Prepared(data, tuple(subjects), split, evidence)


def run_public(
    setup: Setup,
    path: str | Path,
    *,
    kind: Kind | None,
    sessions: int | None,
    states: bool,
    k: int,
    split: Split = "test",
    evidence: Evidence = "passage",
) -> RunRecord:
    """Prepare a published set and run it: :func:`prepare_public` and :meth:`Prepared.run`."""
    prepared = prepare_public(path, kind=kind, sessions=sessions, split=split, evidence=evidence)
    return prepared.run(setup, states=states, k=k)
