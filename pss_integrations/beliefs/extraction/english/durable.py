"""Which clauses say something of the speaker that will still hold in later conversations."""

from __future__ import annotations

import re

from pss_integrations.beliefs.extraction.english.clauses import is_name, terms
from pss_integrations.beliefs.extraction.english.grammar import FAILURE, PASSING
from pss_integrations.beliefs.extraction.english.habits import is_lasting_of_speaker, is_unable
from pss_integrations.beliefs.extraction.english.lexicon import CHANGES, MENTAL
from pss_integrations.beliefs.extraction.english.parsing import Statement
from pss_integrations.beliefs.extraction.english.signs import (
    AT_HAND,
    DATED,
    DEADLINE,
    DEICTIC,
    EACH_TIME,
    EVENT,
    FAMILY,
    HEDGED,
    IS_ON,
    IS_SETTLED,
    NUMBER,
    OURS,
    PRACTICES,
    PURSUITS,
    SETTLED,
    STATE,
    is_appointed,
    is_event,
)
from pss_integrations.beliefs.extraction.english.things import is_lasting_of_family, is_lasting_of_thing


def is_durable(one: Statement, before: str = "", after: str = "") -> bool:
    """Whether a clause tells what is so with the speaker, and will be so tomorrow.

    :param before: What was said before it in the sentence.
    :param after: What is said after it.
    """
    whole = f"{one.lead} {one.subject} {' '.join(one.words)} {one.said} {one.rest}"
    is_whole = one.is_passive and (one.verb in CHANGES or one.who == "nobody")
    is_whole |= one.tense == "progressive" and one.verb in PURSUITS and DATED.search(one.lead) is not None
    is_whole |= one.has_ended and (one.is_passive or one.verb in PRACTICES | {"exist", "work", "smoke"})
    is_whole |= one.who == "speaker" and one.tense == "perfect" and "never" in one.words and one.verb not in MENTAL
    is_told = is_whole or is_unable(one) or terms(one.rest) or re.search(r"\d", one.rest)
    is_deictic = DEICTIC.match(one.rest) and not IS_ON.match(one.rest)
    if not is_told or is_deictic or FAILURE.search(whole) or EACH_TIME.search(one.lead):
        return False
    if one.who == "speaker" and "would" in one.words:
        return False
    if HEDGED.search(f"{one.subject} {' '.join(one.words)} {one.said} {one.rest}"):
        return False
    if PASSING.search(whole) and not (is_appointed(one) or one.tense == "future" or DEADLINE.search(one.rest)):
        return False
    match one.who:
        case "speaker":
            is_settled = bool(SETTLED.search(f"{before} {one.lead}") or IS_SETTLED.match(after))
            if one.tense == "past" and FAILURE.search(after):
                return False
            return is_lasting_of_speaker(one, after[:8]) or (is_settled and one.tense in ("progressive", "future"))
        case "all" | "nobody":
            return _of_all(one) or (one.who == "all" and is_lasting_of_thing(one))
        case "there":
            return _there(one)
        case "other":
            return False
        case _:
            return is_lasting_of_family(one, after) if FAMILY.fullmatch(one.subject) else is_lasting_of_thing(one)


def _of_all(one: Statement) -> bool:
    """``Every sample gets a barcode``, ``nobody in this house eats coriander``."""
    if one.tense not in ("present", "modal"):
        return False
    if one.verb == "have" and one.first == "to":
        return True
    is_ours = (
        OURS.search(f"{one.subject} {one.rest}")
        or _is_practice(one)
        or (is_name(one.rest) and re.search(r"\bnow\b", one.rest))
    )
    return bool(is_ours) and not STATE.match(one.rest)


def _is_practice(one: Statement) -> bool:
    """``Every sample gets a barcode``: what is done to all, which is no law of nature."""
    return one.verb in ("get", "go", "come") and not (AT_HAND.search(one.subject) or EVENT.search(one.subject))


def _there(one: Statement) -> bool:
    """``There's no glyphosate on this farm``, ``there are 27 pupils``."""
    is_counted = re.match(rf"{NUMBER} (?!of\b|more\b)\w+", one.rest, re.IGNORECASE) is not None
    is_ours = is_counted or OURS.search(one.rest) is not None
    is_single = re.match(r"an? ", one.rest, re.IGNORECASE) is not None
    return one.verb == "be" and one.tense == "present" and is_ours and not (is_single or is_event(one.rest))
