"""Rules for what was decided."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_of, rule
from pss_integrations.beliefs.extraction.english.clauses import Clause, clause, conjugate, is_name, is_thing, sentence
from pss_integrations.beliefs.extraction.english.grammar import ADVERBS, OPENING, PASSING, WE
from pss_integrations.beliefs.extraction.english.usage import ended, used

_DECIDED = (
    r"decided|agreed|settled|opted|committed|standardi[sz]ed|signed(?: up| an? [a-z]+)?|voted|subscribed|landed|"
    r"ended up"
)
_GOING = r"went|gone|are going|am going|is going|go|are sticking|am sticking|stuck"
_PREP = r"(?:on|for|with|to|that|against|upon|not to|in favou?r of)"
_HOW = r"(?: together| finally| unanimously| yesterday| (?:on|last) \w+day(?= to\b))"
_COMMIT = r"use|go with|go for|stick with|stick to|stay with|stay on|keep using|adopt|settle on|standardi[sz]e on"
_LET_US = r"\b(?:let us|(?:we|i) (?:will|shall|are going to|am going to|are gonna)(?: just| now| all)?) "
_NO_DECISION = re.compile(
    r"(?:the (?:spot|fly)\b|disagree|ask|try|wait|check|look|see|leave|call|talk|meet|help|come|skip)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:if|unless|when we|once we|until)\b", re.IGNORECASE)
_VERB = re.compile(
    r"^(?:we (?:will|should|would) |the \w+ (?:will|should) )?[a-z]+ "
    r"(?:(?:up|on|with|to|out|off|over|using|in|for) )?",
    re.IGNORECASE,
)
_SETTLED_FORM = re.compile(
    r"^(?:(?:we|i) (?:will |are going to |am going to |are |am )?(?:go(?:ing)? (?:with|for)|use|take) |it is |"
    r"to (?:use |go with )?)",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"^no [^,;:]{2,40}, (?:but |so )?", re.IGNORECASE)
_SPELLED = re.compile(r"(?:an?|the) [\w -]{2,30}: [^,;:]{2,40}")
_SHORT = 12  # words; what is longer after "the decision is" explains


def _decide(found: re.Match[str], after: str) -> Claim | None:
    said = Clause(spelled[0]) if (spelled := _SPELLED.match(after)) else clause(after)
    verb, prep = found["verb"].lower(), found["prep"].lower()
    is_going = re.match(_GOING, verb) is not None
    if not is_thing(said.text) or _NO_DECISION.match(said.text) or (is_going and not _is_choice(said, prep)):
        return None
    spoken = re.sub(r"^(?:am|are) ", "is ", verb)
    if prep in ("against", "not to"):
        claim = ended(said if prep == "against" else _object(said), "")
        return replace(claim, content=sentence(spoken, prep, said.text))
    if prep in ("to", "that"):
        target = _object(said) if prep == "to" else said
        if not is_thing(target.text):
            return None
        return replace(claim_of("decide", target, sentence(spoken, prep, said.text)), why=said.why)
    return claim_of("decide", said, sentence(spoken, prep, said.text))


def _is_choice(said: Clause, prep: str) -> bool:
    """Whether one goes with a choice, and not with somebody or for a walk."""
    return not re.match(r"(?:my|our|her|his) ", said.text, re.IGNORECASE) and (prep == "with" or is_name(said.thing))


def _choose(found: re.Match[str], after: str) -> Claim | None:
    said = clause(after)
    if not is_thing(said.text) or (found["who"].lower() == "i" and not is_name(said.thing)):
        return None
    return claim_of("decide", said, sentence("chose" if found["verb"] == "chosen" else found["verb"], said.text))


def _object(said: Clause) -> Clause:
    """What a verb is about: ``SQLite for the app`` of "keep SQLite for the app"."""
    return replace(said, text=_VERB.sub("", said.text))


def _commit(found: re.Match[str], after: str) -> Claim | None:
    """``We'll use X``, ``let's go with X``: a decision, unless it hangs on a condition or is for today."""
    said = clause(after)
    if not is_thing(said.text) or _CONDITION.search(after) or PASSING.search(found.string):
        return None
    if not (is_name(said.thing) or _is_plain(found[0].lower(), said)):
        return None
    verb = found["verb"].lower()
    return replace(used(said, "decided on" if verb.startswith("go ") else conjugate(verb)), kind="decide")


def _refuse(found: re.Match[str], after: str) -> Claim | None:
    """``We won't use X``."""
    said = clause(after)
    if not is_thing(said.text) or _CONDITION.search(after) or PASSING.search(after):
        return None
    return ended(said, f"will not {found['verb'].lower()}")


def _is_plain(head: str, said: Clause) -> bool:
    """Whether something without a proper name may last: "we'll go with oat milk", not "I'll use the stairs"."""
    has_article = re.match(r"(?:the|my|our|an?) ", said.text, re.IGNORECASE) is not None
    return len(said.thing) > 1 and not (has_article and head.startswith("let us")) and not head.startswith("i ")


def _settle(_found: re.Match[str], after: str) -> Claim | None:
    """``It's settled: a web page``, ``final decision: a web page``."""
    said = clause(_SETTLED_FORM.sub("", _REFUSED.sub("", after)))
    if not is_thing(said.text) or len(said.text.split()) > _SHORT:
        return None
    is_clause = re.search(r"\b(?:is|are|will|should|has|have|stays?|gets?)\b", said.text) is not None
    return claim_of("decide", said, sentence("decided that" if is_clause else "decided on", said.text))


DECISIONS: tuple[Rule, ...] = (
    rule(
        _decide,
        WE,
        ADVERBS,
        rf"(?P<verb>(?:{_DECIDED})(?={_HOW}? {_PREP}\b)|(?:{_GOING})(?= (?:with|for)\b))",
        rf"{_HOW}? (?P<prep>{_PREP}) ",
    ),
    rule(_choose, WE, ADVERBS, r"(?P<verb>chose|chosen|picked|selected|adopted|hired) (?!up\b|out\b)"),
    rule(_commit, _LET_US, rf"(?P<verb>{_COMMIT}) "),
    rule(_refuse, rf"\b(?P<who>we|i) (?:(?:are|am) not going to|will not|shall not) (?P<verb>{_COMMIT}) "),
    rule(
        _settle, OPENING, r"(?:it is |that is |this is )?(?:now |all )?(?:settled|decided)(?: then| now)?[:,]? (?:on )?"
    ),
    rule(
        _settle,
        r"\b(?:the |our |final |my )*(?:decision|verdict|final answer|final call)",
        r"(?: (?:of|from|on|at|after) [\w' ]{2,30})?(?: is| was|:)+ ",
    ),
)
