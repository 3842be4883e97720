"""Rules for what somebody has made up his mind to do, and where and when something will be."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_of, claim_with, rule
from pss_integrations.beliefs.extraction.english.clauses import clause, is_name, is_thing, sentence, terms
from pss_integrations.beliefs.extraction.english.grammar import ADVERBS, OPENING, PASSING, WE, is_own

_CONDITION = re.compile(r"\b(?:if|unless|when we|once we|until we|maybe|perhaps)\b", re.IGNORECASE)
_LASTING_ACT = (
    r"sell|buy|rent(?: out)?|lease|hire|renew|adopt|quit|marry|enrol(?: in)?|study|apply (?:for|to)|accept|decline|"
    r"keep|"
    r"rename|repaint|convert|install|expand|merge|extend|replace|rebuild|publish|join|leave|close|open|drop|plant|"
    r"build|"
    r"cancel|sign|take on|move (?:to|into)|switch to|retire|stay (?:at|in|with)|have(?= the \w+ (?:painted|repaired|"
    r"rebuilt|insured))"
)
_OFFERED = (
    r"take(?= (?:the|that) (?:job|offer|flat|post|position|role|house|room|contract|van|car|dog|cat|puppy|kitten)\b)"
)
_NOTHING = re.compile(
    r"(?:it|them|that|this|these|those|the (?:door|window|tab|file|page|app|dialog|ticket|issue|box|call|bracket)|a "
    r"(?:window|file|tab|page|ticket|coffee|beer|sandwich|ticket)|some|milk|bread|lunch|work|early|home)\b",
    re.IGNORECASE,
)
_EVENT = (
    r"(?:wedding|party|fair|festival|concert|retreat|reunion|conference|workshop|agm|holiday|camp|exhibition|funeral|"
    r"christening|picnic|gala|tournament|trip|course|summer camp|open day|launch|honeymoon|kick-?off|anniversary|"
    r"ceremony|reception|meeting point|venue|theme|title|name|colou?r|price|fee|keynote|speech|speaker|main course|"
    r"first prize|prize|logo|motto|cover|floor|roof|new \w+)"
)
_CLAUSE = re.compile(r"^(?:we|i) (?:will |am |are |shall )?(?:going to )?", re.IGNORECASE)


def _will_do(found: re.Match[str], after: str) -> Claim | None:
    """``I'm going to sell the boat``, ``we won't renew the lease``."""
    said = clause(after)
    is_vague = _CONDITION.search(after) or PASSING.search(found.string) or _NOTHING.match(said.text)
    if is_vague or not is_thing(said.text):
        return None
    groups = found.groupdict()
    neg = groups.get("neg") or groups.get("no")
    is_told = is_name(said.text) or re.match(r"(?:the|our|my|an?|all|no) ", said.text)
    if not is_told:
        return None
    verb = found["verb"].lower()
    spoken = ("is", verb) if verb.endswith("ing") else ("will", "not" if neg else "", verb)
    content = sentence(*spoken, said.text)
    return claim_with("decide", said, content, *terms(said.text))


def _will_be(found: re.Match[str], after: str) -> Claim | None:
    """``The wedding will be in Ghent``."""
    said = clause(after)
    subject = found["what"]
    if not is_own(subject) or not terms(said.text) or PASSING.search(found.string) or _CONDITION.search(found.string):
        return None
    if re.search(r"\b(?:fun|great|nice|long|short|hard|over|hot|cold|lovely|fine|ok|okay|difficult|easy)\b", said.text):
        return None
    claim = claim_with("decide", said, sentence(subject, found["be"], said.text), *terms(subject), *terms(said.text))
    return replace(claim, value=clause(re.sub(r"^(?:in|on|at|by) ", "", said.text)).thing)


def _resolved(found: re.Match[str], after: str) -> Claim | None:
    """``The decision is made: we're buying the barn``, ``I've made up my mind to learn Welsh``."""
    said = clause(after)
    text = re.sub(r"^to ", "", _CLAUSE.sub("", said.text))
    if len(terms(text)) < 1 or PASSING.search(after) or re.search(r"\byet\b|\?", after) or _CONDITION.search(after):
        return None
    is_act = text != said.text
    is_ing = re.match(r"\w+ing\b", text) is not None
    link = "on" if not is_act or is_ing else "to"
    target = clause(re.sub(r"^(?:not )?[a-z]+ ", "", text)) if is_act else said
    is_clause = re.search(r"^\S+(?: \S+){0,3} (?:is|are|will|stays?|gets?|goes)\b", text)
    link = "that" if is_clause and not is_act else link
    words = terms(target.text) or terms(text)
    return claim_with("decide", said, sentence("decided", link, text), *words) if words else None


def _held(found: re.Match[str], after: str) -> Claim | None:
    """``We'll have the party in the barn``."""
    said = clause(after)
    if PASSING.search(found.string) or _CONDITION.search(after):
        return None
    return claim_with("decide", said, sentence("will", found["verb"], said.text), *terms(said.text))


def _meets(found: re.Match[str], after: str) -> Claim | None:
    """``We've agreed to meet on Mondays``."""
    said = clause(after)
    claim = claim_of("decide", said, sentence("agreed to", found["verb"], said.text))
    return claim if terms(said.text) and not PASSING.search(found.string) else None


RESOLUTIONS: tuple[Rule, ...] = (
    rule(
        _resolved,
        r"\b(?:(?:the |our |my )?(?:decision|choice) (?:is|has been) (?:made|final|taken)|(?:my|our) minds? (?:is|"
        r"are) made "
        r"up|(?:the |our )?(?:\w+ )?(?:family|council|board|committee|jury|team|club) (?:has|have) (?:spoken|"
        r"decided)|(?:we "
        r"|i )?(?:have )?(?:finally )?(?:made up (?:my|our) minds?)|it is (?:official|final|definite))(?:: |, (?:and "
        r")?(?=we |i |"
        r"our |the |it )| (?=to [a-z])| - )",
    ),
    rule(
        _will_do,
        rf"\b(?P<who>we|i) (?:(?:am|are) (?P<neg>not )?going to|(?:have )?resolved (?P<no>not )?to) "
        rf"(?P<verb>{_LASTING_ACT}|{_OFFERED}) ",
    ),
    rule(_will_do, rf"\b(?P<who>we|i) (?:will|shall) (?P<neg>not )(?P<verb>{_LASTING_ACT}) "),
    rule(
        _will_do,
        r"\b(?P<who>we|i) (?:am|are) (?:now |finally |definitely )?(?P<verb>selling|buying|keeping|adopting) ",
    ),
    rule(
        _will_be,
        OPENING,
        rf"(?:the|our|my) (?P<what>(?:[\w'-]+ ){{0,2}}?{_EVENT}(?: (?:for|of) [\w' -]+?)?) (?P<be>will be(?: held| "
        rf"called| made "
        rf"of| paid| run| given)?|will take place|is going to be(?: held| called)?|will go to) ",
    ),
    rule(
        _held,
        r"\b(?P<who>we|i) (?:will|are going to|am going to|shall) (?P<verb>have|hold|celebrate|do|spend) "
        rf"(?=(?:the|our|my) (?:[\w'-]+ ){{0,2}}?{_EVENT} (?:in|at|on) )",
    ),
    rule(_meets, WE, ADVERBS, r"(?:agreed|decided) to (?P<verb>meet) (?=(?:on|every|at|in|once|twice) )"),
)
