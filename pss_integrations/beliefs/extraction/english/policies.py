"""Rules for what is allowed, required and done in the user's house: "dogs aren't allowed", "we only take cash"."""

from __future__ import annotations

import re

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_with, rule
from pss_integrations.beliefs.extraction.english.clauses import clause, conjugate, is_name, is_thing, sentence, terms
from pss_integrations.beliefs.extraction.english.facts import fares
from pss_integrations.beliefs.extraction.english.grammar import (
    FAILURE,
    NOUNS,
    OPENING,
    PASSING,
    is_own,
)

_PEOPLE = (
    r"(?:new |all )?(?:members|guests|visitors|volunteers|apprentices|interns|contributors|walk-ins|newcomers|"
    r"exhibitors|tenants|residents|parents|staff|reviewers|authors|beginners|children under \w+)"
)
_PERMITTED = (
    r"allowed|permitted|forbidden|banned|mandatory|compulsory|obligatory|prohibited|off limits|strictly [^,;:]{2,30}"
)
_KINDS = re.compile(
    r"\b(?:line|cell|country|child|animal|row|number|human|person|people|adults|word|day|time|city|man|woman|regex|"
    r"cookies|login|password|nulls?|arguments?|values?|error)s?\b",
    re.IGNORECASE,
)
_OFTEN = re.compile(r"(?:at|from|on|in|every|each|until|till|daily|weekly|monthly|on the)\b.*|weekdays", re.IGNORECASE)
_AGAIN = re.compile(
    r"\b(?:\w+days|weekends|every|each|daily|weekly|monthly|once an? \w+|twice an? \w+)\b", re.IGNORECASE
)
_TRADES = (
    r"accept|take|eat|drink|sell|buy|ship|deliver|serve|bake|wear|print|offer|speak|charge|stock|support|cook|book|"
    r"fly|grow|roast|rent|hire|publish"
)
_NO_LACK = (
    r"(?!(?:\w+ )?(?:idea|time|clue|plans?|doubt|choice|problems?|issues?|way|need|reason|intention|luck|wish|answer|"
    r"question|results?|errors?|news|access|more|other|longer|one|luck|preference|objections?|chance|sense|rush|"
    r"option|money|right|business|data|entries|records|matches|milk|eggs|power|water|signal|room)\b)"
)


def _rule_of(subject: str, verb: str, after: str) -> Claim | None:
    said = clause(after)
    if PASSING.search(f"{verb} {after}") or FAILURE.search(after) or fares(said.text):
        return None
    words = (*terms(subject), *terms(said.text))
    return claim_with("use", said, sentence(subject, verb, said.text), *words) if words else None


def _permitted(found: re.Match[str], after: str) -> Claim | None:
    """``Dogs aren't allowed in the tea room``."""
    subject = found["what"].strip()
    is_ours = is_own(subject) and terms(subject) and not is_name(subject[1:]) and not _KINDS.search(subject)
    return _rule_of(subject, found["verb"], after) if is_ours else None


def _always_so(found: re.Match[str], after: str) -> Claim | None:
    """``Tests must never touch the network``, ``prices should always be in euros``."""
    subject = found["what"].strip()
    is_ours = is_own(subject) and terms(subject) and not _KINDS.search(subject) and not re.match(r"an? ", subject)
    return _rule_of(subject, found["verb"], after) if is_ours else None


def _people_must(found: re.Match[str], after: str) -> Claim | None:
    """``Members have to book a week ahead``."""
    return _rule_of(found["what"], found["verb"], after) if terms(clause(after).text) else None


def _every(found: re.Match[str], after: str) -> Claim | None:
    """``Every sample gets a barcode``."""
    said = clause(after)
    if (
        not is_own(found["what"])
        or _KINDS.search(found["what"])
        or not terms(said.text)
        or re.search(r"\b(?:fix|test|work|look)\w*$", said.text)
    ):
        return None
    return _rule_of(found["what"], found["verb"], after)


def _only(found: re.Match[str], after: str) -> Claim | None:
    """``We only take cash``, ``I only drink decaf``."""
    said = clause(after)
    verb = found["verb"].lower()
    if not is_thing(said.text) or re.match(r"(?:one|two|a|an|the|\d+|when|if|for|what)\b", said.text, re.IGNORECASE):
        return None
    if PASSING.search(found.string) or FAILURE.search(after):
        return None
    return claim_with("use", said, sentence("only", conjugate(verb), said.text), *terms(said.text), verb)


