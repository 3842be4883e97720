"""Rules for how things of the user hang together: what feeds, owns, supplies, depends on and belongs to what."""

from __future__ import annotations

import re

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_with, rule
from pss_integrations.beliefs.extraction.english.clauses import (
    Clause,
    clause,
    conjugate,
    is_name,
    is_thing,
    sentence,
    terms,
)
from pss_integrations.beliefs.extraction.english.facts import fact, fares
from pss_integrations.beliefs.extraction.english.grammar import (
    FAILURE,
    NOUNS,
    OPENING,
    PASSING,
    is_lasting,
    is_own,
    is_person,
)

_OURS = re.compile(r"\b(?:our|my|us|we)\b", re.IGNORECASE)
_HANGS = (
    r"feeds(?: into)?|feed(?: into)?|supplies|supply|belongs? to|shares?(?= [^,;:]* with )|talks? to|depends? on|"
    r"relies on|"
    r"rely on|sends?(?= [^,;:]* to )|gets?(?= [^,;:]* from )|takes?(?= [^,;:]* from )|draws?(?= [^,;:]* from )|"
    r"pulls?(?= [^,;:]* from )|reads? from|reads?(?= [^,;:]* from )|writes? (?:in)?to|works? (?:closely |together "
    r")*with|"
    r"reports? to|(?:is|are) (?:part of|next (?:door )?to|attached to|connected to|linked to|hooked up to|wired to|"
    r"owned by|run by|fed by|fed from|supplied by|driven by|powered by|heated by|controlled by|triggered by|funded by|"
    r"sponsored by|supported by|maintained by|managed by|watched by|insured with|affiliated (?:with|to)|twinned with|"
    r"a (?:part|member|branch|subsidiary|partner|customer|supplier|tenant|daughter company) of|above|below|behind|"
    r"opposite|named after|based on|modelled on|built on|filled from|watered from)|sits? (?:above|below|behind|next "
    r"to|between)|stands? (?:next to|behind|between)|controls?|triggers?|powers?|drives?|heats?|waters?|funds?|"
    r"sponsors?|replicates? to|syncs? (?:to|with)|mirrors?|backs? up (?:to|onto)|forwards?(?= [^,;:]* to )|"
    r"drains? into|flows? into|opens? onto|leads? to|hangs? off|connects? to|links? to|borders(?: on)?"
)
_TIES = (
    r"belongs to|is part of|is owned by|are owned by|is run by|is fed by|is driven by|is powered by|is wired to|is "
    r"connected to|is attached to|gets?(?= its [^,;:]* from )|gets?(?= their [^,;:]* from )|takes(?= its [^,;:]* "
    r"from )|"
    r"sends(?= its [^,;:]* to )|feeds|supplies|talks to|reports to|depends on|writes to|reads from"
)
_MACHINE = re.compile(
    r"(?:[\w-]+ )*(?:pump|till|dashboard|catalogue|database|sensor|boiler|server|controller|model|website|site|shop|"
    r"form|sheet|scale|scanner|printer|mill|kiln|oven|greenhouse|camera|gateway|pipeline|crawler|importer|service|"
    r"system|register|feed|newsletter|app|logger|station|tank|studio|cellar|barn|kennel|office|practice|shop|stall|"
    r"workshop|archive|annex|"
    r"depot|bell|alarm|gate|meter|hall|garden|garage|cottage|library|kitchen|café|cafe|clinic|choir|club|school)s?"
    r"(?: (?:upstairs|downstairs|in|on|at)\b.*)?",
    re.IGNORECASE,
)
_NO_END = re.compile(
    r"(?:it|them|you|that|this|each other|one another|your|his|her|their|what|how|whether)\b", re.IGNORECASE
)
_RELATIVE = (
    r"(?:boss|manager|supervisor|landlord|landlady|accountant|dentist|doctor|gp|vet|lawyer|therapist|coach|trainer|"
    r"teacher|tutor|wife|husband|partner|brother|sister|son|daughter|mother|father|business partner|deputy|successor|"
    r"assistant|piano teacher|physio|midwife|hairdresser|co-founder|neighbou?r|godson|goddaughter|dog|cat|horse|pony)"
)
_FULL_NAME = r"(?:(?:Dr|Mr|Mrs|Ms|Prof|Professor)\.? (?-i:[A-Z])[\w'-]+|(?-i:[A-Z])[\w'-]+ (?-i:[A-Z])[\w'-]+)"
_DUTY = r"(?:now )?(?:runs|keeps|handles|manages|looks after|does|edits|leads|takes care of|maintains|conducts)"


