"""Rules for likes and dislikes."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, about, claim_of, rule
from pss_integrations.beliefs.extraction.english.clauses import clause, conjugate, is_thing, sentence, snake, terms
from pss_integrations.beliefs.extraction.english.grammar import ADVERBS, FAILURE, NOT, NOUNS, PASSING, WE

_LIKE = (
    r"(?:hate|dislike|cannot stand|cannot bear|love|like) it when(?= (?!you\b))|prefer|like|love|enjoy|adore|favou?r|"
    r"hate|dislike|loathe|detest|despise|cannot stand|cannot bear|cannot abide|(?:am|are) (?:not )?(?:really )?an? "
    r"(?:big |huge |great )?fan of|(?:am|are) (?:not )?(?:very |so |really )?fond of|am partial to|want|care for|dig|"
    r"avoid|try to avoid|steer clear of|cannot deal with|cannot do with|have never liked|(?:am|are) (?:really |just |"
    r"so )?(?:not )?(?:very |so |really |too |big |much )*(?:keen on|into|big on)|have a (?:soft spot|weakness) for|"
    r"(?:am|are) (?:more of )?an?(?= [\w-]+ person\b)|(?:am|are) a big believer in|swear by|(?:am|are) (?:so |really "
    r")?(?:sick|tired|fed up) (?:of|with)|have a thing (?:against|for)|have no time for|cringe at|go for|could do "
    r"without|can do without|could live without|can live without|(?:have )?always (?:preferred|loved|liked|hated|"
    r"disliked)|never (?:liked|cared for)|appreciate|value|(?:am|are) all for|(?:am|are) no (?:big |great )?fan of|"
    r"have an? (?:real |strong |deep |mild )?(?:dislike|aversion|preference|distaste|horror) (?:of|to|for)|refuse to "
    r"(?:eat|drink|wear|use|touch)|have no patience (?:for|with)|(?:am|are) happiest (?:with|in|at|on)|(?:work|think|"
    r"sleep|"
    r"concentrate|write|learn) best|(?:get|am) (?:easily |always |really )?(?:annoyed|irritated|put off) (?:by|at)|"
    r"am a sucker "
    r"for|cannot get enough of|will never (?:like|enjoy)"
)
_NO_TASTE = re.compile(
    r"""
      (?:my|our|his|her|their|its|the)\ (?: chances|odds|luck|job|life|boss|neighbou?rs?|day|hair|look|idea ) \b
    | (?!the\ (?:train|bus|bike|ferry|sea|mountains|countryside|city|window|aisle|stairs|tram|car)$) the\ [a-z]+$
    | \w+days$ | (?:morning|evening|weekend)s$ | your | you | where | why | how\ you | it\ when\ you
    | to\ (?: ask|bother|say|know|see|hear|have|be|do|get|go|help|thank|add|check ) \b
    | (?:the\ )?(?: option|plan|version|variant|choice|number )\ \w{1,2}\b
    | .*\b(?: than|over|to )\ (?: this|that|these|those ) \b
    | .*\bof\ (?: the\ (?:two|three) | these|those|them|both ) $
    | .*\bth(?: is|at|ese|ose|e )\ (?:\w+\ )?
      (?: idea|version|draft|one|option|plan|sound|look|approach|suggestion|answer|result|tone|title|proposal|part|bit
        | new|rest|bug|error|wording|colou?r|design|layout ) \b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What is liked in a conversation, and not in general: "your idea", "the second version", "this rather than that"."""
_GENERALLY = re.compile(r"\b(?:generally|in general|as a rule|usually|normally|always|every time)\b", re.IGNORECASE)
_SENSED = re.compile(r"the (?:taste|smell|sound|sight|look|feel|noise) of (?!this|that|the)", re.IGNORECASE)
_TIMES = re.compile(r"(?:early |late )?(?:morning|afternoon|evening|weekend)s", re.IGNORECASE)
_FOR = re.compile(
    r"(?:^|[,:] |\b(?:and|but|so) )for (?P<what>(?!(?:this|that|now|the|it|today|once)\b)[^,;:]{2,40}?),? $",
    re.IGNORECASE,
)
_PLURAL = re.compile(
    r"(?:have|get|see|read|hear) (?!(?:the|this|that|these|those|an?|it|them|some|more|your|my|other|different|fewer|"
    r"two|three|"
    r"a few|several|all|those)\b)[a-z-]+(?: [a-z-]+){0,2}s",
    re.IGNORECASE,
)
_WAY = re.compile(
    r"to (?:be \w+ (?:by|in|at|with|as|via)\b|(?:get|have|see|read|hear) (?!.*\b(?:this|that|it|now|here)\b))",
    re.IGNORECASE,
)
_OVER = re.compile(r",? \b(?:over|than|to|instead of|rather than|not) (?P<less>.+)$", re.IGNORECASE)
_DEFINITE = re.compile(
    r"(?:the|this|that|these|those|our|my|your|page|chapter|part|section|version|line|\w+days?)\b", re.IGNORECASE
)
_ACT = re.compile(r"^(?:not )?to (?:be )?", re.IGNORECASE)
_LIGHT = re.compile(r"(?:have|use|see|get|keep|write|go with|take|be|do|read|work with) ", re.IGNORECASE)


def _taste(found: re.Match[str], after: str) -> Claim | None:
    said = clause(after)
    verb = found["verb"].lower()
    is_act = said.text.startswith("to ")
    said = replace(said, text=re.sub(r"^(?:anything|everything) (?:with|made with|made of|by) ", "", said.text))
    is_momentary = not verb.endswith(" when") and _is_momentary(said.text, verb)
    if not is_thing(said.text[3:] if is_act else said.text) or is_momentary:
        return None
    if re.search(r"\bjust $", found[0][: found[0].lower().rfind(verb)], re.IGNORECASE) and re.match(
        r"\w+ing\b", said.text
    ):
        return None  # said in irony
    if re.search(r"\b(?:sick|tired|fed up)\b", verb) and re.match(r"\w+ing\b", said.text):
        return None
    if verb == "go for" and not re.search(
        r"\b(?:tend to|always|usually|generally) |\bwhen(?:ever)? i can", found.string
    ):
        return None
    if re.search(r"\binto$|\bavoid|\bdeal with|\bsick|\btired|\bfed up|go for", verb) and (
        PASSING.search(found.string) or _DEFINITE.match(said.text)
    ):
        return None
    if verb == "want" and (is_act or not found["neg"]):  # "I want a table" is a request
        return None
    fronted = _FOR.search(found.string[: found.start()]) if verb == "prefer" else None
    text = f"{said.text} for {fronted['what']}" if fronted else said.text
    return _preference(f"does not {verb}" if found["neg"] else conjugate(verb), text, said.why)


def _is_momentary(text: str, verb: str) -> bool:
    """Whether what is liked is but in this conversation; a time of the day is no less if it is preferred."""
    is_general = verb == "prefer" and (_TIMES.fullmatch(text) or _WAY.match(text))
    return _NO_TASTE.match(text) is not None and not is_general


def _would_prefer(found: re.Match[str], after: str) -> Claim | None:
    """A comparison, or what is preferred for a sort of things; "I'd prefer a shorter title" is but a request."""
    said = clause(after)
    if fronted := _FOR.search(found.string[: found.start()]):
        said = replace(said, text=f"{said.text} for {fronted['what']}")
    is_general = (
        found["neg"]
        or _GENERALLY.search(found.string)
        or _PLURAL.fullmatch(said.text)
        or re.match(r"you (?:\w+ed|did not|kept|wrote|told)\b", said.text)
        or fronted
        or _OVER.search(said.text)
    )
    if not is_general or not terms(said.text) or _NO_TASTE.match(re.sub(r"^you ", "", said.text)):
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
    what = f"{found['kind']} {found['what']}".strip()
    if not terms(found["what"]) or not terms(said.text):
        return None
    aliases = (found["what"], what, *terms(said.text)[:3])
    content = sentence(what, found["be"], said.text)
    return replace(claim_of("taste", said, content, name=snake(what), aliases=aliases), value=said.text)


def _would_take(found: re.Match[str], after: str) -> Claim | None:
    """``I'd take a train over a plane any day``."""
    said = clause(re.sub(r",? (?:any|every) (?:day|time)(?: of the week)?\b.*", "", after))
    return _preference("would take", said.text, said.why) if _OVER.search(said.text) and is_thing(said.text) else None


