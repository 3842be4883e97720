"""Since when something holds, where the words and the time at which they were said tell."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from pss_integrations.beliefs.extraction.dates import resolve_date
from pss_integrations.beliefs.extraction.english.claims import Claim
from pss_integrations.errors import InvalidInput

_SINCE = re.compile(r"\b(?:since|as of|starting|effective|from) (?P<date>(?:[\w-]+,? ){0,4}[\w-]+)", re.IGNORECASE)
_WHEN = re.compile(
    r"\b(?P<date>yesterday|last \w+|this \w+|in \w+(?: \d{4})?|on \w+(?: \d+\w*)?|(?:\w+|a couple of) \w+ ago)\b",
    re.IGNORECASE,
)


def beginning(claim: Claim, text: str, at: datetime | None) -> Claim:
    """Say since when a claim holds.

    "Since May" and the like count with every claim, "in May" only with what happens: a change, a decision or an end.

    :param text: The sentence that makes the claim.
    :param at: When it was said; without it, or without its zone, the claim stays as it is.
    """
    if at is None or at.tzinfo is None:
        return claim
    patterns = (_SINCE, _WHEN) if claim.kind in ("change", "decide", "end") else (_SINCE,)
    dates = (found["date"] for pattern in patterns for found in pattern.finditer(text))
    for date in dates:
        words = date.split()
        for size in range(len(words), 0, -1):
            if (begun := _begin(" ".join(words[:size]), at)) is not None:
                return replace(claim, since=begun)
    return claim


def _begin(phrase: str, at: datetime) -> datetime | None:
    try:
        return resolve_date(phrase, at)[0]
    except InvalidInput:
        return None
