"""Rules for what took the place of what, and for what holds no longer."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, about, claim_of, ended, rule
from pss_integrations.beliefs.extraction.english.clauses import (
    Clause,
    clause,
    conjugate,
    is_name,
    is_thing,
    sentence,
    undated,
)
from pss_integrations.beliefs.extraction.english.grammar import (
    ADVERBS,
    FAILURE,
    NOUNS,
    OPENING,
    PASSING,
    WE,
    is_lasting,
    is_own,
)

_MOVED = (
    r"(?:switch|migrat|chang|upgrad|transition|convert|port|reassign|downgrad|relocat|promot|renam|bump|rais|lower|"
    r"shift|transferr?|mov)(?:ed|ing)|went|came|gone"
)
_MOVED_TO = (
    r"switch(?:ed|ing)|changed(?= over)|swapped|gone(?= over)|went(?= over)|mov(?:ed|ing)|migrat(?:ed|ing)|"
    r"upgraded|transitioned|ported|went back|gone back"
)
_REPLACED = r"replac(?:ed|ing)|swapp(?:ed|ing)|exchanged|traded|substituted"
_DROPPED = (
    r"dropp(?:ed|ing)|ditch(?:ed|ing)|dump(?:ed|ing)|abandoned|scrapped|retired|gave up(?: on)?|given up(?: on)?|"
    r"binned|axed|"
    r"canned|ripped out|kicked out|chucked|sacked|sold"
)
_ENDED = (
    rf"{_DROPPED}|discontinued|decommissioned|cancell?ed|got rid of|moved (?:away from|off)|phased out|shut down|quit"
)
_STATE = (
    r"archived|deprecated|retired|discontinued|decommissioned|shut down|switched off|turned off|sunset|obsolete|"
    r"no longer (?:in use|made|sold|sent|built|kept|[a-z]+ed)|out of (?:use|service)|end of life"
)
_HAVE = (
    r"(?:(?:have|has|had|are|am|is|were|was|just|now|finally|recently|already|all|be|been|being|officially|completely|"
    r"fully) )*"
)
_OLD = r"(?P<old>[^,;:]{1,50}?)"
_OF_LATE = re.compile(
    r"\b(?:our|my|we|us|ago|last|now|recently|yesterday|just|this (?:week|month|year))\b", re.IGNORECASE
)
_VIEW = re.compile(
    r"\b(?:tab|branch|window|mode|page|file|step|view|version|channel|plan|seat|topic|screen)s?$", re.IGNORECASE
)
_DAY = re.compile(r"\w+day\b|(?:january|february|march|april|may|june|july|august|\w+ber)\b", re.IGNORECASE)
_HERE = re.compile(r"\b(?:our|my|us|here)\b", re.IGNORECASE)
_TASTE = re.compile(r"(?:lik|want|lov|enjoy|prefer|need|car)(?:e|ing)?\b", re.IGNORECASE)


def _move(found: re.Match[str], after: str) -> Claim | None:
    """From one thing to another, or to one thing; what is moved gives the claim its name, if it is said."""
    groups = found.groupdict(default="")
    said, old = clause(after), groups.get("old", "")
    if not old and (back := re.search(r"\s+from (.+)$", said.text)):
        old, said = back[1], replace(said, text=said.text[: back.start()])
    who = groups["who"].lower()
    verb = re.sub(r"ing$", "ed", groups["verb"].lower())
    is_bare = (
        verb in ("switched", "changed", "swapped", "gone", "went")
        and len(said.thing.split()) <= 3
        and not _VIEW.search(said.thing)
    )
    if not is_thing(said.text) or not (old or is_name(said.thing) or is_bare):
        return None
    mover = groups.get("what", "").strip() or _own_words(groups["who"])
    if mover and not is_lasting(_own_words(mover)):
        return None
    is_done = re.search(r"\bhave\b", found[0]) and verb in ("gone", "changed") and not re.search(r"\d", said.text)
    if not (is_bare or is_done or _lasts(who, f"{old} {said.text}", after)) or (
        who.startswith("the ") and not is_own(mover)
    ):
        return None
    content = sentence(verb, mover, "to", said.text) if groups.get("what") else sentence(mover, verb, "to", said.text)
    return _change(said, content, old, _own_words(mover))


def _replace(found: re.Match[str], after: str) -> Claim | None:
    said = clause(after)
    said = replace(said, text=undated(said.text))
    who = found.groupdict().get("who") or ""
    if (
        not is_thing(said.text)
        or not is_thing(clause(found["old"]).thing)
        or not _lasts(who, f"{found['old']} {said.text}", after)
    ):
        return None
    return _change(said, sentence("uses", said.text), found["old"], "")


def _was_replaced(found: re.Match[str], after: str) -> Claim | None:
    """``The X has been replaced by Y``; otherwise only of late, for much was replaced in the history of the world."""
    is_news = found["be"].lower() in ("has been", "have been") and found["old"].lower().startswith("the ")
    is_ours = is_news or _OF_LATE.search(found.string)
    return _replace(found, after) if is_ours and is_name(clause(after).thing) else None


def _change(said: Clause, content: str, old: str, mover: str) -> Claim:
    claim = claim_of("change", said, content)
    given_up = clause(old).thing if old else ""
    if mover:
        name, aliases = about(said.thing, f"for {mover}")
        claim = replace(claim, name=name, aliases=(*claim.aliases, *aliases))
    kept = tuple(alias for alias in claim.aliases if alias.lower() != given_up.lower())
    return replace(claim, aliases=kept, replaces=(given_up,) if given_up else ())


def _lasts(who: str, things: str, after: str) -> bool:
    """Whether a change is more than a step of one's work: proper names changed, or a group did it and it went well."""
    return re.search(r"[A-Z]", things) is not None or (who.lower() != "i" and not FAILURE.search(after))


