"""What a history says is in force, and what that superseded. English; read in order, the latest word counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pss_integrations.text import content_words

# Within a sentence each value (an identifier or a name) is written as one private-use character, so that the
# rules below see cue words and values and nothing of what the values look like.
_FIRST, _LAST = 0xE000, 0xF8FF
_VALUE = f"[{chr(_FIRST)}-{chr(_LAST)}]"
_SEP = rf"[^\w{_VALUE[1:-1]}]+"
_STOP = "to|onto|with|by|for|instead|rather|from|is|are|was|were|has|have|but|not|replac\\w*|supersed\\w*"
_FEW = rf"(?:(?!(?:{_STOP})\b)[\w']+{_SEP}){{0,3}}?"
_LIST = rf"{_VALUE}(?:{_SEP}{_FEW}{_VALUE})*"
_OLD, _NEW = rf"(?P<old>{_LIST})", rf"(?P<new>{_LIST})"
_TO = rf"{_SEP}{_FEW}"
_BE = r"(?:is|are|was|were|(?:has|have) been|got)"
_DEAD = (
    r"(?:archived|deprecated|retired|obsolete|outdated|decommissioned|superseded|replaced|dropped|discontinued|"
    r"abandoned|gone|old|no longer|not (?:used|in use))"
)
_MOVE = r"(?:switch|mov|migrat|upgrad|updat|chang|went|go(?:ne|ing)?\b|roll|revert|bump|downgrad|promot|transition)"
_DROP = r"(?:drop|retir|archiv|deprecat|abandon|ditch|discard|decommission|remov|phas)\w*(?: out)?"
_USE = (
    r"(?:now|currently|current|active|latest|newest|new|uses?|using|runs?|running|adopt\w*|chose|choose|picked?|"
    r"settled on|decided on|go(?:ing)? with|deploy(?:ed|ing)?|set to|pin(?:ned)?)"
)
# The first rule that fits a stretch of text wins it.
_RULES = tuple(
    re.compile(rule, re.IGNORECASE)
    for rule in (
        rf"\b{_MOVE}\w*\b.{{0,60}}?\bfrom{_TO}{_OLD}{_TO}(?:to|onto|into){_TO}{_NEW}",
        rf"\b(?:replac|swap|exchang)\w*{_TO}{_OLD}{_TO}(?:with|by|for){_TO}{_NEW}",
        rf"{_OLD}{_TO}(?:{_BE} )?(?:now |being )?(?:replaced|superseded|succeeded) (?:by|with){_TO}{_NEW}",
        rf"{_NEW}{_SEP}(?:(?:has|have|now|just) )*(?:replac|supersed)\w+{_TO}{_OLD}",
        rf"{_NEW}{_TO}(?:instead of|rather than|in place of){_TO}{_OLD}",
        rf"\binstead of{_TO}{_OLD}{_TO}{_NEW}",
        rf"{_OLD}{_TO}{_BE} (?:(?:now|already|officially|being|been) )*{_DEAD}\b",
        rf"\b(?:no longer|stop(?:ped)?|do not|don't|not|never|{_DROP}|(?:got|get) rid of|away from){_TO}{_OLD}",
        rf"\b(?:old|older|previous|previously|former|formerly|prior|earlier|original|used to){_TO}{_OLD}",
        rf"\b(?:{_MOVE}\w*(?: back| over| up| on)* (?:to|onto)|back (?:to|on)){_TO}{_NEW}",
        rf"\b{_USE}{_TO}{_NEW}",
        rf"{_NEW}{_TO}(?:is|are) (?:(?:now|the|currently) )*(?:active|live|current|in use|in force|deployed)\b",
    )
)
_NOUNS = frozenset(
    "version checkpoint build release branch route config configuration setup setting model index dataset owner "
    "tag commit image environment cluster region port endpoint plan ticket order policy contract invoice snapshot "
    "deployment database library framework provider server host budget deadline date lead maintainer reviewer "
    "contact schema table queue job key id number code place venue hotel restaurant".split()
)
_BEFORE = re.compile(rf"([\w-]+)(\s*[:=]|\s+(?:is|was))?\s*(?:(?:now|currently|the|still|to|id|number)\s+)*$")
_AFTER = re.compile(r"\s*([\w-]+)")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_UNNAMED = "setting"


@dataclass
class _Group:
    """Values of one kind, of which at most one is in force."""

    kind: str
    current: str | None = None
    before: list[str] = field(default_factory=list)
