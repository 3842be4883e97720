"""When to leave a query alone, and when a clue alone: pure, deterministic rules over text, calibrated for no index."""

from __future__ import annotations

import re

from pss_integrations.text import identifiers, names, tokenize

# "it" in lower case or capitalised only: "IT" is a department.
_REFERENCE = re.compile(
    r"""
    (?-i:\b[Ii]t(?:s|self)?\b)
    | \b(?: this | that | these | those | he | him | his | she | her | they | them | theirs? )\b
    | \b(?: same | previous | previously | prior | earlier | before )\b
    | \b(?: former | latter | above | again | instead )\b
    | \b(?: the\s+last | last\s+time | (?:the|which|old|new|first|second|other)\s+ones? )\b
    | \b(?: what | how )\s+about\b
    | \b(?: we | i | you )(?:['’](?:d|ve))?\s+
        (?: \w+ed | chose | had | kept | left | made | said | set | spoke | told | were )\b
    | \bdid\s+(?: we | i | you )\b
    | \Aas\s+\w+ed\b
    | \A\W*(?: and | but | or | also | so | then | yes | no | ok | okay )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_HEADING = re.compile(r"\s*#{1,6}(?:\s|\Z)")
_ENDLESS = re.compile(r"(.{1,10}?)\1{5,}")


def is_self_contained(query: str) -> bool:
    """Whether a query carries its own scope and refers back to nothing.

    It does if it holds an identifier (``v1.2.3``, ``ckpt-4821``), a proper name or a quoted term, and no
    reference back: a pronoun ("it", "that"), a word of order ("previous", "the same", "before"), talk of
    what was done ("we switched"), or the opening of a follow-up ("and", "what about"). References are
    known in English; other languages are judged by their scope alone.

    >>> is_self_contained("How is retry_limit set in Kestrel v2.4?")
    True
    >>> is_self_contained("Use the previous configuration for Kestrel v2.4")
    False
    """
    return not refers_back(query) and bool(identifiers(query) or names(query))


def refers_back(query: str) -> bool:
    """Whether a query refers to what was said before, as far as English words show it."""
    return _REFERENCE.search(query) is not None


def is_usable_clue(clue: str, query: str) -> bool:
    """Whether a clue says something that the query does not.

    Blanks, punctuation, a markdown heading alone (langchain issue 15959), endless repetition and an echo
    of the query do not.
    """
    lines = [line for line in clue.splitlines() if line.strip()]
    if all(_HEADING.match(line) for line in lines) or _is_endless(clue) or not any(map(str.isalnum, clue)):
        return False
    return not set(tokenize(clue)) <= set(tokenize(query))


def _is_endless(text: str) -> bool:
    words = re.findall(r"\w+", text.casefold())
    repeats = len(words) >= 3 and 3 * len(set(words)) <= len(words)
    return repeats or _ENDLESS.fullmatch("".join(words)) is not None
