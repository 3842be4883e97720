"""English words by which a text says that one value supersedes another, and of what kind a value is.

Each term of a text (an identifier or a name) is read as one private-use character, so that the rules see cue
words and values, and nothing of what the values look like.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import dropwhile

from pss_integrations.text import FUNCTION_WORDS, content_words, names

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

_UNIT = (
    r"%|°\s?[CF]?|[€$£]|percent|degrees|euros?|dollars?|pounds?|EUR|USD|GBP|CHF|[mµuk]?[lLgm]|cm|lit(?:re|er)s?|"
    r"kilos?|[mµun]?M|rpm|bar|[mµk]?[WV]|[KMGT]i?B|ms|s|min|h|(?:second|minute|hour|night|day|week|month|year)s?|"
    r"people|persons|guests|seats|rooms|replicas|workers"
)
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:tember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)"
)
_QUANTITY = re.compile(
    rf"(?<![\w.,:-])(?:[€$£] ?\d[\d.,]*\d|[€$£] ?\d|\d+(?:[.,]\d+)* ?(?:{_UNIT})(?!\w)|\d{{1,2}}:\d{{2}}(?![\w:])"
    rf"|\d{{1,2}}\.? {_MONTH}\b|{_MONTH} \d{{1,2}}\b(?![.:]\d))"
)

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
    r"(?:switch\w*|mov(?:e|es|ed|ing)|migrat\w+|upgrad\w+|updat\w+|chang\w+|went|go|going|gone|roll(?:s|ed|ing)?|"
    r"revert\w*|bump\w*|downgrad\w+|promot\w+|transition\w*|rais(?:e|es|ed|ing)|lower(?:s|ed|ing)|increas(?:e|es|ed|ing)|"
    r"reduc(?:e|es|ed|ing)|decreas\w+|extend(?:s|ed|ing)|shorten\w*|adjust\w*|postpon\w+|rose|grew|fell)"
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
_IT = r"(?:it|them|that|this|those|these|him|her|that one|this one|the old one)"
_THE = r"(?:the|our|my|this|that|his|her|their) (?:[\w-]+ )?"
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
        rf"{_NEW}{_SEP}(?:(?:has|have|just) )*(?:takes?|took|taken) over\b{_TO}from{_TO}{_OLD}",
        rf"\b(?:replac|swap|exchang)\w* (?:{_IT}|{_THE}(?P<thing>[\w-]+)) (?:with|by|for){_TO}(?P<heir>{_LIST})",
        rf"\b(?:it|that|(?:the|our|my) (?:[\w-]+ )?(?P<thing>[\w-]+)) {_BE} (?:(?:now|just|since|being|been) )*"
        rf"(?:replaced|superseded|succeeded) (?:by|with){_TO}(?P<heir>{_LIST})",
        rf"\b{_USE}{_TO}(?P<instead>{_LIST}){_SEP}instead\b",
        rf"\b(?:{_MOVE}(?: back| over| up| on)* (?:to|onto)|back (?:to|on)){_TO}{_NEW}",
        rf"\b(?:{_NOW} |{_USE}{_TO}){_NEW}",
        rf"{_NEW}{_TO}(?:is|are) (?:(?:now|the|currently) )*(?:active|live|current|in use|in force|deployed)\b",
    )
)
"""Rules with groups ``old`` and ``new``; or ``instead``: of what ended last; or ``heir``: of what "it" or a noun,
``thing``, stands for. The first to match a stretch wins."""

_NO_MEASURE = re.compile(
    rf"{_MOVE}|set|rais\w+|lower\w*|reduc\w+|increas\w+|went|yesterday|today|new|old", re.IGNORECASE
)
_NO_KIND = re.compile(rf"{_DEAD}|{_PAST}|{_USE}|project|component|service|module|product|app|topic", re.IGNORECASE)
_BEFORE = re.compile(
    r"([\w-]+)(?: (?:of|for|in|on) (?:(?:the|our|my) [\w-]+|" + TERM + r"))?(\s*[:=]|\s+(?:is|was))?\s*"
    r"(?:(?:now|currently|the|still|to|from|id|number|an?|our|my)\s+)*$"
)
_MEASURED = re.compile(
    rf"((?:[\w'-]+ ){{1,6}}?)(?:(?:is|was|are|were|of|at|to|from|went|goes|set|back|up|down|now|currently|about|"
    rf"reads?|by|{_MOVE}) )*(?:(?<=is )|(?<=was )|(?<=of )|(?<=to )|(?<=from )|(?<=now ))$|([\w'-]+)\s*[:=]\s*$",
    re.IGNORECASE,
)
_NOUN_BEFORE = re.compile(
    r"\b(?:the|our|my|an?|as|his|her|their) (?:[\w-]+ )?([\w-]+) (?:from |to |was |is )?$", re.IGNORECASE
)
_NOUN_AFTER = re.compile(r",? (?:as )?(?:the|our|my) (?:[\w-]+ )?([\w-]+)(?=\s*[,.;!)]|\s*$)", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;()]|\b(?:and|but|that|we|i)\b", re.IGNORECASE)
ASIDE = re.compile(r"\b(?:in|at|on|near|during|since|because|after|while|still)\b", re.IGNORECASE)
"""Words after which a side of a change is over, and circumstances follow."""

_IT_RUNS = re.compile(
    rf"\A\W*(?:(?:it|that|this) (?:runs?|uses?|ran|is running))()(?: the| an?)? ?({TERM})", re.IGNORECASE
)
_RUNNING = re.compile(
    rf"({TERM})(?:,? (?:(?:and|which) )?(?:running|runs|ran|with|on|using|under)(?: the| an?| our)?|"
    rf",? (?:and|where) (?:I|i|we) (?:flashed|installed|put|run)(?: the)?| \()"
    rf" ?({TERM})"
)
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


# -- values and the names that go with them


_NUMBER = r"v?\d+(?:\.\d+)*(?:-?(?:alpha|beta|rc)\.?\d*)?"
_LABEL = r"(?: (?:version|firmware|release|series))?"
_NAMED = r"(?<![\w.-])[^\W\d_][\w+#.-]*"
_VERSIONED = re.compile(rf"({_NAMED})({_LABEL}) (v?\d+(?:\.\d+)+(?:-?(?:alpha|beta|rc)\.?\d*)?)(?![\w%]|[.:]\d)")
_NO_OWNER = re.compile(
    r"(?:releas|deploy|install|pinn|tagg|shipp|call|nam|need|requir|test|support|publish|reach|want)(?:ed|ing|e?s)|"
    r"tried|trying|firmware|v"
)
_ENDS_IN_VERSION = re.compile(r"\w v?\d+(?:\.\d+)+[\w.-]*$")
_RANGE = re.compile(
    rf"({_NAMED})({_LABEL})( from)? ({_NUMBER})"
    rf"( to |\s*(?:->|→|=>)\s*|(?: (?:was|is|has been|got))? replaced (?:by|with) )({_NUMBER})(?![\w%]|[.:]\d|-\w)"
)


def spelled_out(text: str) -> str:
    """Repeat the name that two versions share: ``Nginx 1.24 to Nginx 1.26``, ``from Nginx 1.24 to Nginx 1.26``."""

    def repeat(found: re.Match[str]) -> str:
        name, label, start, old, between, new = found.groups(default="")
        if not _may_own_version(name) or _QUANTITY.match(text, found.start(6)):
            return found[0]
        owner = _whole_name(text, found.start(1), found.end(1)) + label
        head = f"from {owner} {old}" if start else f"{name}{label} {old}"
        between = between if "replaced" in between else " to "
        return f"{head}{between}{owner} {new}"

    return _RANGE.sub(repeat, text)


def named_values(text: str) -> list[str]:
    """Return versions with the name before them (``OpenSSL 3.2``), then quantities, clock times and dates."""
    versions = [
        f"{_whole_name(text, found.start(1), found.end(1))}{found[2]} {found[3]}"
        for found in _VERSIONED.finditer(text)
        if _may_own_version(found[1]) and not (found[3][0] == "v" and _kind_before(text, found.start()) in _KINDS)
    ]
    return [*versions, *quantities(text)]


def quantities(text: str) -> list[str]:
    """Return numbers with a unit, clock times and days: ``42%``, ``18 °C``, ``€ 900``, ``9:40``, ``12 May``."""
    return [found[0] for found in _QUANTITY.finditer(text)]


def is_quantity(term: str) -> bool:
    """Whether the term is a quantity, which says nothing without the name of what is measured."""
    return _QUANTITY.fullmatch(term) is not None


def is_versioned(term: str) -> bool:
    """Whether the term is a name with its version."""
    return _ENDS_IN_VERSION.search(term) is not None


def without_runs(sentence: str, may_run: Callable[[str, str], bool]) -> tuple[str, list[tuple[str, str]]]:
    """Take out what a term runs or comes with ("X running Y", "It runs Y"): the rest, and pairs of X or "" and Y."""
    pairs: list[tuple[str, str]] = []

    def take(found: re.Match[str]) -> str:
        base, run = found.groups()
        if not may_run(base or "", run):
            return found[0]
        pairs.append((base or "", run))
        return base or " "

    return _RUNNING.sub(take, _IT_RUNS.sub(take, sentence)), pairs


def measured_beside(sentence: str, at: int) -> str | None:
    """Return the words before a quantity that say what is measured: ``tomato threshold``."""
    before = _MEASURED.search(_CLAUSE.split(sentence[max(0, at - _BEFORE_CHARS) : at])[-1].lstrip())
    if before is None:
        return None
    words = [word for word in content_words(before[1] or before[2]) if not _NO_MEASURE.fullmatch(word)]
    return " ".join(words[-3:]) or None


def noun_beside(sentence: str, start: int, end: int) -> str | None:
    """Return the noun that introduces or explains a stretch of terms: ``our cache A``, ``A, our cache``."""
    before = _NOUN_BEFORE.search(sentence[max(0, start - _BEFORE_CHARS) : start])
    found = before or _NOUN_AFTER.match(sentence, end)
    if found is None or _NO_KIND.fullmatch(found[1]) or not content_words(found[1]):
        return None
    return found[1].casefold()


def _whole_name(text: str, start: int, end: int) -> str:
    """Return the longest name that ends here, else the one word."""
    line = text[text.rfind("\n", 0, start) + 1 : end]
    name = max((name for name in names(line) if line.endswith(name)), key=len, default=text[start:end])
    words = name.split()
    return (
        " ".join(dropwhile(lambda word: not _may_own_version(word), words[:-1])) + f" {words[-1]}"
        if words[1:]
        else name
    )


def _may_own_version(word: str) -> bool:
    folded = word.casefold()
    is_cue = _NO_KIND.fullmatch(folded) or re.fullmatch(_MOVE, folded) or _known_kind(folded)
    return not (is_cue or folded in FUNCTION_WORDS or _NO_OWNER.fullmatch(folded))
