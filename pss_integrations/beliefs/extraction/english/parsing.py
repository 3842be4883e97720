"""Cuts a sentence into clauses, and each into its subject, its verb and the rest; by word classes, not by phrases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pss_integrations.beliefs.extraction.english.clauses import terms
from pss_integrations.beliefs.extraction.english.lexicon import (
    ADVERBS,
    AUXILIARIES,
    MODALS,
    VERBS,
    is_past,
    is_plural,
    lemma,
)

Subject = Literal["speaker", "own", "definite", "named", "bare", "all", "nobody", "there", "other"]
Tense = Literal["present", "past", "perfect", "progressive", "future", "modal"]
_NOUNS_IN_SUBJECT = 9
_BOUNDARY = re.compile(
    r"\s*[,;:()]\s+|\s*[()]|\s+[-–—=]+\s+|\s*(?:…|\.{2,})\s*|"
    r"\s+(?=(?:and|but|so|or|because|since|as|if|when|while|although|though|unless|until|which|who|that|where|"
    r"whenever|plus|whereas|cos|bc|once|before|after)\s)",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"(?:(?P<link>because|since|as|if|when|whenever|while|although|though|unless|until|which|who|that|where|whereas|"
    r"cos|bc|once|before|after|or|so|but|and|plus)\s+|"
    r"(?:ok|okay|yes|yep|yeah|no|nope|nah|oh|ah|hm+|well|also|then|anyway|btw|fyi|sorry|thanks|right|great|good|"
    r"actually|note|hi|hello|hey|honestly|by the way|for context|turns out|in fact|of course|in general|"
    r"generally|currently|lately|morning|lol|haha|ugh|pls|please|here(?= (?:we|our))|as said|by now)\b[,:.!]?\s+)",
    re.IGNORECASE,
)
_LOOSE = re.compile(
    r"(?:so|because|but|that|which|who|if|when|while|although|though|unless|cos|please|thanks|not)\b",
    re.IGNORECASE,
)
_NO_LONGER = re.compile(r"\bno longer\b", re.IGNORECASE)  # as one word, of the same length
_SPEAKERS = re.compile(
    r"(?:(?:we|i|us)(?: (?:all|both|two|three))?|(?:both|all|the (?:two|three|four|rest)|most) of us)\b ?",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"(?:every(?:one|body|thing)|(?:all|each|every)(?: of)?(?: (?:our|the|my))?(?: [\w'-]+){1,3}?)"
    r"(?: here| (?:in|at|on) (?:this|our|the) [\w-]+(?: [\w-]+)??)?(?= )",
    re.IGNORECASE,
)
_PART = re.compile(
    r"(?:(?:about|around|almost|nearly) )?(?:half|most|all|some|several|a third|two|three|four|five|six) of (?:them|"
    r"(?:our|my) [\w-]+)(?= )",
    re.IGNORECASE,
)
_NOBODY = re.compile(
    r"(?:nobody|no one|none of (?:us|our [\w-]+|the [\w-]+)|neither of us)(?: here| (?:in|at|on) (?:this|our|the) "
    r"[\w-]+)?(?= )",
    re.IGNORECASE,
)
_FIXED: tuple[tuple[Subject, re.Pattern[str]], ...] = (
    ("speaker", _SPEAKERS),
    ("nobody", _NOBODY),
    ("own", _PART),
    ("all", _ALL),
)
_OTHER = frozenset(
    """
    he she they it you this that these those one what which who how why where when whose if whether let please do does
    did is are am was were can could should would will shall may might has have had must cannot not never always just
    only to here until since because although though as in on at by for from with without about into after before
    during of than like via per if and or but so plus according thanks due
    """.split()
)
_PREPOSITIONS = frozenset("in on at by for from with without of to via per under over between near about".split())
_FRONTED = frozenset(
    "starting instead during next last this every each tomorrow yesterday today now nowadays these".split()
)
_SOME = frozenset(
    """
    someone somebody anyone anybody people some any most many few others another other such something anything nothing
    a an his her their your its whose others
    """.split()
)
_OWN = frozenset(("my", "our", "mine", "ours"))


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause, taken apart.

    :param lead: What stands before its subject: an adverbial such as "in our lab".
    :param link: The conjunction that introduces it, or ``""``.
    :param subject: In the user's words; its kind is ``who``.
    :param words: Auxiliaries and adverbs before the verb.
    :param verb: Plain form of the verb, ``be`` and ``have`` included.
    :param said: The verb as it was said.
    :param rest: What follows the verb.
    :param start: Where the subject begins in the sentence.
    :param end: Where the rest ends.
    :param till: Where what is attached to it ends.
    """

    lead: str
    link: str
    subject: str
    who: Subject
    words: tuple[str, ...]
    verb: str
    said: str
    rest: str
    start: int
    end: int
    till: int

    @property
    def negated(self) -> bool:
        denials = {"not", "never", "cannot", "no-longer"}
        return self.who == "nobody" or not denials.isdisjoint(self.words) or self.said == "cannot"

    @property
    def has_ended(self) -> bool:
        """Whether it is said that something was so before."""
        is_over = (
            self.negated
            and self.who != "nobody"
            and re.search(r"\bany (?:more|longer)\b", self.rest, re.IGNORECASE) is not None
        )
        return is_over or "no-longer" in self.words

    @property
    def first(self) -> str:
        """The first word after the verb."""
        return self.rest.partition(" ")[0].lower()

    @property
    def is_passive(self) -> bool:
        """Whether something is done to the subject, or it is in a state."""
        is_be = not {"is", "are", "am", "was", "were", "been", "be", "being"}.isdisjoint(self.words)
        return is_be and is_past(self.said)

    @property
    def tense(self) -> Tense:
        if {"will", "shall"} & {*self.words}:
            return "future"
        if MODALS & {*self.words}:
            return "modal"
        if self.said.endswith("ing") and not {"is", "are", "am"}.isdisjoint(self.words):
            return "progressive"
        if {"have", "has"} & {*self.words}:
            return "perfect"
        if self.said in ("was", "were", "had", "did") or not {"did", "had", "was", "were"}.isdisjoint(self.words):
            return "past"
        return "past" if not self.is_passive and is_past(self.said) and self.said != self.verb else "present"


