"""Rules for what is used, and for habits."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_of, rule
from pss_integrations.beliefs.extraction.english.clauses import (
    Clause,
    clause,
    conjugate,
    is_name,
    is_thing,
    sentence,
    snake,
    terms,
    undated,
    without_old,
)
from pss_integrations.beliefs.extraction.english.grammar import ADVERBS, FAILURE, HABIT, NOT, NOUNS, PASSING, TIME, WE

_USE = r"use|uses|using|(?:am|are|is|been|started|began) using"
_ON = (
    r"(?:am|are|is|been)(?: still| now| currently| all| already| both| mostly| only)* on|"
    r"(?:am|are|is|been) (?:running|building|hosting|deploying) (?:on|with|in)|(?:am|are|is|been) working (?:with|in)"
)
_RUN = (
    r"runs? on|runs?|(?:am|are|is) running|rely on|relies on|works? with|works? in|"
    r"hosts? (?:it |everything )?(?:on|at|with)"
)
_NAMED_ONLY = re.compile(r"(?:on|with|in|at|runs?|running)$", re.IGNORECASE)
_NOT_ON = re.compile(
    r"(?:PTO|OOO|page|line|chapter|step|level|slide|question|point|hold|floor|day|episode)\b", re.IGNORECASE
)
_PLAIN = {
    "using": "use",
    "running": "run",
    "working": "work",
    "building": "build",
    "hosting": "host",
    "deploying": "deploy",
}

_ENDED_IN = re.compile(
    r"\b(?:in|on) (?=(?:(?:early|late|mid) )?(?:january|february|march|april|may|june|july|august|september|october|"
    r"november|december|(?:19|20)\d\d)\b)",
    re.IGNORECASE,
)

_WITH_OBJECT = frozenset("charge pay speak teach play own drive ride sell grow support accept".split())
"""Verbs whose object alone says something, where it is a name."""

_WITH_TOOL = frozenset(
    "heat wash bake brew press print water mill roast dry weigh harvest smoke weave plough mow".split()
)

_OPEN_VERB = (
    r"(?!(?:see|get|need|want|have|know|think|find|feel|hear|notice|mean|guess|wonder|hope|like|love|hate|remember|"
    r"forget|try|look|come|say|ask|tell|understand|believe|wish|miss|worry|agree|click|type|press|select|paste|copy|"
    r"add|put|set|call|pass|import|install|run|open|start|stop|do|be|am|are|is|was|were|had|will|would|could|should|"
    r"can|cannot|may|might|must|got|went|came|saw|made|took|told|said|found|thought|knew|gave|left|lost|met|read|"
    r"heard|bought|brought|sent|did|been|just|never|always|also|then|even|still|now|only|not|really|both|all|live|"
    r"stay|arrive|leave|fly|meant|wrote|spent|spend|expect|prefer|suggest|wait|plan|hit|let|cut|built|began|ran|kept|"
    r"held|felt|sat|stood|taught|paid|won|broke|chose|talk|lose|sit|walk|argue|fight|deal|go|stand|drove|grew|spoke|"
    r"ate|drank|sold|wore|fell|threw|of|in|on|at|to|for|and|or|who|use|used)\b|\w+(?:ed|ing|ly)\b)[a-z-]{3,}"
)
_AT_NAME = re.compile(
    r"\b(?:in|on|with|via|from|at|through|by) (?:(?:the|our|my|an?) )?(?:\w+ )?(?-i:[A-Z])(?!\w+days?\b)\w",
    re.IGNORECASE,
)
_DEFINITE = re.compile(r"(?:the|this|that|it|them|you|me|him|her)\b", re.IGNORECASE)
_TAKEN = re.compile(
    r"(?:our |my |the |all )*(?:\w+ )?(?:notes|minutes|photos|orders|bookings|payments|measurements|attendance)\b"
)
_SPEAKERS = ("", "we", "i", "team", "company", "everyone", "everyone here", "everybody", "everybody here", "all of us")
_PLACE = re.compile(
    rf"\b(?:in|on|with|via|from|at|by|through|to|as|for|using|behind) (?:(?:the|our|my|an?) )?(?P<place>.+)|\b{TIME}\b|"
    r"\bper \w+$",
    re.IGNORECASE,
)
_TOOL = re.compile(
    r"\b(?:with|via|using) (?!(?:care|love|help|fun|ease|pairs|friends|kids|people|english|confidence|success|you|"
    r"each)\b)[a-z][\w.+-]+$"
)


def used(said: Clause, verb: str) -> Claim:
    """A claim that something is in use; "instead of X" makes it a change."""
    said, old = without_old(said)
    return replace(claim_of("change" if old else "use", said, sentence(verb, said.text)), replaces=old)


def ended(said: Clause, verb: str) -> Claim:
    """A claim that something is not, or no longer, in use."""
    text = _ENDED_IN.sub("since ", said.text)
    return replace(claim_of("end", said, sentence(verb, text)), ends=True)


def _use(found: re.Match[str], after: str) -> Claim | None:
    said = clause(after)
    verb = _plain(found["verb"])
    if not is_thing(said.text) or (_NAMED_ONLY.search(verb) and not is_name(said.thing)) or _NOT_ON.match(said.thing):
        return None
    is_step = re.match(r"(?:am )?using", found["verb"], re.IGNORECASE) and re.match(r"(?:an?|the|this) ", said.text)
    if found["who"].lower() == "i" and is_step and not is_name(said.thing):
        return None
    if said.text[:1].isdigit() or (found["who"].lower() == "i" and FAILURE.search(after)):
        return None
    if found["neg"]:
        return ended(said, _negated(found["neg"], verb))
    if re.match(r"started|began", found["verb"], re.IGNORECASE):
        said = replace(said, text=undated(said.text))
    subject = re.sub(r"^(?:our|my|the) ", "", found["who"], flags=re.IGNORECASE) if verb.endswith(" on") else ""
    if subject.lower() in _SPEAKERS:
        return used(said, conjugate(verb))
    return used(said, f"{subject} {verb if subject.endswith('s') else conjugate(verb)}")


def _plain(verb: str) -> str:
    """``am using`` is ``use``, ``are running on`` is ``run on``, ``been on`` is ``are on``."""
    verb = re.sub(r" (?:still|now|currently|all|already|both|mostly|only)\b", "", verb.lower())
    words = re.sub(r"^(?:am|are|is|been|started|began) (?=\w+ing)", "", verb).split()
    first = {"been": "are", "used": "use", "worked": "work", **_PLAIN}.get(
        words[0], words[0].removesuffix("s") if words[0] != "is" else "are"
    )
    return " ".join((first, *words[1:]))


def _negated(negation: str, verb: str) -> str:
    return f"never {conjugate(verb)}" if negation.lower() == "never" else f"does not {verb.replace('are on', 'use')}"


def _object_first(found: re.Match[str], after: str) -> Claim | None:
    """``A Testo logger, that is what we use in the fridge``."""
    thing = re.sub(r"^(?:An?|The) ", lambda article: article[0].lower(), found["thing"])
    said = clause(f"{thing} {after}")
    return used(said, conjugate(_plain(found["verb"]))) if is_thing(said.text) and is_name(said.thing) else None


def _what_we_use(found: re.Match[str], after: str) -> Claim | None:
    """``The scheduler we use is Slurm``."""
    said = clause(after)
    if not is_name(said.thing) or PASSING.search(found.string):
        return None
    claim = claim_of("use", said, sentence("uses", said.text, "as", found["what"], found["rest"] or ""))
    return replace(claim, aliases=(*claim.aliases, found["what"]))


def _instead(found: re.Match[str], after: str) -> Claim | None:
    """``Instead of Jenkins we now have Woodpecker``."""
    said, old = clause(after), clause(found["old"]).thing
    if not is_thing(said.text) or not is_thing(old):
        return None
    return replace(claim_of("change", said, sentence(conjugate(found["verb"]), said.text)), replaces=(old,))


def _unused(found: re.Match[str], after: str) -> Claim | None:
    """``I haven't used Photoshop since 2022``."""
    said = clause(after)
    lasts = is_name(said.thing) or (is_thing(said.thing) and not PASSING.search(found.string))
    return ended(said, f"has not {found['verb']}") if lasts else None


