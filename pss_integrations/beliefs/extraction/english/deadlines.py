"""Rules for what is due, begins or ends on a day that is told from today, and for what was done on one."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_with, rule
from pss_integrations.beliefs.extraction.english.clauses import clause, is_name, sentence, terms, undated
from pss_integrations.beliefs.extraction.english.facts import fact
from pss_integrations.beliefs.extraction.english.grammar import FAILURE, NOUNS, OPENING

_MONTH = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PERIOD = rf"(?:{_DAY}|week|month|year|term|season|spring|summer|autumn|fall|winter|{_MONTH})"
_COUNT = r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|\d+|a couple of|a few)"
_SPAN = rf"{_COUNT} (?:days?|weeks?|months?|years?)"
_COMING = (
    rf"(?:(?:on|by|from|until|before) )?(?:(?:the )?day after tomorrow|tomorrow|(?:this|next|this coming) {_PERIOD}|"
    rf"a week (?:today|tomorrow|on {_DAY})|{_DAY}(?: week)?|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|"
    rf"{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?)\b|(?:with)?in (?:about |less than )?{_SPAN}\b|{_SPAN} from (?:now|today)|"
    rf"(?:in|until) (?:early |late |mid-?)?(?:{_MONTH}|(?:19|20)\d\d)\b|at the (?:end|start|beginning) of (?:the|this|"
    rf"next|{_MONTH})\b(?: {_PERIOD})?"
)
_GONE_BY = rf"(?:yesterday|the day before yesterday|last {_PERIOD}|(?:about )?{_SPAN} ago|this {_PERIOD}|on {_DAY})\b"
_DATED = re.compile(rf"\b(?:{_GONE_BY}|{_COMING})", re.IGNORECASE)

_RUNS = (
    r"is due|are due|falls due|is up|ends?|runs? out|runs?(?= until| till)|expires?|lapses|starts?|begins?|opens?|"
    r"closes?|takes? place|comes? out|goes live|launches|is over|needs to be (?:in|paid|filed|renewed|done|submitted|"
    r"handed in)|has to be (?:in|paid|filed|renewed|done|submitted|handed in)|must be (?:in|paid|filed|renewed|"
    r"submitted|handed in)|is being (?:delivered|installed|inspected|audited)|gets (?:delivered|installed|inspected)|"
    r"arrives?|comes|goes up"
)
_EVENT = (
    r"(?:deadline|wedding|concert|recital|inspection|audit|open day|open house|opening|exhibition|launch|race|marathon|"
    r"hearing|operation|surgery|christening|funeral|match|final|tournament|fair|festival|conference|workshop|premiere|"
    r"defen[cs]e|viva|hand-?in|submission|election|agm|annual meeting|general meeting|trip|holiday|exam|move|birthday|"
    r"anniversary|delivery|performance|rehearsal|handover|renewal|first day|last day|due date|cut-?off|review|service|"
    r"lease|contract|grant|licence|permit|visa|course|term|season|project|mot|vernissage|retreat|regatta|ball|fete|"
    r"auction|market|check-?up|appointment)"
)
_FORMAL = re.compile(
    r"(?:is|are|falls) due|is up|runs? out|expires?|lapses|has to|needs to|must|goes live|is being", re.IGNORECASE
)
_NOT_OURS = re.compile(
    r"\b(?:train|bus|plane|film|movie|show|series|shop next|game|rain|sun|sale|store|programme on|class|call|sentence|"
    r"parcel|package|letter|milk|food|guest|line|file|loop|video|lecture|talk|break|day|week|month|year|time|world|"
    r"moon|song|story|chapter|page|bread|dough|"
    r"cake|episode|tab|window|door|menu|app|page|message|mail|e-?mail|download|update)s?$",
    re.IGNORECASE,
)


def _due(found: re.Match[str], _after: str) -> Claim | None:
    """``The grant application is due tomorrow``, ``my visa runs out in two months``."""
    subject = re.sub(r"^(?:the|our|my) ", "", found["what"].strip(), flags=re.IGNORECASE)
    if _NOT_OURS.search(subject) or not terms(subject) or FAILURE.search(found.string):
        return None
    is_formal = re.match(r"(?:our|my)\b", found["what"], re.IGNORECASE) or _FORMAL.match(found["verb"])
    if not is_formal and not re.search(rf"\b{_EVENT}\b", subject, re.IGNORECASE):
        return None
    return fact(subject, found["verb"], clause(found["when"]))


def _done(found: re.Match[str], after: str) -> Claim | None:
    """``Two weeks ago we hired a new cook``: what was done on a day, and lasts."""
    said = clause(after)
    is_told = _DATED.search(found.string)
    if not is_told or FAILURE.search(after) or not terms(said.text) or re.match(r"(?:it|them|that|this)\b", said.text):
        return None
    what = replace(said, text=undated(said.text))
    return (
        claim_with("decide", said, sentence(found["verb"], said.text), *terms(what.text)) if terms(what.text) else None
    )


def _named(found: re.Match[str], after: str) -> Claim | None:
    return _done(found, after) if is_name(clause(after).text) else None


def _planned(found: re.Match[str], after: str) -> Claim | None:
    """``Next year I'm retiring``, ``we're moving to Graz next month``."""
    said = clause(f"{found['what']}{after}")
    if not _DATED.search(found.string) or re.search(r"\b(?:tonight|today)\b", found.string, re.IGNORECASE):
        return None
    words = terms(undated(said.text)) or (found["what"],)
    verb = said.text.partition(" ")[0]
    return claim_with(
        "decide", said, sentence("is" if verb.endswith("ing") or verb == "on" else "will", said.text), *words
    )


_THINGS = (
    r"(?:an?|our|my|two|three|our first|my first) (?:[\w-]+ ){0,2}?(?:puppy|dog|cat|kitten|car|van|bike|bicycle|oven|"
    r"piano|house|flat|boat|tractor|printer|kiln|loom|pony|horse|goats?|hens?|baby|daughter|son|telescope|camera|"
    r"caravan|allotment|cook|chef|assistant|apprentice|intern|manager|gardener|nurse|nanny|accountant|licence|permit|"
    r"greenhouse|heat pump|freezer|stove|tent|trainee|colleague|teacher|cleaner|driver|baker|bookkeeper|branch|shop)\b"
)


def _before_it(found: re.Match[str], _after: str) -> Claim | None:
    """``Tomorrow is the deadline for the poster``, ``in two weeks our lease is up``."""
    subject = re.sub(r"^(?:the|our|my) ", "", found["what"].strip(), flags=re.IGNORECASE)
    if _NOT_OURS.search(subject) or not terms(subject):
        return None
    return fact(subject, found.groupdict().get("verb") or "is", clause(found["when"]))


def _have_until(found: re.Match[str], after: str) -> Claim | None:
    """``We have until next Tuesday to submit the grant``."""
    said = clause(after)
    content = sentence("has until", found["when"], "to", said.text)
    return claim_with("decide", said, content, *terms(said.text)) if terms(said.text) else None


DEADLINES: tuple[Rule, ...] = (
    rule(
        _before_it,
        OPENING,
        rf"(?P<when>{_COMING}) is (?P<what>(?:the|our|my) (?:[\w'-]+ ){{0,3}}?{_EVENT}(?: (?:for|of) [\w' -]+)?)(?=$|"
        rf",)",
    ),
    rule(
        _before_it,
        OPENING,
        rf"(?P<when>{_COMING}),? (?P<what>(?:the|our|my) {NOUNS}) (?P<verb>{_RUNS}|has to be [\w' -]+|must be [\w' "
        rf"-]+|goes up)(?=$|,)",
    ),
    rule(_have_until, rf"\b(?:we|i) (?:only |still )?have (?:time )?until (?P<when>{_COMING}) to "),
    rule(
        _planned,
        r"\b(?P<who>we|i) (?P<what>(?:switch to|move (?:in)?to|hand in|submit) )(?=(?:the|our|my|a|\w+ hours)\b)",
    ),
    rule(
        _due,
        OPENING,
        rf"(?P<what>(?:the|our|my) {NOUNS}) (?P<verb>{_RUNS}) (?:again |already |only )?(?P<when>{_COMING})",
    ),
    rule(
        _due,
        OPENING,
        rf"(?P<what>(?:the|our|my) (?:[\w'-]+ ){{0,3}}?{_EVENT}(?: (?:for|of|with) [\w' -]+?)?) (?P<verb>is|are|will "
        rf"be) (?:already |only )?(?P<when>{_COMING})",
    ),
    rule(
        _done,
        r"\b(?P<who>we|i) (?:have |just |finally |also )*(?P<verb>hired|adopted|bought|got|acquired|opened|took on|"
        rf"leased|rented|received|inherited) (?={_THINGS})",
    ),
    rule(
        _done,
        r"\b(?P<who>we|i) (?:have |just |finally |also )*(?P<verb>moved (?:house|out|in)|moved (?=(?:the|our|my) "
        r"[^,;:]* (?:in|into|to|onto|out) )|became (?=an? |the )|retired|graduated|got married|joined|launched|"
        r"founded|planted|"
        r"installed|started (?=(?:a new|my new|an apprenticeship|a job|at|as|with|teaching|training|selling|offering|"
        r"renting|charging|composting|keeping)\b))",
    ),
    rule(
        _named, r"\b(?P<who>we|i) (?:have |just |finally )*(?P<verb>moved|started at|took over|signed with|signed up) "
    ),
    rule(
        _planned,
        r"\b(?P<who>we|i) (?:am|are) (?:all |also |finally )*(?P<what>retiring|(?:moving|relocating) (?:to|into|in|out|"
        r"house|back|away)|getting married|joining|opening an?|going part-time|taking over|expecting|starting (?:at|"
        r"as|with|an?|my new|school|university)|leaving (?:for|the (?:company|firm|choir|club|band))|"
        r"(?:changing|starting) (?:jobs?|schools?)|on (?:(?:parental|maternity|paternity|sick|study) leave|"
        r"sabbatical))",
    ),
)
