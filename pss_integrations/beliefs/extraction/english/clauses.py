"""Pieces of English sentences: where a clause ends, what it names, and how it reads in the third person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pss_integrations.text import FUNCTION_WORDS, identifiers, normalise

_STARTS = (
    r"we|i|it|they|he|she|you|one|this|that|there|these|those|our|my|the|their|his|her|please|also|now|then|so|not|"
    r"never|always|let|would|could|cannot|can|should|will|is|are|has|have|had|was|were|do|does|did|need|just|am|how|"
    r"what|which|who|where|why|when|nothing|everything|someone|somebody|maybe|perhaps|get|got"
)
_ITEM = rf"(?!(?:{_STARTS}|an?|your|\w+ly)\b)[\w.+#'-]+"
_LIST_GOES_ON = rf"(?:{_ITEM} ){{0,2}}{_ITEM}(?:,? (?:and|or|&) |, )"
_CLAUSE_END = re.compile(
    rf"\s*(?:[;()\"]|:(?!\d))|\s+[-–—]+\s+|\s*—\s*|,\s+(?!{_LIST_GOES_ON})|,?\s+(?:because|so|but|while|whereas|"
    r"although|though|which|until|unless|if|however|as (?=(?:we|i|it|they|you)\b))\b|"
    r"(?:,\s*)?\s+since (?=(?:we|i|it|they|he|she|you|the|that|this|there|our|my)\b)|"
    rf",?\s+(?:and|or)\s+(?=(?:{_STARTS})\b)|"
    r",?\s+and\s+(?=(?:[\w-]+ ){1,2}(?:keeps?|is|are|has|was|were|does|can|will|gets?|wants?|says?)\b)",
    re.IGNORECASE,
)
_REASON = re.compile(r",?\s+because (?!of\b)(.+)", re.IGNORECASE)
_REASON_END = re.compile(r"\s*[;:()\"]|\s+[-–—]+\s+|,\s+(?:and|but|so|which|or|then|please)\b", re.IGNORECASE)
_PREPOSITION = re.compile(
    r"(?:^|\s+)(?!(?-i:[A-Z]{2}))(?:for|in|on|with|at|as|to|from|across|over|by|via|under|during|inside|within|"
    r"through|when|whenever|instead of|rather than|than|without|since|after|before|per|until|not|against|into|onto|"
    r"starting|between)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:^|\s+)(?:now|currently|any more|any longer|these days|at the moment|so far|ourselves|myself|as well|too|"
    r"instead|by the way|btw|otherwise|again|already|please|actually|anyway|then|of course|though|everywhere|for "
    r"(?:years|ages|now|good)|at all|(?:in |over |from )?(?:here|there)|yet|mostly|generally|over the (?:winter|"
    r"summer|weekend|holidays|years)|in the end|for (?:a|some) .{0,12}(?:while|time)|last (?:week|month|year|spring|"
    r"summer|autumn|fall|winter)|yesterday|(?:about |almost |over )?(?:an?|one|two|three|four|five|six|\d+) (?:day|"
    r"week|month|year)s? ago|(?:ages|long) ago|recently|tbh|lol|haha+|fwiw|imo|pls|thx|ever)$",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^(?:(?:an?|the|our|my|their|some|any|just|only|mostly|mainly|both|either|still|now|currently|all|always|really|"
    r"simply|exclusively|plain|of|using|to use)\s+)+",
    re.IGNORECASE,
)
_THIRD = {
    **dict.fromkeys(("our", "my"), "their"),
    **dict.fromkeys(("ours", "mine"), "theirs"),
    **dict.fromkeys(("us", "me"), "them"),
    **dict.fromkeys(("we", "i"), "they"),
    **dict.fromkeys(("myself", "ourselves"), "themselves"),
}
_THEY_BE = {"am": "they are", "was": "they were"}
_BE = re.compile(r"\bi (am|was)\b", re.IGNORECASE)
_PERSON = re.compile(rf"(?<![/-])\b(?:{'|'.join(_THIRD)})\b(?![-'/])", re.IGNORECASE)
_INSTEAD = re.compile(r",?\s+(?:instead of|rather than|in place of|and not|over) (?P<old>.+)$", re.IGNORECASE)
_MONTHS = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|"
    r"spring|summer|autumn|winter)"
)
_DATED = re.compile(
    r",?\s*\b(?:in|since|as of|from|until|on|around|last|this|next)(?: early| late| mid| the)*[ -]"
    rf"(?:{_MONTHS}(?: \d{{4}})?|(?:19|20)\d\d)\b|"
    r",?\s*\b(?:since|last|next) \w+day\b|,?\s*\b(?:\w+ ){1,2}ago\b|,?\s*\bsince (?:last )?(?:week|month|year)\b",
    re.IGNORECASE,
)
_NO_THING = re.compile(
    r"(?:it|they|he|she|this|that|them|these|those|one|ones|him|her|you|me|us|everything|something|anything|nothing|"
    r"some|what|which|how|whatever|so|there|to|the (?:same|two|three|first|second|third|latter|former|one|other|"
    r"following|below|above|wrong|right)|a different|another|most|several|both|all|none|either|neither|each|more|less|"
    r"a lot|lots|much|many|same|and|or|but|of|up|your|the next)\b",
    re.IGNORECASE,
)
_NAME_LIKE = re.compile(r"(?<![\w'])(?!I\b)[A-Z]|\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve)-\w")
_VERSION = re.compile(r"(?:^|(?<=\s))v?\d+(?:\.\d+)*[\w.-]*(?=\s|$)", re.IGNORECASE)
_WORD = re.compile(r"[^\W_][\w.+#'&/-]*")
_NAME_WORDS, _NAME_CHARS, _PHRASE_WORDS, _PHRASES = 6, 80, 5, 6


@dataclass(frozen=True, slots=True)
class Clause:
    """What follows a verb, up to where the clause ends.

    :param text: In the user's words, without what merely fills.
    :param why: The reason, if the sentence gives one after it.
    """

    text: str
    why: str | None = None

    @property
    def thing(self) -> str:
        """What it begins with, up to a preposition, without articles: ``Postgres`` of "Postgres for billing"."""
        return _LEADING.sub("", _split_at_preposition(undated(self.text))[0]).strip()

    @property
    def rest(self) -> str:
        """What follows the thing: ``for billing``."""
        return _split_at_preposition(undated(self.text))[1]


def clause(text: str) -> Clause:
    """Cut a text where the clause that it begins with ends: at a conjunction or punctuation, but not within a list."""
    end = _CLAUSE_END.search(text)
    reason = _REASON.match(text, end.start()) if end else None
    return Clause(
        without_filler(text[: end.start()] if end else text),
        _REASON_END.split(reason[1])[0].strip(" ,.") if reason else None,
    )


def without_old(said: Clause) -> tuple[Clause, tuple[str, ...]]:
    """Take "instead of X" out of a clause: the rest, and ``X``, if it is there and names something."""
    found = _INSTEAD.search(said.text)
    old = clause(found["old"]).thing if found else ""
    return (replace(said, text=said.text[: found.start()]), (old,)) if found and is_thing(old) else (said, ())


def without_filler(text: str) -> str:
    """Leave out adverbs at the end, such as "now"; and when something happened."""
    text = text.lstrip(" ,!?-").rstrip(" ,.!?-")
    while (shorter := _FILLER.sub("", text).rstrip(" ,")) != text:
        text = shorter
    return text


def is_thing(text: str) -> bool:
    """Whether a phrase names something: it begins with no pronoun, and holds a word of content."""
    return bool(text) and not _NO_THING.match(text) and bool(terms(text))


def is_name(text: str) -> bool:
    """Whether a phrase holds a proper name, an identifier or a number."""
    return bool(_NAME_LIKE.search(text) or identifiers(text))


def terms(text: str) -> tuple[str, ...]:
    """Return the noun phrases: what stands between function words and punctuation, at most six."""
    return tuple(dict.fromkeys(_phrases(text)))[:_PHRASES]


def _phrases(text: str) -> Iterator[str]:
    words: list[str] = []
    for piece in [*re.findall(r"\d[\d.,:]*\d|[^\s,;:()\"]+|[,;:()\"]", text), ","]:
        word = piece.strip(".!?'`")
        goes_on = bool(words) and words[-1].isupper()  # "CC BY"
        is_term = _WORD.match(word) and (
            normalise(word) not in FUNCTION_WORDS or word in ("IT", "US") or (goes_on and word.isupper())
        )
        if is_term and len(words) < _PHRASE_WORDS:
            words.append(word)
        elif words:
            yield " ".join(words)
            words = [word] if is_term else []


def without_version(name: str) -> str:
    """Leave out numbers, so that two versions of a thing have one name; unless there is nothing else."""
    return " ".join(_VERSION.sub("", name).split()) or name


def snake(*phrases: str) -> str:
    """Make a canonical name of phrases: ``redis_billing``; at most six words."""
    words = [word.strip(".'") for phrase in phrases for word in _WORD.findall(normalise(phrase))]
    kept = [word for word in words if word not in FUNCTION_WORDS] or words
    return "_".join(dict.fromkeys(kept[:_NAME_WORDS]))[:_NAME_CHARS]


def undated(text: str) -> str:
    """Leave out when something happened."""
    return " ".join(_DATED.sub("", text).split())


def third_person(text: str) -> str:
    """Speak of the speaker as of somebody else: ``my`` and ``our`` are ``their``."""
    agreed = _BE.sub(lambda found: _THEY_BE[found[1].lower()], text)
    return _PERSON.sub(lambda found: "US" if found[0] == "US" else _THIRD[found[0].lower()], agreed)


def conjugate(verb: str) -> str:
    """Return the third person singular of a verb, with its particle: ``run on`` is ``runs on``."""
    head, space, particle = verb.lower().partition(" ")
    irregular = {"have": "has", "am": "is", "are": "is", "be": "is", "cannot": "cannot"}
    if head in irregular:
        head = irregular[head]
    elif head.endswith(("ss", "x", "z", "ch", "sh", "o")):
        head = f"{head}es"
    elif not head.endswith("s"):
        head = f"{head[:-1]}ies" if re.search(r"[^aeiou]y$", head) else f"{head}s"
    return f"{head}{space}{particle}"


def sentence(*parts: str) -> str:
    """Put a sentence together, in the third person, with a capital and a full stop."""
    text = " ".join(third_person(" ".join(part for part in parts if part)).split())
    return f"{text[:1].upper()}{text[1:].rstrip(' ,.;:')}."


def _split_at_preposition(text: str) -> tuple[str, str]:
    found = _PREPOSITION.search(text, 1)
    return (text[: found.start()], text[found.start() :].strip()) if found else (text, "")