def _own_words(subject: str) -> str:
    """``billing service`` of "our billing service"; nothing of "we" and "everything"."""
    return re.sub(r"^(?:our|my|the|we|i|all|both|everything|everyone here|it)\b\s*", "", subject, flags=re.IGNORECASE)


def _no_longer(found: re.Match[str], after: str) -> Claim | None:
    said = clause(after)
    if not is_thing(said.text):
        return None
    verb = found["verb"].lower()
    spoken = verb if verb.endswith("ing") or re.match(r"on\b|with\b|at\b", verb) else conjugate(verb)
    claim = ended(said, f"no longer {spoken}")
    return replace(claim, type="preference") if _TASTE.match(verb) else claim


def _any_more(found: re.Match[str], _after: str) -> Claim | None:
    return _no_longer(found, found["thing"])


def _drop(found: re.Match[str], after: str) -> Claim | None:
    said = clause(after)
    verb, size = found["verb"].lower(), len(said.text.split())
    is_plain = size <= 2 and re.match(r"gave up|given up|quit", verb) is not None
    if verb.startswith(("are ", "am ")) and (size > 2 or _DAY.match(said.text) or re.match(r"the |an? ", said.text)):
        return None
    is_plain |= size <= 4 and re.match(r"got rid|phased out|discontinued|scrapped", verb) is not None
    if not is_thing(said.text) or FAILURE.search(after) or not (is_name(said.thing) or is_plain):
        return None
    return ended(said, "no longer uses" if is_name(said.thing) else "no longer has")


def _retired(found: re.Match[str], _after: str) -> Claim | None:
    """``The old wiki is archived``."""
    thing = found["what"].strip()
    if not is_thing(thing):
        return None
    return replace(ended(Clause(thing), ""), content=sentence(thing, found["be"], found["state"]))


def _no_more(found: re.Match[str], _after: str) -> Claim | None:
    """``No more Trello for us``."""
    said = clause(found["thing"])
    return ended(said, "no longer uses") if is_name(said.thing) and not PASSING.search(found.string) else None


def _in_for_out(found: re.Match[str], after: str) -> Claim | None:
    """``MySQL is out, Postgres is in``, ``goodbye Trello, hello Linear``."""
    said = clause(re.sub(r" is in\b.*", "", after))
    if not is_name(said.thing) or not is_thing(said.text) or not is_thing(found["old"]) or _DAY.match(found["old"]):
        return None
    return _change(said, sentence("uses", said.text), found["old"], "")


def _took_over(found: re.Match[str], after: str) -> Claim | None:
    """``Zulip has replaced Slack here``; news of others unless the sentence speaks of "us"."""
    old = clause(after)
    if not (is_thing(found["new"]) and is_name(old.thing) and _HERE.search(found.string)):
        return None
    return _change(Clause(found["new"]), sentence("uses", found["new"]), old.thing, "")