def _nobody(found: re.Match[str], after: str) -> Claim | None:
    """``Nobody here uses the fax any more``."""
    said = clause(after)
    is_ours = re.search(r"\b(?:here|us|our|any more)\b", found.string, re.IGNORECASE)
    if not is_ours or not is_thing(re.sub(r"^(?:on|in|with) ", "", said.text)) or PASSING.search(found.string):
        return None
    return ended(said, f"nobody {conjugate(found['verb'])}")


def _habit(found: re.Match[str], after: str) -> Claim | None:
    """``We track our hours in Toggl``, ``we don't deploy on Fridays``."""
    said = clause(after)
    verb = found["verb"].lower()
    is_task = verb == "work" and said.text.startswith("on ")
    is_step = verb == "take" and not found["neg"] and not _TAKEN.match(said.text)  # "we take the train"
    if is_task or is_step or not terms(said.text) or FAILURE.search(after):
        return None
    place = _PLACE.search(said.text)
    if not (_is_general(said, place) if found["neg"] else _is_particular(verb, said, place)):
        return None
    spoken = _negated(found["neg"], verb) if found["neg"] else conjugate(verb)
    words = terms(said.text)
    claim = claim_of(
        "use", said, sentence(spoken, said.text), name=snake(verb.removesuffix("s"), *words[:2]), aliases=(*words, verb)
    )
    return replace(claim, value=clause(place["place"] or place[0]).thing if place else said.thing)


