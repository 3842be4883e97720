"""Rules for standing orders: always and never, from now on, and how the user wants to be answered."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Rule, claim_of, rule
from pss_integrations.beliefs.extraction.english.clauses import (
    Clause,
    clause,
    conjugate,
    sentence,
    snake,
    terms,
)
from pss_integrations.beliefs.extraction.english.grammar import PASSING, START, WE
from pss_integrations.beliefs.extraction.english.lexicon import lemma

_MARKER = (
    r"(?:from now on|from here on|going forward|from today on|in (?:the )?future|henceforth|as a (?:general )?rule|"
    r"every time|at all times|for all future \w+|in all (?:of )?(?:your|my|our) \w+|in (?:all )?(?:of )?your "
    r"(?:answers|replies|responses|messages|summaries|translations|drafts)|in (?:every|any)thing you (?:write|send|"
    r"make|draft|do)(?: for me)?|in every (?:reply|answer|response|message|summary|draft))"
)
_STANDING = re.compile(rf"\b(?:{_MARKER}|with me(?=$|,)|always|generally|by default)\b", re.IGNORECASE)
_AT_FIRST = re.compile(r"^(?:please|always|only|just|then|,|\s)+", re.IGNORECASE)
_NO_ORDER = re.compile(
    r"(?:the|it|our|my|they|you|there|all|any|this|that|she|he|is|are|if|when|someone|your)\b", re.IGNORECASE
)
_SPEAKER = re.compile(r"(?P<who>we|i) (?P<verb>[a-z]+) ", re.IGNORECASE)
_NO_HABIT = re.compile(
    r"\w+ed|was|were|had|did|got|get|forget|run|said|have|end|seem|feel|thought|knew|saw|went|came|made|took|told|"
    r"need|am|are|find|lose|mix|confuse|struggle|be|know|wanted|wonder",
    re.IGNORECASE,
)
_ANSWER = (
    r"(?P<verb>answer|reply|respond|write|talk|speak|explain)(?: to me| me| back| only| always| everything| things)* "
    r"(?:only )?in "
)
_ANSWERED = re.compile(_ANSWER, re.IGNORECASE)
_ALSO_OF_TEXTS = frozenset({"write", "talk", "speak", "explain"})  # a single text may be meant by these
_HERE = re.compile(r"\b(?:this|that|the|these|those|it|here|next|done|ready|finished)\b", re.IGNORECASE)
_FOR_ME = re.compile(r"\b(?:me|us|my|our|please)\b", re.IGNORECASE)
_PIECES = re.compile(
    r"\b(?:this|that|the|these|those|row|file|line|x|n|item|number|word|column|user|page|entry|cell|record|element|"
    r"name|case|step|question|one|image|sentence|section|paragraph)s?\b",
    re.IGNORECASE,
)
_LENGTH = (
    r"(?:very |rather )?(?:short|brief|concise|terse|succinct|to the point|long|detailed|thorough|compact|crisp|"
    r"(?:under|below|within|to|at|max|maximum|at most|no longer than|no more than|less than|shorter than)(?: at most| "
    r"max(?:imum)?)? (?:a|one|two|three|four|five|six|seven|eight|ten|twenty|\d+) (?:short )?(?:lines?|sentences?|"
    r"words|paragraphs?|bullets?|bullet points|points))"
)
_LANGUAGE = re.compile(r"(?:\w+ )?[A-Z][a-z]+$")


def _always(found: re.Match[str], after: str) -> Claim | None:
    """``Always X``, ``never X``."""
    said = clause(after)
    if not terms(said.text) or PASSING.search(found.string) or not re.match(r"[a-z]", said.text) or '""' in after:
        return None  # what was in quotation marks cannot be left out of an order
    return _order(found["when"].lower(), said)


def _own_habit(found: re.Match[str], after: str) -> Claim | None:
    """``I always X``, ``we never X``."""
    said = clause(after)
    verb, _, rest = said.text.partition(" ")
    if not terms(rest) or not re.fullmatch(r"[a-z-]+", verb) or _NO_HABIT.fullmatch(verb):
        return None
    return replace(_order("", said), content=sentence(found["when"], conjugate(verb), rest))


def _from_now_on(_found: re.Match[str], after: str) -> Claim | None:
    """``From now on, V ...``; ``as a rule, I V ...``."""
    text = _AT_FIRST.sub("", after)
    if answer := _ANSWERED.match(text):
        return _answer(answer, text[answer.end() :])
    said = clause(text)
    if speaker := _SPEAKER.match(said.text):
        rest = said.text[speaker.end() :]
        if re.match(r"(?:like|love|prefer|hate|enjoy|would)$", speaker["verb"]):
            return None  # a taste
        if not terms(rest) or _NO_HABIT.fullmatch(speaker["verb"]):
            return None
        return replace(
            _order("", replace(said, text=f"{speaker['verb']} {rest}")),
            content=sentence(conjugate(speaker["verb"]), rest),
        )
    return None if not terms(said.text) or _NO_ORDER.match(said.text) else _order("", said)


def _marked_order(found: re.Match[str], after: str) -> Claim | None:
    """``Use metric units in all your answers``, ``number the steps from now on``."""
    said = clause(f"{found['verb']} {after}")
    if (
        lemma(found["verb"]) != found["verb"].lower()
        or not _STANDING.search(after)
        or PASSING.search(said.text)
        or _NO_ORDER.match(said.text)
    ):
        return None
    plain = re.sub(
        r",? \b(?:from (?:now|here|today) on|going forward|in (?:the )?future)\b", "", said.text, flags=re.IGNORECASE
    )
    return _order("", replace(said, text=plain.strip(" ,")))


def _order_with_limit(found: re.Match[str], _after: str) -> Claim | None:
    """``Sign my letters with my title, never with my first name``."""
    text = f"{found['verb']} {found['rest']}"
    if lemma(found["verb"]) != found["verb"].lower() or PASSING.search(text) or _HERE.search(text) or '""' in text:
        return None
    return _order("", Clause(text))


def _stop(found: re.Match[str], after: str) -> Claim | None:
    """``Please stop using emojis``."""
    said = clause(after)
    if not found[0].rstrip().lower().split()[-1].startswith("apolog") and not terms(said.text):
        return None
    if PASSING.search(found.string) or _HERE.search(said.text):
        return None
    return _order("stop", replace(said, text=f"{found['verb']} {said.text}".strip()))


def _whenever(found: re.Match[str], after: str) -> Claim | None:
    """``When you give me a recipe, use grams``: not when "this" one is given."""
    said = clause(after)
    is_lasting = re.match(r"whenever|every|each|any", found[0].strip(), re.IGNORECASE) or _FOR_ME.search(found.string)
    is_lasting = is_lasting or re.fullmatch(r"you \w+ [a-z]+s", found["when"])
    if (
        not is_lasting
        or not re.match(r"(?-i:[a-z])", said.text)
        or _HERE.search(found["when"])
        or PASSING.search(found.string)
        or not terms(said.text)
        or _NO_ORDER.match(said.text)
    ):
        return None
    return replace(_order("", said), content=sentence(said.text, f"when {found['when']}"))


def _for_every(found: re.Match[str], after: str) -> Claim | None:
    """``For every recipe, list the allergens``."""
    said = clause(after)
    if (
        PASSING.search(found.string)
        or not terms(said.text)
        or _NO_ORDER.match(said.text)
        or _PIECES.search(found["what"])
    ):
        return None
    is_fronted = found[0].rstrip().endswith(",")
    content = sentence(said.text, f"for {found['what']}" if is_fronted else "")
    return replace(_order("", said), content=content)


def _no_ever(found: re.Match[str], _after: str) -> Claim | None:
    """``No meetings before nine, ever``."""
    said, words = Clause(found["what"]), terms(found["what"])
    if not words or PASSING.search(found.string):
        return None
    content = sentence("no", said.text, "ever") if found["how"].lower() == "no" else sentence("always", said.text)
    return claim_of("rule", said, content, name=snake(*words[:2]), aliases=words)


def _call_me(_found: re.Match[str], after: str) -> Claim | None:
    """``Please call me Jo``."""
    name = re.match(r"(?!\w+day\b)[A-Z][\w-]+(?: [A-Z][\w-]+)?(?=$|[,.])", after)
    if name is None or PASSING.search(after):
        return None
    content = sentence("wants to be called", name[0])
    return replace(claim_of("rule", Clause(name[0]), content, name="name", aliases=("name", name[0])), value=name[0])


def _all_in(found: re.Match[str], after: str) -> Claim | None:
    """``I want all dates in ISO format``."""
    said = clause(f"{found['what']} {after}")
    is_whole = found["what"].lower() == "everything"
    is_lasting = re.search(r"\balways\b", found.string, re.IGNORECASE) is not None
    if (is_whole or found["verb"].lower() == "need") and not is_lasting:
        return None
    if PASSING.search(found.string) or _HERE.search(after) or not terms(clause(after).text):
        return None
    words = tuple(dict.fromkeys((*terms(said.text), found["what"].split()[-1])))
    claim = claim_of("rule", said, sentence(conjugate(found["verb"]), said.text), name=snake(*words[:2]), aliases=words)
    return replace(claim, value=said.text)


def _answer(found: re.Match[str], after: str) -> Claim | None:
    """``Please answer in French``."""
    said = clause(after)
    if (
        not terms(said.text)
        or PASSING.search(found.string)
        or re.match(r"(?:this|that|the)\b", said.text, re.IGNORECASE)
    ):
        return None
    is_asked = re.search(r"\bplease\b", found.string, re.IGNORECASE) and found["verb"].lower() not in _ALSO_OF_TEXTS
    if not is_asked and not _STANDING.search(found.string):
        return None
    how = _STANDING.sub("", said.text).strip(" ,")
    content = sentence("wants answers in", how)
    if _LANGUAGE.fullmatch(how):
        aliases = ("answers", "answer", "language", *terms(how))
        return replace(claim_of("rule", said, content, name="answer_language", aliases=aliases), value=how)
    name, aliases = snake("answers", *terms(how)[:2]), ("answers", *terms(how))
    return replace(claim_of("rule", said, content, name=name, aliases=aliases), value=how)


def _length(found: re.Match[str], after: str) -> Claim | None:
    if PASSING.search(found.string) or re.match(r" (?:this|that)\b", after):
        return None
    aliases = (found["what"], found["how"], "answer length")
    said = Clause(found["how"], clause(after).why)
    return claim_of("rule", said, sentence("wants", found["what"], found["how"]), name="answer_length", aliases=aliases)


def _order(when: str, said: Clause) -> Claim:
    verb, _, rest = said.text.partition(" ")
    words = terms(rest) or terms(said.text)
    claim = claim_of("rule", said, sentence(when, said.text), name=snake(verb, *words[:2]), aliases=words)
    return replace(claim, value=said.text)


STANDING: tuple[Rule, ...] = (
    rule(
        _order_with_limit,
        r"^(?:please,? |and |also |but )*(?P<verb>(?!always\b|never\b|do\b)[a-z]+) ",
        r"(?P<rest>(?:my|our|all|any|the [\w-]+s)\b[^;:]*, (?:and |but )?(?:never|always) (?!again\b).+)",
    ),
    rule(
        _always,
        rf"(?:{START}|\byou must |\b(?:i|we) (?:need|want|expect|would like) you to )",
        r"(?:(?:make|be) sure (?:to |that you |you )?|remember to |try to |just )?(?P<when>always|never|never ever|"
        r"do not ever|do not(?=.*\b(?:ever|again|from now on|in future|anywhere|with me|to me|in any \w+|no matter "
        r"\w+)\b)|under "
        r"no circumstances) ",
        r"(?!mind\b|good\b|nice\b|glad\b|happy\b|great\b|fun\b|an? |the |again\b|been\b|had\b|heard\b|seen\b|knew\b|"
        r"thought\b)",
    ),
    rule(
        _stop,
        START,
        r"(?:do not |stop )(?P<verb>apologi[sz]ing|using|adding|calling me|writing|ending|starting|putting|"
        r"repeating|including|suggesting|summari[sz]ing) ?",
    ),
    rule(
        _whenever,
        START,
        r"(?:when(?:ever)?|every time|each time|any ?time) (?P<when>i (?:ask (?:you )?(?:for|about)|send you)|you "
        r"(?:give|write|quote|send|make|draft|cite|"
        r"translate|show|",
        r"list|suggest|mention|answer|schedule|book|summari[sz]e|edit|correct|explain|plan|convert|calculate|draw|"
        r"plot)",
        r"\b[^,;:]{0,60}), (?:please |then |always |just )*",
    ),
    rule(_for_every, START, r"for (?P<what>(?:every|each|all|any) [a-z]+(?: [a-z]+)?), (?:please |always )*(?=[a-z])"),
    rule(
        _for_every,
        START,
        r"(?=(?:sign|cc|bcc|start|end|close|head|open|address) (?P<what>(?:every|all|each|any) [\w-]+))",
    ),
    rule(
        _no_ever,
        r"^(?:please,? )?(?P<how>no) (?P<what>[a-z-]+(?: [\w-]+){0,6}?)(?:,? please)?,? (?:ever$|(?=i (?:find|hate|"
        r"cannot stand|do "
        r"not like|dislike)\b))",
    ),
    rule(_no_ever, r"^(?:please,? )?(?P<what>[a-z-]+(?: [\w-]+){0,3}?)(?:,? please)?,? (?P<how>always)(?:,? please)?$"),
    rule(
        _length,
        r"^(?:and |also |please )*(?P<how>short(?:er)?|brief(?:er)?|long(?:er)?|more detailed|terse) "
        r"(?P<what>answers|replies|",
        r"responses|explanations|summaries)(?=.*\b(?:from now on|generally|in general|always|in future|as a rule)\b)",
    ),
    rule(
        _all_in,
        r"\b(?P<who>we|i) (?:would )?(?:always )?(?P<verb>want|need|like|expect) (?P<what>everything|every \w+|my "
        r"[a-z]+s(?<!ss)|all (?:my |our |your "
        r")?[a-z-]+s)",
        r" (?=(?:in|as|without) )",
    ),
    rule(_own_habit, WE, r"(?:have to |try to |must |will |should )?(?P<when>always|never) "),
    rule(
        _from_now_on,
        START,
        r"(?:from now on|from here on|from today on|going forward|in (?:the )?future(?! \w+,)|"
        r"in general|generally speaking|in (?:all )?future \w+|for (?:all )?future reference|(?:and )?every time "
        r"after(?: that)?|henceforth|as a "
        r"(?:general )?rule|by default|in all (?:(?:future|your|my|"
        r"our) )+\w+)\b[,:]? ",
    ),
    rule(_answer, START, r"(?:please |always |only |just |could you |you can )*", _ANSWER),
    rule(
        _length,
        START,
        r"(?:please )*(?:keep|make) (?:all )?(?:(?:your|the|my) )?(?P<what>answers|replies|responses|explanations|"
        r"summaries)",
        rf"(?: as)? (?P<how>{_LENGTH})\b",
    ),
    rule(
        _call_me,
        rf"(?:\b(?:i|we) (?:want|would like|prefer|would prefer) (?:you )?to |{START})(?:please )?(?:just )?(?:call "
        rf"me|be called) ",
    ),
    rule(_marked_order, START, r"(?:please )*(?P<verb>use|avoid|skip|drop|keep|be|stick|stay) (?=.* with me(?:$|,))"),
    rule(
        _marked_order,
        rf"(?:\b(?:i|we) (?:want|need|would like) you to |{START})",
        rf"(?P<verb>[a-z]+) (?=.*(?:\b{_MARKER}\b|, always$))",
    ),
)
