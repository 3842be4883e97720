"""Rules for standing orders: always and never, from now on, and how the user wants to be answered."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_of, rule
from pss_integrations.beliefs.extraction.english.clauses import (
    Clause,
    clause,
    conjugate,
    sentence,
    snake,
    terms,
)
from pss_integrations.beliefs.extraction.english.grammar import PASSING, START, WE
from pss_integrations.text import FUNCTION_WORDS

_MARKER = (
    r"(?:from now on|from here on|going forward|from today on|in (?:the )?future|henceforth|as a (?:general )?rule|"
    r"every time|at all times|for all future \w+|in all (?:of )?(?:your|my|our) \w+)"
)
_STANDING = re.compile(rf"\b(?:{_MARKER}|always|generally|by default)\b", re.IGNORECASE)
_AT_FIRST = re.compile(r"^(?:please|always|only|just|then|,|\s)+", re.IGNORECASE)
_NO_ORDER = re.compile(
    r"(?:the|it|our|my|they|you|there|all|any|this|that|she|he|is|are|if|when|someone|your)\b", re.IGNORECASE
)
_SPEAKER = re.compile(r"(?P<who>we|i) (?P<verb>[a-z]+) ", re.IGNORECASE)
_NO_HABIT = re.compile(
    r"\w+ed|was|were|had|did|got|get|forget|run|said|have|end|seem|feel|thought|knew|saw|went|came|made|took|told|need|am|are|"
    r"find|lose|mix|confuse|struggle|be|know|wanted|wonder",
    re.IGNORECASE,
)
_ANSWER = (
    r"(?P<verb>answer|reply|respond|write|talk|speak|explain)(?: to me| me| back| only| always| everything| things)* "
    r"(?:only )?in "
)
_ANSWERED = re.compile(_ANSWER, re.IGNORECASE)
_ALSO_OF_TEXTS = frozenset({"write", "talk", "speak", "explain"})  # a single text may be meant by these
_LENGTH = r"(?:very |rather )?(?:short|brief|concise|terse|succinct|to the point|long|detailed|thorough|compact|crisp)"
_LANGUAGE = re.compile(r"(?:\w+ )?[A-Z][a-z]+$")


def _always(found: re.Match[str], after: str) -> Claim | None:
    """``Always X``, ``never X``."""
    said = clause(after)
    if not terms(said.text) or PASSING.search(found.string) or not re.match(r"[a-z]", said.text) or '""' in after:
        return None  # what was in quotation marks cannot be left out of an order
    return _order(found["when"].lower(), said)


def _own_habit(found: re.Match[str], after: str) -> Claim | None:
    """``I always X``, ``we never X``."""
    said = clause(after)
    verb, _, rest = said.text.partition(" ")
    if not terms(rest) or not re.fullmatch(r"[a-z]+", verb) or _NO_HABIT.fullmatch(verb):
        return None
    return replace(_order("", said), content=sentence(found["when"], conjugate(verb), rest))


def _from_now_on(_found: re.Match[str], after: str) -> Claim | None:
    """``From now on, V ...``; ``as a rule, I V ...``."""
    text = _AT_FIRST.sub("", after)
    if answer := _ANSWERED.match(text):
        return _answer(answer, text[answer.end() :])
    said = clause(text)
    if speaker := _SPEAKER.match(said.text):
        rest = said.text[speaker.end() :]
        if not terms(rest) or _NO_HABIT.fullmatch(speaker["verb"]):
            return None
        return replace(
            _order("", replace(said, text=f"{speaker['verb']} {rest}")),
            content=sentence(conjugate(speaker["verb"]), rest),
        )
    return None if not terms(said.text) or _NO_ORDER.match(said.text) else _order("", said)


def _marked_order(found: re.Match[str], after: str) -> Claim | None:
    """``Use metric units in all your answers``, ``number the steps from now on``."""
    said = clause(f"{found['verb']} {after}")
    if (
        found["verb"].lower() in FUNCTION_WORDS
        or not _STANDING.search(said.text)
        or PASSING.search(said.text)
        or _NO_ORDER.match(said.text)
    ):
        return None
    plain = re.sub(
        r",? \b(?:from (?:now|here|today) on|going forward|in (?:the )?future)\b", "", said.text, flags=re.IGNORECASE
    )
    return _order("", replace(said, text=plain.strip(" ,")))


def _answer(found: re.Match[str], after: str) -> Claim | None:
    """``Please answer in French``."""
    said = clause(after)
    if (
        not terms(said.text)
        or PASSING.search(found.string)
        or re.match(r"(?:this|that|the)\b", said.text, re.IGNORECASE)
    ):
        return None
    is_asked = re.search(r"\bplease\b", found.string, re.IGNORECASE) and found["verb"].lower() not in _ALSO_OF_TEXTS
    if not is_asked and not _STANDING.search(found.string):
        return None
    how = _STANDING.sub("", said.text).strip(" ,")
    content = sentence("wants answers in", how)
    if _LANGUAGE.fullmatch(how):
        aliases = ("answers", "answer", "language", *terms(how))
        return replace(claim_of("rule", said, content, name="answer_language", aliases=aliases), value=how)
    name, aliases = snake("answers", *terms(how)[:2]), ("answers", *terms(how))
    return replace(claim_of("rule", said, content, name=name, aliases=aliases), value=how)


def _length(found: re.Match[str], after: str) -> Claim | None:
    if PASSING.search(found.string) or re.match(r" (?:this|that)\b", after):
        return None
    aliases = (found["what"], found["how"], "answer length")
    said = Clause(found["how"], clause(after).why)
    return claim_of("rule", said, sentence("wants", found["what"], found["how"]), name="answer_length", aliases=aliases)


def _order(when: str, said: Clause) -> Claim:
    verb, _, rest = said.text.partition(" ")
    words = terms(rest) or terms(said.text)
    claim = claim_of("rule", said, sentence(when, said.text), name=snake(verb, *words[:2]), aliases=words)
    return replace(claim, value=said.text)


STANDING: tuple[Rule, ...] = (
    rule(
        _always,
        START,
        r"(?P<when>always|never|never ever|do not ever|do not(?=.*\b(?:ever|again|from now on|in future)\b)) ",
        r"(?!mind\b|again\b|been\b|had\b|heard\b|seen\b|knew\b|thought\b)",
    ),
    rule(_own_habit, WE, r"(?:have to |try to |must |will |should )?(?P<when>always|never) "),
    rule(
        _from_now_on,
        START,
        r"(?:from now on|from here on|from today on|going forward|in (?:the )?future(?! \w+,)|"
        r"in (?:all )?future \w+|henceforth|as a (?:general )?rule|by default|in all (?:(?:future|your|my|"
        r"our) )+\w+)\b,? ",
    ),
    rule(_answer, START, r"(?:please |always |only |just |could you |you can )*", _ANSWER),
    rule(
        _length,
        START,
        r"(?:please )*(?:keep|make) (?:all )?(?:(?:your|the|my) )?(?P<what>answers|replies|responses|explanations|"
        r"summaries)",
        rf"(?: as)? (?P<how>{_LENGTH})\b",
    ),
    rule(_marked_order, START, rf"(?P<verb>[a-z]+) (?=.*(?:\b{_MARKER}\b|, always$))"),
)
