"""What speakers say of themselves that lasts: habits, qualities, and what they did once and for good."""

from __future__ import annotations

import re

from pss_integrations.beliefs.extraction.english.clauses import is_name
from pss_integrations.beliefs.extraction.english.lexicon import CHANGES, FLEETING, MENTAL
from pss_integrations.beliefs.extraction.english.parsing import Statement
from pss_integrations.beliefs.extraction.english.signs import (
    ABLE,
    AMOUNT,
    BODY,
    DATED,
    DEADLINE,
    FEELING,
    HABITUAL,
    NUMBER,
    OURS,
    PHASES,
    PROJECTS,
    PURSUITS,
    QUALITY,
    SINCE,
    SKILLS,
    STATE,
    WHERE,
    is_at_hand,
    is_definite,
    is_event,
    is_timed,
)


def is_lasting_of_speaker(one: Statement, after: str) -> bool:
    """``We bake with a Wachtel``: what the present tense tells of doing is a habit."""
    rest, when = one.rest, f"{one.lead} {one.rest}"
    match one.tense:
        case "future":
            return one.verb in CHANGES if one.negated else one.verb in CHANGES | {"be"} and bool(DATED.search(when))
        case "progressive":
            is_lasting = one.verb in PROJECTS | PURSUITS and not is_at_hand(rest)
            return is_lasting and (one.verb in PURSUITS or is_name(rest) or DATED.search(when) is not None)
        case "modal":
            return is_unable(one) or (one.negated and one.verb in ABLE and not is_definite(rest))
        case "perfect":
            if one.verb == "have" and "never" in one.words:
                return not is_event(rest)
            if one.verb in MENTAL or one.verb in ("try", "wait", "look"):
                return one.verb == "have" and bool(SINCE.search(f"{when} {after}")) and not is_event(rest)
            is_change = _is_change(one) and not one.negated
            is_habit = one.said.endswith("ing") and one.verb not in FLEETING and is_name(rest)
            return SINCE.search(f"{when} {after}") is not None or is_change or is_habit or "never" in one.words
        case "past":
            return _is_change(one) and not one.is_passive and not one.negated
        case _:
            return holds_now(one)


def is_unable(one: Statement) -> bool:
    """``I can't swim``."""
    return one.who == "speaker" and not one.rest and "cannot" in one.words and one.verb in SKILLS


def _is_change(one: Statement) -> bool:
    """Whether somebody did what one does once: not "I bought some paint"."""
    is_some = re.match(r"(?:some|more|a few|a couple|enough|\d+|another)\b", one.rest) or is_event(one.rest)
    is_left = one.verb != "leave" or is_name(one.rest) or BODY.search(one.rest) is not None
    is_done = one.verb in CHANGES or re.match(r"give up |turn down ", f"{one.verb} {one.rest}") is not None
    if one.verb in ("drop", "close", "open", "start", "stop", "move") and re.match(r"an? ", one.rest):
        return False
    if one.verb in ("buy", "sell", "get") and not re.match(r"(?:an?|the|our|my) |(?-i:[A-Z])", one.rest, re.IGNORECASE):
        return False
    is_one = is_at_hand(one.rest) and one.verb not in ("sell", "join", "quit", "leave")
    return is_done and is_left and not (is_some or is_one or (one.verb == "become" and STATE.match(one.rest)))


def holds_now(one: Statement) -> bool:
    """What the present tense tells: a habit, a quality, or what one has."""
    rest = one.rest
    if one.has_ended:
        return one.verb not in MENTAL - {"have"} and not STATE.match(rest)
    if one.is_passive:
        return one.negated or is_name(rest) or not HABITUAL.isdisjoint(one.words)
    if one.verb == "be":
        return _is_quality(one)
    if one.verb == "have":
        if one.first == "to":
            return DEADLINE.search(rest) is not None and OURS.search(rest) is not None
        if re.search(r"\w+ing$", rest):
            return False
        return not (is_event(rest) or FEELING.match(rest))
    if (
        one.verb in MENTAL
        or one.verb.endswith("ed")
        or (one.verb in PHASES and one.first.endswith("ing"))
        or AMOUNT.match(rest)
    ):
        return False
    if one.negated:
        return not is_at_hand(rest)
    if one.verb == "live":
        return is_name(rest)
    if one.verb in FLEETING:
        is_own = one.verb in ("take", "get", "send", "leave", "do") and re.match(
            r"(?:my|our) |the .+ (?:with|in|from|by|via|through) (?!the|this|that)", rest, re.IGNORECASE
        )
        is_usual = not HABITUAL.isdisjoint(one.words) or re.search(r"\b(?:now|nowadays|these days)\b", one.lead)
        return bool(is_own) or (bool(is_usual or is_timed(rest) or is_name(rest)) and not is_definite(rest))
    is_step = one.said != one.verb and one.subject.lower() in ("i", "we")
    return not is_step and not (is_at_hand(rest) and HABITUAL.isdisjoint(one.words))


def _is_quality(one: Statement) -> bool:
    """``I'm left-handed``, ``we're a bakery in Leeds``, ``we're closed on Mondays``."""
    rest = one.rest
    if STATE.match(rest):
        return False
    if QUALITY.match(rest):
        return len(rest.split()) < 12
    if re.match(rf"(?:an?|the|one of the|{NUMBER}(?= (?:of us|people|adults)\b)) ", rest, re.IGNORECASE):
        return not is_event(rest) and not re.match(r"(?:an?|the) (?:one|only one)\b", rest)
    return WHERE.match(rest) is not None and is_name(rest)
