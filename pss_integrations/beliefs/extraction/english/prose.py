"""What a speaker says in own words, sentence by sentence: nothing quoted, pasted, logged or coded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pss_integrations.beliefs.extraction.sidecar import strip_sidecar
from pss_integrations.beliefs.injection import strip_injected
from pss_integrations.beliefs.query import clean_query


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, with contractions spelled out: ``we're`` is ``we are``, ``don't`` is ``do not``.

    :param text: Without final punctuation.
    :param asks: Whether it ends in a question mark.
    """

    text: str
    asks: bool


def sentences(text: str) -> tuple[Sentence, ...]:
    """Split a message into the sentences that are its author's own.

    Left out: code and stack traces, lines quoted with ``>``, log lines, console input, pasted e-mails, what follows a
    line that announces a text ("Here is what the docs say:"), sentences in quotation marks, URLs and paths, and the
    blocks that this package adds to a conversation. A short term in quotation marks stays, without them.

    Of "We use Redis, is that fine?" the statement is a sentence of its own.
    """
    spoken = strip_sidecar(strip_injected(text)).replace("\u2019", "'")
    lines = _NOT_OWN.sub(r"\g<head>\n", "\n".join(_without_fences(spoken.splitlines()))).splitlines()
    own = (
        clean_query(_INLINE_QUOTE.sub("", _COMMENT.sub("", line))) for line in lines if not _MACHINE_LINE.match(line)
    )
    return tuple(sentence for line in own for sentence in _split(_spelled_out(_unquoted(line))))


# -- lines


_COMMENT = re.compile(r"(?<=[`\s])(?:#|//|--) \S.*$")
_INLINE_QUOTE = re.compile(r"(?<=[.?!:]) > \S.*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_MACHINE_LINE = re.compile(
    r"""
    \s*(?: > | \|
    | \[?\d{4}-\d\d-\d\d[T\s]\d\d:\d\d | \[?\d\d:\d\d:\d\d | [A-Z][a-z]{2}\ +\d+\ \d\d:\d\d:\d\d
    | \[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b[\]:\s]
    | [$%\#]\ \S | >>>\  | (?:\+\+\+|---|@@)\  | // | /\* | \*/ | [{}\[\]();,]+\s*$ | [\w.-]+\s*=\s*\S+;?\s*$ )
    """,
    re.VERBOSE,
)
_NOT_OWN = re.compile(
    r"""
    (?P<head> ^ .* \b (?: said|says|wrote|writes|states?|reads?|posted|answered|replied|quote[sd]?|e-?mail|mail|message
      |ticket|readme|docs|documentation|logs?|output|post|article|page|text|paragraph|transcript|changelog|comment
      |review|example|announcement|draft|following|this ) \b [^.!?:\n]{0,40} :[ \t]*\n ) \s* (?: .*\S.* (?:\n|\Z) )+
    | (?<=\n) [ \t]* (?: Hi|Hello|Hey|Dear|Good\ (?:morning|afternoon|day) ) \b [^.!?\n]{0,40} ,[ \t]*\n      # a letter
      (?: .*\n ){0,60}? [ \t]* (?: (?:Kind|Best|Warm)\ (?:regards|wishes)|Regards|Best|Cheers|Thanks|Sincerely|Yours.* )
      [ \t]* ,?[ \t]* (?: \n .{0,40} )? $
    | ^ [ \t]* (?: (?:From|To|Cc|Sent|Date|Subject)[ \t]*:[ \t] | -{2,}[ \t]*(?:Original|Forwarded)
      | On\ .{0,80}\ wrote:[ \t]*$ ) (?: .*\n? )* \Z
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
"""What follows an announcement, to the next blank line; a letter within a message; all from the header of an e-mail."""


def _without_fences(lines: Iterable[str]) -> Iterator[str]:
    """Leave a mark, which is the text that a line before it may announce."""
    fence = ""
    for line in lines:
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
            yield from (">", "")
        elif found and line.strip().startswith(fence):
            fence = ""
        elif not fence:
            yield line


# -- words


_QUOTATION = re.compile(r"""(?<!\w)(?:"([^"]+)"|“([^”]+)”|'([^']+)')(?!\w)""")
_SPEECH = re.compile(r"\b(?:we|i|us|our|my|they|he|she|you|everyone|everybody|nobody)\b|\S+(?: \S+){5}", re.IGNORECASE)
_SHORT = {
    r"\blet'?s\b(?! (?:him|her|you|them|us|me|it)\b)": "let us",
    r"\b(it|that|there|here|what|who|he|she)'s\b": r"\1 is",
    r"\b(\w+)'s (?=(?:on|in|out|off|gone|an?|now|not|still|all|at|going|settled|decided|closed|open|based|hosted|"
    r"called)\b)": r"\1 is ",
    r"\bthat(?:'d| would) be (?=(?-i:[A-Z]))": "that is ",
    r"\b(i)'?m\b": r"\1 am",
    r"\b(we|you|they)'re\b": r"\1 are",
    r"\b(i|we|you|they)'?ve\b": r"\1 have",
    r"\b(i|we|you|they|it|that|who|he|she)'ll\b": r"\1 will",
    r"\b(i|we|you|they)'d\b": r"\1 would",
    r"\b(i|we|you|they) have got (?=an?\b|no\b|\d|two|three|four|five|six|seven|eight|nine|ten|"
    r"(?-i:[A-Z]))": r"\1 have ",
    r"\bcan'?t\b": "cannot",
    r"\bwo(?:n't|nt)\b": "will not",
    r"\b(do|does|did|is|are|was|were|has|have|had|would|should|could)n'?t\b": r"\1 not",
    r"\bany ?more\b": "any more",
}
_LONG = tuple((re.compile(short, re.IGNORECASE), long) for short, long in _SHORT.items())