def _bothers(found: re.Match[str], after: str) -> Claim | None:
    """``Pop-ups drive me mad``: of things in general, not of the one at hand."""
    what = found["what"].strip()
    if not is_thing(what) or PASSING.search(found.string) or FAILURE.search(what):
        return None
    if _DEFINITE.match(what) and not _SENSED.match(what):
        return None
    said = clause(f"{what}{found['how']}{after}")
    name, aliases = about(clause(what).thing, "")
    return replace(claim_of("taste", said, sentence(said.text), name=name, aliases=aliases), value=what)


def _finds(found: re.Match[str], _after: str) -> Claim | None:
    """``I find footnotes distracting``."""
    what = found["what"].strip()
    if _DEFINITE.match(what) or not is_thing(what) or PASSING.search(found.string):
        return None
    name, aliases = about(what)
    content = sentence("finds", what, found["how"])
    return replace(claim_of("taste", clause(what), content, name=name, aliases=aliases), value=what)


def _first_choice(found: re.Match[str], _after: str) -> Claim | None:
    """``For me it's dark chocolate every time``, ``tea over coffee for me``, ``nothing beats a paper map``."""
    what = found["what"].strip()
    return _preference("prefers", what, None) if is_thing(what) and not PASSING.search(found.string) else None


TASTES: tuple[Rule, ...] = (
    rule(
        _first_choice,
        rf"^(?:[a-z]+, )?(?P<what>(?:an? |the )?{NOUNS}) for (?:me|us),? (?:please,? )?(?:every (?:single )?time|"
        rf"always|any day)",
    ),
    rule(
        _first_choice,
        r"\bfor me it is (?:always )?(?P<what>[^,;:]{2,40}?),? (?:every|any|each) (?:single )?(?:time|day)\b",
    ),
    rule(
        _first_choice,
        rf"^(?:[a-z]+, )?(?P<what>(?!give me)(?:an? )?{NOUNS} over (?:an? )?{NOUNS})(?: for (?:me|us)|,? any (?:day|"
        rf"time)|, "
        rf"always)",
    ),
    rule(
        _first_choice,
        rf"\b(?:for (?:me|us),? )?nothing (?:beats|is better than|tops) (?P<what>an? {NOUNS}|{NOUNS})(?= for (?:me|"
        rf"us)|$)",
    ),
    rule(
        _first_choice,
        r"\b(?:given|when i have|when we have) (?:the|a) choice,? (?:i|we) (?:always |will always |usually )?(?:take|"
        r"choose|pick|"
        r"go for|go with|have) (?P<what>[^,;:]{2,40})",
    ),
    rule(_taste, WE, r"(?!would )", ADVERBS, NOT, rf"(?P<verb>{_LIKE}) "),
    rule(
        _would_prefer,
        r"\b(?:i|we) would ",
        ADVERBS,
        r"(?P<verb>prefer|(?:much |far )?(?:rather|sooner)) (?P<neg>not )?(?:to )?",
    ),
    rule(_favourite, r"\b(?:my|our) (?P<kind>)(?P<what>preference)(?: for [\w ]{2,20}?)? (?P<be>is) (?!not\b)"),
    rule(_would_take, r"^(?:[a-z]+,? )*?give me (?=.*\bover\b.*\bany (?:day|time)\b)"),
    rule(_would_take, r"\b(?:i|we) would (?:always |much )?(?:take|pick|choose) "),
    rule(
        _bothers,
        r"^(?:(?:and|but|so|also|yeah|sorry|tbh|ugh|honestly)\b,? )*",
        rf"(?P<what>{NOUNS})(?P<how> (?:always |really |just )*(?:(?:drives?|makes?) me (?:mad|nuts|crazy|cringe|"
        rf"ill|anxious|tired|uncomfortable|furious|sad|"
        rf"sick|itch|shudder|gag|sneeze|nervous|uneasy|happy|angry|",
        r"up the wall)|annoys? me|irritates? me|puts? me off|gets? on my nerves|(?:disgusts?|bores?|scares?|"
        r"depresses|exhausts?|stresses|relaxes|calms?|soothes?|delights?) me|gives? me (?:migraines|nightmares)|"
        r"gives? me (?:a headache|the creeps|"
        r"hives|",
        r"heartburn|a rash)|(?:is|are) not (?:my thing|for me)|(?:is|are) (?:pure |sheer |absolute )?(?:torture|"
        r"hell|heaven|bliss|agony|poison|a nightmare|a joy) (?:for|to) (?:me|us)|tastes? (?:like|of) \w+ to me|"
        r"hurts? my eyes|"
        r"(?:works?|suits?)(?: me| us)? (?:best|better)(?: for (?:me|us))?|and i do not get along|does not agree "
        r"with me|do not agree with me))",
    ),
    rule(
        _finds,
        rf"\b(?:i|we) (?:always |really |generally )*find (?P<what>{NOUNS}) (?:really |rather |very |too |so |a bit )*",
        r"(?P<how>[a-z]+(?:ing|able|ible|ful|less|ous|ive|ic)|ugly|boring|hard to \w+|easier to \w+|tacky|cheesy|rude|"
        r"gross|too \w+)\b",
    ),
    rule(
        _favourite,
        r"\b(?:my|our) (?P<kind>favou?rite|preferred|go-to) (?P<what>[\w-]+(?: [\w-]+){0,3}?) ",
        r"(?P<be>is|are) (?!not\b)",
    ),
)
