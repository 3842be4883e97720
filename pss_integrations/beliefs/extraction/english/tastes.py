"""Rules for likes and dislikes."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, about, claim_of, rule
from pss_integrations.beliefs.extraction.english.clauses import clause, conjugate, is_thing, sentence, snake, terms
from pss_integrations.beliefs.extraction.english.grammar import ADVERBS, NOT, WE

_LIKE = (
    r"prefer|like|love|enjoy|adore|favou?r|hate|dislike|loathe|detest|despise|cannot stand|cannot bear|cannot abide|"
    r"(?:am|are) (?:not )?(?:really )?an? (?:big |huge |great )?fan of|(?:am|are) (?:not )?(?:very |so |really )?fond "
    r"of|am partial to|want|care for"
)
_NO_TASTE = re.compile(
    r"""
      the\ [a-z]+$ | \w+days$ | (?:morning|evening|weekend)s$ | your | you | where | why | how\ you | it\ when\ you
    | to\ (?: ask|bother|say|know|see|hear|have|be|do|get|go|help|thank|add|check ) \b
    | .*\b(?: than|over|to )\ (?: this|that|these|those ) \b
    | .*\bof\ (?: the\ (?:two|three) | these|those|them|both ) $
    | .*\bth(?: is|at|ese|ose|e )\ (?:\w+\ )?
      (?: idea|version|draft|one|option|plan|sound|look|approach|suggestion|answer|result|tone|title|proposal|part|bit
        | new|rest|bug|error|wording|colou?r|design|layout ) \b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What is liked in a conversation, and not in general: "your idea", "the second version", "this rather than that"."""
_OVER = re.compile(r",? \b(?:over|than|to|instead of|rather than|not) (?P<less>.+)$", re.IGNORECASE)
_ACT = re.compile(r"^(?:not )?to (?:be )?", re.IGNORECASE)
_LIGHT = re.compile(r"(?:have|use|see|get|keep|write|go with|take|be|do|read|work with) ", re.IGNORECASE)


def _taste(found: re.Match[str], after: str) -> Claim | None:
    said = clause(after)
    verb = found["verb"].lower()
    is_act = said.text.startswith("to ")
    if not is_thing(said.text[3:] if is_act else said.text) or _NO_TASTE.match(said.text):
        return None
    if verb == "want" and (is_act or not found["neg"]):  # "I want a table" is a request
        return None
    return _preference(f"does not {verb}" if found["neg"] else conjugate(verb), said.text, said.why)


def _would_prefer(found: re.Match[str], after: str) -> Claim | None:
    """A comparison; "I'd prefer a shorter title" is but a request."""
    said = clause(after)
    is_general = found["neg"] or _OVER.search(said.text)
    if not is_general or not terms(said.text) or _NO_TASTE.match(said.text):
        return None
    if found["verb"].lower() == "prefer":
        return _preference("prefers", said.text, said.why)
    liked = _preference("", _LIGHT.sub("", said.text, count=1), said.why)
    return replace(liked, content=sentence("would rather", "not" if found["neg"] else "", said.text))


def _preference(verb: str, text: str, why: str | None) -> Claim:
    """A preference for what a text names; what is liked less is none of its names."""
    named = _ACT.sub("", text)
    less = _OVER.search(named)
    liked = clause(named[: less.start()] if less else named)
    name, aliases = about(liked.thing or liked.text, liked.rest)
    aliases = tuple(dict.fromkeys((*aliases, *terms(liked.text))))
    return replace(
        claim_of("taste", liked, sentence(verb, text), name=name or snake(text), aliases=aliases),
        value=liked.text,
        why=why,
    )


def _favourite(found: re.Match[str], after: str) -> Claim | None:
    said = clause(after)
    what = f"{found['kind']} {found['what']}"
    if not terms(found["what"]) or not terms(said.text):
        return None
    aliases = (found["what"], what, *terms(said.text)[:3])
    content = sentence(what, found["be"], said.text)
    return replace(claim_of("taste", said, content, name=snake(what), aliases=aliases), value=said.text)


TASTES: tuple[Rule, ...] = (
    rule(_taste, WE, r"(?!would )", ADVERBS, NOT, rf"(?P<verb>{_LIKE}) "),
    rule(
        _would_prefer, r"\b(?:i|we) would ", ADVERBS, r"(?P<verb>prefer|(?:much |far )?rather) (?P<neg>not )?(?:to )?"
    ),
    rule(
        _favourite,
        r"\b(?:my|our) (?P<kind>favou?rite|preferred|go-to) (?P<what>[\w-]+(?: [\w-]+){0,3}?) ",
        r"(?P<be>is|are) (?!not\b)",
    ),
)