def _unquoted(line: str) -> str:
    def term(found: re.Match[str]) -> str:
        quoted = found[found.lastindex or 0]
        return '""' if _SPEECH.search(quoted) else quoted

    return _QUOTATION.sub(term, line)


def _spelled_out(line: str) -> str:
    for short, long in _LONG:
        line = short.sub(long, line)
    return line


# -- sentences


_LONGEST = 600  # characters; nobody says more in one sentence, and rules take time
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_END = re.compile(
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bMr\.)(?<!\bDr\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\b(?-i:N)o\.)(?<!\bca\.)(?<=[.!?])[)\]]*\s+(?=\S)|;\s+|"
    r",\s+(?=(?:i mean|no,? wait|wait,? no|or rather|make that|scratch that)\b)",
    re.IGNORECASE,
)
_TAIL_QUESTION = re.compile(
    r"(?:,|:| -| –|—)\s+(?:and |so |but |any )?(?=(?:what|which|how|why|when|where|who|is|are|am|can|could|should|"
    r"shall|do|does|did|will|would|has|have|may|any)\b)",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:(?:and|so|but|also|ok|hi|hey|hello|well|then|now)\b,? )*(?:what|which|how|why|when|where|who|whose|is|are|am|"
    r"can|could|should|shall|do|does|did|will|would|was|were|has|have|had|may|if|suppose)\b",
    re.IGNORECASE,
)


_TAG = re.compile(r", (?:ok|okay|alright|please|thanks|thank you|got it)\?$", re.IGNORECASE)  # no question


_CONFIRM = re.compile(
    r", (?:(?:is|are|does|do|did|has|have|was|were|can|will) (?:not )?(?:it|he|she|they|we|i|you|there)|right|no|"
    r"correct)\?$",
    re.IGNORECASE,
)


def _split(line: str) -> Iterator[Sentence]:
    for part in _END.split(_BULLET.sub("", line)):
        text = _TAG.sub(".", part.strip())
        if not text.endswith("?"):
            yield from _sentence(text, asks=False)
            continue
        tail = None if _CONFIRM.search(text) else _TAIL_QUESTION.search(text)
        if tail and not _ASKING.match(text):
            yield from _sentence(text[: tail.start()], asks=False)
            text = text[tail.end() :]
        yield from _sentence(text, asks=True)


def _sentence(text: str, *, asks: bool) -> Iterator[Sentence]:
    if (stripped := text.strip(" .!?")) and len(stripped) <= _LONGEST:
        yield Sentence(stripped, asks)
