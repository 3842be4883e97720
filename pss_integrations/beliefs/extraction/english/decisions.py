"""Rules for what was decided."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_of, ended, rule, used
from pss_integrations.beliefs.extraction.english.clauses import Clause, clause, conjugate, is_name, is_thing, sentence
from pss_integrations.beliefs.extraction.english.grammar import ADVERBS, FAILURE, OPENING, PASSING, WE

_DECIDED = (
    r"decided|agreed|settled|opted|plumped|committed|standardi[sz]ed|signed(?: up| (?:an?|the) [a-z]+)?|voted|"
    r"subscribed|"
    r"landed|ended up(?: (?:going|choosing|picking))?|(?:are|am) settling"
)
_GOING = (
    r"went|ended up going|(?:am|are|is) going ahead|gone|are going|am going|is going|go|are sticking|am sticking|stuck"
)
_PREP = r"(?:on|for|with|to|that|against|upon|not to|in favou?r of)"
_HOW = r"(?: together| finally| unanimously| yesterday| (?:on|last) \w+day(?= to\b))"
_COMMIT = (
    r"use|be using|be going with|go with|go for|stick with|stick to|stay with|stay on|keep using|adopt|settle on|"
    r"standardi[sz]e on"
)
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
    r"^(?:(?:we|i) (?:will |are going to |am going to |are |am )?(?:go(?:ing)? (?:with|for)|use|take) |it is (?:going "
    r"to be )?|it will be |to (?:use |go with )?)",
    re.IGNORECASE,
)
_OWN_ACT = re.compile(
    r"(?:we|i) (?:(?:will|shall|(?:am|are) going to) (?!not\b)|(?:am|are) (?=\w+ing\b(?<!going)))", re.IGNORECASE
)
_REFUSED = re.compile(r"^no [^,;:]{2,40}, (?:but |so )?", re.IGNORECASE)
_SPELLED = re.compile(r"(?:an?|the) [\w -]{2,30}: [^,;:]{2,40}")
_COMPANY = re.compile(r"(?:my|our|her|his) |(?-i:[A-Z])\w+ to (?:the|an?|my)\b|the flow\b", re.IGNORECASE)
_BODY = (
    r"(?:board|committee|council|club|members|assembly|parents|trustees|owners?|faculty|management|team|crew|jury|"
    r"union|cooperative|co-op|family)"
)
_PAPERS = re.compile(
    r"^(?:the |our |my )?(?:\w+ )?(?:minutes|draft|pr|mail|pull request|request|agenda)\b", re.IGNORECASE
)
_FOR_OURS = re.compile(r" for (?:the|our|my) \w", re.IGNORECASE)
_TONIGHT = re.compile(
    r"\b(?:tonight|for now|this (?:evening|time)|just this once|for (?:lunch|dinner|breakfast))\b", re.IGNORECASE
)
_SHORT = 12  # words; what is longer after "the decision is" explains


def _decide(found: re.Match[str], after: str) -> Claim | None:
    said = Clause(spelled[0]) if (spelled := _SPELLED.match(after)) else clause(after)
    verb, prep = found["verb"].lower(), found["prep"].lower()
    is_going = re.match(_GOING, verb) is not None
    if (
        not is_thing(said.text)
        or _NO_DECISION.match(said.text)
        or _TONIGHT.search(said.text)
        or (is_going and not _is_choice(said, prep))
    ):
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
    is_definite = re.match(r"the (?!\w+$)(?!(?:first|second|next|best|last)\b)", said.text, re.IGNORECASE) is not None
    is_told = prep == "with" or is_name(said.thing) or is_definite
    return is_told and not _COMPANY.match(said.text)


def _choose(found: re.Match[str], after: str) -> Claim | None:
    said = clause(after)
    if not is_thing(said.text) or (
        found["who"].lower() == "i" and not (is_name(said.thing) or _FOR_OURS.search(said.text))
    ):
        return None
    return claim_of("decide", said, sentence("chose" if found["verb"] == "chosen" else found["verb"], said.text))


def _book(found: re.Match[str], after: str) -> Claim | None:
    """``We've booked the Mill Hall for the party``."""
    said = clause(after)
    is_told = is_name(said.thing) or re.match(r"the .* for (?:the|our) ", said.text)
    is_ours = found["who"].lower() != "i" and is_told and not FAILURE.search(after)
    return claim_of("decide", said, sentence(found["verb"], said.text)) if is_ours else None


def _vote(found: re.Match[str], after: str) -> Claim | None:
    """``The board signed off on the Lisbon trip``."""
    said = clause(after)
    if (
        not is_thing(_object(said).text if found["verb"].endswith("to") else said.text)
        or _PAPERS.search(said.text)
        or PASSING.search(found.string)
    ):
        return None
    group = re.sub(r"^(?:the|our) ", "", found["who"], flags=re.IGNORECASE)
    return claim_of(
        "decide", _object(said) if found["verb"] == "voted to" else said, sentence(group, found["verb"], said.text)
    )


def _agree_that(found: re.Match[str], after: str) -> Claim | None:
    """``We agreed we'd skip the programme``, ``it was decided that the lab moves``."""
    said = clause(after)
    verb = found["verb"].lower()
    if not is_thing(said.text) or PASSING.search(found.string):
        return None
    link = "to" if verb not in ("to", "the", "our", "we") else "that" if verb != "to" else ""
    return claim_of("decide", said, sentence("decided", "not" if found["neg"] else "", link, verb, said.text))


