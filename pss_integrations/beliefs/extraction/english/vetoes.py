"""When words that look like a statement of the user are none: hypothetical, reported, past, unsure, imagined."""

from __future__ import annotations

import re

from pss_integrations.beliefs.extraction.english.prose import Sentence

_OWN_WORDS = re.compile(
    r"\b(?:as |like )?(?:i|we) (?:have |had |already )*(?:said|mentioned|told you|wrote|asked|noted)\b|\bas (?:said|"
    r"mentioned)\b|\bi should (?:also )?(?:add|mention|say)(?: that)?\b|\bif (?:it|that|this) (?:helps|matters|is "
    r"relevant|counts)\b|"
    r"\b(?:in case|if) you (?:are )?(?:wonder|wondering|ask|asked|curious|interested)\b|"
    r"\b(?:i|we) (?:(?:had to|have to|just|always) )*(?:explain(?:ed)?|tell|told|remind(?:ed)?|mention(?:ed)?)(?: "
    r"to)? (?:(?:an?|the|my|our) )?\w+ that\b|\bif you (?:must|need to|want(?:ed)? to) know\b",
    re.IGNORECASE,
)
_UNREAL = (
    r"if|suppose|supposing|imagine|assuming|let us (?:say|assume|pretend|suppose|imagine)|say (?:we|i)|pretend|would|"
    r"could|might|unless|in case|wish|as if|as though|whether|in theory|hypothetically|provided|hopefully|ideally|"
    r"one day|someday|hope|hoping"
)
_REPORTED = (
    r"said|says?|saying|states|stated|warns|advises|told|tells|claims?|claimed|according to|thinks?|thought|wrote|"
    r"writes|mentions|mentioned|reckons?|heard|read (?:that|somewhere)|asks?|asked|believes?|suggests|suggested|"
    r"recommends|recommended|insists|swears|apparently|supposedly|allegedly|rumou?r|guess|maybe|perhaps|probably|"
    r"possibly|not true|untrue|not the case|false|wrong that|forgot|remind me|wonder|wondering|tell me|explain|"
    r"show me|no idea|not sure|do not know|does not know|cannot remember|assume[sd]?"
)
_PAST = (
    r"used to|back then|back when|formerly|previously|(?:at|in|for|with) my (?:last|old|previous|former|first)|"
    r"when (?:i|we) (?:was|were|started|had|lived|worked|began)|in the past|in the old days|years ago|at first|"
    r"initially|before that|until then|once upon|in a previous|at university|in college|at school|as a (?:kid|child|"
    r"student)|in those days|at the time|in (?:the|my|this|our|a) (?:story|novel|book|game|film|play|scene|dream|"
    r"example|exercise|scenario|script|tale)"
)
_TEXT_TO_COME = (
    r"(?:write(?! (?:it |this |that )?down)|draft|translate|rephrase|reword|rewrite|proofread|summari[sz]e|"
    r"correct(?! (?:myself|me|that|it)\b)|improve|shorten|edit|type|post|tweet|caption|headline|sentence|phrase|"
    r"subject line|title|explain|sign|notice|"
    r"slogan|advert|poster|leaflet|flyer|an? ad|the ad)\b[^:]*:"
)
_BEFORE = re.compile(rf"\b(?:{_UNREAL}|{_REPORTED})\b|\b{_TEXT_TO_COME}", re.IGNORECASE)
_BYGONE = re.compile(rf"\b(?:{_PAST})\b(?!.*\b(?:now|nowadays|these days)\b)", re.IGNORECASE)
_DOUBTED = re.compile(rf"\b(?:{_REPORTED}|{_PAST}|if)\b|\b(?:wrong|incorrect|nonsense)\b[^.]*\bthat\b", re.IGNORECASE)
_AFTER = re.compile(
    r"\b(?:i (?:guess|think|believe|suppose|assume)|apparently|according to|probably|maybe|perhaps|or so i|if i "
    r"(?:recall|remember)|"
    r"iirc|i heard|back then|back in the day|in those days|at the time|no idea|used to)\b",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"(?:^|\s)(?:who|whom|which|what|where|how|why|whether|if|do|did|does|should|can|could|would|shall|will|might|had|"
    r"unless|once|than|until|when|whenever|wherever|while|before|after|like|nor|of|the way|everything|something|"
    r"anything|ones?)\s+$",
    re.IGNORECASE,
)
_NOUN_BEFORE = re.compile(
    r"\b(?:the|an?|every|each|any|all|our|my|this|some|most) (?:[\w'-]+ ){0,2}"
    r"(?!(?:week|month|year|morning|evening|night|time|spring|summer|autumn|winter|weekend|\w*day|ago|and|but|so|or|"
    r"then) )"
    r"[\w'-]+ $",
    re.IGNORECASE,
)
_ADVERBIAL = re.compile(
    r"(?:^|[,;:] |\b(?:and|but|so|because) )(?:in|on|for|with|at|by|after|since|during|from|as of|until|within|over|"
    r"under|inside|before|thanks to|due to|besides|apart from|instead of) (?:[\w'-]+ ){1,5}$",
    re.IGNORECASE,
)
_SETTLED = re.compile(
    r"^.*(?:made up (?:my|our) minds?|have decided|is decided|official|settled|agreed|the decision)[:,]? (?:and |- )?$",
    re.IGNORECASE,
)
"""What says that the rest is certain, whatever was said before."""

