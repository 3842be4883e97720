"""Rules for what is otherwise than it was: "used to swim, now I row", "I'm no longer vegan"."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_of, rule
from pss_integrations.beliefs.extraction.english.clauses import clause, conjugate, is_thing, sentence, snake, terms
from pss_integrations.beliefs.extraction.english.facts import fares
from pss_integrations.beliefs.extraction.english.grammar import (
    ADVERBS,
    FAILURE,
    NOUNS,
    OPENING,
    PASSING,
    WE,
    is_lasting,
    is_own,
    is_person,
)
from pss_integrations.beliefs.extraction.english.usage import ended

_DOES = (
    r"use|do|run|make|send|print|keep|write|host|order|buy|get|take|handle|post|sell|bake|serve|brew|meet|play|work|"
    r"cook|drink|eat|ride|drive|shop|publish|train|ship|pay|bill|book|heat|track|record|teach|offer|have|go|swim|sing|"
    r"row|fly|wear|sleep|shoot|paint|knit|walk|cycle"
)
_ENDS = (
    r"meet|run|exist|open|sell|offer|serve|take|accept|deliver|publish|play|rehearse|use|make|bake|allow|require|have|"
    r"charge|belong|include|cover|go|come|teach|print|support|ship|grow|keep|apply|produce"
)
_NOW = r"(?:now|nowadays|these days|today)"
_FAULT = re.compile(r"\b(?:button|page|link|code|script|file|screen|key|light|app|login|site)\b", re.IGNORECASE)


def _turned(found: re.Match[str], after: str) -> Claim | None:
    """``We used to order from Bidfood, now it's Brakes``, ``we no longer print flyers but post online``."""
    groups = found.groupdict(default="")
    said = clause(after)
    old = clause(groups["old"])
    bare = re.sub(r"^(?:in|on|at|from|with|to|by|off) (?:the )?", "", said.text)
    if not (is_thing(bare) and terms(old.text)) or PASSING.search(after) or FAILURE.search(found.string) or fares(bare):
        return None
    verb = conjugate(groups.get("verb") or groups.get("was") or "use")
    is_bare = bare != said.text or verb in ("uses", "has") or groups["verb"]
    prep = re.match(r"(?:in|on|at|from|with|to|by|off) ", old.text)
    text = said.text if is_bare or not prep else f"{prep[0]}{said.text}"
    given_up = re.sub(r"^(?:in|on|at|from|with|to|by|off) (?:the )?", "", old.text)
    words = terms(bare)
    claim = claim_of("change", said, sentence(verb, text), name=snake(*words[:2]), aliases=words)
    return replace(claim, value=clause(bare).thing, replaces=(clause(given_up).thing or given_up,))


def _is_no_longer(found: re.Match[str], after: str) -> Claim | None:
    """``I'm no longer vegan``."""
    said = clause(after)
    if (
        not terms(said.text)
        or PASSING.search(found.string)
        or fares(said.text)
        or re.match(r"\w+ing\b|able\b", said.text)
    ):
        return None
    return ended(said, "is no longer")


def _stopped(found: re.Match[str], after: str) -> Claim | None:
    """``The Tuesday group doesn't meet any more``, ``our inn no longer serves lunch``."""
    subject = re.sub(r"^(?:the|our|my) ", "", found["what"], flags=re.IGNORECASE)
    is_ours = is_lasting(subject) if re.match(r"our|my", found["what"], re.IGNORECASE) else is_own(subject)
    if (
        not is_ours
        or is_person(subject)
        or not terms(subject)
        or _FAULT.search(subject)
        or PASSING.search(found.string)
    ):
        return None
    verb = found["verb"].lower()
    rest = found.groupdict().get("rest") or clause(after).text
    text = f"no longer {verb if verb.endswith('s') or subject.endswith('s') else conjugate(verb)} {rest}"
    words = (*terms(subject), *terms(rest))
    claim = claim_of("end", clause(found["what"]), sentence(subject, text), name=snake(*words[:3]), aliases=words)
    return replace(claim, ends=True)


def _taken_off(found: re.Match[str], _after: str) -> Claim | None:
    """``We've taken the soup off the menu``."""
    what = clause(found["what"])
    return ended(what, "no longer has") if is_thing(what.text) and not PASSING.search(found.string) else None


