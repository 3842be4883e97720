"""English words by which a text says that one value supersedes another, and of what kind a value is.

Each term of a text (an identifier or a name) is read as one private-use character, so that the rules see cue
words and values, and nothing of what the values look like.
"""

from __future__ import annotations

import re

from pss_integrations.text import content_words

FIRST, LAST = 0xE000, 0xF8FF
"""Code points that stand for terms: the private-use area, which is neither letter nor space to ``re``."""

TERM = f"[{chr(FIRST)}-{chr(LAST)}]"
SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")

SCOPE_KINDS = frozenset(
    "version checkpoint build release branch route config configuration setup setting model index dataset tag "
    "commit image environment cluster region port endpoint plan policy snapshot deployment database library "
    "framework provider server host schema table queue job key".split()
)
"""Nouns whose values make up what is in force, whether or not anything was superseded yet."""

_KINDS = SCOPE_KINDS | frozenset(
    "owner lead maintainer reviewer contact author budget deadline date ticket order contract invoice code".split()
)
_SEP = rf"[^\w{TERM[1:-1]}]+"


def _few(stop: str) -> str:
    return rf"(?:(?!(?:{stop})\b)[\w']+{_SEP}){{0,3}}?"


# Up to three words may stand between a cue and its values, and between values that form one list.
_TURN = r"to|onto|with|by|for|instead|rather|from|but|not|replac\w*|supersed\w*"
_SWITCH = r"is|are|was|were|has|have|now|then|archived|active|current|previous|former|old|new|latest"
_TO = _SEP + _few(_TURN)
_LIST = rf"{TERM}(?:{_SEP}{_few(f'{_TURN}|{_SWITCH}')}{TERM}(?! (?:is|was|has)\b)){{0,11}}"
_OLD, _NEW = rf"(?P<old>{_LIST})", rf"(?P<new>{_LIST})"
_MOVE = (
    r"(?:switch\w*|mov(?:e|es|ed|ing)|migrat\w+|upgrad\w+|updat\w+|chang\w+|went|go|goes|going|gone|roll(?:s|ed|ing)?|"
    r"revert\w*|bump\w*|downgrad\w+|promot\w+|transition\w*)"
)
_BE = r"(?:is|are|was|were|(?:has|have) been|got)"
_DEAD = (
    r"(?:archived|deprecated|retired|obsolete|outdated|decommissioned|superseded|replaced|dropped|discontinued|"
    r"abandoned|gone|old|no longer|not (?:used|in use))"
)
_DROP = (
    r"(?:drop(?:s|ped|ping)?|(?:retir|archiv|deprecat)(?:e|es|ed|ing)|(?:abandon|ditch|discard|decommission)"
    r"(?:ed|ing)?|(?:got|get|getting) rid of|away from|no longer|"
    r"(?:do not|don't|never|not|stop(?:ped)?|quit) (?:use|using|run|running|on))"
)
_PAST = r"(?:old|older|previous|previously|former|formerly|prior|earlier|original|used to)"
_NOW = rf"(?:now|currently)(?: (?:we|on|at|in|is|use|using|run|running|the|our))*(?: (?:{'|'.join(sorted(_KINDS))}))?"
_USE = (
    r"(?:current|active|latest|newest|new|uses?|using|runs?|running|adopt\w*|chose|choose|picked?|settled on|"
    r"decided on|going with|go with|deploy(?:ed|ing)?|set to|pin(?:ned)?)"
)

RULES = tuple(
    re.compile(rule, re.IGNORECASE)
    for rule in (
        rf"\b{_MOVE}\b.{{0,60}}?\bfrom{_TO}{_OLD}{_TO}(?:to|onto|into){_TO}{_NEW}",
        rf"\b(?:replac|swap|exchang)\w*{_TO}{_OLD}{_TO}(?:with|by|for){_TO}{_NEW}",
        rf"{_OLD}{_TO}(?:replaced|superseded|succeeded) (?:by|with){_TO}{_NEW}",
        rf"{_NEW}{_SEP}(?:(?:has|have|now|just) )*(?:replac|supersed)\w+{_TO}{_OLD}",
        rf"{_NEW}{_TO}(?:instead of|rather than|in place of){_TO}{_OLD}",
        rf"\binstead of{_TO}{_OLD}{_TO}{_NEW}",
        rf"{_OLD}{_TO}{_BE} (?:(?:now|already|officially|being|been) )*{_DEAD}\b",
        rf"\b(?:used|ran|had){_TO}{_OLD}{_SEP}(?:before|earlier|previously|until|up to)\b",
        rf"\b(?:{_DROP}|{_PAST}){_TO}{_OLD}",
        rf"\b{_USE}{_TO}(?P<instead>{_LIST}){_SEP}instead\b",
        rf"\b(?:{_MOVE}(?: back| over| up| on)* (?:to|onto)|back (?:to|on)){_TO}{_NEW}",
        rf"\b(?:{_NOW} |{_USE}{_TO}){_NEW}",
        rf"{_NEW}{_TO}(?:is|are) (?:(?:now|the|currently) )*(?:active|live|current|in use|in force|deployed)\b",
    )
)
"""Rules with groups ``old`` and ``new``, or ``instead``: of what ended last. The first to match a stretch wins."""

_NO_KIND = re.compile(rf"{_DEAD}|{_PAST}|{_USE}|project|component|service|module|product|app|topic", re.IGNORECASE)
_BEFORE = re.compile(r"([\w-]+)(\s*[:=]|\s+(?:is|was))?\s*(?:(?:now|currently|the|still|to|from|id|number)\s+)*$")
_BEFORE_CHARS = 60
_AFTER = re.compile(r"\s*([\w-]+)")
_HYPHENATED = re.compile(r"(?<![\w-])[^\W\d_]\w*(?:-\w+)+")


def kind_beside(sentence: str, at: int) -> str | None:
    """Return the noun that says what kind of value the term at ``at`` is: before it, or right after it."""
    if kind := _kind_before(sentence, at):
        return kind
    after = _AFTER.match(sentence, at + 1)
    return _known_kind(after[1]) if after else None


def hyphenated_values(text: str) -> list[str]:
    """Return hyphenated words that follow their kind: ``configuration amber-north``, ``route: blue-2``."""
    return [found[0] for found in _HYPHENATED.finditer(text) if _kind_before(text, found.start()) in _KINDS]


def _kind_before(sentence: str, at: int) -> str | None:
    """Return a known kind before ``at``, or any noun that "is", "was", ``:`` or ``=`` joins to the value."""
    before = _BEFORE.search(sentence[max(0, at - _BEFORE_CHARS) : at])
    if before is None:
        return None
    word = before[1].casefold()
    is_noun = before[2] is not None and content_words(word) and not _NO_KIND.fullmatch(word)
    return _known_kind(word) or (word if is_noun else None)


def _known_kind(word: str) -> str | None:
    folded = word.casefold()
    return next((kind for kind in (folded, folded.removesuffix("s")) if kind in _KINDS), None)