def statements(text: str) -> tuple[Statement, ...]:
    """Take the clauses of a sentence apart; a piece without subject and verb belongs to the one before."""
    found: list[Statement] = []
    lead, text = "", _NO_LONGER.sub("no-longer", text)
    for start, end in _ends(text):
        one = _statement(text, start, end, lead)
        if one:
            found.append(_resolved(one, found[-1]) if found else one)
            lead = ""
        elif found:
            found[-1] = _longer(found[-1], text, start, end)
        else:
            lead = f"{lead} {text[start:end]}".strip()
    return tuple(found)


def _ends(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for boundary in _BOUNDARY.finditer(text):
        if text[start : boundary.start()].strip():
            yield start, boundary.start()
            start = boundary.end()
    if text[start:].strip():
        yield start, len(text)


def _resolved(one: Statement, before: Statement) -> Statement:
    """Put what a pronoun stands for in its place: "backups run at two, they go to tape"."""
    is_alike = is_plural(before.subject.split()[-1]) == (one.subject.lower() == "they")
    if one.subject.lower() in ("it", "they") and is_alike and before.who in ("own", "definite", "bare"):
        return replace(one, subject=before.subject, who=before.who)
    thing = terms(re.sub(r"^to \w+ ", "", before.rest))
    if (found := re.match(r"(?:them|it) (?=(?:in|at|on|with|by|through|via|from|to)\b)", one.rest)) and thing:
        return replace(one, rest=f"{thing[0]} {one.rest[found.end() :]}")
    return one


def _longer(one: Statement, text: str, start: int, end: int) -> Statement:
    """A clause with a piece that is none, unless that is only loosely attached: "..., so please"."""
    if one.end < one.till or _LOOSE.match(text, start, end):
        return replace(one, till=end)
    return replace(one, rest=(one.rest + text[one.end : end]).strip(), end=end, till=end)


def _statement(text: str, start: int, end: int, lead: str) -> Statement | None:
    """Read a piece as a clause, after conjunctions and an adverbial without a comma."""
    link, at = "", start
    while found := _LINK.match(text, at, end):
        start = at if found["link"] else found.end()
        link, at = (found["link"] or link).lower(), found.end()
    if one := _clause(text, at, end, lead, link):
        return one
    first = text[at:end].partition(" ")[0].lower()
    if first in _PREPOSITIONS:
        start = at
    elif link not in ("since", "as", "until", "after", "before") and first not in _FRONTED:
        return None
    link = ""
    for inner in re.finditer(
        r"(?<= )(?:we|i|our|my|the|all|everything|everyone|everybody)(?= )", text[start:end], re.IGNORECASE
    ):
        at = start + inner.start()
        if one := _clause(text, at, end, f"{lead} {text[start:at]}".strip(), link):
            return one if one.who in ("speaker", "own", "definite", "all") else None
    return None


def _clause(text: str, start: int, end: int, lead: str, link: str) -> Statement | None:
    subject = _subject(text[start:end])
    if subject is None:
        return None
    who, size = subject
    words = text[start + size : end].split(" ")
    before: list[str] = []
    for number, word in enumerate(words):
        bare = word.lower().strip(",.!")
        is_main = number + 1 == len(words) or not _goes_on(bare, words[number + 1 :])
        if _is_adverb(bare) or (bare in AUXILIARIES and not is_main):
            before.append(bare)
        elif (bare in _OTHER and bare not in AUXILIARIES) or not bare:
            return None
        else:
            verb = lemma(bare) or (bare if who in ("speaker", "nobody") or before else "")
            if who == "own" and not verb and bare.endswith("s"):
                verb = bare[:-1]
            after = number + 1
            while verb == "be" and after < len(words) and words[after].lower() in ADVERBS:
                before.append(words[after].lower())
                after += 1
            if verb == "be" and words[after : after + 2] == ["going", "to"] and after + 2 < len(words):
                before, bare, after = [*before, "will"], words[after + 2].lower(), after + 3
                verb = lemma(bare) or bare
            elif verb == "be" and after < len(words) and _is_doing(words[after].lower()):
                before, bare, after = [*before, bare], words[after].lower(), after + 1
                verb = lemma(bare)
            rest = " ".join(words[after:])
            said = Statement(
                lead, link, text[start : start + size].strip(), who, tuple(before), verb, bare, rest, start, end, end
            )
            return said if verb else None
    return None


def _is_doing(word: str) -> bool:
    return word.endswith("ing") and len(word) > 4 and bool(lemma(word))


def _goes_on(auxiliary: str, words: list[str]) -> bool:
    """Whether a verb follows, so that "is", "has", "do" before it is an auxiliary."""
    if auxiliary in MODALS or (words[0].lower() in ("not", "never") and auxiliary in ("do", "does", "did")):
        return True
    following = (word.lower() for word in words if not _is_adverb(word.lower()))
    verb = next(following, "")
    if auxiliary in ("do", "does", "did"):
        return verb in VERBS
    is_regular = verb.endswith("ed") and auxiliary in ("have", "has", "had")
    return is_regular or verb in ("been", "be", "had", "being") or is_past(verb)


def _is_adverb(word: str) -> bool:
    return word in ADVERBS or re.fullmatch(r"\w{3,}ly", word) is not None


def _subject(text: str) -> tuple[Subject, int] | None:
    """The kind of the subject that a text begins with, and how long it is."""
    for who, pattern in _FIXED:
        if found := pattern.match(text):
            return who, found.end() + (text[found.end() : found.end() + 1] == " ")
    if re.match(r"there (?:is|are|will|has|have) ", text, re.IGNORECASE):
        return "there", 6
    words = text.split(" ")
    first = words[0].lower()
    if first in _OTHER or not re.match(r"\w", first):
        return ("other", len(words[0]) + 1) if first in ("he", "she", "they", "it", "you", "this", "that") else None
    for number in range(1, min(len(words), _NOUNS_IN_SUBJECT)):
        verb = next((at for at in range(number, len(words)) if words[at].lower() not in ADVERBS), number)
        if _is_verb(words, number - 1, verb):
            if number == 1 and _is_titled(words[0]) and words[verb].lower().endswith("s"):
                return "named", len(words[0]) + 1
            return _kind(words[:number]), len(" ".join(words[:number])) + 1
        is_new = words[number].lower() in (*_OWN, "the") and words[number - 1].lower() not in _PREPOSITIONS
        if is_new or words[number].lower() in ("we", "i", "you", "he", "she", "they", "if", "and", "or"):
            return None
    return _before_unknown_verb(words)


def _before_unknown_verb(words: list[str]) -> tuple[Subject, int] | None:
    """The subject of a verb that is none of the known ones: "our crew communicates over the radio"."""
    if words[0].lower() not in _OWN:
        return None
    for number in range(2, min(len(words) - 1, _NOUNS_IN_SUBJECT)):
        is_verb = re.fullmatch(r"[a-z]{3,}[^s\W]s", words[number]) and not is_plural(words[number - 1])
        if is_verb and words[number + 1].lower() in _PREPOSITIONS | {"a", "an", "the", "our", "my", "no", "only"}:
            return "own", len(" ".join(words[:number])) + 1
    return None


def _is_titled(word: str) -> bool:
    """Whether a word may be the name of one person: with a capital, and no abbreviation."""
    return word[:1].isupper() and not word.isupper() and word.lower() not in {*_OWN, *_SOME, "the", "both", "no"}


def _is_verb(words: list[str], subject: int, number: int) -> bool:
    """Whether a word after a noun is the verb of it, in number as well."""
    word, noun = words[number].lower(), words[subject].lower()
    if word in AUXILIARIES and word not in ("been", "being"):
        return noun not in _PREPOSITIONS
    if subject == 0 and _is_titled(words[0]) and word.endswith("s") and lemma(word) not in ("", word):
        return True  # "Ines handles"
    if noun in _PREPOSITIONS or noun in _OWN or noun in ("the", "a", "an", "no", "and", "every") or not lemma(word):
        return False
    if number == subject + 1 and number + 1 < len(words) and _agrees(words[number + 1].lower(), word):
        return False  # "plate maps live": the later one is the verb
    return _agrees(word, noun)


def _agrees(word: str, noun: str) -> bool:
    base = lemma(word)
    if not base or word.endswith("ing"):
        return False
    if is_past(word) and word != base:
        return True
    return word == base if is_plural(noun) else word.endswith("s") and word != base


def _kind(words: list[str]) -> Subject:
    lowered = [word.lower() for word in words]
    if lowered[0] in _SOME:
        return "other"
    if lowered[0] in _OWN or any(word in _OWN for word in lowered):
        return "own"
    if lowered[0] in ("the", "both"):
        return "definite"
    if (
        len(words) <= 3
        and all(word[:1].isupper() and not word.isupper() for word in words)
        and not (len(words) == 1 and is_plural(words[0]))
    ):
        return "named"
    return "bare"