def _without_it(found: re.Match[str], after: str) -> Claim | None:
    """``I sold the motorbike``, ``we've closed the branch in Ely``, ``I'm done with crash diets``."""
    said = clause(after)
    if not is_thing(said.text) or len(said.text.split()) > 6 or PASSING.search(found.string) or FAILURE.search(after):
        return None
    return ended(said, "no longer has" if re.match(r"(?:the|our|my) ", said.text) else "no longer wants")


def _left(found: re.Match[str], after: str) -> Claim | None:
    """``I've left the choir``, ``I resigned from the board``."""
    said = clause(after)
    if not is_thing(said.text) or PASSING.search(found.string) or len(said.text.split()) > 6:
        return None
    return ended(said, "is no longer with")


def _is_over(found: re.Match[str], _after: str) -> Claim | None:
    """``Our Monday quiz is history``, ``the Thursday market is no more``."""
    subject = found["what"]
    is_ours = is_lasting(subject) and is_own(subject) and terms(subject) and not _SHORT_LIVED.search(subject)
    if not is_ours or PASSING.search(found.string):
        return None
    return replace(ended(clause(subject), ""), content=sentence(subject, "no longer exists"))


def _not_any_more(found: re.Match[str], _after: str) -> Claim | None:
    """``The greenhouse isn't heated any more``, ``I don't teach any more``."""
    subject = re.sub(r"^(?:the|our|my|we|i)\b ?", "", found["what"], flags=re.IGNORECASE)
    state = found["state"].strip()
    is_ours = not subject or (is_own(subject) and not is_person(subject) and not _FAULT.search(subject))
    if not is_ours or not terms(state) or fares(state) or PASSING.search(found.string) or re.match(r"\w+ing\b", state):
        return None
    is_act = found["be"].lower() == "do"
    words = (*terms(subject), *terms(state))
    spoken = ("no longer", conjugate(state)) if is_act else ("is no longer", state)
    claim = claim_of("end", clause(subject or state), sentence(subject, *spoken), name=snake(*words[:3]), aliases=words)
    return replace(claim, ends=True)


_SHORT_LIVED = re.compile(
    r"\b(?:meeting|call|day|week|weekend|holiday|shift|lesson|break|lunch|party|trip|vacation|summer|winter|film|"
    r"match|game|time|"
    r"sale|exam|class|show|patience|luck|turn|fun|money|battery)s?$",
    re.IGNORECASE,
)
_GROUPS = (
    r"(?:(?:the|our|my) (?:[\w'-]+ ){0,2}?(?:choir|club|band|board|team|job|company|church|union|party|group|"
    r"committee|firm|"
    r"association|orchestra|council|course|society|co-op|agency|programme|scheme|plan|newspaper|parish|faculty|army|"
    r"position|"
    r"post|forum|list|caterer|supplier|publisher|bank|insurer|agent)\b|(?-i:[A-Z])\w)"
)

