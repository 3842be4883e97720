"""Words by which a user takes back what was just said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim
from pss_integrations.beliefs.extraction.english.clauses import clause, conjugate, is_name, terms, third_person
from pss_integrations.beliefs.names import name_key

_CUE = re.compile(
    r"\b(?:actually|correction|i meant|i mean|my mistake|my bad|typo|oops|scratch that|make (?:that|it)|sorry|wait|"
    r"no(?=,)|miscounted|"
    r"strike that|i misspoke|i was wrong|got that wrong|mixed (?:that|it) up|wrong|apologies|correct myself|"
    r"(?:swapped|mixed up) the (?:digits|numbers|names|days|dates)|mistyped|misremembered|should (?:be|have been|read)|"
    r"(?:is|was) (?:wrong|not right|incorrect))\b",
    re.IGNORECASE,
)
_CHANGED_MIND = re.compile(
    r"\b(?:scratch that|on second thoughts?|changed (?:my|our) minds?|correction|actually|no wait|instead|make that|"
    r"after all|strike that|forget (?:that|what i said)|i take that back|oops|sorry|i misspoke)\b",
    re.IGNORECASE,
)
_ADDS = re.compile(r"\b(?:also|too|as well|in addition|besides)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the) ", re.IGNORECASE)
_NUMBER_WORD = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SPEAKS = re.compile(r"(?:we|i|it|they|he|she|you)\b", re.IGNORECASE)
_LEAD = (
    r"(?:(?:(?:it|that|this) (?:is|was|should be|should have been|should read)|i meant(?: to say)?|i mean|"
    r"make (?:that|it)|should (?:be|read)|correction|wrong|that was wrong|apologies|or rather|sorry|actually|no|oops|"
    r"wait|typo|(?:the|his|her|its) (?:right |"
    r"correct )?[\w ]{1,24}? (?:is|was)|they are|we are on|we use|my mistake|my bad|hang on|i misspoke)[:,]? )"
)
_NEW, _OLD = r"(?P<new>[^,;:]{1,40}?)", r"(?P<old>[^,;:.]{1,40}?|[^,;: ]*\.[^,;: ]+)"
_NOT_OLD = re.compile(
    rf"{_LEAD}*{_NEW},? (?:and |rather than |instead of )?(?:not|rather than|instead of) (?:the |on |in "
    rf")?{_OLD}(?=[,;:]|$)",
    re.IGNORECASE,
)
_OLD_NEW = re.compile(rf"\bnot (?:the |on |in )?{_OLD},? (?:but|it is|that is) {_NEW}(?=[,;:]|$)", re.IGNORECASE)
_NOT_FIRST = re.compile(rf"not (?:the |on |in )?{_OLD}, {_NEW}$", re.IGNORECASE)
_ONLY_NEW = re.compile(rf"{_LEAD}+{_NEW}(?=[,;:]|$)", re.IGNORECASE)
_AGAIN = re.compile(
    r"^(?:[^,;:]{2,40}[,:] )+(?:so |and |but )?(?:it|they|he|she|we|i) (?P<verb>[a-z]+) (?P<tail>[^,;:]{2,40})",
    re.IGNORECASE,
)
_MOVED = re.compile(
    r"^(?:it|that|this|they) (?:(?:has|have|was|were|been|just|now) )*(?:moved|changed|switched|went|rose|fell|"
    r"dropped|is|are)(?: up| down| over| now)? (?:to |now )(?P<new>[^,;:]{1,40})",
    re.IGNORECASE,
)


def corrected(text: str, claims: Sequence[Claim], latest: Claim | None) -> tuple[Claim, Claim] | None:
    """Find what a sentence corrects.

    :param claims: What was claimed so far; "v2, not v1" corrects the last that says "v1".
    :param latest: What was claimed just before, which "Correction: v2" is about.
    :return: The claim as it was and as it should be, or ``None``.
    """
    for found in filter(None, (_NOT_OLD.search(text), _OLD_NEW.search(text), _NOT_FIRST.match(text))):
        old, new = found["old"].strip(), _without_lead(found["new"])
        for claim in reversed(claims):
            if _says(claim, old) and name_key(new) not in ("", name_key(old)):
                return claim, claim.exchanged(old, new)
    if latest is None:
        return None
    if _CUE.search(text) and (again := _said_again(text, latest)):
        return latest, again
    found = [*_ONLY_NEW.finditer(text)] if _CUE.search(text) else [*_MOVED.finditer(text)]
    values = (_ARTICLE.sub("", clause(_without_lead(one["new"])).text) for one in found)
    new = next((value for value in values if _is_alike(latest.value, value)), None)
    if new is None:
        return None
    number = _NUMBER.search(latest.value) if _NUMBER.fullmatch(new) else None
    return latest, latest.exchanged(number[0] if number else latest.value, new)


def _said_again(text: str, latest: Claim) -> Claim | None:
    """What was said just before, with another end: "sorry, it opens at ten" after "our shop opens at nine"."""
    found = _AGAIN.match(text)
    before = found and re.search(
        rf"\b{re.escape(conjugate(found['verb']))} (?P<tail>.+)\.$", latest.content, re.IGNORECASE
    )
    if not found or not before:
        return None
    tail = clause(found["tail"]).text
    if name_key(tail) == name_key(before["tail"]) or not terms(tail) or re.match(r"not\b", tail):
        return None
    new = latest.exchanged(before["tail"], third_person(tail))
    return replace(
        new, value=clause(re.sub(r"^(?:on|at|in|from) ", "", tail)).thing, aliases=(*new.aliases, *terms(tail))
    )


def takes_back(text: str) -> bool:
    """Whether a sentence says that the speaker has another mind now than before."""
    return _CHANGED_MIND.search(text) is not None and not _ADDS.search(text)


def _without_lead(new: str) -> str:
    return re.sub(rf"^{_LEAD}+", "", new.strip(), flags=re.IGNORECASE).strip()


def _says(claim: Claim, words: str) -> bool:
    return bool(name_key(words)) and f" {name_key(words)} " in f" {name_key(claim.content)} "


def _is_alike(old: str, new: str) -> bool:
    """Whether two values are of one sort: names, both with a number or both without."""
    if _SPEAKS.match(new) or re.search(r"\b(?:is|are)\b", new):
        return False
    are_numbers = [_NUMBER_WORD.search(value) is not None for value in (old, new)]
    return all(are_numbers) or (is_name(old) and is_name(new) and not any(are_numbers))
