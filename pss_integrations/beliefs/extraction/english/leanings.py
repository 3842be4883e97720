"""Rules for likes and dislikes that are not said with "I like": "goat cheese is my favourite", "jargon puts me off"."""

from __future__ import annotations

import re

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_with, rule
from pss_integrations.beliefs.extraction.english.clauses import Clause, clause, is_thing, sentence, terms
from pss_integrations.beliefs.extraction.english.grammar import NOUNS, OPENING, PASSING

_HERE = re.compile(
    r"(?:the|this|that|these|those|it|your|yours|option|number|version|his|her|their|my|our|both|either|one|everything|"
    r"\w+days?)\b",
    re.IGNORECASE,
)
_BEST = (
    r"(?:absolute |all-time |personal )?(?:favou?rites?|first choice|guilty pleasure|comfort food|weakness|"
    r"preference|passion|"
    r"thing|cup of tea|go-to|pet hate|pet peeve)"
)
_HATED = (
    r"(?:cannot stand|hate|dislike|detest|loathe|cannot bear|do not like|am not (?:a fan of|fond of|keen on)|do not "
    r"eat|"
    r"never eat|avoid)"
)
_LIKED = r"(?:love|adore|like|prefer|like best|prefer most|enjoy most|like most)"


def _taste(what: str, content: str, whole: str) -> Claim | None:
    what = what.strip()
    if not is_thing(what) or _HERE.match(what) or PASSING.search(whole):
        return None
    return claim_with("taste", Clause(what), content, *terms(what))


def _is_best(found: re.Match[str], _after: str) -> Claim | None:
    """``Goat cheese is my favourite``, ``jazz isn't my cup of tea``."""
    content = sentence(found["what"], found["be"], "their", found["best"])
    return _taste(found["what"], content, found.string)


def _is_what(found: re.Match[str], _after: str) -> Claim | None:
    """``Dark mode is what I prefer``, ``marzipan is the one thing I don't eat``."""
    verb = found["verb"].lower()
    spoken = _third(verb)
    return _taste(found["what"], sentence(spoken, found["what"]), found.string)


def _what_is(found: re.Match[str], after: str) -> Claim | None:
    """``What I like best is a plain table``, ``nothing annoys me more than jargon``."""
    said = clause(after).text
    return _taste(said, sentence(_third((found["verb"] or "cannot stand").lower()), said), found.string)


def _it(found: re.Match[str], _after: str) -> Claim | None:
    """``Liquorice? I can't stand it.``, ``leave out the smileys, I don't like them``."""
    what = re.sub(r"^(?:the|any|all) ", "", found["what"].strip(), flags=re.IGNORECASE)
    return _taste(what, sentence(_third(found["verb"].lower()), what), found.string)


def _third(verb: str) -> str:
    """``do not like`` is ``does not like``, ``love`` is ``loves``, ``am not fond of`` is ``is not fond of``."""
    verb = re.sub(r" (?:best|most)$", "", verb)
    verb = re.sub(r"^do\b", "does", re.sub(r"^am\b", "is", verb))
    return verb if verb.startswith(("does", "is", "cannot", "never")) else f"{verb}s"


LEANINGS: tuple[Rule, ...] = (
    rule(
        _is_best,
        OPENING,
        rf"(?P<what>{NOUNS}) (?P<be>(?:is|are)(?: not)?) (?:really |definitely |just |always )*(?:my|our) "
        rf"(?P<best>{_BEST})"
        r"(?= |,|\.|$)(?! (?:so far|of the (?:two|three|lot)|version|one|option)\b)",
    ),
    rule(
        _is_what,
        OPENING,
        rf"(?P<what>{NOUNS}) (?:is|are) (?:what|the (?:one|only) thing|something) (?:i|we) (?:really |always |most )*"
        rf"(?P<verb>{_LIKED}|{_HATED})(?=$|,)",
    ),
    rule(
        _what_is, rf"\bwhat (?:i|we) (?:really |always |most )*(?P<verb>{_LIKED}|{_HATED})(?: most| best)? (?:is|are) "
    ),
    rule(
        _what_is, r"\b(?:nothing|few things) (?:annoys?|irritates?|bothers?) me (?:more|as much) (?:than|as) (?P<verb>)"
    ),
    rule(
        _it,
        rf"^(?:oh |ah |hm |well,? )?(?P<what>(?!no\b|yes\b|ok\b){NOUNS})[?,:] (?:no, )?(?:i|we) (?:really |just "
        rf")*(?P<verb>{_HATED}|{_LIKED}) (?:it|them)\b",
    ),
    rule(
        _it,
        rf"\b(?:without|no|leave out|skip|drop|leave off|spare me)(?: the| any)? (?P<what>{NOUNS}),? (?:please,? "
        rf")?(?:because |as |"
        rf"since )?(?:i|we) (?:really |just )*(?P<verb>{_HATED}) (?:it|them|those)\b",
    ),
)
