"""The product's router as an arm: what it would send, given the clue that was read beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pss_integrations.errors import StateNotFound
from pss_integrations.evaluation.turns import Arm, Sent, Turn
from pss_integrations.routing import Certificate, Router, SessionCards
from pss_integrations.routing.wording import Wording
from pss_integrations.types import ROUTES, Clue, Hit, Message, Role, Route, SessionKey
from pss_integrations.vocabulary import Vocabulary

ALWAYS = Certificate(weights={}, threshold=0.0)
"""Lets every candidate through: what a route does where nobody guards it."""
ENGINE = "evaluation"
"""One run has one engine."""
EVERYBODY: frozenset[Role] = frozenset({"user", "system", "assistant"})
"""Whose messages may steer a search in an evaluation: assistants are the data's own."""
_KEY = SessionKey(user_id=None, session_id="subject")


@dataclass
class ReadBefore:
    """A reader that has read one clue already.

    :param clue: The clue; ``None`` for a session without a state.
    :param compiled: Messages that its state knows.
    """

    clue: Clue | None
    compiled: int

    def has_state(self, key: SessionKey) -> bool:
        """Whether there is a clue."""
        return self.clue is not None

    def read(self, key: SessionKey, query: str) -> Clue:
        """Return the clue."""
        if self.clue is None:
            raise StateNotFound("the session was not compiled")
        return self.clue

    async def aread(self, key: SessionKey, query: str) -> Clue:
        """Return the clue."""
        return self.read(key, query)

    def messages_behind(self, key: SessionKey, messages: Sequence[Message]) -> int:
        """Messages that came after those compiled."""
        return max(0, len(messages) - self.compiled)

    def engine_of(self, key: SessionKey) -> str:
        """Return the same for every session."""
        return ENGINE


def cards(vocabulary: Vocabulary | None, count_tokens: Callable[[str], int]) -> SessionCards:
    """Return what makes the cards of an evaluation."""
    return SessionCards(vocabulary, count_tokens, trusted_roles=EVERYBODY)


def routed(turn: Turn, routes: Sequence[Route], certificate: Certificate | None = None) -> Sent:
    """Return what the router searches for on the route that it takes.

    :param routes: What it may try.
    :param certificate: What its guard decides by; that of the turn by default.
    """
    sent = dict[Route, Wording]()

    def search(wording: Wording, route: Route) -> Sequence[Hit]:
        sent[route] = wording
        return turn.find(wording)

    router = Router[Hit](
        ReadBefore(turn.written, len(turn.subject.messages)) if "pss" in routes else None,
        hit=lambda hit: hit,
        rescore=lambda hit, score: replace(hit, score=score),
        routes=routes,
        kind=turn.kind,
        vocabulary=turn.vocabulary,
        cards=cards(turn.vocabulary, turn.count_tokens),
        certificate=certificate or turn.certificate,
        index_id=turn.index_id,
    )
    return (sent[router.route(turn.query, _KEY, search, messages=turn.asked.history).route],)


ROUTED_ARMS: Mapping[str, Arm] = {
    arm.name: arm
    for arm in (
        Arm("card", lambda turn: routed(turn, ("raw", "card"), ALWAYS)),
        Arm("card_without_vocabulary", lambda turn: routed(replace(turn, vocabulary=None), ("raw", "card"), ALWAYS)),
        Arm("clue", lambda turn: routed(turn, ("raw", "pss"), ALWAYS), "correct"),
        Arm("clue_without_vocabulary", lambda turn: routed(turn, ("raw", "pss"), ALWAYS), "history_targets"),
        Arm("guarded_without_pss", lambda turn: routed(turn, ("raw", "card"))),
        Arm("guarded", lambda turn: routed(turn, ROUTES), "correct"),
        Arm("guarded_matched_wrong", lambda turn: routed(turn, ROUTES), "matched_wrong"),
        Arm("guarded_shuffled", lambda turn: routed(turn, ROUTES), "shuffled"),
        Arm("oracle_route", lambda turn: (), best_of=("raw", "card", "clue")),
    )
}
"""Arms of the router, with its own card and weights: single routes, the guarded choice, and the best choice."""
