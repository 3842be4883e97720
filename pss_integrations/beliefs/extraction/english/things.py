"""What speakers say of their things and people that lasts."""

from __future__ import annotations

import re

from pss_integrations.beliefs.extraction.english.clauses import is_name, terms
from pss_integrations.beliefs.extraction.english.grammar import GROUP, is_lasting, is_own, is_person
from pss_integrations.beliefs.extraction.english.habits import holds_now
from pss_integrations.beliefs.extraction.english.lexicon import BINDING, CHANGES, FAULTS, FLEETING, LINKS, MENTAL, NORMS
from pss_integrations.beliefs.extraction.english.parsing import Statement
from pss_integrations.beliefs.extraction.english.signs import (
    AMOUNT,
    AT_HAND,
    BODY,
    DATED,
    DECIDING,
    HABITUAL,
    IS_ON,
    NUMBER,
    OCCASION,
    OURS,
    PASSING_PLACE,
    PRACTICES,
    PROJECTS,
    QUALITY,
    ROLE,
    SINCE,
    STATE,
    WHERE,
    WITH,
    head_of,
    is_appointed,
    is_event,
    is_timed,
)


def is_lasting_of_family(one: Statement, after: str) -> bool:
    """``Mum has given up driving, so we need a train``: what the family is like matters where it is said to."""
    matters = re.match(r"[\s,]*so\b", after, re.IGNORECASE) is not None
    is_change = one.tense in ("perfect", "past") and (one.verb in CHANGES or one.rest.startswith("up "))
    is_change |= one.tense == "present" and one.verb in ("like", "love", "hate", "dislike")
    is_limit = one.negated and one.tense in ("present", "modal", "future") and one.verb not in MENTAL - {"like"}
    is_aged = one.verb in ("be", "turn") and re.match(NUMBER, one.rest, re.IGNORECASE) is not None
    is_from = one.verb in ("come", "live", "speak") and one.tense == "present" and is_name(one.rest)
    is_such = one.verb == "be" and (QUALITY.match(one.rest) or IS_ON.match(one.rest)) is not None
    return (is_change and matters) or is_limit or is_aged or is_such or is_from


def is_lasting_of_thing(one: Statement) -> bool:
    """``Our malt is supplied by Weyermann``, ``the trailer belongs to the scouts``."""
    subject = re.sub(r"^(?:the|our|my|both) |'s name$", "", one.subject, flags=re.IGNORECASE)
    if one.who in ("own", "definite") and one.verb in DECIDING and BODY.search(subject):
        return one.tense in ("past", "perfect") and not one.negated
    if is_person(subject):
        is_named = one.verb in ("be", "call", "name") and is_name(one.rest) and not WHERE.match(one.rest)
        is_named |= one.negated and one.verb in NORMS
        return one.who == "own" and (is_named or (one.verb == "be" and bool(QUALITY.match(one.rest))))
    if not (is_lasting(subject) or is_appointed(one)) or not terms(subject):
        return False
    is_ours = one.who == "own" or is_own(subject) or OURS.search(one.rest) is not None
    if OCCASION.search(head_of(subject)) or AT_HAND.search(subject) or not is_ours or subject[:1].isdigit():
        return False
    if one.who == "named" and one.verb not in ("be", "have") and not one.is_passive:
        is_role = ROLE.match(f"{one.verb} {one.rest}") is not None
        return one.tense == "present" and (is_role or (one.verb not in MENTAL and bool(OURS.search(one.rest))))
    return _of_thing_in_time(one)


