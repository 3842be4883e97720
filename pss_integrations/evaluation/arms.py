"""The arms of an evaluation: what each sends to the searcher. Adding one is adding a line to a table.

An arm sends one or more wordings, each a query and a text that expands it; the rankings of several are fused.
A clue or text that is blank, or a session without a state, leaves the query alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pss_integrations.evaluation.controls import STATES
from pss_integrations.evaluation.pss320 import UNSUPPORTED
from pss_integrations.evaluation.routed import ROUTED_ARMS
from pss_integrations.evaluation.texts import TEXTS
from pss_integrations.evaluation.tools import Tool, Tools
from pss_integrations.evaluation.turns import Arm, Sent, Turn
from pss_integrations.routing.rules import is_self_contained, is_usable_clue
from pss_integrations.routing.wording import Wording
from pss_integrations.text import identifiers, names
from pss_integrations.types import COMPOSITIONS

CARD_TOKENS = 32


def compose(composition: str, turn: Turn, added: str) -> Sent:
    """Put the query and what is added to it together: ``"replace"``, ``"append"`` or ``"rrf"``."""
    raw, alone = Wording(turn.query), Wording(added)
    if not added.strip():
        return (raw,)
    both = Wording(turn.query, added, turn.query_weight)
    return {"replace": (alone,), "append": (both,), "rrf": (raw, alone)}[composition]


def card(turn: Turn) -> str:
    """A plain card from the messages: the names and identifiers said last, newest last, as many as 32 tokens hold."""
    said = [name for message in turn.asked.history for name in (*names(message.text), *identifiers(message.text))]
    return " ".join(reversed(_fitting(list(dict.fromkeys(reversed(said))), turn)))


def target_card(turn: Turn) -> str:
    """A card with the information of the clue targets: the words that their clues name most often, in 32 tokens.

    What a state has to be better than, for it to be more than its targets (PSS, section V.1).
    """
    words = Counter(word for target in turn.subject.targets for word in target.clue.split())
    return " ".join(_fitting(sorted(words, key=lambda word: -words[word]), turn))


def _fitting(words: Sequence[str], turn: Turn) -> list[str]:
    """As many of the words as fit, in order; one that is too long is left out."""
    chosen = list[str]()
    for word in words:
        if turn.count_tokens(" ".join([*chosen, word])) <= CARD_TOKENS:
            chosen.append(word)
    return chosen


def _gold(turn: Turn) -> Sent:
    rewrite = turn.asked.probe.gold_rewrite
    return (Wording(turn.query if rewrite == UNSUPPORTED else rewrite),)


def _history(turn: Turn, roles: frozenset[str]) -> Sent:
    # Newest first: an encoder that cuts long texts keeps what was said last.
    newest = [one.text for one in reversed(turn.asked.history) if one.role in roles]
    return compose("append", turn, "\n".join(newest))


def _record_wise(turn: Turn) -> Sent:
    return tuple(map(Wording, turn.subject.records)) or (Wording(turn.query),)


def _guarded(turn: Turn) -> Sent:
    """The router's rule: a query that needs no session, or a clue that says nothing, leaves the query alone."""
    used = not is_self_contained(turn.query) and is_usable_clue(turn.clue, turn.query)
    return compose("append", turn, turn.clue if used else "")


_EVERYBODY = frozenset({"user", "assistant", "system", "tool"})

TEXT_ARMS: Mapping[str, Arm] = {
    arm.name: arm
    for arm in (
        Arm("raw", lambda turn: (Wording(turn.query),)),
        Arm("gold", _gold),
        *(
            Arm(
                f"{make.__name__}/{how}",
                lambda turn, make=make, how=how: compose(how, turn, make(turn)),
                taught=make is target_card,
            )
            for make in (card, target_card)
            for how in COMPOSITIONS
        ),
        Arm("full_history", lambda turn: _history(turn, _EVERYBODY)),
        Arm("user_history", lambda turn: _history(turn, frozenset({"user"}))),
        Arm("concatenation", lambda turn: compose("replace", turn, " ".join(turn.subject.records)), taught=True),
        Arm("record_rrf", _record_wise, taught=True),
    )
}
"""Arms without a state, by name."""

MADE_ARMS: Mapping[str, Arm] = {
    f"{name}/{how}": Arm(
        f"{name}/{how}",
        lambda turn, how=how: compose(how, turn, turn.text),
        state=source.state,
        text=name,
        taught=source.taught,
    )
    for name, source in TEXTS.items()
    for how in COMPOSITIONS
}
"""Arms that send a text made for the probe, by name: ``<text>/<composition>``."""

STATE_ARMS: Mapping[str, Arm] = {
    arm.name: arm
    for arm in (
        *(
            Arm(f"{state}/{how}", lambda turn, how=how: compose(how, turn, turn.clue), state)
            for state in STATES
            for how in COMPOSITIONS
        ),
        Arm("guarded/append", _guarded, "correct"),
    )
}
"""Arms that read a state, by name: ``<state>/<composition>``, and the two rules over text as a guard."""

ARMS: Mapping[str, Arm] = {**TEXT_ARMS, **MADE_ARMS, **STATE_ARMS, **ROUTED_ARMS}
"""Every arm by name."""


def missing_tool(arm: Arm, tools: Tools) -> Tool | None:
    """Return what the arm cannot do without and was not given; ``None`` if it can be run."""
    needed = TEXTS[arm.text].tool if arm.text else None
    return needed if needed and not tools.has(needed) else None