def _none(found: re.Match[str], after: str) -> Claim | None:
    """``We have no telemetry in the app``."""
    said = clause(after)
    if PASSING.search(found.string) or re.search(r"\b(?:left|yet|more)$", said.text) or not terms(said.text):
        return None
    return claim_with("use", said, sentence("has no", said.text), *terms(said.text))


def _closed(found: re.Match[str], after: str) -> Claim | None:
    """``We close at six on Fridays``, ``we meet every second Tuesday``."""
    said = clause(after)
    if not (_OFTEN.fullmatch(said.text) and _AGAIN.search(said.text)) or PASSING.search(found.string):
        return None
    return claim_with("use", said, sentence(conjugate(found["verb"]), said.text), found["verb"], *terms(said.text))


def _there_is_no(found: re.Match[str], _after: str) -> Claim | None:
    """``There is no lift in our building``."""
    if PASSING.search(found.string) or re.match(
        r"(?:need|way|time|point|problem|reason|hurry|\w*one)\b", found["what"]
    ):
        return None
    said = clause(f"{found['what']} {found['where']}")
    return claim_with("use", said, sentence("there is no", said.text), *terms(said.text))


def _cannot(found: re.Match[str], after: str) -> Claim | None:
    """``I can't eat shellfish``."""
    said = clause(after)
    if not is_thing(said.text) or PASSING.search(found.string):
        return None
    return claim_with("use", said, sentence("cannot", found["verb"], said.text), *terms(said.text), found["verb"])


def _neither(found: re.Match[str], after: str) -> Claim | None:
    """``We neither bake nor sell on Mondays``."""
    said = clause(f"{found['first']} nor {after}")
    first, _, rest = said.text.partition(" ")
    if PASSING.search(found.string) or re.search(r"\b(?:know|understand|see|care|have)\b", found["first"]):
        return None
    return claim_with("use", said, sentence("neither", conjugate(first), rest), *terms(said.text))


POLICIES: tuple[Rule, ...] = (
    rule(
        _permitted,
        OPENING,
        rf"(?P<what>(?:the |our )?{NOUNS}) (?P<verb>(?:is|are) (?:not |only |strictly )?(?:{_PERMITTED}))\b",
    ),
    rule(
        _always_so,
        OPENING,
        rf"(?P<what>(?:the |our |all )?{NOUNS}) (?P<verb>(?:should|must|has to|have to|may|can) (?:always|never)) ",
    ),
    rule(
        _people_must,
        OPENING,
        rf"(?P<what>{_PEOPLE}) (?P<verb>must(?: not)?|have to|may (?:only|not)|can only|pay|are only allowed) ",
    ),
    rule(
        _every,
        OPENING,
        rf"(?P<what>(?:every|each|all(?: of)?(?: our| the)?) {NOUNS}) ",
        r"(?P<verb>gets?|needs?|requires?|must(?: be)?|has to|have to|goes|carry|carries) ",
    ),
    rule(_only, rf"\b(?P<who>we|i) (?:only|exclusively) (?P<verb>{_TRADES}) "),
    rule(
        _there_is_no,
        r"\bthere (?:is|are) no (?P<what>[\w-]+(?: [\w-]+){0,2}) (?P<where>(?:in|at|on) (?:our|my) (?!(?:\w+ "
        r")?(?:folder|fridge|list|inbox|file|table|code|log|cupboard|account|repo|data)\b)[\w-]+(?: [\w-]+)?)",
    ),
    rule(
        _cannot,
        r"\b(?P<who>i|we) cannot (?:really |even )?(?P<verb>eat|drink|tolerate|digest|wear) (?!(?:the|this|that|it|"
        r"any more|another)\b)",
    ),
    rule(_neither, r"\b(?P<who>we|i) neither (?P<first>[a-z]+(?: [^,;:]{1,30})?) nor "),
    rule(_none, rf"\b(?P<who>we) have no {_NO_LACK}(?=[^,;:]* (?:in|on|at|for our) )"),
    rule(_closed, r"\b(?P<who>we) (?:always |usually |only )*(?P<verb>close|open|meet|rehearse|shut|start|finish) "),
)
