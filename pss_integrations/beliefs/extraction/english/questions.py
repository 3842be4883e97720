"""Rules for what is undecided, and for what settles it."""

from __future__ import annotations

import re

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_of, rule
from pss_integrations.beliefs.extraction.english.clauses import Clause, clause, is_thing, sentence, snake, terms
from pss_integrations.beliefs.extraction.english.grammar import ADVERBS, PASSING, WE
from pss_integrations.beliefs.extraction.english.prose import Sentence
from pss_integrations.beliefs.extraction.english.vetoes import is_stated, is_undecided
from pss_integrations.text import tokenize

_HOW = r"(?P<how>whether|if|on|about|between|over|which|what|how|when|where|who)"
_SAME = {"if": "whether", "on": "about", "over": "about"}
_END = re.compile(
    r"\s*[;:()\"]|,\s+(?:but|and|so|because|which|since|as|though|it|we|i)\b|"
    r"\s+(?:because|but|so|since (?:we|i|the|it)|though)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(r"[ ,]+(?:yet|or not|at all|now|though)$", re.IGNORECASE)
_SHOULD = re.compile(r"^(?:we|i) (?:should|ought to|want to|need to|shall|will|can) ", re.IGNORECASE)
_ACT = re.compile(r"^to [a-z]+ ", re.IGNORECASE)
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
    if not words or (how == "between" and not is_thing(text)):
        return None
    return claim_of("open", Clause(text), sentence("undecided", how, text), name=snake(*words[:3]), aliases=words)


def act_asked(question: Claim) -> tuple[str, str] | None:
    """What one would do: ``renew`` and ``the licence`` of "Undecided whether to renew the licence"."""
    found = re.match(r"Undecided whether to (?P<verb>[a-z]+) (?P<what>[^,]+)\.$", question.content)
    return (found["verb"], found["what"]) if found and not options(asked_by(question)) else None


def carried_out(spoken: Sentence, question: Claim) -> Claim | None:
    """The answer in the question's own words: "no, we won't renew it", "we'll get a second printer"."""
    found = _WILL.search(spoken.text)
    if found is None or spoken.asks or not is_stated(found, spoken):
        return None
    verb, what = act_asked(question) or ("", "")
    if found["verb"].lower() != verb or not _IT.match(found["what"]):
        verb, what = found["verb"].lower(), clause(found["what"]).text
        if not _TAKE.fullmatch(verb) or question.aliases[0].lower() not in what.lower():
            return None
    content = sentence("decided", "not" if found["neg"] else "", "to", verb, what)
    return claim_of("decide", Clause(what), content, name=question.name, aliases=question.aliases)


def asked_by(question: Claim) -> str:
    """The words of an open question, without its introduction."""
    return re.sub(r"^Undecided \w+ |\.$", "", question.content)


def _still_open(found: re.Match[str], _after: str) -> Claim | None:
    """``The colour is still undecided``, ``whether we move is open``."""
    how = "whether" if found[0].lower().startswith("whether") else "about"
    return undecided(how, found["what"]) if how == "whether" or is_thing(found["what"]) else None


_SETTLED = (
    r"(?:decided|settled|agreed|chosen|picked|determined|concluded|figured out|worked out|made up (?:our|my|"
    r"their) minds?|made a decision|reached a decision|come to a decision)"
)
_WILL = re.compile(
    r"\b(?:we|i) (?:will|shall|(?:are|am)(?= (?:not )?going to )|(?:have )?(?:decided|agreed)(?= (?:not )?to ))"
    r"(?P<neg> not)?(?: going)?(?: to)? (?P<verb>[a-z]+) (?P<what>.+)",
    re.IGNORECASE,
)
_TAKE = re.compile(r"get|buy|take|use|keep|have|rent|hire|order|book|choose|pick|make|add|build", re.IGNORECASE)
_IT = re.compile(r"(?:it|them|that|the)\b", re.IGNORECASE)
_TORN = (
    r"(?:torn|undecided|on the fence|going back and forth|going to and fro|wavering|debating|hesitating|"
    r"(?:of|in) two minds|split|deciding|weighing|arguing|dithering|agoni[sz]ing)"
)
_OPEN = (
    r"(?:undecided|unsettled|up in the air|tbd|to be decided|an open question|not (?:decided|settled)(?: yet)?|open)"
)
QUESTIONS: tuple[Rule, ...] = (
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
        r" (?:about )?(?P<how>whether|if|which|when|where|who) (?=(?:we|i|to|our|the|it)\b)",
        r"(?=(?:to |[^,.]*?\b(?:should|ought|want to|need to|shall|will)\b))",
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
    rule(
        _still_open,
        rf"(?:^|[,:] |\b(?:and|but) )whether (?P<what>[^,;:]+?) (?:is|remains) (?:still |as yet |yet )*{_OPEN}\b",
    ),
    rule(
        _still_open,
        r"(?P<what>\b(?:the |our |my )[\w-]+(?: [\w-]+){0,4}?) (?:is|are|remains?) ",
        r"(?:(?:still |as yet |yet )*(?:undecided|unsettled|up in the air|tbd|to be decided|an open question|",
        r"not (?:decided|settled))|still open)\b",
    ),
)

_NO_AGREEMENT = re.compile(
    r"\b(?:we|i) (?:still |just |really )*(?:cannot (?:agree|decide|make up (?:our|my) minds?)|"
    r"have not (?:decided|agreed|settled|made up (?:our|my) minds?)|"
    rf"(?:am|are) (?:still )?(?:not sure|{_TORN}))(?: yet| about it| on (?:it|that|this)| over it)?$|"
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
        loose = re.search(r"(?:\bshould |: )(?P<asked>.+\bor\b.+|.+)", previous.text, re.IGNORECASE)
        return undecided("about" if loose[0][0] == ":" else "whether", loose["asked"]) if loose else None
    act = f"{asked['verb']} {asked['rest']}"
    is_speaker = asked["subject"].lower() in ("we", "i")
    return undecided("whether", f"to {act}" if is_speaker else f"{asked['subject']} should {act}")


# -- what settles it


def options(question: str) -> tuple[str, ...]:
    """What a question lets one choose from: the phrases beside "or", or between "between" and "and"."""
    found = re.search(r"(?:^|\bbetween )(.+?),? \b(?:or|vs\.?|versus|and) (.+)", question)
    if found is None:
        return ()
    left, right = terms(found[1]), terms(clause(found[2]).thing)
    return (*left[-1:], *right[:1])


def topic(question: Claim) -> tuple[str, ...]:
    """What a question is about, apart from its options."""
    asked = asked_by(question)
    chosen = options(asked)
    return tuple(term for term in terms(_ACT.sub("", asked)) if term not in chosen)


def purpose(question: Claim) -> str:
    """What a question is about, as one adds it to its answer: ``for the retreat``."""
    asked = asked_by(question)
    if found := re.search(r" for (?:the|their|an?) [^,]+$", asked):
        return found[0].strip()
    found = re.match(r"(?P<what>(?:the|their) [^,]+?) should ", asked)
    return f"for {found['what']}" if found else ""


def settles(claim: Claim, question: Claim) -> bool:
    """Whether a decision answers an open question: it takes one of the options, or names what was asked about."""
    said = set(tokenize(f"{claim.value} {' '.join(claim.aliases)}"))
    asked = options(asked_by(question)) or question.aliases
    return not said.isdisjoint(tokenize(" ".join(asked)))
