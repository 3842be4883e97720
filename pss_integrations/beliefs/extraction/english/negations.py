"""Rules for what is not so with the user and his things: "our honey isn't organic", "I don't have a car"."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_with, rule
from pss_integrations.beliefs.extraction.english.clauses import clause, conjugate, is_thing, sentence, snake, terms
from pss_integrations.beliefs.extraction.english.facts import OUR_THING, fact, fares, subject_of
from pss_integrations.beliefs.extraction.english.grammar import (
    FAILURE,
    NOUNS,
    OPENING,
    PASSING,
    is_lasting,
    is_person,
)

_MOMENTARY = re.compile(
    r"(?:hot|cold|warm|bright|dark|wet|dry|booked|free|\w+ing|enough|yet|that|so|very|quite|really|too|here|there|"
    r"home|back|long|as|like|what|how|who|where|because|"
    r"working|sure|much|more|any better|to|at home|on time|hungry|thirsty|amused|impressed|convinced|interested|funny|"
    r"happening|loading|showing|responding|in the mood|feeling|well|in|on fire|nice|pleased|visible|listed|shown|"
    r"found|recogni[sz]ed|detected|aligned|printed|rendered|saved|sent|allowed in|it|just|only|exactly|necessarily)\b",
    re.IGNORECASE,
)
_PLACE = (
    r"(?:studio|flat|apartment|house|hall|shop|kitchen|office|caf[eé]|hut|boat|site|building|cottage|cabin|garden|"
    r"hostel|hotel|workshop|library|church|campsite|clinic|barn|village|room|church|school|museum|farm|bakery|pool|"
    r"theatre|chapel|van|caravan|toilet|ferry|lab|cellar|attic|stage|stall)"
)
_DOES = (
    r"contain|have|offer|serve|charge|use|sell|need|include|cover|allow|take|accept|open|close|run|deliver|speak|ship|"
    r"go|require|provide|own|pay|belong|permit|employ|produce|publish|lend|rent|grow|stock|support|teach|admit|keep|"
    r"meet|come with"
)
_LACKED = (
    r"(?:[\w-]+ )?(?:licen[cs]e|car|balcony|garden|oven|freezer|dishwasher|tv|television|credit card|degree|garage|"
    r"cellar|lift|elevator|website|smartphone|mobile|landline|printer|scanner|contract|pets?|children|kids|siblings|"
    r"parking|permit|visa|insurance|mortgage|dryer|bathtub|microwave|heating|air conditioning|employees|staff|"
    r"branches|office|budget|sponsor|union|allerg(?:y|ies)|dairy|dog|cat|parking spaces?|car park|internet|wi-?fi|"
    r"gas|mains water|chimney|cash register|till|telephone|phone|tumble dryer|bike|social media|newsletter|account "
    r"with \w+|\w+ account|fax|basement|attic|terrace|doctorate|opening hours|changing rooms?|wheelchair access|"
    r"step-free access|showers?|camera|debts?)"
)
_KIND = (
    r"(?:an? )?(?:native speaker|charity|doctor|lawyer|vegan|vegetarian|member|citizen|student|programmer|developer|"
    r"designer|morning person|night owl|people person|smoker|drinker|religious|registered|insured|employed|married|"
    r"vat[ -]registered|a company|business|shop|restaurant|school|chain|franchise|\w+ person|on any medication|on "
    r"facebook|on instagram|on social media|on whatsapp|allergic to|open on|open in|open at|open to|closed on|"
    r"part of|affiliated with|based in|from|tied to|bound to|insured against|related to|responsible for|in charge of|"
    r"subject to|the owner|the landlord|the author)\b"
)
_WITHOUT = r"(?:work|do|bake|cook|manage|get by|live|brew|farm|teach|paint|travel|cope|play|sing|run|garden|dye|fish)"


def _is_not(found: re.Match[str], after: str) -> Claim | None:
    """``Our honey isn't organic``."""
    said, subject = clause(after), subject_of(found)
    is_ours = is_lasting(subject) and terms(subject) and not is_person(subject)
    return _negative(subject, f"{found['be']} not", said.text, found.string) if is_ours else None


def _place_is_not(found: re.Match[str], after: str) -> Claim | None:
    """``The hall isn't heated``, ``the studio has no windows``."""
    return _negative(found["what"], found["verb"], clause(after).text, found.string)


def _does_not(found: re.Match[str], after: str) -> Claim | None:
    """``Our soap doesn't contain palm oil``."""
    said, subject = clause(after), subject_of(found)
    if is_person(subject) or not is_lasting(subject) or not terms(subject):
        return None
    return _negative(subject, f"{found['neg']} {found['verb']}", said.text, found.string)


def _negative(subject: str, verb: str, text: str, whole: str) -> Claim | None:
    if _MOMENTARY.match(text) or fares(text) or not terms(text) or PASSING.search(whole) or FAILURE.search(whole):
        return None
    if re.search(r"\b(?:yet|enough|either|today|any ?more)\b", whole, re.IGNORECASE):
        return None
    claim = fact(subject, verb, clause(text))
    return replace(claim, name=snake(subject, *terms(text)[:1]))


