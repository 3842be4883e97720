"""What an assistant suggests or asks, and what a user makes his own of it by "let's go with that"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pss_integrations.beliefs.extraction.english.claims import Claim, claim_of
from pss_integrations.beliefs.extraction.english.clauses import (
    Clause,
    clause,
    is_name,
    is_thing,
    sentence,
    snake,
    terms,
)
from pss_integrations.beliefs.extraction.english.prose import Sentence, sentences
from pss_integrations.beliefs.names import name_key


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What an assistant suggested.

    :param things: What could be taken up, the recommended one first.
    :param about: What it is for, by the user's question.
    """

    things: tuple[str, ...]
    about: tuple[str, ...]


_USE_IT = r"(?:use|using|go with|going with|pick|choose|take|try|call it|calling it|name it)"
_SUGGEST = re.compile(
    r"\b(?:i (?:would |could )?(?:suggest|recommend|propose|advise|go with|use|pick|choose|take|set it to)|(?:how|"
    r"what) about|(?:you|we|i) c(?:ould|an) (?:also )?(?:use|try|go with|call it|name it|do|have|take|switch to|put|"
    r"write|store|keep|set it to)|(?:shall|should) (?:we|i) (?:use|go with|call it|name it|take|do|make it|set it to)|"
    r"let us (?:use|go with|take|call it)|my (?:suggestion|recommendation|pick|vote) (?:is|would be|goes to)|"
    r"(?:suggestion|recommendation|proposal|option [a1]):|why not|consider)"
    rf":? (?:that you |you |to )?(?:{_USE_IT} )?(?P<thing>.+)",
    re.IGNORECASE,
)
_BEST = re.compile(
    r"^(?P<thing>[\w.+#'-]+(?: [\w.+#'-]+){0,4}?) (?:would|should|might|could|will) "
    r"(?:be (?:the |a )?(?:best|good|better|simplest|right|fine|ideal|natural)|do|work|fit)\b",
    re.IGNORECASE,
)
_OFFER_END = re.compile(
    r"\s*[;:]\s|,? e\.g\.|, (?:it|which|that|since|because|as|they|and you|so)\b|"
    r"\s+(?:because|since|for that|for this)\b"
)
_PUT = re.compile(r"^(?:[a-z]+ )?(?:them|it|this|that) (?:on |in |at |to |as )?", re.IGNORECASE)
_EITHER = re.compile(r"\s*,? \bor (?:rather |else )?", re.IGNORECASE)
_ASKED_FOR = re.compile(
    r"\b(?:should|shall|would|do|can|could|to) (?:we|i|you|one)? ?(?P<verb>[a-z]+) (?P<what>.+)", re.IGNORECASE
)


def suggestion(text: str, asked: Sequence[Sentence]) -> Suggestion | None:
    """What a message of the assistant suggests, if anything.

    :param asked: The sentences of the user's message before it.
    """
    for spoken in sentences(text):
        found = _SUGGEST.search(spoken.text) or _BEST.search(spoken.text)
        if found and terms(found["thing"]):
            offered = found["thing"] if "e.g." in found["thing"] else _OFFER_END.split(found["thing"])[0]
            things = tuple(_PUT.sub("", part) for part in _EITHER.split(offered) if terms(part))
            return Suggestion(things, next((_asked_for(one.text) for one in reversed(asked) if one.asks), ()))
    return None


def _asked_for(question: str) -> tuple[str, ...]:
    found = _ASKED_FOR.search(question)
    if found is None:
        phrases = terms(question)
        is_named = phrases and question.endswith(phrases[0])  # "which exchange rate source", not "which day suits"
        return phrases[:2] if is_named or not phrases else (phrases[0].split()[0], *phrases[1:2])
    has_subject = found["verb"].lower() in ("the", "our", "my")  # its verb stands at the end: "should the backups run"
    phrases = terms(found["what"].rpartition(" ")[0] or found["what"]) if has_subject else terms(found["what"])
    return (*phrases[:2], *(f"{found['verb']} {phrase}" for phrase in phrases[:1]))


_TAKE_UP = re.compile(
    r"\b(?P<verb>go(?:ing)? (?:with|for)|do(?:ing)?|use|using|tak(?:e|ing)|adopt(?:ing)?|keep|choose|pick)(?: it)? "
    r"(?P<which>that|it|this|those|these|them|so|like that|like this|your (?:suggestion|proposal|first one)|the "
    r"(?:first|second|third|latter|former))\b|\b(?:that|this) is what (?:we|i) (?:will|are going to) (?:do|use|take|"
    r"go with)\b|\block (?:that|it) in\b",
    re.IGNORECASE,
)
_COMMITTED = re.compile(
    r"\b(?:let us|(?:we|i) (?:will|shall)|(?:we are|i am) (?:going|doing|using|taking)|agreed|deal|sold|decided|lock|"
    r"yes,? (?:please )?do(?= it like)|settled)\b",
    re.IGNORECASE,
)
_RESERVED = re.compile(r"\b(?:not|if|later|maybe|unless|for now|this time)\b", re.IGNORECASE)
_ORDINALS = {"first": 0, "former": 0, "second": 1, "latter": -1, "third": 2}