_ASKED_FIRST = re.compile(rf"^(?!.*\b{_TEXT_TO_COME})(?:how|what|can|could|would)\b[^:]*: $", re.IGNORECASE)
"""A question in front of what it is about: "How would you put this: ..."."""

_THEIRS = re.compile(r"\b(?:their|his|her|he|she|they)\b[^,;]*$", re.IGNORECASE)
_THAT = re.compile(r"\bthat\s+$", re.IGNORECASE)
_KNOWN_THAT = re.compile(
    r"\b(?:note|remember|mind|aware|know|fyi|is|mention|seeing|given|fact|now|record|remembered|noted|add|confirm|"
    r"sure) that\s+$",
    re.IGNORECASE,
)
_IMAGINED = re.compile(
    r"(?:ok |so |now |please |and )*(?:imagine|suppose|pretend|let us (?:say|pretend|assume|imagine|suppose)|say we|"
    r"assume|act as|you are (?:an?|the|my) |role-?play)|(?:(?:can|could|would) you |please )*(?:write|continue|"
    r"translate|proofread|rephrase|reword|correct|fix|check|summari[sz]e|improve|shorten|edit|draft)\b[^:]*:",
    re.IGNORECASE,
)
_JOKE = re.compile(r"\b(?:just kidding|only kidding|kidding|joking|just a joke|(?<!even )as a joke)\b", re.IGNORECASE)
_HEDGE = re.compile(
    r"[\s,:–—-]*(?:and |but |so )?(?:maybe|perhaps|possibly|probably|apparently|supposedly|"
    r"allegedly|hopefully|ideally)\b",
    re.IGNORECASE,
)
_LEAD = re.compile(r"[\s,:–—-]*")


def is_stated(found: re.Match[str], sentence: Sentence) -> bool:
    """Whether the speaker vouches for what begins at a match.

    Nothing is stated by a question, after "if", "she said", "maybe" or "back then", in a relative clause, or by what is
    taken back at the end ("..., I think").
    """
    before = _before(found)
    is_clause = (
        _SUBORDINATE.search(before)
        or _is_relative(found, before)
        or _THEIRS.search(before)
        or (_THAT.search(before) and not _KNOWN_THAT.search(before))
    )
    is_unreal = _HEDGE.match(found[0]) or _BEFORE.search(before) or _BYGONE.search(before + found[0])
    return not (sentence.asks or is_clause or is_unreal or _AFTER.search(sentence.text[found.end() :]))


def _is_relative(found: re.Match[str], before: str) -> bool:
    """Whether "we" follows a noun that it describes: "the agency we hired", but not "in the lab we use"."""
    is_subject = found[0].lower().startswith(("we ", "i "))
    return is_subject and _NOUN_BEFORE.search(before) is not None and not _ADVERBIAL.search(before)


def is_undecided(found: re.Match[str], sentence: Sentence) -> bool:
    """Whether the speaker vouches for being undecided, which is said with "if" and "whether" itself."""
    before = _before(found)
    is_clause = _SUBORDINATE.search(before) or (_THAT.search(before) and not _KNOWN_THAT.search(before))
    return not (sentence.asks or is_clause or _DOUBTED.search(before))


def begins_fiction(sentence: Sentence) -> bool:
    """Whether what follows is imagined, or a text to work on: "Imagine you are a chef.", "Translate this: ..."."""
    return _IMAGINED.match(sentence.text) is not None


def is_joke(text: str) -> bool:
    """Whether a message says of itself that it is not meant."""
    return _JOKE.search(text) is not None


def _before(found: re.Match[str]) -> str:
    """What stands before a match in its sentence, without the speaker's references to what he said himself."""
    lead = _LEAD.match(found[0])
    before = found.string[: found.start() + (lead.end() if lead else 0)]
    return _OWN_WORDS.sub(" ", _ASKED_FIRST.sub("", _SETTLED.sub("", before)))
