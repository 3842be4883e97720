"""What each arm finds, for a reader to answer from: the runner's own turns, overheard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.arms import ARMS
from pss_integrations.evaluation.controls import Cast
from pss_integrations.evaluation.record import SessionRecord
from pss_integrations.evaluation.runner import Runner
from pss_integrations.evaluation.subjects import Asked
from pss_integrations.evaluation.suites import Setup
from pss_integrations.evaluation.turns import Arm, Sent, Turn
from pss_integrations.retrieval.fusion import reciprocal_rank_fusion
from pss_integrations.retrieval.index import PassageIndex
from pss_integrations.types import Passage


@dataclass(frozen=True, slots=True)
class Found:
    """What an arm found for a probe.

    :param own: The arm's own string: what it searched for, each query and each text added to one said once.
    :param passages: What it found, best first.
    """

    own: str
    passages: tuple[Passage, ...]


Place: TypeAlias = tuple[str, Asked]
"""A session's id, and one of its probes."""
Finds: TypeAlias = Mapping[Place, Mapping[str, Mapping[str, Found]]]
"""Per probe, searcher name to arm name to what was found."""


def find_passages(
    setup: Setup, cast: Cast, indexes: Mapping[str, PassageIndex], arms: Sequence[str], *, k: int
) -> tuple[list[SessionRecord], Finds]:
    """Run arms, and keep what each of them found.

    The runner notes ranks and no passages. So its arms are wrapped: one that has decided what to search for looks at
    what the runner finds for it, and fuses as the runner does.

    :param arms: Names that :func:`check_arms` lets through.
    :param k: How many passages are kept.
    :return: The runner's records, and what was found.
    """
    names: dict[str | None, str] = {index.index_id: name for name, index in indexes.items()}
    finds = dict[Place, dict[str, dict[str, Found]]]()

    def overheard(arm: Arm) -> Arm:
        def send(turn: Turn) -> Sent:
            sent = arm.send(turn)
            of_probe = finds.setdefault((turn.subject.session_id, turn.asked), {name: {} for name in indexes})
            of_probe[names[turn.index_id]][arm.name] = _found(sent, turn, k)
            return sent

        return replace(arm, send=send)

    runner = Runner(
        cast=cast,
        arms=[overheard(ARMS[name]) for name in arms],
        searchers=indexes,
        count_tokens=setup.source.count_tokens,
        query_weight=setup.query_weight,
    )
    return runner.run(setup.tell), finds


def _found(sent: Sent, turn: Turn, k: int) -> Found:
    fused = reciprocal_rank_fusion([turn.find(wording) for wording in sent], key=lambda hit: hit.doc_id, k=k)
    said = dict.fromkeys(text for wording in sent for text in (wording.query, wording.added) if text.strip())
    return Found(" ".join(said), tuple(hit.passage for hit, _ in fused))


def check_arms(arms: Sequence[str]) -> None:
    """Refuse what finds nothing by itself.

    :raises InvalidInput: If a name is not one of :data:`~pss_integrations.evaluation.arms.ARMS`, or its arm is but the
        best one of others.
    """
    if unknown := [name for name in arms if name not in ARMS]:
        raise InvalidInput(f"unknown arms {', '.join(unknown)}: use some of {', '.join(ARMS)}")
    if best := [name for name in arms if ARMS[name].best_of]:
        raise InvalidInput(f"{', '.join(best)} picks among other arms by what answers a probe: name those arms instead")
