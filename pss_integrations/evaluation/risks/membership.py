"""Membership inference: can the holder of a state tell what it was written from (PSS, section F.10)?

The score of a text is how much likelier it is to the model with the state than to the model without one (a likelihood
ratio, per token). Members are a session's own messages and clue targets; the others are those of sessions of the same
generator and the same domain, and a text that both have is neither. Requests are the same in all sessions, so clues are
told apart by their own words alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.pss320 import BenchmarkSession
from pss_integrations.evaluation.risks.likelihood import (
    LANE,
    Likelihoods,
    Span,
    bound,
    clue_span,
    message_span,
)
from pss_integrations.evaluation.risks.shares import estimated
from pss_integrations.evaluation.runner import Tell
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.evaluation.subjects import Subject, from_pss320
from pss_integrations.states.backbone import Backbone
from pss_integrations.states.lora import BASE

FALSE_POSITIVE_RATES: Final = (0.01, 0.05)
_MATES: Final = 3  # sessions whose texts are the others


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of one session's own texts and of the others."""

    members: NDArray[np.float64]
    others: NDArray[np.float64]

    @property
    def auc(self) -> float:
        """Chance that a member's score is above that of another text; ties count half."""
        above = np.searchsorted(np.sort(self.others), self.members, side="left")
        not_below = np.searchsorted(np.sort(self.others), self.members, side="right")
        return float((above + not_below).mean() / 2 / len(self.others))


def measure_membership(
    source: CachedStates, sessions: Sequence[BenchmarkSession], pool: Sequence[BenchmarkSession], tell: Tell
) -> dict[str, Any]:
    """Try to tell the members of each session's state from other texts.

    :param sessions: Whose states are attacked.
    :param pool: Where the others come from: sessions of the same source group, three of them at most.
    :return: For ``messages`` and ``clues``: numbers, the mean AUC over sessions (``auc_shuffled``: with the state
        shuffled within its factors, which leaves nothing to tell by) and, at one threshold for all sessions that lets
        at most 1 % or 5 % of the others pass, the share of members that pass.
    :raises InvalidInput: If the pool holds no session of a source group besides the attacked one.
    """
    mates = [_mates(session, pool) for session in sessions]
    found: dict[str, list[tuple[Scored, Scored]]] = {kind: [] for kind in _KINDS}
    for number, (session, others) in enumerate(zip(sessions, mates, strict=True)):
        tell("writing states to tell members by", number, len(sessions))
        subject, *rest = from_pss320([session, *others])
        state = source.compile(subject.messages, subject.targets)
        vectors = state.vector, source.shuffle(state).vector
        for kind, spans_of in _KINDS.items():
            right, shuffled = _scores(source, vectors, *_spans(source.engine.backbone, subject, rest, spans_of))
            found[kind].append((right, shuffled))
    return {kind: _result(sessions, scored) for kind, scored in found.items()}


def threshold(others: NDArray[np.float64], rate: float) -> float:
    """The score above which at most this share of the others lies."""
    allowed = math.floor(rate * len(others) + 1e-9)  # a product that should be whole may fall short by rounding
    return float(np.sort(others)[::-1][allowed])


def _message_spans(backbone: Backbone, subject: Subject) -> dict[str, Span]:
    return {message.text: message_span(backbone, message) for message in subject.messages}


def _clue_spans(backbone: Backbone, subject: Subject) -> dict[str, Span]:
    return {f"{target.request}\n{target.clue}": clue_span(backbone, target) for target in subject.targets}


_KINDS: Final = {"messages": _message_spans, "clues": _clue_spans}


def _mates(session: BenchmarkSession, pool: Sequence[BenchmarkSession]) -> list[BenchmarkSession]:
    mates = [one for one in pool if one.source_group == session.source_group and one.key != session.key][:_MATES]
    if not mates:
        raise InvalidInput(f"the pool has no other session about {session.source_group}: give a larger one")
    return mates


def _spans(
    backbone: Backbone,
    subject: Subject,
    others: Sequence[Subject],
    spans_of: Callable[[Backbone, Subject], dict[str, Span]],
) -> tuple[list[Span], list[Span]]:
    """What only this session holds, and what only others do."""
    own = spans_of(backbone, subject)
    strange = {text: span for other in others for text, span in spans_of(backbone, other).items()}
    return (
        [span for text, span in own.items() if text not in strange],
        [span for text, span in strange.items() if text not in own],
    )


def _scores(
    source: CachedStates, vectors: Sequence[Tensor], members: Sequence[Span], others: Sequence[Span]
) -> list[Scored]:
    """Scores with each of the states."""
    likelihoods, found = Likelihoods(source.engine, [*members, *others]), list[Scored]()
    before = np.array(likelihoods.under(BASE))
    for vector in vectors:
        with bound(source.engine, vector):
            ratios = np.array(likelihoods.under(LANE)) - before
        found.append(Scored(ratios[: len(members)], ratios[len(members) :]))
    return found


def _result(sessions: Sequence[BenchmarkSession], scored: Sequence[tuple[Scored, Scored]]) -> dict[str, Any]:
    right = [one for one, _ in scored]
    members, others = (sum(map(len, each)) for each in zip(*((one.members, one.others) for one in right), strict=True))
    pooled = np.concatenate([one.others for one in right])
    passed = {
        rate: [float((one.members > threshold(pooled, rate)).mean()) for one in right] for rate in FALSE_POSITIVE_RATES
    }
    return {
        "members": members,
        "others": others,
        "auc": estimated([one.auc for one in right], sessions, members + others),
        "auc_shuffled": estimated([one.auc for _, one in scored], sessions, members + others),
        "true_positives_at": {f"{rate:g}": estimated(values, sessions, members) for rate, values in passed.items()},
        "by_session": {one.key.session_id: round(score.auc, 4) for one, score in zip(sessions, right, strict=True)},
    }