def _lack(found: re.Match[str], after: str) -> Claim | None:
    """``I don't have a car``, ``we have no parking``."""
    said = clause(f"{found['what']}{after}")
    if PASSING.search(found.string) or re.search(r"\b(?:yet|left|more|with me|to hand|handy)\b", after):
        return None
    spoken = "does not have" if found["verb"] else "has no"
    return claim_with("use", said, sentence(spoken, said.text), *terms(said.text))


def _am_not(found: re.Match[str], after: str) -> Claim | None:
    """``I'm not a native speaker``, ``we're not open in January``."""
    said = clause(f"{found['what']}{after}")
    if PASSING.search(found.string) or not terms(said.text) or re.search(r"\b(?:yet|any more|sure)\b", after):
        return None
    return claim_with("fact", said, sentence("is not", said.text), *terms(said.text))


def _without(found: re.Match[str], after: str) -> Claim | None:
    """``We work without a contract``."""
    said = clause(after)
    if PASSING.search(found.string) or FAILURE.search(after) or not is_thing(said.text):
        return None
    return claim_with("use", said, sentence(conjugate(found["verb"]), "without", said.text), *terms(said.text))


def _none_here(found: re.Match[str], after: str) -> Claim | None:
    """``No dogs in our hostel``, ``none of our teachers are paid``."""
    said = clause(f"{found['what']}{after}")
    if PASSING.search(found.string) or not terms(said.text) or fares(said.text) or FAILURE.search(after):
        return None
    return claim_with("fact", said, sentence(found["neg"], said.text), *terms(said.text))


def _made_without(found: re.Match[str], after: str) -> Claim | None:
    """``Our bread is made without yeast``, ``our wine contains no sulphites``."""
    subject = subject_of(found)
    return _negative(subject, found["verb"], clause(after).text, found.string) if is_lasting(subject) else None


def _never_do(found: re.Match[str], _after: str) -> Claim | None:
    """``I don't drive``, ``I can't swim``."""
    if PASSING.search(found.string):
        return None
    neg = "cannot" if found["neg"].lower() == "cannot" else "does not"
    return claim_with("use", clause(found["verb"]), sentence(neg, found["verb"]), found["verb"])


def _neither(found: re.Match[str], after: str) -> Claim | None:
    """``We have neither a lift nor a ramp``."""
    said = clause(f"neither {found['first']} nor {after}")
    return (
        None if PASSING.search(found.string) else claim_with("use", said, sentence("has", said.text), *terms(said.text))
    )


NEGATIONS: tuple[Rule, ...] = (
    rule(
        _never_do,
        r"\b(?:i|we) (?P<neg>do not|cannot) (?P<verb>drive|swim|smoke|drink(?: alcohol)?|gamble|ski|cycle|ride a "
        r"bike|read music|drive a "
        r"car|advertise)(?=$|[,.]| so\b| and\b| at all)",
    ),
    rule(_neither, r"\b(?:we|i) have neither (?P<first>[^,;:]{2,30}?) nor "),
    rule(_is_not, OUR_THING, r"(?P<be>is|are) (?:still |currently |usually )*not (?:an? (?=\w))?"),
    rule(_does_not, OUR_THING, rf"(?P<neg>does not|do not|never|cannot) (?P<verb>{_DOES}) "),
    rule(
        _made_without,
        OUR_THING,
        r"(?P<verb>(?:is|are) (?:made|baked|brewed|grown|built|sold|run) without|contains? no|uses? no|comes? without|"
        r"needs? no|includes? no) ",
    ),
    rule(
        _place_is_not,
        OPENING,
        rf"(?:the )(?P<what>(?:[\w-]+ ){{0,2}}?{_PLACE}) (?P<verb>has no|have no|is not|are not) ",
    ),
    rule(
        _lack,
        r"\b(?P<who>i|we) (?:(?P<verb>do not (?:have|own)) (?:an? |any )?|(?:(?:have|own) no ))",
        rf"(?P<what>{_LACKED})(?= (?:in|at|on|for|and|so|here|with|either)\b|[,.;:]|$)",
    ),
    rule(_am_not, rf"\b(?P<who>i|we) (?:am|are) not (?P<what>{_KIND})"),
    rule(
        _without, rf"\b(?P<who>i|we) (?:always |usually |all )*(?P<verb>{_WITHOUT}) (?:entirely |completely )?without "
    ),
    rule(_none_here, rf"^(?:please note, |note: )?(?P<neg>no) (?P<what>{NOUNS} (?:in|on|at|for|with) our )"),
    rule(
        _none_here,
        OPENING,
        rf"(?P<neg>none|not one) (?P<what>of (?:our|my) {NOUNS} (?:is|are|has|have|speaks?|uses?) )",
    ),
)
