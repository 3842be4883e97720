"""Puts in what chatty sentences leave out: "can't stand coriander" is "I can't stand coriander"."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.lexicon import CHANGES, is_past, lemma
from pss_integrations.beliefs.extraction.english.prose import Sentence

_LEAD = (
    r"^(?P<lead>(?:(?:ok|okay|yeah|yes|yep|no|nah|nope|ugh|well|also|and|but|so|oh|sorry|tbh|honestly|personally|"
    r"thanks|hm+|right|fyi|btw)\b[,:.!]? )*)"
)
_ACTS = (
    r"(?:really |just |absolutely |much |always |finally |still |recently )*(?:cannot (?:stand|bear|abide|decide|"
    r"settle on|agree)|hate|loathe|detest|love|prefer(?! not\b)|have not (?:yet )?(?:decided|chosen|picked|settled|"
    r"made up|figured out|worked out)|need to decide|do not know yet|(?:switched|moved|migrated) (?:over )?(?:from|to|"
    r"the|my|our|everything)\b|stopped using|gave up|been using|have not used|been on|used to use|went (?:with|for)|"
    r"ended up (?:with|going|choosing)|settled on|decided (?:on|to|against))\b"
)
_STATES = (
    r"(?:really |just |so |very |still |also |always |generally |a )*(?:not (?:really |so |too |very |much |that |a "
    r")*)?(?:(?:keen on|fond of|into|big on|allergic to|partial to)\b|(?:big |huge )?fan of\b|(?:going(?: ahead)?|"
    r"sticking) with\b|torn between\b|on the fence\b|sure yet\b|(?:wondering|thinking|debating) (?:about |over "
    r")?(?:whether|if)\b)"
)
_FORMS = (
    (re.compile(rf"{_LEAD}(?={_ACTS} )", re.IGNORECASE), "i "),
    (re.compile(rf"{_LEAD}(?=(?:swapped|replaced|ditched|dropped) [^,;:]+ (?:for|with) )", re.IGNORECASE), "we "),
    (re.compile(rf"{_LEAD}(?=no longer (?:on|with|using|at) )", re.IGNORECASE), "we are "),
    (
        re.compile(
            rf"{_LEAD}(?=(?:running|using|on) (?-i:[A-Z])[\w.]+.*\b(?:here|btw|by the way|fyi|on the \w+)$)",
            re.IGNORECASE,
        ),
        "we are ",
    ),
    (re.compile(rf"{_LEAD}(?={_STATES} )", re.IGNORECASE), "i am "),
)


_PAST = re.compile(
    rf"{_LEAD}(?P<verb>[a-z]+) (?!on\b|in\b|at\b|by\b|for\b|until\b|since\b|with\b|and\b|or\b|it\b|that\b)[\w'-]",
    re.IGNORECASE,
)


def with_subject(spoken: Sentence) -> Sentence:
    """Put "I" before a predicate that has no subject; orders, which have none either, stay as they are."""
    if spoken.asks:
        return spoken
    if (found := _PAST.match(spoken.text)) and lemma(found["verb"]) in CHANGES and is_past(found["verb"]):
        return replace(spoken, text=f"{found['lead']}i {spoken.text[found.end('lead') :]}")
    for form, subject in _FORMS:
        if found := form.match(spoken.text):
            return replace(spoken, text=f"{found['lead']}{subject}{spoken.text[found.end() :]}")
    return spoken
