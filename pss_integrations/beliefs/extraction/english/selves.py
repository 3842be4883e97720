"""Rules for who the user is: trade, home, health, what is kept and owned, and what has been so for long."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_with, rule
from pss_integrations.beliefs.extraction.english.clauses import clause, conjugate, is_name, is_thing, sentence, terms
from pss_integrations.beliefs.extraction.english.facts import fares
from pss_integrations.beliefs.extraction.english.grammar import ADVERBS, FAILURE, NOT, PASSING

_I = r"\b(?P<who>i|we) "
_BE = r"(?:am|are) (?:just |only |both |all |also |still |now )*"
_WORD = r"(?!(?:in|on|of|for|at|the|a|an|to|with|bit|better|worse|bad|former|big|huge|little|ex)\b)[\w-]+"
_TRADE = (
    r"(?!(?:later|never|number|matter|loser|sucker|believer|lover|hater|other|over|under|after|newcomer|winner|caller|"
    r"better|bit|sorry|longer|user|error|minor|major|outsider|holder|former|rather|easier|fewer|larger|bigger)\b)"
    r"(?:\w{3,}(?:er|or|ist|ian|eur|smith|wright|man|woman)|vet|nurse|chef|cook|student|postdoc|intern|apprentice|"
    r"assistant|accountant|judge|monk|pilot|guide|clerk|architect|artist|coach|judge|midwife|paralegal|consultant|"
    r"member|chair|head|secretary|freelance|dad|mum|mom|parent|grandmother|grandfather|widow|native \w+ speaker)"
)
_OFFICE = re.compile(
    r"(?!(?:one|first|last|only one|idiot|reason|problem|same|wrong|bad|type|kind|sort)\b)[\w-]+(?: [\w-]+){0,2} "
    r"(?:of|at|for|in) (?:our|my|the|an?) \w",
    re.IGNORECASE,
)
_PLACES = (
    r"bakery|shop|store|stall|hostel|hotel|farm|studio|club|blog|podcast|practice|workshop|company|business|firm|"
    r"caf[eé]|restaurant|bar|pub|school|lab|clinic|agency|b&b|garage|gallery|museum|theatre|theater|choir|newsletter|"
    r"dairy|brewery|vineyard|orchard|nursery|kitchen|charity|ngo|co-?op|cooperative|team|group|startup|office|band|"
    r"library|archive|start-up|family|household|foundation|association|society|quartet|orchestra|campsite|press|"
    r"publisher"
)
_CREATURES = (
    r"(?:\w+ )?(?:goats|bees|hens|chickens|sheep|ducks|geese|horses|ponies|cats|dogs|rabbits|alpacas|pigs|quail|cows|"
    r"cattle|llamas|pigeons|koi|donkeys|turkeys)"
)
_HEALTH = (
    r"coeliac|celiac|diabetic|dyslexic|pescatarian|teetotal|deaf|hard of hearing|colou?rblind|gluten[- ]intolerant|"
    r"lactose[- ]intolerant|asthmatic|short-sighted|right-handed|retired|self-employed"
)
_POSSESSED = re.compile(
    r"(?:(?:an? )?(?:[\w-]+ ){0,2}(?:allergy|intolerance|asthma|dyslexia|adhd|diabetes|dog|cat|daughter|son|toddler|"
    r"baby|greenhouse|allotment|workshop|barn)|(?:two|three|four|five|six|seven|eight|nine|ten|twelve|\d+) (?:[\w-]+ "
    r"){0,2}(?:kids|children|dogs|cats|daughters|sons|employees|staff|members|ovens|stores|shops|branches|seats|rooms|"
    r"beds|hives|hectares|acres|machines|vans|cows|goats|hens|sheep|students|pupils|volunteers|developers|engineers|"
    r"offices|servers|printers|boats|courts|tables|apprentices|trucks|greenhouses|looms|kilns|horses|sites|warehouses|"
    r"freezers|bikes))(?=$|,| and\b| in\b| at\b| called\b| on the farm\b)",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"\b(?:than|short|behind|down|late|too many|ahead)\b", re.IGNORECASE)
_MODEL = re.compile(
    r"an? (?:[a-z-]+ ){0,2}(?!(?:PDF|CSV|JSON|XML|YAML|HTML|SQL|API|URL|IP|Excel|Word|Python|React|Zoom|Teams|"
    r"Docker)\b)[A-Z][\w-]*(?: [A-Z\d][\w-]*){0,3}(?: (?:[a-z]+ )?(?:camera|printer|oven|mixer|grinder|kiln|tractor|"
    r"piano|guitar|phone|laptop|tablet|router|bike|van|car|boat|saw|loom|scanner|telescope|server|amp|watch|"
    r"machine))?$"
)
_MADE_OF = r"(?:about |around |only )?(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|\d+)"
_SEASON = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|"
    r"fall|winter|easter|christmas|new year|(?:19|20)\d\d)"
)
_LONG = re.compile(
    rf"\bsince (?:(?:early|late|mid|last|the|\d{{1,2}}(?:st|nd|rd|th)?(?: of)?)[ -])*(?:{_SEASON}|year|month|season|"
    r"pandemic|start)\b|\bfor (?:[\w-]+ ){0,3}(?:years|months|ages|decades|seasons|year|decade)\b",
    re.IGNORECASE,
)
_NO_PURSUIT = (
    r"(?!(?:trying|waiting|thinking|having|getting|seeing|looking|fighting|struggling|wondering|meaning|debugging|"
    r"feeling|staring|reading|searching|going|asking|hoping|planning|wanting|able|told|asked|there|here|up|down|stuck|"
    r"busy|sick|ill|unable|so|very|too|it|no|putting|dealing|chasing|running into|talking|told|given|back|out|off|to|"
    r"an idiot|a mess)\b)"
)
_AILS = re.compile(
    r"\b(?:headache|flu|cough|cold|fever|rain|snow|complaints?|troubles?|pains?|leak|outage|delays?)\b", re.IGNORECASE
)
_PERIOD = re.compile(r",? \b(?:since|for) (?=(?:[\w-]+ ){0,4}[\w-]+$)", re.IGNORECASE)


def _am(found: re.Match[str], after: str) -> Claim | None:
    """``I'm the only vet at a small practice in Galway``, ``we're a small bakery in Leeds``."""
    said = clause(f"{found['what']}{after}")
    if PASSING.search(found.string) or FAILURE.search(after) or _COMPARED.search(said.text) or not terms(said.text):
        return None
    return claim_with("fact", said, sentence("is", said.text), *terms(said.text))


def _office(found: re.Match[str], after: str) -> Claim | None:
    """``I'm the treasurer of our choir``."""
    return _am(found, after) if _OFFICE.match(after) else None


