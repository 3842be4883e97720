"""Rules for what is undecided, and for what settles it."""

from __future__ import annotations

import re

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_of, rule
from pss_integrations.beliefs.extraction.english.clauses import (
    Clause,
    clause,
    is_name,
    is_thing,
    sentence,
    snake,
    terms,
)
from pss_integrations.beliefs.extraction.english.grammar import ADVERBS, PASSING, WE
from pss_integrations.beliefs.extraction.english.prose import Sentence
from pss_integrations.beliefs.extraction.english.vetoes import is_undecided

_HOW = r"(?P<how>whether|if|on|about|between|over|which|what|how|when|where|who)"
_SAME = {"if": "whether", "on": "about", "over": "about"}
_END = re.compile(
    r"\s*[;:()\"]|,\s+(?:but|and|so|because|which|since|as|though|it|we|i)\b|"
    r"\s+(?:because|but|so|since (?:we|i|the|it)|though)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(r"[ ,]+(?:yet|or not|at all|now|though)$", re.IGNORECASE)
_SHOULD = re.compile(r"^(?:we|i) (?:should|ought to|want to|need to|shall|will|can) ", re.IGNORECASE)
_OF_OTHERS = re.compile(
    r"(?:she|he|they|you|(?:i|we) (?:understood|understand|know|got|remember|did|have|am|was|were))\b|"
    r"(?:(?-i:[A-Z])\w+|(?:the|my|our|her|his) \w+) (?:wants?|likes?|loves?|needs?|means?|knows?|thinks?|"
    r"prefers?|feels?|said)\b",
    re.IGNORECASE,
)
_INNER = re.compile(r"(?P<how>whether|if|which|what|how|when|where|who) (?P<asked>.+)", re.IGNORECASE)
_MEAL = r"(?!to (?:have|eat|wear|watch|read|drink|cook)\b)"


def _open(found: re.Match[str], after: str) -> Claim | None:
    end = _END.search(after)
    asked = _FILLER.sub("", (after[: end.start()] if end else after).strip(" ,.?"))
    return None if PASSING.search(after) else undecided((found["how"] or "about").lower(), asked)


def undecided(how: str, asked: str) -> Claim | None:
    """A claim that something is open.

    :param how: The word that introduces it: ``whether``, ``between``, ``about``, ``which``.
    :param asked: What is asked, in the user's words.
    """
    how = _SAME.get(how, how)
    if how == "about" and (inner := _INNER.match(asked)):
        return undecided(inner["how"].lower(), inner["asked"])
    asked = re.sub(r"^(?:The|Our|My)\b", lambda found: found[0].lower(), asked)
    text = asked if how in ("between", "about") else _SHOULD.sub("to ", asked)
    words = terms(text)
    if not words or _OF_OTHERS.match(asked) or (how == "between" and not is_thing(text)):
        return None
    return claim_of("open", Clause(text), sentence("undecided", how, text), name=snake(*words[:3]), aliases=words)


_OPENABLE = re.compile(
    r"\b(?:window|door|shop|store|tab|file|issue|ticket|bar|restaurant|museum|bank|pharmacy|library|gate|road|"
    r"registration|job|offer|"
    r"bottle|app|account|box|market|pool|office|pub|caf[eé])s?$",
    re.IGNORECASE,
)
_TALE = re.compile(r"\b(?:story|novel|film|movie|series|game|match|hero|heroine)\b", re.IGNORECASE)


def _still_open(found: re.Match[str], _after: str) -> Claim | None:
    """``The colour is still undecided``, ``whether we move is open``."""
    how = found.groupdict().get("how")
    is_ajar = not how and _OPENABLE.search(found["what"]) and found[0].lower().endswith("open")
    if PASSING.search(found.string) or is_ajar or _TALE.search(found["what"]) or not (how or is_thing(found["what"])):
        return None
    return undecided((how or "about").lower(), found["what"])


def _between(found: re.Match[str], after: str) -> Claim | None:
    """``It's between Oslo and Bergen``, ``Oslo or Bergen, we can't agree``."""
    said = after.partition(",")[0]
    is_bare = found[0].lower().endswith("is between ") and not re.search(r"(?-i:[A-Z])\w+(?<!day) and ", said)
    if is_bare and not re.search(r"still|down|toss", found[0]):
        return None
    return undecided("between", re.sub(r" or ", " and ", said, count=1)) if re.search(r" (?:and|or) ", said) else None


def _about_thing(found: re.Match[str], _after: str) -> Claim | None:
    """``We still haven't picked a caterer``."""
    return None if PASSING.search(found.string) else undecided("about", found["what"])


def _labelled(found: re.Match[str], after: str) -> Claim | None:
    """``Still open: the band``, ``open: whether we keep the free tier``."""
    inner = _INNER.match(after)
    if inner:
        return undecided(inner["how"].lower(), inner["asked"])
    is_plain = re.fullmatch(r"open: ", found[0], re.IGNORECASE)
    return None if is_plain else undecided("about", clause(after).text)


def labelled(previous: Sentence | None, spoken: Sentence) -> Claim | None:
    """``Open question: do we need a lift?``"""
    if previous is None or not spoken.asks or not re.fullmatch(_LABEL, previous.text, re.IGNORECASE):
        return None
    asked = re.sub(r"^(?:do|does|should|shall|will|can) ", "", spoken.text, flags=re.IGNORECASE)
    return undecided("whether" if asked != spoken.text else "about", asked)


_SETTLED = (
    r"(?:decided|settled|agreed|chosen|picked|determined|concluded|figured out|worked out|made up (?:our|my|"
    r"their) minds?|made a decision|reached a decision|come to a decision)"
)
_TORN = (
    r"(?:torn|choosing|going back and forth|undecided|on the fence|going back and forth|going to and fro|wavering|"
    r"debating|hesitating|"
    r"(?:of|in) two minds|split|deciding|weighing|arguing|dithering|agoni[sz]ing|"
    r"(?:still |always )?(?:wondering|thinking)(?= (?:about |over )?(?:whether|if|between) (?:to|we should|i "
    r"should)\b))"
)
_OPEN = (
    r"(?:undecided|unsettled|up in the air|tbd|to be decided|an open question|not (?:decided|settled)(?: yet)?|up "
    r"for grabs|(?:under|up for) (?:discussion|debate)|something (?:we|i) (?:still )?(?:have|need) to (?:decide|"
    r"settle|sort out)|open)"
)
_LABEL = (
    r"(?:(?:(?:the )?(?:only |last |main |big |other )?(?:one|a|another|thing|things|question|point|issue|detail)"
    r"(?: (?:thing|question|point|issue|detail))?|what)(?: (?:that|which))?(?: (?:we|i) (?:still )?(?:have|need) to "
    r"(?:decide|settle)(?: on)?(?: is(?=[: ]))?| (?:is|are|remains?)(?: still| yet| as yet| left)* (?:open|undecided|"
    r"unsettled|up in the air|to be (?:decided|settled|sorted out|agreed)))|(?:left|remains|still) (?:open|to be "
    r"(?:decided|"
    r"settled|agreed|sorted out)|to decide|to settle|undecided|up in the air)(?: for now| so far)?|(?:still |also |"
    r"one )?(?:open|undecided|unresolved|unsettled|tbd|to be decided)(?: question| point)?(?: "
    r"still| yet)?)"
)
_UNKNOWN = (
    r"(?:no idea|not (?:sure|clear|certain|known|decided|settled)|(?:do|does) not know|have no clue|unclear|unknown|"
    r"unsure|"
    r"waiting to (?:hear|find out|see)|(?:has|have) not (?:told|said|heard|found out|worked out|figured out|decided|"
    r"learned|"
    r"confirmed|answered)|cannot say)"
)
QUESTIONS: tuple[Rule, ...] = (
    rule(
        _open,
        rf"(?:(?=.*\b(?:yet|still|so far|until now|as yet)\b)|(?=.*\bwaiting to\b))[^,;:?]*?\b{_UNKNOWN}(?: (?:yet|"
        rf"me|us|so far))* "
        r"(?:about )?(?P<how>whether|if|which|what|who|when|where|how|why) (?=(?:we|i|to|our|my|the|it|will|"
        r"\w+ (?:we|i|to))\b)",
    ),
    rule(
        _open,
        rf"(?:{WE}{ADVERBS}|^(?:still |i |we )?)",
        r"(?:have not|has not|had not|did not|do not) (?:really |quite |fully |yet |even )*",
        rf"{_SETTLED}(?: yet)? (?:as to )?{_HOW} {_MEAL}",
    ),
    rule(
        _open,
        rf"(?:(?:{WE}(?:am|are|is) |^|, )(?:still |really |honestly |also )*",
        r"not (?:quite |really |entirely |yet |so |at all |too )*(?:sure|certain)(?: yet)?|\b(?:we|i) do not know yet)",
        r" (?:about )?(?P<how>whether|if|which|when|where|who) (?=(?:we|i|to|our|the|it|will|\w+ (?:we|i|to))\b)",
        r"(?=(?:to |will |[^,.]*?\b(?:should|ought|want to|need to|shall|will)\b|(?<=yet whether )))",
    ),
    rule(
        _open,
        rf"(?:{WE}(?:am|are|is|keep|have been) |^(?!not )(?:[a-z]+ )?|, )",
        rf"(?:still |really |also |quite |a bit |honestly )*{_TORN}(?: about| on| over)? {_HOW} ",
    ),
    rule(
        _open,
        WE,
        ADVERBS,
        r"(?:cannot|could not|still cannot)(?: yet| really| quite)? ",
        rf"(?:decide|agree|settle|choose|make up (?:our|my) minds?)(?: yet)? {_HOW} {_MEAL}",
    ),
    rule(
        _open,
        WE,
        ADVERBS,
        r"(?:still )?(?:have|need|has|needs) (?:yet )?to ",
        rf"(?:decide|figure out|agree|choose|settle|work out|make up (?:our|my) minds?) {_HOW} ",
    ),
    rule(
        _open,
        r"\b(?:it is |still )+(?:open|undecided|unclear|not (?:yet )?(?:clear|decided|settled)(?: yet)?|up in the air|",
        rf"to be decided|tbd|an open question) {_HOW} ",
    ),
    rule(_open, rf"(?:^|[,] |\b(?:and|but) )(?:the )?jury is (?:still )?out (?:as to )?{_HOW} "),
    rule(
        _open,
        rf"(?:^|[,:] |\b(?:and|but) |{WE}(?:have )?|there is )(?:still )?no (?:decision|idea yet)(?: yet)?(?: as "
        rf"to)? {_HOW} ",
    ),
    rule(
        _open,
        rf"\b(?:we|i) (?:still )?(?:go|keep going) back and forth (?:on|about|over) {_HOW} ",
    ),
    rule(
        _still_open,
        r"(?:^|[,:] |\b(?:and|but) )(?:a|the|our) decision (?:on|about|over) (?P<what>[^,;:]+?) (?:is (?:still "
        r")?(?:pending|open|out)|"
        r"has not been (?:made|taken)|has yet to be (?:made|taken))",
    ),
    rule(_open, rf"\b(?:big|main|only|open) question is (?:still )?{_HOW} "),
    rule(
        _open,
        r"\b(?:we|i) (?:still do not know|do not (?:yet )?know yet) (?P<how>whether|if|which|when|where|who) "
        r"(?=(?:we|i|to|will|\w+ will)\b)",
    ),
    rule(_between, r"\bit is (?:still |down to |a toss-?up )*between "),
    rule(
        _between,
        r"(?:^|[:] )(?:either )?(?=[^,;:]+ or [^,;:]+, (?:(?:we|i) )?(?:(?:am|are) )?(?:still )?(?:not sure yet|that "
        r"is (?:still )?(?:open|undecided)|"
        r"undecided|torn|cannot (?:agree|decide|make up)|have not decided|no idea)(?: yet)?\b)",
    ),
    rule(
        _about_thing,
        WE,
        r"(?:(?:are|am|is|have been) (?:still |always )*(?:debating|arguing about|arguing over|weighing up|undecided "
        r"about|undecided on)|(?:still )?(?:have not|has not) (?:yet )?(?:picked|chosen|settled on|decided on|agreed "
        r"on|figured out|worked out)|(?:still )?(?:have|need)(?: yet)? to (?:pick|choose|decide on|settle on|agree "
        r"on|settle)|"
        r"keep changing (?:my|our) minds? about|(?:are|am) (?:still |always )*(?:mulling over|pondering|weighing)|"
        r"cannot (?:"
        r"settle|decide|agree) on)(?: on| about)? (?P<what>(?:the|our|a|an) [^,;:]+?)(?: yet)?(?=$|,| and (?:we|i)\b|"
        r" but )",
    ),
    rule(
        _labelled,
        rf"(?:^|\b(?:under|as|for) (?:the )?){_LABEL}(?: points| questions| items)?(?:: | is (?=the |our |my |who|"
        rf"wh))(?!.*: )",
    ),
    rule(
        _still_open,
        rf"(?:^|[,:] |\b(?:and|but) )(?P<how>whether|who|where|when|how|which|what) (?P<what>[^,;:]+?) (?:is|remains) "
        rf"(?:still |as yet |yet )*(?:{_OPEN}|not (?:clear|certain)(?: yet)?|anyone's guess)(?=$|,|\.| and\b| but\b| "
        rf"for now)",
    ),
    rule(
        _still_open,
        r"(?:the )?question (?:of|about) (?P<what>[^,;:]+?) (?:is|remains|has) (?:still |as yet |yet )*(?:open|"
        r"undecided|"
        r"unsettled|unresolved|not been (?:settled|decided|resolved|answered))",
    ),
    rule(
        _still_open,
        r"(?P<what>\b(?:the |our |my )[\w-]+(?: [\w-]+){0,4}?) (?:has|have) (?:still |yet )*(?:not (?:yet )?been "
        r"(?:decided|settled|fixed|chosen|agreed|picked|set)|to be (?:decided|settled|fixed|chosen|agreed|picked|set))",
    ),
    rule(
        _still_open,
        r"(?P<what>\b(?:the |our |my )[\w-]+(?: [\w-]+){0,4}?) (?:is|are|remains?) ",
        r"(?:(?:still |as yet |yet )*(?:undecided|unsettled|up in the air|up for grabs|tbd|to be decided|an open "
        r"question|(?:under|up for) (?:discussion|debate)|",
        r"not (?:decided|settled|fixed|chosen|agreed))(?: yet)?|still open)\b",
    ),
)

_NO_AGREEMENT = re.compile(
    r"\b(?:we|i) (?:still |just |really )*(?:cannot (?:agree|decide|make up (?:our|my) minds?)|"
    r"have not (?:decided|agreed|settled|made up (?:our|my) minds?)|"
    rf"(?:honestly )?do not know yet|(?:am|are) (?:still )?(?:not sure|{_TORN}))(?: yet| about it| on (?:it|that|"
    rf"this)| over it)?$|"
    r"^(?:still )?(?:undecided|no decision yet|not decided yet|debating)",
    re.IGNORECASE,
)
_VERBS = (
    r"be|use|have|go|move|keep|stay|get|make|take|switch|run|speak|come|live|cost|start|open|close|offer|support|buy|"
    r"rent|build|hire|sell|serve|wear|meet|pay|play|ask|send|write"
)
_SUBJECT_VERB = re.compile(
    rf"\bshould (?P<subject>we|i|(?:our|the|my) [\w -]+?|it) (?P<verb>{_VERBS}) (?P<rest>.+)", re.IGNORECASE
)


def disagreement(previous: Sentence | None, spoken: Sentence) -> Claim | None:
    """An open question in two sentences: "Should it be an app or a web page? We can't agree."."""
    denied = _NO_AGREEMENT.search(spoken.text)
    if previous is None or not previous.asks or denied is None or not is_undecided(denied, spoken):
        return None
    asked = _SUBJECT_VERB.search(previous.text)
    if asked is None:
        if (" for " in previous.text or is_name(previous.text[1:])) and (
            bare := re.fullmatch(r"(?P<one>[\w' -]{2,30}?) or (?P<other>[\w' -]{2,60})", previous.text)
        ):
            return undecided("between", f"{bare['one']} and {bare['other']}")
        loose = re.search(r"(?:\bshould |: )(?P<asked>.+\bor\b.+|.+)", previous.text, re.IGNORECASE)
        return undecided("about" if loose[0][0] == ":" else "whether", loose["asked"]) if loose else None
    act = f"{asked['verb']} {asked['rest']}"
    is_speaker = asked["subject"].lower() in ("we", "i")
    return undecided("whether", f"to {act}" if is_speaker else f"{asked['subject']} should {act}")