TURNS: tuple[Rule, ...] = (
    rule(
        _left,
        rf"{WE}{ADVERBS}(?:left(?= (?:the|our|my) )|resigned from|dropped out of|parted ways with|withdrew from|"
        rf"withdrawn from|"
        rf"opted out of|stepped down from|retired from|unsubscribed from|quit) (?={_GROUPS})",
    ),
    rule(
        _is_over,
        OPENING,
        rf"(?:our|my) (?P<what>(?:{NOUNS}|subscription to \w+|partnership with \w+)) (?:(?:is|are) (?:history|over|"
        rf"no more|a thing of the "
        r"past|gone for good)|(?:has|have) (?:ended|closed(?: down)?|folded|been (?:abolished|dissolved|scrapped|"
        r"cancell?ed|closed)))"
        r"(?=$|,|\.| for good| and\b| now\b)",
    ),
    rule(_is_over, OPENING, rf"the (?P<what>{NOUNS}) (?:is|are) (?:no more|a thing of the past|gone for good)(?=$|,)"),
    rule(
        _not_any_more,
        OPENING,
        rf"(?P<what>(?:the|our|my) {NOUNS}|we|i) (?P<be>is|are|am) not (?P<state>[^,;:]{{3,40}}?) (?:any ?more|any "
        rf"longer)\b",
    ),
    rule(
        _not_any_more,
        r"\b(?P<what>we|i) (?P<be>do) not (?P<state>teach|smoke|drink|drive|sing|work|run|commute|travel|row|knit|"
        r"dance|swim|ski|"
        r"climb|ride|advertise|deliver|bake|brew|farm|fish) (?:any ?more|any longer)\b",
    ),
    rule(
        _turned,
        r"\bit used to be (?P<old>[^,;:]{2,30}?),? (?:but |and )?(?:(?:now|these days|nowadays|today) it is|it is "
        r"now) (?=(?-i:[A-Z]))",
    ),
    rule(
        _turned,
        rf"\b(?:our|my) {NOUNS} (?:was|were|used to be) (?:an? )?(?P<old>[^,;:]{{2,30}}?),? (?:but |and )?(?:now|"
        rf"these days) (?:it is|they "
        r"are) (?=(?:an? )?(?-i:[A-Z]))",
    ),
    rule(
        _turned,
        r"\b(?:we|i) (?:have )?(?:said|waved) (?:good ?bye|farewell) to (?P<old>[^,;:]{2,30}?) and (?:hello|welcome) "
        r"to ",
    ),
    rule(_turned, r"\b(?:our|my) (?:old )?(?P<old>[^,;:]{2,30}?) (?:has |have )?(?:made way|gave way) (?:for|to) "),
    rule(
        _turned,
        r"^(?:[a-z]+, )?it is (?=(?-i:[A-Z])[^,;:]{2,30}? now,? (?:no more|not|no longer|instead of) "
        r"(?P<old>[^,;:]{2,30}))",
    ),
    rule(
        _turned,
        rf"\b(?P<who>we|i) used to (?P<was>{_DOES}) (?P<old>[^,;:]{{2,40}}?),? (?:but |and |though )?",
        rf"(?:{_NOW},? (?:(?:it is|that is) |(?:we|i) (?P<verb>{_DOES}) )(?:now |only |all )*|(?:but |and )?(?:we|i) "
        rf"{_NOW} "
        rf"(?:(?:{_DOES}) ))",
    ),
    rule(
        _turned,
        rf"\b(?P<who>we|i) no longer (?P<was>{_DOES}) (?P<old>[^,;:]{{2,40}}?),? but (?:(?:we|i) )?(?:now |only |"
        rf"rather )*"
        rf"(?:(?P<verb>{_DOES}) )?",
    ),
    rule(
        _turned,
        rf"\bwhere (?:we|i) (?:once |used to )?(?P<was>used|use) (?P<old>[^,;:]{{2,40}}?),? (?:we|i) now "
        rf"(?P<verb>{_DOES}) ",
    ),
    rule(
        _turned,
        r"\b(?P<who>we|i) (?:have )?(?:gave up|given up|dropped|ditched|abandoned|scrapped|binned|retired|stopped "
        r"using|"
        rf"got rid of) (?P<old>[^,;:]{{2,40}}?),? (?:and|so) (?:(?:we|i) )?(?:now |just )*(?P<verb>{_DOES}) "
        rf"(?=.*\bnow\b)",
    ),
    rule(_is_no_longer, rf"{WE}(?:am|are|is) no longer (?!on |with |at |in |using )(?:an? (?=\w))?"),
    rule(
        _stopped,
        OPENING,
        rf"(?P<what>(?:the|our|my) {NOUNS}) (?P<bare>does not|do not) (?P<verb>{_ENDS})(?P<rest> [^,;:]{{2,40}}?)? "
        r"(?:any ?more|any longer)\b",
    ),
    rule(_stopped, OPENING, rf"(?P<what>(?:the|our|my) {NOUNS}) no longer (?P<verb>(?:{_ENDS})s?)(?: |$)"),
    rule(
        _taken_off,
        rf"{WE}{ADVERBS}(?:took|taken) (?P<what>[^,;:]{{2,40}}?) (?:off (?:the|our) (?:menu|list|programme|site|"
        rf"shelves|"
        r"website|wall)|out of (?:the|our) (?:range|programme|shop|catalogue|menu)|out of (?:service|print))",
    ),
    rule(_without_it, WE, ADVERBS, r"(?:sold|closed|shut|shut down|gave away|given away) (?=(?:our|my|the) [a-z])"),
    rule(
        _without_it,
        WE,
        ADVERBS,
        r"cancell?ed (?=(?:our|my|the) (?:[\w'-]+ ){0,2}?(?:newsletter|subscription|membership|contract|account|lease|"
        r"magazine|quiz|tours?|policy|insurance)\b)",
    ),
    rule(
        _without_it,
        WE,
        ADVERBS,
        r"(?:am|are) (?:done|finished|through) with (?!(?:the|this|that|it|my|our)\b)(?=[\w -]+s\b)",
    ),
)