def _of_thing_in_time(one: Statement) -> bool:
    rest = one.rest
    match one.tense:
        case "future":
            is_plan = is_name(rest) or (one.verb in CHANGES and _is_group(one.subject))
            return (one.verb == "be" and not STATE.match(rest)) or one.is_passive or is_plan
        case "modal":
            is_rule = "must" in one.words and (one.who != "bare" or not HABITUAL.isdisjoint(one.words) or one.negated)
            return is_rule or (one.negated and "cannot" in one.words and one.who == "own")
        case "past":
            return one.verb in CHANGES and (
                (one.who == "own" and is_name(rest)) or (one.is_passive and one.who in ("own", "definite"))
            )
        case "perfect":
            is_change = one.verb in CHANGES and (one.who == "own" or one.is_passive)
            return SINCE.search(f"{one.lead} {rest}") is not None or is_change
        case "progressive":
            return one.verb in PROJECTS and one.who == "own" and (is_name(rest) or DATED.search(rest) is not None)
        case _:
            return _of_thing_now(one)


def _of_thing_now(one: Statement) -> bool:
    rest = one.rest
    is_usual = not HABITUAL.isdisjoint((*one.words, *rest.lower().split()))
    if one.has_ended:
        return one.verb in ("be", "have", "exist", "take") or one.is_passive or one.verb in PRACTICES
    is_many = one.who == "own" and re.match(rf"{NUMBER} ", rest, re.IGNORECASE) is not None
    is_firm = is_many or is_name(rest) or is_timed(rest) or is_usual or re.search(r"\bour\b", rest) is not None
    if one.is_passive:
        return (
            is_firm
            or one.verb in NORMS | LINKS
            or (one.who == "own" and WHERE.match(rest) is not None)
            or WITH.match(rest) is not None
        )
    if one.verb == "be":
        return _is_value(one, is_firm=is_firm)
    if one.verb == "have":
        is_counted = re.match(rf"(?:no|{NUMBER}) ", rest, re.IGNORECASE) is not None
        if one.who == "named":
            return re.match(r"(?:the|our|my|her|his) ", rest) is not None
        return one.who == "own" and not is_event(rest) and not STATE.match(rest) and (is_firm or is_counted)
    if one.verb in (MENTAL | FAULTS) - {"need"} or AMOUNT.match(rest):
        return False
    if one.who in ("own", "definite") and _is_group(one.subject) and (one.who == "own" or is_firm):
        return holds_now(one)
    if re.match(r"not\b", rest):
        return False
    if one.negated and one.who == "own":
        return one.verb not in FLEETING
    if one.verb in BINDING:
        return one.who in ("own", "definite") or is_firm or re.match(r"\w+ (?:the|our|my) ", rest) is not None
    if one.verb == "need":
        return one.who in ("own", "definite") and re.match(r"(?:the|our) ", rest) is not None
    is_part = one.subject.lower().startswith("our ") and (one.verb in PRACTICES or WHERE.match(rest) is not None)
    if is_part and one.verb not in FLEETING - {"go", "come"}:
        return not STATE.match(rest)
    is_placed = is_usual or WHERE.match(rest) is not None or is_timed(rest)
    return is_firm and (one.who == "own" or is_placed)


def _is_group(subject: str) -> bool:
    """Whether a subject is the speaker with others: our clinic."""
    return re.fullmatch(rf"(?:our|my|the) {GROUP}", subject, re.IGNORECASE) is not None


def _is_value(one: Statement, *, is_firm: bool) -> bool:
    """Whether what a thing "is" tells what it is, and not how it fares."""
    rest = one.rest
    if is_appointed(one):
        return True
    if STATE.match(rest) or re.match(r"\w+ing\b|at \d+\b(?!:| ?[ap]m)|\d[\d.]* ?(?:g|l|kg|ml)\b", rest):
        return False
    if one.who == "named":
        return (
            bool(QUALITY.match(rest)) or re.match(r"(?:the|our|my|an?) .*\b(?:our|my)\b|(?:our|my) ", rest) is not None
        )
    if is_firm or QUALITY.match(rest):
        return True
    is_noun = re.match(rf"(?:an?|the|one|no|{NUMBER}) \w", rest)
    return one.who == "own" and bool(is_noun or WHERE.match(rest)) and not PASSING_PLACE.match(rest)