_MOVES = re.compile(
    r"(?:[\w-]+ )*(?:dog|cat|horse|child|children|kids?|baby|guests?|car|bike|phone|keys?|table|desk)", re.IGNORECASE
)


def _hangs(found: re.Match[str], after: str) -> Claim | None:
    """``Our tide model feeds the harbour dashboard``."""
    subject = found["what"].strip()
    if is_person(subject) or _MOVES.fullmatch(subject) or not is_lasting(subject) or not terms(subject):
        return None
    return _tie(subject, found, after)


def _machine_hangs(found: re.Match[str], after: str) -> Claim | None:
    """``The pump is driven by the mill wheel``: a thing that may be the user's, or something that is the user's."""
    subject = found["what"].strip()
    is_ours = re.match(r"(?:our|my) ", after, re.IGNORECASE) or _MACHINE.fullmatch(subject)
    return _tie(subject, found, after) if is_ours and is_own(re.sub(r" (?:up|down)stairs$", "", subject)) else None


def _tie(subject: str, found: re.Match[str], after: str) -> Claim | None:
    said = clause(after)
    if _NO_END.match(said.text) or not is_thing(said.text) or fares(said.text) or FAILURE.search(after):
        return None
    return None if PASSING.search(found.string) else fact(subject, found["verb"], said)


def _known_as(found: re.Match[str], after: str) -> Claim | None:
    """``My boss is Carola Neff``, ``our dog is called Biscuit``."""
    said = clause(f"{found['name']}{after}")
    if PASSING.search(found.string) or len(said.text.split()) > 5 or not is_name(said.text):
        return None
    return fact(found["what"], "is called" if "called" in found["be"] else "is", said)


def _kin_does(found: re.Match[str], after: str) -> Claim | None:
    """``My sister runs our accounts``: what somebody else does with what is the user's."""
    said = clause(after)
    if not terms(said.text) or PASSING.search(found.string) or FAILURE.search(after):
        return None
    claim = fact(said.text, "is", Clause(f"of {found['who']}"))
    content = sentence(found["who"], found["verb"], "our", said.text)
    return Claim("fact", claim.type, claim.name, content, found["who"], (*terms(said.text), *terms(found["who"])))


def _stands(found: re.Match[str], after: str) -> Claim | None:
    """``Our office is on the third floor``: of what does not move about."""
    return _tie(found["what"], found, after) if _MACHINE.fullmatch(found["what"]) else None


def _shared(found: re.Match[str], after: str) -> Claim | None:
    """``We rent our hall from the rowing club``."""
    said = clause(f"{found['what']} {found['link']} {after}")
    if PASSING.search(found.string) or FAILURE.search(after) or not is_thing(clause(after).text):
        return None
    return claim_with("use", said, sentence(conjugate(found["verb"]), said.text), *terms(said.text))


RELATIONS: tuple[Rule, ...] = (
    rule(
        _shared,
        rf"\b(?:we|i) (?P<verb>rent|share|buy|borrow|lease|get) (?P<what>(?:our|my|the|an?) {NOUNS}) (?P<link>from|"
        rf"with) "
        rf"(?!(?:you|me|us|him|her|them|it|this|that|everyone)\b)",
    ),
    rule(
        _stands,
        rf"\b(?:our|my) (?P<what>{NOUNS}) (?P<verb>is|are) (?=(?:in|on|under|above|at) the (?!way|go|run|phone|move|"
        rf"line)\w)",
    ),
    rule(_hangs, rf"\b(?:our|my) (?P<what>{NOUNS}) (?:now |also |only |all |always )*(?P<verb>{_HANGS}) (?!been\b)"),
    rule(_machine_hangs, OPENING, rf"the (?P<what>{NOUNS}) (?:now |also |only )*(?P<verb>{_TIES}) "),
    rule(
        _known_as,
        rf"\b(?:our|my) (?P<what>(?:(?:new|older|younger|eldest|elder|little|big) )?{_RELATIVE}) "
        rf"(?P<be>is called|is named|is) (?P<name>(?:(?<=called )|(?<=named ))(?-i:[A-Z])[\w'-]+|{_FULL_NAME})",
    ),
    rule(
        _kin_does,
        OPENING,
        rf"(?P<who>(?:my|our) (?:\w+ )?(?:sister|brother|wife|husband|son|daughter|mother|father|mum|mom|dad|aunt|"
        rf"uncle|"
        rf"cousin|partner|neighbou?r|niece|nephew)(?: (?-i:[A-Z])[\w-]+)?) (?P<verb>{_DUTY}) (?:our|my) ",
    ),
)
