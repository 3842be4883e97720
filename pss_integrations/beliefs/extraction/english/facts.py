"""Rules for what belongs to the user: people, things, values and schedules."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_of, rule
from pss_integrations.beliefs.extraction.english.clauses import (
    Clause,
    clause,
    is_name,
    is_thing,
    sentence,
    snake,
    terms,
    without_old,
)
from pss_integrations.beliefs.extraction.english.grammar import (
    FAILURE,
    NOUNS,
    OPENING,
    PASSING,
    TIME,
    is_lasting,
    is_own,
    is_person,
)

_STATE = re.compile(
    r"(?<!-)\b(?:broken|fail\w*|slow|down|stuck|wrong|missing|late|ready|fine|ok|okay|good|bad|great|nice|better|"
    r"worse|weird|odd|strange|different|same|full|empty|sure|unsure|happy|unhappy|sad|tired|busy|sick|ill|problems?|"
    r"issues?|bugs?|errors?|questions?|crash\w*|leak\w*|unclear|confus\w+|clear|easy|hard|difficult|complicated|done|"
    r"over|correct|incorrect|pending|delayed|behind|ahead|about to|supposed|due|able|unable|likely|unlikely|possible|"
    r"impossible|too|so|very|really|quite|pretty|rather|almost|kind of|sort of|timing|messed|red|green)\b",
    re.IGNORECASE,
)
_NO_VALUE = re.compile(
    r"(?:at \d+ ?(?:percent|%)|not|no|that|to|what|how|if|whether|why|because|where|when|as|like|more|less|in "
    r"(?:trouble|need)|gone|\w+ing)\b",
    re.IGNORECASE,
)
_BUILT = (
    r"(?:hosted|written|built|stored|kept|run|deployed|managed|handled|served|tracked|documented|based|located|called|"
    r"named|done|made|published|baked|printed|scheduled|held|powered|backed|rendered|cached|indexed|signed|sent|"
    r"shipped|delivered|supplied|provided|maintained|compiled|owned|planned|registered|housed|produced|generated|"
    r"tested|pinned|set|graded|logged|monitored|archived|labelled|labeled|licen[cs]ed|recorded|modelled|processed|"
    r"mixed|mastered|controlled|driven|fed|watered|sourced|insured|audited|certified|catered|typeset|translated|"
    r"moderated|brewed|bottled|pressed|milled|smoked|fired|woven|sewn|heated|wired|coded|streamed|edited|cooked|"
    r"roasted|grown|billed|invoiced|paid|closed|open)(?: (?:on|in|with|by|at|from|to|using|through|via|for|"
    r"under|as|up))*"
)
_DOES = (
    r"uses?|runs? on|runs?|comes? from|talks? to|lives? (?:on|in|at)|sits? (?:on|in|behind)|goes (?:through|to|out)|"
    r"go through|belongs? to|supports?|speaks?|targets?|points? (?:to|at)|(?:starts?|begins?|ends?|opens?|"
    r"closes?) (?:at|on|in)|takes? place|happens?|costs?|expires?|ships? (?:with|to|on|in|from)|consists? of|follows?|"
    r"requires?|expects?|listens? on|relies on|depends? on|works? (?:with|on|at)|contains?|includes?|has|have|meets?|"
    r"is on|are on|sells?|produces?|serves?|stores?|covers?|reads? from|writes?(?: to| in)?|connects? to|stands? for|"
    r"weighs?|holds?|reports? (?:to|in)|teaches|plays?|returns?|pays?(?: in)?|arrives?|delivers?|sends?|trains?|"
    r"charges?|accepts?|logs? to|builds? with|deploys? (?:to|with|on)|caches? in|authenticates? with|prints?|exports?|"
    r"sits? at|goes? to|logs?(?: \w+ \w+)? in|tracks?|orders? from|buys? from|keeps?|records?|runs? off|"
    r"gets? \w+ed (?:with|by|in|at|on|from|through)|is made with|moved to|bills?|serves?|publishes"
)
_ATTRIBUTE = re.compile(
    r"(?:[\w'-]+ )*(?:colou?r|branch|name|language|currency|style|format|provider|default|standard|convention|vendor|"
    r"tool|stack|framework|database|db|editor|ide|shell|licen[cs]e|scheduler|bundler|linter|formatter|supplier|"
    r"courier|carrier|bank|deadline|budget|limit|target|goal|prefix|suffix|font|theme|timezone|time zone|city|country|"
    r"unit|role|job|profession|title|address|domain|region|environment|port|version|platform|queue|broker|host|"
    r"registry|runtime|compiler|orm|cms|crm|ci|vcs|owner|lead|manager|maintainer|contact|accountant|dentist|doctor|"
    r"vet|policy|rule|schema|encoding|locale|dialect|spelling|key|slogan|motto|diet|allergy|instrument|car|phone|"
    r"laptop|printer|camera|oven|flour|recipe|breed|species|crop|dish|speciality|specialty|mascot|slot|hours|fee|"
    r"price|rate|cut-?off|subject|genre|material|fuel|wood|yarn|grain|beer|tea|coffee|drink|cuisine|variety|grape|"
    r"cultivar|method|metric|quorum|capacity|insurer|auditor|wholesaler|caterer)s?|(?:main|default|standard|primary|"
    r"official|usual|house) [\w-]+",
    re.IGNORECASE,
)
_PREPOSITION_BEFORE = re.compile(r"(?<!\ball )(?<!\bboth )\b(?:of|for|with|from|to|by|about|than) $", re.IGNORECASE)
_DONE_BY = re.compile(r"(?:done|handled|managed|run) (?:by|with|in|via|through) (?-i:[A-Z])", re.IGNORECASE)
_STORE = re.compile(
    r"\b(?:repo|repository|monorepo|wiki|folder|drive|channel|board|database|module|package|branch|bucket|sheet|"
    r"spreadsheet|calendar|vault|cloud|notebook|binder|cupboard)s?$",
    re.IGNORECASE,
)
_ASPECT = re.compile(  # a thing may have all of these
    r"^(?:(?:is|are) )?(hosted|written|built|deployed|open|close|feed|supplie|send|get|belong|depend)s? ", re.IGNORECASE
)
_COUNTED = re.compile(r"(?:an?|the|two|three|four|five|six|seven|eight|nine|ten|twelve) \w", re.IGNORECASE)
_KEPT = re.compile(r"\b(?:kept|stored|located) (?:in|at|on|under)$", re.IGNORECASE)
_SOME = re.compile(r"(?:most|many|some|all|few|these|those|such|several|other)\b", re.IGNORECASE)
_QUALITY = (
    r"(?:allergic to|intolerant to|vegan|vegetarian|responsible for|in charge of|based in|located in|left-handed|"
    r"colou?r-?blind|lactose intolerant)"
)
_ADJECTIVE = re.compile(r"vegan|vegetarian|left-handed|colou?r-?blind|lactose intolerant", re.IGNORECASE)


def subject_of(found: re.Match[str]) -> str:
    """Of what a fact is; nothing where it is unclear."""
    groups = found.groupdict()
    if head := groups.get("head"):
        return f"{head} {found['whose']} {found['what'].strip()}"
    return "" if _PREPOSITION_BEFORE.search(found.string[: found.start()]) else found["what"].strip()


def _is(found: re.Match[str], after: str) -> Claim | None:
    """``Our X is Y``, ``the Z of our X is Y``; of what else stands before "our" one cannot tell what it is about."""
    said = clause(after)
    subject = subject_of(found)
    if (
        not is_lasting(subject)
        or not terms(subject)
        or not _is_value(said.text, subject)
        or PASSING.search(found.string)
    ):
        return None
    return fact(subject, found["be"], said)


def _has_been(found: re.Match[str], after: str) -> Claim | None:
    """``Since March our warehouse has been in Tilburg``."""
    return _is(found, after) if re.search(r"\bsince\b", found.string, re.IGNORECASE) else None


def _is_value(text: str, subject: str) -> bool:
    """Whether what a thing "is" tells what it is, and not how it fares."""
    if _DONE_BY.match(text) or (re.search(r"\b(?:policy|rule)$", subject) and re.match(r"(?:no|not|that) ", text)):
        return True
    if _STATE.match(text) or _NO_VALUE.match(text) or not (terms(text) or re.search(r"\d", text)):
        return False
    if is_name(text) or re.match(rf"{_BUILT}\b|(?:on|at|in|from) {TIME}|{TIME}", text, re.IGNORECASE):
        return True
    is_noun = _COUNTED.match(text) is not None and not _STATE.search(text)
    return is_noun or (_ATTRIBUTE.fullmatch(subject) is not None and len(text.split()) <= 4)


def _is_beside(found: re.Match[str], after: str) -> Claim | None:
    """``The Y is Z`` in a sentence that began with ``our X``."""
    return _is(found, after) if re.search(r"\b(?:our|my)\b", found.string[: found.start()], re.IGNORECASE) else None


def _is_ours(found: re.Match[str], after: str) -> Claim | None:
    """``BrightPay is our payroll provider``."""
    said = clause(after)
    if not is_thing(found["value"]) or not terms(said.thing) or not is_own(said.thing):
        return None
    return fact(said.thing, "is", replace(said, text=found["value"].strip()))


def _does(found: re.Match[str], after: str) -> Claim | None:
    """``Our X runs on Y``."""
    said = clause(after)
    subject, verb = subject_of(found), found["verb"].lower()
    if is_person(subject) or not is_lasting(subject) or not terms(subject):
        return None
    if _STATE.search(said.text) or PASSING.search(found.string):
        return None
    is_used = verb in ("use", "uses") and is_thing(said.text)
    is_counted = verb in ("has", "have") and _COUNTED.match(said.text) and not said.text.startswith(("a", "the"))
    is_timed = re.search(rf"\b{TIME}\b", said.text, re.IGNORECASE)
    if FAILURE.search(after) or not (is_used or is_counted or is_timed or is_name(said.text)):
        return None
    return fact(subject, f"{found['neg'] or ''}{verb}", said)


def _names(found: re.Match[str], after: str) -> Claim | None:
    """``The X is written in Y``, where Y is a name and X belongs to nobody else."""
    said = clause(after)
    subject = found["what"].strip()
    is_ours = (
        is_own(subject)
        and terms(subject)
        and not _SOME.match(subject)
        and not is_name(re.sub(r"\b[A-Z]{2,}s?\b", "", subject[1:]))
    )
    if (
        not is_ours
        or _STATE.search(said.text)
        or not (re.search(r"[A-Z]", said.thing) or _is_tool(found["verb"], said.text) or _KEPT.search(found["verb"]))
    ):
        return None
    return fact(subject, found["verb"], said)


def _is_tool(verb: str, text: str) -> bool:
    """Whether a single word after "done with" and the like may be the name of a tool: ``done with nbgrader``."""
    return re.search(r"(?:with|in|using|on)$", verb) is not None and re.fullmatch(r"[a-z][\w.+-]{2,}", text) is not None


def _lives(found: re.Match[str], after: str) -> Claim | None:
    """``Quoting lives in the pricing monorepo``."""
    said = clause(after)
    subject = found["what"].strip()
    if not is_own(subject) or is_name(subject[1:]) or _SOME.match(subject):
        return None
    return fact(subject, found["verb"], said) if is_name(said.text) or _STORE.search(said.text) else None


def _scheduled(found: re.Match[str], _after: str) -> Claim | None:
    """``Deliveries are on Tuesdays``, ``pick-up on Wednesdays``."""
    subject = re.sub(r"^(?:the|our|my) ", "", found["what"].strip(), flags=re.IGNORECASE)
    if (
        re.search(
            r"\b(?:we|i|it|not|nobody|everybody|everyone|do|does|did|is|are|was|were|weeks?|months?|years?|days?)\b",
            subject,
            re.IGNORECASE,
        )
        or not is_own(subject)
        or not terms(subject)
    ):
        return None
    if not found["be"]:
        subject = terms(subject)[-1]
    return fact(subject, found["be"] or "is", Clause(found["day"]))


def _am(found: re.Match[str], after: str) -> Claim | None:
    """``I am vegan``, ``I am allergic to nuts``."""
    said = clause(after)
    quality = found["quality"].lower()
    if _ADJECTIVE.fullmatch(quality):
        return claim_of("fact", Clause(quality), sentence("is", quality))
    if not terms(said.text) or PASSING.search(found.string):
        return None
    name = snake(quality, *terms(said.text)[:2])
    return claim_of("fact", said, sentence("is", quality, said.text), name=name, aliases=terms(said.text))


def fares(text: str) -> bool:
    """Whether words tell how a thing fares, which will be otherwise tomorrow."""
    return _STATE.search(text) is not None


def fact(subject: str, verb: str, said: Clause) -> Claim:
    """Make a claim about what a subject is or does; the subject gives it its name."""
    subject = re.sub(r"^(?:the|our|my) ", "", subject, flags=re.IGNORECASE)
    said, old = without_old(said)
    value = clause(re.sub(rf"^(?:{_BUILT}|on|at|in|from) ", "", said.text, flags=re.IGNORECASE)).thing or said.text
    aliases = tuple(dict.fromkeys((subject, *terms(subject)[:2], value, *terms(said.text))))
    aspect = _ASPECT.search(f"{verb} {said.text}")
    name = snake(subject, aspect[1] if aspect else "")
    claim = claim_of("fact", said, sentence(subject, verb, said.text), name=name, aliases=aliases)
    return replace(claim, value=value, replaces=old)


_OWN_GROUP = (
    r"(?:choir|club|band|lab|practice|clinic|team|company|firm|shop|school|farm|society|museum|society|brewery|"
    r"house|boat|family)"
)
OFTEN = r"(?: now| currently| actually| still| always| just)*"
_DAYS = (
    r"(?:at [\d:.]+ ?(?:am|pm|o'clock)? )?(?:on (?:mon|tues|wednes|thurs|fri|satur|sun)days(?: and \w+days)?|"
    r"on weekdays|(?:every|each) (?:other |second )?(?:morning|evening|night|day|week|month|\w+day))"
)
OUR_THING = rf"\b(?:the (?P<head>{NOUNS} (?:for|of|in|on|at)) )?(?P<whose>our|my|the {_OWN_GROUP}'s) (?P<what>{NOUNS}) "
FACTS: tuple[Rule, ...] = (
    rule(
        _does,
        OUR_THING,
        r"(?P<neg>does not |do not |never )?(?:now |only |also |always |still |currently |all )*",
        rf"(?P<verb>{_DOES}) (?!been\b)",
    ),
    rule(_is, OUR_THING, rf"(?P<be>is|are){OFTEN} "),
    rule(_has_been, OUR_THING, r"(?P<be>has been|have been) "),
    rule(_is_beside, rf"(?:, |\b(?:and|but) )(?:the|its) (?P<what>{NOUNS}) (?P<be>is|are){OFTEN} "),
    rule(
        _is_ours,
        r"(?:^|[,:] )(?P<value>(?!(?:\w+ly|maybe|perhaps)\b)(?-i:[A-Z])[\w.+#-]*(?: [\w.+#-]+){0,3}) (?:is|are) "
        r"(?:now )?",
        r"(?:(?:our|my) (?:new )?|the (?=(?:[\w-]+ ){1,3}(?:of|for|at|in) (?:our|my)\b))",
    ),
    rule(
        _lives,
        OPENING,
        rf"(?:the |our |my )?(?P<what>{NOUNS}) (?P<verb>lives? (?:in|on)|sits? (?:in|on)|",
        r"go(?:es)?(?: out| in| all)? (?:through|via)) ",
    ),
    rule(
        _names,
        OPENING,
        rf"(?:the|all(?: the| our)?(?=.*\bnow\b)) (?P<what>{NOUNS}) (?P<verb>(?:is|are|gets?) {_BUILT}|runs? (?:on|"
        rf"off)|comes? from|",
        r"talks? to|sits? (?:at|in)|lives? (?:on|in|at)|speaks?|logs? (?:to|into)|"
        r"(?:goes|go) (?:out |in )?(?:through|via|by)|sits on) ",
    ),
    rule(
        _scheduled,
        OPENING,
        r"(?:and |but |so |also )*(?P<what>[\w'-]+(?: [\w'-]+){0,3}?)",
        r"(?: (?P<be>is|are|arrives?|comes?|opens?|closes?|starts?|begins?|ends?))?",
        rf" (?:always |only |now )?(?P<day>{_DAYS})\b",
    ),
    rule(_am, rf"\b(?P<who>i|we) (?:am|are) (?P<quality>{_QUALITY})\b ?"),
)