def _name(found: re.Match[str], after: str) -> Claim | None:
    """``We're calling the café Driftwood``."""
    said = clause(after)
    what = re.sub(r"^(?:the|our|my|it|her|him)\b ?", "", found["what"].strip())
    if _CONDITION.search(after) or PASSING.search(found.string):
        return None
    claim = claim_of("decide", said, sentence("calls", found["what"], said.text))
    return replace(claim, aliases=(*claim.aliases, what)) if what else claim


def _will(found: re.Match[str], after: str) -> Claim | None:
    """``We'll hold the AGM on 14 May``: a plan with a name or a date, not a step of today."""
    said = clause(after)
    is_vague = _CONDITION.search(after) or PASSING.search(found.string) or not is_thing(said.text)
    return (
        None
        if is_vague or not is_name(said.text)
        else claim_of("decide", said, sentence("will", found["verb"], said.text))
    )


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
    return replace(used(said, "decided on" if verb.startswith(("go ", "be ")) else conjugate(verb)), kind="decide")


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
    if act := _OWN_ACT.match(said.text):
        rest = said.text[act.end() :]
        link = "on" if re.match(r"\w+ing\b", rest) else "to"
        return claim_of("decide", _object(replace(said, text=rest)), sentence("decided", link, rest))
    is_clause = re.search(r"^(?:we|i) |\b(?:is|are|will|should|has|have|stays?|gets?)\b", said.text) is not None
    return claim_of("decide", said, sentence("decided that" if is_clause else "decided on", said.text))


DECISIONS: tuple[Rule, ...] = (
    rule(
        _decide,
        WE,
        ADVERBS,
        rf"(?P<verb>(?:{_DECIDED})(?={_HOW}? {_PREP}\b)|(?:{_GOING})(?= (?:with|for)\b)|(?:are|am) sticking(?= to\b))",
        rf"{_HOW}? (?P<prep>{_PREP}) ",
    ),
    rule(_choose, WE, ADVERBS, r"(?P<verb>chose|chosen|picked|selected|adopted|hired) (?!up\b|out\b)"),
    rule(_book, WE, ADVERBS, r"(?P<verb>booked|reserved|hired|appointed|elected|bought|ordered) "),
    rule(
        _vote,
        rf"\b(?P<who>(?:the|our) (?:[\w']+ )?{_BODY}) (?:has |have )?(?:just |now |finally |unanimously |also )*",
        r"(?P<verb>approved|signed off on|voted for|voted to|voted against|greenlit|picked|chose|selected|settled on|"
        r"agreed on|decided on|went with|turned down|",
        r"rejected|okayed|vetoed|ruled out) ",
    ),
    rule(_commit, _LET_US, rf"(?P<verb>{_COMMIT}) "),
    rule(
        _agree_that,
        WE,
        ADVERBS,
        r"(?:decided|agreed|settled) (?:that )?(?:we|i) (?:will|would|should|shall) (?P<neg>not )?(?P<verb>[a-z]+) ",
    ),
    rule(
        _name,
        WE,
        ADVERBS,
        r"(?:(?:am|are|is|have|will be|will) )*(?P<verb>calling|naming|named|christened|call|name) (?P<what>(?:the|"
        r"our|my|it|her|him)\b[^,;:]*? ?)(?=(?-i:[A-Z])\w)",
    ),
    rule(
        _agree_that,
        r"\bit (?:was|has been|is) (?:now |finally )?(?:decided|agreed|settled)(?: that)? (?P<neg>)(?P<verb>we|to|"
        r"the|our) ",
    ),
    rule(
        _will,
        r"\b(?P<who>we) (?:will|are going to) (?P<verb>hold|publish|release|launch|host|charge|paint|plant|license|"
        r"rename|adopt) ",
    ),
    rule(
        _settle,
        r"\b(?:i|we) have (?:finally |now )*(?:made up (?:my|our) minds?|decided|chosen|settled it|agreed|(?:got|"
        r"found) "
        r"(?:a|our) \w+|settled "
        r"the (?:question|matter)|made (?:a|the|our) decision|a winner)(?:, |: | - )",
    ),
    rule(
        _settle,
        OPENING,
        r"(?:the )?(?:plan|question|matter|date|choice) is (?:now )?(?:fixed|settled|decided|made|clear)(?:: | - )",
    ),
    rule(
        _settle,
        r"\b(?:our|the|my) (?:choice|vote|decision) (?:fell|has fallen|went|has gone) (?:on|to|for|with) ",
    ),
    rule(
        _settle,
        r"\b(?:everyone|everybody|all of us|we all) (?:has |have )?(?:now |finally )?(?:agreed|settled|decided|"
        r"voted) (?:on|for) ",
    ),
    rule(_refuse, rf"\b(?P<who>we|i) (?:(?:are|am) not going to|will not|shall not) (?P<verb>{_COMMIT}) "),
    rule(
        _settle,
        OPENING,
        r"(?:(?:ok|okay|right|so|well),? )?(?:it is |that is |this is )?(?:now |all )?(?:settled|decided)(?: then| "
        r"now)?[:,]? (?:on )?",
    ),
    rule(
        _settle,
        r"\b(?:the |our |final |my |\w+'s )*(?:decision|verdict|final answer|final call|vote is in|result of the vote)",
        r"(?! (?:is|was|has been) (?:made|final|taken|up to|hard|still|difficult|easy|yours|pending)\b)(?: (?:of|"
        r"from|on|at|after) [\w' ]{2,30})?(?: is| was|:|,(?= (?:the|our|we|it)\b))+ (?!(?:still|pending|not|up to|"
        r"made|final|hard)\b)",
    ),
)