def taken_up(spoken: Sentence, offered: Suggestion) -> Claim | None:
    """The decision that a user makes by "let's go with that"."""
    found = _TAKE_UP.search(spoken.text)
    if spoken.asks or found is None or not _COMMITTED.search(spoken.text) or _RESERVED.search(spoken.text):
        return None
    place = next((place for word, place in _ORDINALS.items() if word in (found["which"] or "").lower()), 0)
    things = offered.things
    thing = (things[place] if -len(things) <= place < len(things) else things[0]).strip(" .,?")
    subject = offered.about[0] if offered.about else ""
    purpose = f"for the {subject}" if subject and subject.lower() not in thing.lower() else ""
    aliases = tuple(dict.fromkeys((*offered.about, *terms(thing))))
    name = snake(subject) if subject else snake(*terms(thing)[:2])
    return claim_of("decide", Clause(thing), sentence("decided on", thing, purpose), name=name, aliases=aliases)


_THREE = r"[\w.+#'-]+(?: [\w.+#'-]+){0,3}?"
_ASSENT = (
    r"(?:ok|okay|right|fine|so|then|good|alright|yes|yeah|yep|great|well|agreed|perfect|sold|deal|done|cool|nice|sure|"
    r"thanks|thx|hm+)"
)
_PICKED = re.compile(
    rf"(?:{_ASSENT}\b[,:]? )*(?:(?P<thing>{_THREE}),? (?:it is|then|wins|won)(?=$|,)|(?:(?:let us|(?:we|i) (?:will|"
    rf"would)) (?:take|have|do|choose|pick|use|stay|keep|stick with|go with|go for)|(?:we|i) (?:take|choose|pick|stay|"
    rf"stick with)) (?:with )?(?P<taken>{_THREE})(?: then| please)?(?=$|,)|it is (?P<named>(?-i:[A-Z]){_THREE})$|"
    r".*\b(?:we|i) (?:will|are going to|am going to) (?P<act>[a-z]+)(?: (?:it|them|that|this|both))?$)",
    re.IGNORECASE,
)


_SEEKS = re.compile(
    r"^(?:(?:hi|hey|ok|so|also)\b,? )*(?:(?:i|we) )?(?:(?:still )?need|(?:am |are )?looking for|could use) an? "
    r"(?:[\w-]+ ){0,3}(?:manager|tool|app|software|editor|database|host|hosting|service|library|framework|supplier|"
    r"provider|platform|system|plug-?in|vendor|caterer|venue|courier)\b",
    re.IGNORECASE,
)


def seeks(spoken: Sentence) -> bool:
    """Whether a sentence asks for a proposal without being a question: "need a reference manager"."""
    return _SEEKS.match(spoken.text) is not None


def picked(spoken: Sentence, heard: str, asked: str) -> Claim | None:
    """What a user picks out of what was just offered: "Bruges it is.", "We'll take esbuild.".

    :param heard: The assistant's message before.
    :param asked: The questions that are open; of these alone "it's X" is an answer.
    """
    starts = (0, *(comma.end() for comma in re.finditer(r",? (?:so |then |and )|, ", spoken.text)))
    found = next(filter(None, (_PICKED.match(spoken.text, start) for start in starts)), None)
    if spoken.asks or found is None:
        return None
    thing = re.sub(
        r"^(?:the|an?) ", "", found["thing"] or found["taken"] or found["named"] or found["act"], flags=re.IGNORECASE
    )
    offered = asked if found["named"] else f"{heard} . {asked}"
    if not is_thing(thing) or f" {name_key(thing)} " not in f" {name_key(offered)} ":
        return None
    return claim_of("decide", Clause(thing), sentence("decided to" if found["act"] else "decided on", thing))


_ASKS_WHAT = re.compile(
    r"\b(?:what|which) (?P<what>[\w-]+(?: [\w-]+){0,3}?) (?:do|does|are|is) (?:you|your \w+) [a-z]+",
    re.IGNORECASE,
)
_ANSWERS = re.compile(
    r"(?:oh |well |just |only |mostly |it is |we use |i use )*(?:an? |the )?(?P<thing>[^,;:]+)$", re.IGNORECASE
)
_NO_ASPECT = re.compile(
    r"(?:\w+ )?(?:error|message|line|file|page|output|step|option|question|one|problem|exception)s?$", re.IGNORECASE
)
_NO_ANSWER = re.compile(r"\b(?:no|not|none|yes|sure|what)\b", re.IGNORECASE)
_SHORT = 4  # words of an answer that is but a name


def short_answer(question: str, spoken: Sentence) -> Claim | None:
    """What a user answers by a name alone: "Which editor do you use?" "Helix."."""
    asked, given = _ASKS_WHAT.search(question), _ANSWERS.match(spoken.text)
    if asked is None or given is None or spoken.asks or _NO_ASPECT.match(asked["what"]):
        return None
    thing = clause(given["thing"]).text
    if not is_name(thing) or len(thing.split()) > _SHORT or _NO_ANSWER.search(thing):
        return None
    what = asked["what"]
    return claim_of("fact", Clause(thing), sentence(what, "is", thing), name=snake(what), aliases=(what, thing))