CHANGES: tuple[Rule, ...] = (
    rule(_replace, WE, ADVERBS, _HAVE, rf"(?:{_REPLACED}) {_OLD} (?:with|by|for) "),
    rule(_replace, WE, ADVERBS, _HAVE, rf"(?:{_DROPPED}) {_OLD} (?:for|in favou?r of|and (?:now )?use) "),
    rule(
        _was_replaced,
        r"(?:\b(?:last|this) \w+,? )?",
        rf"(?P<old>(?:the |our )?{NOUNS}) (?P<be>was|were|has been|have been|got|is|are)(?: being| now| just)* ",
        r"(?:replaced|superseded|succeeded) (?:with|by) ",
    ),
    rule(
        _move,
        rf"\b(?P<who>we|i|(?:our|my|the) {NOUNS}) {ADVERBS}{_HAVE}(?P<verb>{_MOVED})(?: over| away| back| on| up)?",
        rf"(?: (?P<what>[^,;:]{{1,40}}?))? from {_OLD} (?:over |up |down )?(?:to|onto|into) ",
    ),
    rule(
        _move,
        rf"{WE}{ADVERBS}{_HAVE}(?P<verb>{_MOVED_TO})(?: over| back)?",
        r"(?: (?P<what>(?:the|our|my|all|everything|both)\b ?[^,;:]{0,40}?))? (?:to|onto) ",
    ),
    rule(
        _retired,
        OPENING,
        rf"(?:the |our |my )?(?P<what>{NOUNS}) (?P<be>is|are|was|were|has been|have been|got)",
        rf"(?: now| already| officially| finally| being)* (?P<state>{_STATE})\b",
    ),
    rule(
        _retired,
        OPENING,
        rf"(?:the |our |my )(?P<what>{NOUNS}) (?P<be>no longer|has) (?P<state>exists?|runs?|meets?|happens|applies|"
        rf"closed down|shut down)\b",
    ),
    rule(
        _drop,
        WE,
        ADVERBS,
        _HAVE,
        r"(?P<verb>closed(?: down)?|gave up|sold|shut) (?=(?:the|our|my) [^,;:]*?(?:branch|office|store|site|"
        r"location|department|van|stall)\b)",
    ),
    rule(_no_longer, WE, ADVERBS, _HAVE, r"no longer (?P<verb>[a-z]+(?: (?:on|with|in|to|for|from))?) "),
    rule(
        _no_longer, WE, ADVERBS, r"(?:stopped|quit|gave up|given up|ceased) (?P<verb>[a-z]+ing(?: (?:on|with|to|in))?) "
    ),
    rule(
        _any_more,
        rf"{WE}{ADVERBS}(?:do not|does not|are not|am not) (?P<verb>[a-z]+) (?P<thing>[^,;:]{{2,60}}?) ",
        r"(?:any ?more|any longer)\b",
    ),
    rule(
        _drop,
        WE,
        ADVERBS,
        _HAVE,
        rf"(?P<verb>{_ENDED}|(?:are|am) (?:done with|through with|off|moving off|phasing out|getting rid of|dropping|"
        rf"ditching)) ",
    ),
    rule(_no_more, OPENING, r"no more (?P<thing>[^,;:]{2,40}?) (?:for (?:us|me)|here|in our \w+|at ours)\b"),
    rule(
        _in_for_out,
        r"(?:^|[,:] )(?:the |our )?(?P<old>(?-i:[A-Z])[\w.+#-]*(?: [\w.+#-]+){0,2}?) is (?:now )?(?:out|gone|history|"
        r"dead)",
        r"(?:,| and| so|, so|, and| -) (?:now )?(?:(?:we|i) (?:now )?(?:have|use|are on|run) (?:now )?|it is (?:all )?",
        r"(?=[^,;:]* now\b)|(?=(?-i:[A-Z])[^,;:]* is in\b))",
    ),
    rule(
        _in_for_out,
        r"^(?:good ?bye|bye[ -]?bye|so long|farewell|adieu) (?P<old>[^,;:]{2,30}), (?:and )?(?:hello|welcome|hi) ",
    ),
    rule(
        _in_for_out,
        r"\b(?:used to be|it was|was) (?P<old>(?-i:[A-Z])[\w.+#-]*(?: [\w.+#-]+){0,2}?)(?: (?:until|till|before|up "
        r"to) ",
        r"[\w ]{2,20}?)?,? (?:but |and )?(?:now (?:it is |we (?:use|have|are on) )?|it is now |we now (?:use|have) )",
    ),
    rule(
        _took_over,
        r"(?:^|[,:] |\b(?:and|but|so) )(?P<new>(?-i:[A-Z])[\w.+#-]*(?: (?-i:[A-Z])[\w.+#-]*){0,2}) (?:has |have "
        r")?(?:now |just )?",
        r"(?:took over from|taken over from|replaced|superseded|taken the place of|took the place of) ",
    ),
)
