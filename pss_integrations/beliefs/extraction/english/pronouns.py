"""What "they" and "that repo" stand for, where the sentence before says so."""

from __future__ import annotations

import re
from dataclasses import replace

from pss_integrations.beliefs.extraction.english.grammar import NOUNS
from pss_integrations.beliefs.extraction.english.prose import Sentence
from pss_integrations.text import identifiers, names

_NOUN = re.compile(
    r"(?P<whose>the|our|my) (?P<noun>(?:[\w-]+ ){0,2}?[\w-]+)(?=$|[,;.]| (?:is|are|was|were|has|have|keeps?|on|in|for|"
    r"of|with|and|that|which|[a-z]+s)\b)",
    re.IGNORECASE,
)
_PLURAL = re.compile(r"(?P<whose>the|our|my) (?P<noun>(?:[\w-]+ ){0,2}?[\w-]+[^\Ws]s)\b", re.IGNORECASE)
_PRONOUN = re.compile(
    r"(?P<pronoun>it|they) (?=(?:all |both |now |still |only )*(?P<verb>runs?|lives?|comes?|is|are|uses?|sits?|"
    r"talks?)\b)",
    re.IGNORECASE,
)
_SOMEBODY = re.compile(
    r"(?:he|she) (?=(?:\w+ ){0,1}(?:runs|handles|does|keeps|manages|looks after|leads|takes care of|chairs|is) "
    r"(?:our|my) )",
    re.IGNORECASE,
)
_OURS = re.compile(r"(?:it|they|he|she|that) (?P<be>is|are) (?=(?:our|my) )", re.IGNORECASE)
_PREDICATE = r"(?:runs? on|uses?|lives? (?:on|in)|(?:is|are) [a-z]+ (?:on|in|at|to|with|by)) "
_SHARED = re.compile(
    rf"(?P<what>\b(?:our|my|the) {NOUNS}) (?P<first>{_PREDICATE}[^,;:]+?),? and (?={_PREDICATE})",
    re.IGNORECASE,
)
_THEM = re.compile(r"\b(?:our|my) [\w-]+ (with|from|at) them\b", re.IGNORECASE)
_THAT = re.compile(r"(?:that|this) [\w-]+ (?=(?:is|was|has)\b)", re.IGNORECASE)
_HYPHENATED = re.compile(r"\b\w+(?:-\w+)+\b")


def spelled_out(spoken: Sentence, previous: Sentence | None) -> Sentence:
    """Put what a pronoun at the beginning stands for in its place; without a candidate the sentence stays as it is.

    A subject of two predicates is repeated: "our site runs on Django and is hosted at Strato".
    """
    spoken = replace(spoken, text=_SHARED.sub(r"\g<what> \g<first> and \g<what> ", spoken.text))
    if previous is None or spoken.asks:
        return spoken
    if (them := _THEM.search(spoken.text)) and len(named := names(previous.text)) == 1:
        spoken = replace(spoken, text=f"{spoken.text[: them.end(1)]} {named[0]}{spoken.text[them.end() :]}")
    if (who := _SOMEBODY.match(spoken.text)) and len(named := names(previous.text)) == 1:
        return Sentence(f"{named[0]} {spoken.text[who.end() :]}", asks=False)
    if ours := _OURS.match(spoken.text):
        named = names(previous.text)
        rest = spoken.text[ours.end() :]
        return Sentence(f"{named[0]} {ours['be']} {rest}", asks=False) if len(named) == 1 else spoken
    if pronoun := _PRONOUN.match(spoken.text):
        noun = _antecedent(pronoun, previous.text)
        return Sentence(f"our {noun} {spoken.text[pronoun.end() :]}", asks=False) if noun else spoken
    if that := _THAT.match(spoken.text):
        named = [*_HYPHENATED.findall(previous.text), *identifiers(previous.text), *names(previous.text)]
        return Sentence(f"{named[0]} {spoken.text[that.end() :]}", asks=False) if named else spoken
    return spoken


def _antecedent(pronoun: re.Match[str], text: str) -> str | None:
    """The last noun of the right number; of what "is" something only a noun with "our" or "my" will do."""
    is_plural = pronoun["pronoun"].lower() == "they"
    of_others = pronoun["verb"].lower() not in ("is", "are")
    nouns = [
        found["noun"]
        for found in (_PLURAL if is_plural else _NOUN).finditer(text)
        if (of_others or found["whose"].lower() != "the") and found["noun"].endswith("s") == is_plural
    ]
    return nouns[-1] if nouns else None
