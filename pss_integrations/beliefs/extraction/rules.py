"""Beliefs by rules for English, without a model: what a user says of himself, in forms that leave no doubt."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pss_integrations.beliefs.extraction.english.conversation import Conversation
from pss_integrations.beliefs.extraction.observation import Observation
from pss_integrations.beliefs.scopes import check_scopes
from pss_integrations.errors import InvalidInput
from pss_integrations.types import Message, Role

_READABLE = ("user", "assistant", "tool")


class RuleExtractor:
    """Takes beliefs from what users say in English; offline and deterministic, and silent where it is in doubt.

    It reads what is used, chosen, replaced and given up, likes and dislikes, standing rules, house rules, who the user
    is, what belongs to him and who looks after it, open questions and their answers, corrections, and suggestions that
    the user takes up. What a chatty sentence leaves out is put in: "can't stand coriander". Questions, hypotheticals,
    other people, the past, quotations, code and logs give nothing. Later statements take the place of earlier ones.

    :param roles: Whose messages are read. What assistants and tools say about the user ("you use Redis") is inferred.
    :raises InvalidInput: If a role cannot be read.
    """

    def __init__(self, *, roles: Collection[Role] = ("user",)) -> None:
        if unknown := sorted(set(roles).difference(_READABLE)):
            raise InvalidInput(f"messages of role {unknown[0]!r} are not read: use some of {', '.join(_READABLE)}")
        self._roles = frozenset(roles)

    def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
        """Return what holds at the end of a conversation; see :class:`Extractor`."""
        conversation = Conversation(self._roles)
        for message in messages:
            conversation.hear(message)
        return conversation.observation(check_scopes(scopes))