def _do(found: re.Match[str], after: str) -> Claim | None:
    """``I live in Trondheim``, ``we grow asparagus``."""
    said = clause(f"{found['what']}{after}")
    verb = found["verb"].lower()
    if PASSING.search(found.string) or FAILURE.search(after) or not is_thing(re.sub(r"^in ", "", said.text)):
        return None
    spoken = f"does not {verb}" if found["neg"] else conjugate(verb)
    return claim_with("use", said, sentence(spoken, said.text), *terms(said.text), verb)


def _in_place(found: re.Match[str], after: str) -> Claim | None:
    return _do(found, after) if is_name(clause(after).text) else None


def _have(found: re.Match[str], after: str) -> Claim | None:
    """``I have a Prusa MK4``, ``we've got three ovens``: a name, or what nobody has for a day only."""
    said = clause(after)
    if PASSING.search(found.string) or FAILURE.search(after) or fares(said.text):
        return None
    if not (_MODEL.match(said.text) or _POSSESSED.match(said.text)):
        return None
    return claim_with("use", said, sentence("has", said.text), *terms(said.text))


def _long(found: re.Match[str], after: str) -> Claim | None:
    """``I've been keeping bees since 2019``, ``we've had Odoo for years``."""
    said = clause(after)
    head = found["verb"].lower()
    if _AILS.search(said.text) or not _LONG.search(found.string) or FAILURE.search(after) or fares(said.text):
        return None
    said = replace(said, text=re.sub(r" since$", "", said.text))
    pursued = _PERIOD.split(f"{head.removeprefix('been ')} {said.text}")[0]
    words = terms(pursued)
    return claim_with("use", said, sentence("has", head, said.text), *words) if words else None


