"""Rules for who does what among the user's people, and for what his places and tools are."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, rule
from pss_integrations.beliefs.extraction.english.clauses import clause, is_name, is_thing, sentence, snake, terms
from pss_integrations.beliefs.extraction.english.facts import OFTEN, OUR_THING, fact, fares, subject_of
from pss_integrations.beliefs.extraction.english.grammar import (
    FAILURE,
    NOUNS,
    OPENING,
    PASSING,
    is_lasting,
    is_own,
    is_person,
)

_OURS = re.compile(r"\b(?:our|my|we|us)\b", re.IGNORECASE)
_FOR_US = re.compile(r" (?:for us|here|with us|at ours)$", re.IGNORECASE)
_MANNER = re.compile(
    r"\b(?:\w+ly|well|fine|better|differently|the same|just fine|itself|themselves|for you)\b", re.IGNORECASE
)
_NAMED_SOON = re.compile(
    r"(?:(?:on|in|at|with|all|called|based on|running|an?|one|two|three|four|five|six|\d+) )*"
    r"(?:(?:the|old|new|small|big|used|little|second-hand|self-hosted|hosted|custom) )*(?:\w+ )?(?-i:[A-Z])\w",
    re.IGNORECASE,
)
_NO_PLACE = re.compile(
    r"^(?:in|at|on) (?:\w+ )?(?:English|French|German|Spanish|Italian|Dutch|Latin|PDF|CSV|JSON|\w+day)\b|'s$|\b(?:i|"
    r"we|you) \w+$|^(?:from|by|for|of|about)\b",
    re.IGNORECASE,
)
_DUTY = (
    r"handles|looks after|takes care of|manages|leads|heads|runs|chairs|supervises|coordinates|organi[sz]es|oversees|"
    r"does|keeps|books|edits|sorts out|deals with|is in charge of|is responsible for"
)
_ONLY_A_DUTY = re.compile(
    r"looks after|takes care of|sorts out|deals with|is in charge of|is responsible for|handles|manages|leads|heads|"
    r"chairs|coordinates|oversees|organi[sz]es",
    re.IGNORECASE,
)
_KIT = (
    r"(?:(?:till|cash register|oven|kiln|tractor|boat|car|van|truck|bus|bike|camera|printer|plotter|scanner|router|"
    r"server|laptop|phone|tablet|computer|nas|boiler|site|website|web ?shop|shop|blog|forum|app|database|db|cms|crm|"
    r"stack|back ?end|front ?end|agent|runner|controller|sensor|pump|fridge|freezer|press|loom|mixer|machine|"
    r"microscope|spectrometer|sequencer|centrifuge|incubator|amp|guitar|piano|harp|violin|cello|monitor|heater|drone|"
    r"mower|saw|lathe|hardware|system|software|platform|framework|wiki|calendar|ledger|helpdesk|newsletter|mailing "
    r"list|podcast|provider|supplier|carrier|courier|bank|accountant|caterer|wholesaler|venue|notebook|rota|roster|"
    r"dashboard|pipeline|cluster|cache|grinder|scale|tent|stove|trailer|harvester|telescope|kit|repo|monorepo|box)s?|"
    r"(?:backups|documents|contracts|records|photos|invoices|receipts|drawings|minutes|transcripts|recordings))"
)
_OFFICES = (
    r"treasurer|deputy head|deputy|chair|chairwoman|chairman|secretary|captain|coach|head chef|foreman|registrar|"
    r"caretaker|conductor|supervisor|insurer|auditor|accountant|safety officer|first aider|bookkeeper|tuner|caterer"
)
_TERM = (
    r"(?:lease|contract|licen[cs]e|visa|permit|subscription|insurance|warranty|term|project|grant|funding|season|"
    r"course|semester|book|album|issue|launch|release|wedding|fair|festival|conference|retreat|workshop|agm|gala|"
    r"concert|regatta|race|reunion|exam|show|tournament|harvest)"
)
_MONTH = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_CODE = re.compile(r"\b(?:code|tests?|build|script|query|branch|table|form|order|list)$", re.IGNORECASE)


def _duty(found: re.Match[str], after: str) -> Claim | None:
    """``Ines handles the invoicing``, ``Ruth runs our front desk``; bare objects only beside "our" or "for us"."""
    said = clause(after)
    verb, whose = found["verb"].lower(), (found["whose"] or "").lower()
    size = len(said.text.split())
    if not is_thing(found["name"]) or not terms(said.text) or _MANNER.search(said.text) or FAILURE.search(after):
        return None
    if whose.startswith("all") or whose == "the":
        is_ours = _ONLY_A_DUTY.fullmatch(verb) is not None and size <= 3 and is_own(said.text)
    elif whose:
        is_ours = is_lasting(said.text)
    else:
        beside = _OURS.search(found.string[: found.start()]) or _FOR_US.search(f" {after.rstrip(' .!')}")
        is_ours = beside is not None and size <= 4
    if not is_ours:
        return None
    claim = fact(said.text, verb, replace(said, text=found["name"]))
    return replace(claim, content=sentence(found["name"], verb, found["whose"] or "", said.text))


def _done_by(found: re.Match[str], after: str) -> Claim | None:
    """``Payroll is outsourced to Nordlon``."""
    subject = found["what"].strip()
    is_bare = is_own(subject) and terms(subject) and not is_name(subject[1:])
    return fact(subject, found["verb"], clause(after)) if is_bare and not PASSING.search(found.string) else None


def _consists(found: re.Match[str], after: str) -> Claim | None:
    """``The till is a Lightspeed``, ``the backups are on a Synology``."""
    said = clause(after)
    subject = found["what"].strip()
    if not is_own(subject) or is_name(re.sub(r"\b[A-Za-z]*[A-Z]{2,}\w*\b", "", subject)) or fares(said.text):
        return None
    is_measured = re.match(r"\d+ ?[A-Z]", said.text) is not None
    if not (_NAMED_SOON.match(said.text) or is_measured) or _NO_PLACE.search(said.text):
        return None
    if PASSING.search(found.string) or FAILURE.search(after):
        return None
    return fact(subject, found["be"], said)


def _is_office(found: re.Match[str], after: str) -> Claim | None:
    """``The deputy head is now Kwame Mensah``."""
    said = clause(after)
    is_ours = is_own(found["what"]) and not fares(said.text) and not PASSING.search(found.string)
    return fact(found["what"], found["be"], said) if is_ours else None


def _lacks(found: re.Match[str], after: str) -> Claim | None:
    """``Our kitchen has no gas``."""
    said, subject = clause(after), subject_of(found)
    lasts = not (fares(said.text) or PASSING.search(found.string) or re.search(r"\b(?:left|yet|more)$", said.text))
    is_told = (
        lasts
        and is_own(subject)
        and not _CODE.search(subject)
        and not is_person(subject)
        and terms(subject)
        and terms(said.text)
    )
    if not is_told or re.match(r"(?:idea|time|clue|plans?|doubt|choice|effect|way|need)\b", said.text, re.IGNORECASE):
        return None
    return replace(fact(subject, found["verb"], said), name=snake(subject, *terms(said.text)[:1]))


def _due(found: re.Match[str], after: str) -> Claim | None:
    """``The lease on the studio is up in September``."""
    subject = found["what"].strip()
    if not is_own(subject) or is_name(subject[4:]) or not terms(subject) or PASSING.search(found.string):
        return None
    said = clause(f"{found['when']}{after}")
    claim = fact(subject, found["verb"], said)
    return replace(claim, value=found["when"])


SETUPS: tuple[Rule, ...] = (
    rule(
        _duty,
        r"(?:^|[,:(] |\b(?:and|but|so|since|because|as|ask|is|to|with|by) )(?:ask )?",
        r"(?P<name>(?!(?:\w+ly|maybe|perhaps)\b)(?:(?:Dr|Prof|Mr|Mrs|Ms)\. )?(?-i:[A-Z])[\w-]+(?: "
        r"(?-i:[A-Z])[\w-]+){0,2})",
        rf"(?:, (?:s?he|who)| who| from \w+)? (?:now |also |usually |always |still )*(?P<verb>{_DUTY}) ",
        r"(?:(?P<whose>our|my|the|all(?: the| our)?) )?",
    ),
    rule(
        _done_by,
        OPENING,
        rf"(?:the |our |my )?(?P<what>{NOUNS}) (?P<verb>(?:is|are) (?:all )?(?:handled|done|managed|run|organi[sz]ed|",
        r"outsourced|supplied|looked after|taken care of|edited|printed|led) (?:by|to|through|via|with)) "
        r"(?=(?-i:[A-Z]))",
    ),
    rule(
        _consists,
        OPENING,
        rf"(?:(?:the|all(?: of)? (?:the|our|my)) )(?P<what>(?:[\w'-]+ ){{0,3}}?{_KIT}) (?P<be>is|are|sits? (?=in|on)|"
        rf"(?:has|have) (?=\d))",
        r"(?: all| now| just| actually| still)* (?!not\b|\w+ing\b)",
    ),
    rule(_lacks, OUR_THING, r"(?P<verb>has no|have no) "),
    rule(
        _is_office,
        OPENING,
        rf"the (?P<what>(?:[\w-]+ ){{0,2}}(?:{_OFFICES})) (?P<be>is|are){OFTEN} (?=(?-i:[A-Z])\w+(?: (?-i:[A-Z])|$|,|"
        rf" (?:now|and)\b))",
    ),
    rule(
        _is_office,
        OPENING,
        rf"(?:the )?(?P<what>(?:default|house) [\w-]+) (?P<be>is|are){OFTEN} (?!\w+ing\b)(?=[\w-]+(?: (?:and|or) "
        rf"[\w-]+)?(?:$|[,.;]))",
    ),
    rule(
        _due,
        OPENING,
        rf"(?P<what>(?:the|our|my) (?:[\w'-]+ ){{0,3}}?{_TERM}(?: (?:of|for|on|with) [\w' -]+?)?) (?P<verb>(?:is|"
        rf"are) (?:up|due|on)|runs? out|expires?|ends?|comes? out|opens?|closes?|",
        rf"starts?|begins?|launches|takes? place|falls on) (?P<when>(?:in|on|at the (?:end|start) of) (?:\d+(?:st|nd|"
        rf"rd|th)?(?: of)? |(?:early |late |mid-?)?){_MONTH}\b)",
    ),
)
