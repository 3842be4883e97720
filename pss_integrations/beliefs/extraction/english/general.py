"""Reads what no rule of a certain form has read: any clause that says something lasting of the speaker."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.claims import Claim, Kind, claim_of
from pss_integrations.beliefs.extraction.english.clauses import (
    Clause,
    clause,
    conjugate,
    sentence,
    snake,
    terms,
    without_filler,
    without_old,
)
from pss_integrations.beliefs.extraction.english.durable import is_durable
from pss_integrations.beliefs.extraction.english.lexicon import ENDS, lemma
from pss_integrations.beliefs.extraction.english.parsing import Statement, statements
from pss_integrations.beliefs.extraction.english.prose import Sentence
from pss_integrations.beliefs.extraction.english.vetoes import is_stated

_PLAIN = frozenset("be have use run rely adopt".split())
"""Verbs that add nothing to the name of what they are said of."""
_NAMING = frozenset("call name know".split())
"""Verbs that add nothing where it is called, named or known as something."""

_PLACED = re.compile(r"^(?:(?:up|down|out|over) )?(?:on|at|in|with|from|to|through|via|by) (?=\S)", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:all )?(?:the|our|my|both) ", re.IGNORECASE)
_INSTEAD = re.compile(r"\b(?:instead of|rather than|in place of)\b", re.IGNORECASE)
_NUMBERED = re.compile(
    r"^(?:\d[\d.,:]*|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?|two|three|four|five|six|"
    r"seven|eight|"
    r"nine|ten|eleven|twelve)\b ?",
    re.IGNORECASE,
)
_NOW = frozenset("now also currently already still just then".split())
_CONDITIONAL = frozenset("if when whenever unless until while whether who which where once before after or".split())
_REASON = frozenset("because since as cos bc".split())


def general(spoken: Sentence, taken: Sequence[tuple[int, Claim]]) -> Iterator[tuple[int, Claim]]:
    """Claims of the clauses in which no other claim begins, with where they begin.

    :param taken: Other claims, with where they begin; what they say is not said again.
    """
    if spoken.asks:
        return
    known = " ".join(claim.content for _, claim in taken).casefold()
    has_claim = bool(taken)
    for one in statements(spoken.text):
        is_read = any(one.start - len(one.lead) - 1 <= at < one.till for at, _ in taken)
        if is_read or one.link in _CONDITIONAL or (one.link in _REASON and has_claim):
            continue
        is_news = not known or any(term.casefold() not in known for term in terms(one.rest))
        found = re.compile(r"\S+").match(spoken.text, one.start)
        before, after = spoken.text[: one.start], spoken.text[one.end :]
        if found and is_news and is_durable(one, before, after) and is_stated(found, spoken):
            has_claim = True
            yield one.start, replace(_claim(one), why=clause(f"{one.rest}{after}").why)


def _claim(one: Statement) -> Claim:
    said, old = Clause(without_filler(one.rest)), tuple[str, ...]()
    if _INSTEAD.search(said.text):
        said, old = without_old(said)
    if one.who == "speaker":
        claim = _of_speaker(one, said)
    elif (
        one.who == "named"
        and one.verb == "be"
        and not one.negated
        and (role := re.match(r"(?:our|my|the(?=.* (?:our|my)\b)) (?:new )?(.+)", said.text))
    ):
        claim = _fact(role[1], ("is",), Clause(one.subject), "")
    else:
        is_plain = one.verb in _PLAIN or (one.is_passive and one.verb in _NAMING)
        aspect = "" if is_plain else one.verb
        claim = _fact(one.subject, _predicate(one), Clause(f"{said.text} {_gone(one)}".strip()), aspect)
        if one.who in ("all", "nobody"):
            claim = replace(claim, kind="use", type="decision")
    if one.has_ended:
        return replace(claim, kind="end", type="decision", ends=True)
    return replace(claim, replaces=old, kind="change" if old else claim.kind)


def _of_speaker(one: Statement, said: Clause) -> Claim:
    content = sentence(*_predicate(one), said.text, _gone(one))
    if one.verb == "be" and not _PLACED.match(said.text):
        return claim_of("fact", said, content, name=snake(*terms(said.text)[:2]), aliases=terms(said.text))
    thing = Clause(_PLACED.sub("", said.text))
    kind: Kind = "end" if one.negated else "use"
    if one.verb in _PLAIN and not one.negated:
        return claim_of(kind, thing, content)
    named = (_NUMBERED.sub("", term) or term for term in terms(said.text)[:2])
    claim = claim_of(kind, said, content, name=snake(one.verb, *named), aliases=terms(said.text))
    return replace(claim, value=thing.thing or said.text)


def _fact(subject: str, predicate: tuple[str, ...], said: Clause, aspect: str) -> Claim:
    """A claim about a thing, named by it and by what it does."""
    subject = _ARTICLE.sub("", subject)
    words = tuple(dict.fromkeys((subject, *terms(subject), *terms(said.text))))
    content = sentence(subject, *predicate, said.text)
    claim = claim_of("fact", said, content, name=snake(subject, aspect), aliases=words)
    return replace(claim, value=Clause(_PLACED.sub("", said.text)).thing or said.text)


def _gone(one: Statement) -> str:
    """Says of what ended that it is no more."""
    if one.negated or one.tense not in ("past", "perfect"):
        return ""
    if one.verb == "give" and (what := re.match(r"up (.+)", one.rest)):
        return f"(no longer {what[1]})"
    if one.verb == "leave":
        return "(no longer there)"
    if one.verb not in ENDS:
        return ""
    return "(no longer there)" if one.is_passive else f"(no longer {one.rest})"


def _predicate(one: Statement) -> tuple[str, ...]:
    """The verb with its auxiliaries, in the third person where the speaker is the subject."""
    if one.has_ended:
        return _ended(one)
    spoken = tuple(word for word in one.words if word not in _NOW)
    words = (one.said, *spoken) if one.said in ("am", "is", "are") else (*spoken, one.said)
    if one.who != "speaker":
        return words
    agreed = {"am": "is", "are": "is", "have": "has", "do": "does"}
    if one.tense == "past" or not {*agreed, "will", "cannot", "must", "has", "did"}.isdisjoint(words):
        return (agreed.get(words[0], words[0]), *words[1:])
    return (*spoken, conjugate(one.said))


def _ended(one: Statement) -> tuple[str, ...]:
    """``no longer eats``, ``is no longer heated``."""
    if one.verb == "be" or one.is_passive:
        be = next((word for word in (one.said, *one.words) if lemma(word) == "be"), "is")
        return ("is" if one.who == "speaker" else be, "no longer", *(() if one.verb == "be" else (one.said,)))
    is_plural_subject = one.who != "speaker" and ("do" in one.words or one.said == one.verb) and "does" not in one.words
    return ("no longer", one.verb if is_plural_subject else conjugate(one.verb))