SELVES: tuple[Rule, ...] = (
    rule(
        _am,
        rf"{_I}{_BE}(?P<what>(?:(?:an?|the only|one of (?:two|three|four)) (?:{_WORD} ){{0,3}}?{_TRADE}\b|",
        rf"{_HEALTH})(?![-']))",
    ),
    rule(
        _am,
        rf"\b(?P<who>we) {_BE}(?P<what>(?:an? (?:{_WORD} ){{0,3}}?(?:{_PLACES})|{_MADE_OF} (?:people|players|singers|",
        r"members|developers|engineers|cooks|families|volunteers|teachers|doctors|researchers))\b)",
    ),
    rule(_am, rf"{_I}{_BE}(?P<what>(?:doing|writing|finishing) (?:an?|my) (?:phd|doctorate|master|thesis|novel))\b"),
    rule(_am, rf"{_I}{_BE}(?P<what>(?:closed|open|shut) (?:on|from|until|till|every|over|between|in) )"),
    rule(
        _am,
        rf"\b(?:as of|from|starting|until|since) (?:[\w-]+ ){{0,3}}?{_SEASON}\b(?: on| onwards)?,? (?P<who>we|i) {_BE}",
        r"(?P<what>on|in|at|working|living|based|part-time|off|back|retired|away)\b",
    ),
    rule(_office, rf"{_I}{_BE}(?P<what>the )"),
    rule(
        _in_place,
        rf"{_I}{ADVERBS}{NOT}(?P<verb>live|reside|farm|study|teach|work|volunteer|grew up|sing|play|train|row)",
        r"(?P<what> (?:[\w-]+ ){0,4}?(?:in|near|at|from|for|outside|under) (?:the |an? )?)",
    ),
    rule(_do, rf"{_I}{ADVERBS}{NOT}(?P<verb>work) (?P<what>as an? )"),
    rule(
        _do,
        rf"{_I}{ADVERBS}{NOT}(?P<verb>keep|breed|raise|have|own|farm|milk|shear|board) (?P<what>(?:\d+ |{_MADE_OF} "
        rf")?{_CREATURES}\b(?! (?:in|on|from) the))",
    ),
    rule(
        _do,
        rf"{_I}{ADVERBS}{NOT}(?P<verb>run|own|manage) (?P<what>an? (?:{_WORD} ){{0,3}}?(?:{_PLACES})\b)",
    ),
    rule(
        _do,
        rf"{_I}{ADVERBS}{NOT}(?P<verb>farm|grow|breed|teach|study|coach|sing|knit|brew|play|rent|own) ",
        r"(?P<what>)(?!(?:tired|old|up|bored|weary|with|out|into|along|a role|safe|around|this|that|you|the|my|our)\b)",
    ),
    rule(_have, rf"{_I}(?:only |also |both |now |currently )*have (?P<what>)"),
    rule(
        _long,
        rf"{_I}have (?:now |all |both |also |already )*(?P<verb>been {_NO_PURSUIT}[a-z]+|had|worked|lived|taught|"
        rf"played|",
        r"kept|owned|rented|grown|sung|run|farmed|volunteered|coached) ",
    ),
)