def _is_general(said: Clause, place: re.Match[str] | None) -> bool:
    """Whether what one does not do is a habit: not "we don't see the file"."""
    is_definite = re.match(r"(?:the|this|that)\b", said.text) is not None
    return (place is not None or not is_definite) and is_thing(said.text.partition(" ")[2] or said.text)


def _is_particular(verb: str, said: Clause, place: re.Match[str] | None) -> bool:
    """Whether a habit says where, with what or when, by a name."""
    if verb in _WITH_OBJECT and is_name(said.text):
        return True
    if place is None:
        return re.fullmatch(TIME, said.text, re.IGNORECASE) is not None
    if verb in _WITH_TOOL and re.search(r"\bwith (?:an?|our|two|three) (?:[\w-]+ )*[\w-]+$", said.text):
        return True
    is_told = re.search(rf"\b{TIME}\b|^per ", place[0], re.IGNORECASE) or _TOOL.search(said.text)
    return is_name(place[0]) or is_told is not None


def _named_habit(found: re.Match[str], after: str) -> Claim | None:
    """``We milk them with a DeLaval``: any verb of doing, where a tool or a place is named."""
    said = clause(after)
    place = _AT_NAME.search(said.text)
    if place is None or _DEFINITE.match(said.text) or PASSING.search(found.string) or re.search(r"\bthis\b", after):
        return None
    return _habit(found, after)


USAGE: tuple[Rule, ...] = (
    rule(
        _what_we_use,
        rf"\bthe (?P<what>{NOUNS}) (?:that )?(?P<who>we|i) (?:now )?(?:{_USE}|run|chose|have)",
        r"(?P<rest> (?:for|in|on|at) [^,;:]{2,40}?)? (?:is|are) (?:called |now )?",
    ),
    rule(
        _object_first,
        rf"(?P<thing>(?:^(?:an?|the) {NOUNS}|(?-i:[A-Z])[\w.+#-]*(?: [\w.+#-]+){{0,2}}?)),? ",
        r"(?:that|this|which|it) is what ",
        rf"(?P<who>we|i|(?:our|my) \w+) (?:all )?(?P<verb>{_USE}|runs?|are on)\b ?",
    ),
    rule(
        _use,
        WE,
        ADVERBS,
        r"(?:have|has) ?",
        ADVERBS,
        r"(?P<neg>)",
        r"(?P<verb>been (?:using|on|running(?: on)?)|(?:used|worked with)(?=.* since\b)) ",
    ),
    rule(
        _instead,
        r"\binstead of (?P<old>[^,;:]{1,40}?),? (?:we|i) (?:now |currently )?(?P<verb>use|have|run|do) (?:now )?",
    ),
    rule(
        _nobody,
        r"\b(?:nobody|no one|none of us|neither of us|none of our \w+)(?: here| (?:in|on|at) (?:the|our) [\w-]+)?(?: "
        r"ever| really)*",
        rf" (?P<verb>use|eat|drink|{HABIT})s? ",
    ),
    rule(_use, r"\b(?P<who>we|i) (?:am|are) (?P<neg>not) (?:currently |really |actually )*(?P<verb>using|on) "),
    rule(
        _unused,
        WE,
        r"have not (?P<verb>used|printed|made|published|held|served|baked|eaten|worn|touched|smoked|sold|offered|"
        r"taught|played) (?=[^,;:]* (?:since|in|for) )",
    ),
    rule(_use, WE, ADVERBS, NOT, rf"(?P<verb>{_ON}|{_USE}|{_RUN}) "),
    rule(_habit, WE, ADVERBS, NOT, rf"(?P<verb>(?:{HABIT})s?) "),
    rule(
        _named_habit,
        r"\b(?P<who>we|i) (?:all |always |usually |now |also |only |mostly |both )*(?P<neg>)",
        rf"(?P<verb>{_OPEN_VERB}) ",
    ),
)
