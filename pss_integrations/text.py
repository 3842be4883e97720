"""The one place for text: folding, tokens for full-text search, and what a text names.

Search tokens keep an identifier whole and give its parts beside it, so ``us-east-1`` is found by itself
first and by ``east`` too. Nothing is dropped as a stop word: ``no``, ``not``, ``R`` and ``IT`` are searched.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import dropwhile, pairwise

import Stemmer

FUNCTION_WORDS: frozenset[str] = frozenset(
    """
    a an the this that these those i me my mine myself we us our ours ourselves you your yours yourself
    he him his himself she her hers herself it its itself they them their theirs themselves one ones
    who whom whose which what when where why how whether whatever whichever whoever wherever whenever
    am is are was were be been being do does did done doing have has had having can cannot could may might
    must shall should will would ought and or but nor so yet if then else than as because since while until
    unless although though however therefore of in on at by for from with without about into onto over under
    between among through during before after above below up down out off to toward towards against per via
    around across along within upon near not no yes none nothing nobody some any each every either neither
    both all most more less least few fewer many much several such other others another same own too very
    just only also even still already again ever never always often sometimes perhaps maybe rather quite
    almost there here now today tomorrow yesterday anything anyone something someone everything everyone
    please thanks thank hello hi hey ok okay oh well sure yeah yep nope etc
    """.split()
)
"""English words that carry no content of their own; used to judge queries and cards, never for indexing."""

# Verbs and the like that open a request right before a name: "Compare Python", "Ask Kim".
_OPENERS = frozenset(
    """
    actually add additionally ask assuming awesome based book call can change check choose compare confirm
    consider continue create currently delete deploy describe despite drop dear email excellent explain fetch
    finally find first following get give go good got great help important install keep last later launch
    let list look looking make message move need next nice note open otherwise perfect pick ping plan previously
    prefer put read recently regarding remember remove rename replace reply restart return review run say
    schedule search second see select send set show similarly sorry start stop summarise summarize switch take
    talk tell test third try unfortunately unlike update upgrade use using want watch welcome wow write
    """.split()
)
_NO_NAME_ALONE = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august
    september october november december north south east west northern southern eastern western mr mrs ms
    miss dr prof sir madam mom dad tv ac faq faqs id ids pm am asap fyi btw wifi internet
    """.split()
)
_ALSO_ACRONYMS = frozenset({"IT", "US", "WHO"})

UNSEGMENTED = (  # Han, kana, bopomofo, Hangul, Thai, Lao, Myanmar, Khmer: no spaces, or particles glued on
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u303c"
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Ranges of letters, for a character class of ``re``, that run on from word to word."""
# \w has no combining marks, without which words of many scripts fall apart.
_MARKS = "".join(chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code))[0] == "M")
_JOINTS = "[-\u2010\u2011.@&'’]|_+"
_WORD = rf"[^\W_{UNSEGMENTED}]+(?:[{_MARKS}]+[^\W_{UNSEGMENTED}]*)*"
_CHUNK = re.compile(
    rf"""
    (?: (?=\w) [{UNSEGMENTED}] [{_MARKS}]* )+
    | (?: (?<![^\s("'`\[,/]) \. (?=[A-Za-z]) )?                                 # .NET, .env
      {_WORD} (?: (?:{_JOINTS}) {_WORD} )*
      (?: (?<=[A-Za-z]) \+\+ \d* (?![A-Za-z]) | (?<=(?<![A-Za-z0-9])[A-Za-z]) \# (?![A-Za-z0-9]) )?  # C++17, C#
    """,
    re.VERBOSE,
)
_CLUSTER = re.compile(rf"[{UNSEGMENTED}][{_MARKS}]*")
_JOINT = re.compile(_JOINTS)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z]{2})|(?<=[A-Za-z]{2})(?=\d)|(?<=\+)(?=\d)")
_CONTRACTION = re.compile(r"['’](?:s|re|ve|ll|d|m)\Z", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_VERSION = re.compile(r"v\d+(?:\.\d+)+")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")

# What NFKC_Casefold ignores (invisible format characters) and typographic twins of "-" and "'". U+0130 would
# fold to an "i" with a loose dot, which nobody types.
_TWINS: dict[int, str | None] = {
    **dict.fromkeys([0xAD, 0x61C, 0x180E, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F)], None),
    **dict.fromkeys([*range(0x2060, 0x2070), *range(0xFE00, 0xFE10)], None),
    0x2010: "-",
    0x2011: "-",
    0x2019: "'",
    0x2BC: "'",
    0x130: "I",
}


def normalise(text: str) -> str:
    """Fold a text so that equal-looking texts compare equal.

    Unicode NFKC and case folding (full width, composed and decomposed accents, ``ß`` and ``ss``), invisible
    characters dropped, typographic apostrophes and hyphens made plain, white space runs made one space.
    """
    return " ".join(_fold(_clean(text)).split())


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8; one with half a character (a lone surrogate) cannot."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def whole(text: str) -> str:
    """Return a text with ``?`` for each half of a character, as a broken client may send it."""
    return text.encode("utf-8", "replace").decode()


def tokenize(text: str) -> list[str]:
    """Split a text into tokens for full-text search; documents and queries must both pass through here.

    - A plain word gives its English Snowball stem.
    - An identifier (``v1.2.3``, ``us-east-1``, ``getUserById``, ``snake_case``, ``node.js``, ``C++``, ``.NET``)
      gives itself, unstemmed, then its parts; ``C++`` and ``C#`` give no ``c``.
    - A run of a script without spaces (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) gives its
      overlapping pairs of characters; a run of one gives that character.

    :return: Tokens in order of appearance, repetitions kept; none for blanks, punctuation or emoji.
    """
    cleaned = _THOUSANDS.sub("", _clean(text))
    return [token for chunk in _CHUNK.findall(cleaned) for token in _tokens_of(chunk)]


def identifiers(text: str) -> list[str]:
    """Return what looks like an identifier: ``v1.2.3``, ``ckpt-4821``, ``us-east-1``, ``getUserById``, ``C++``.

    A token counts if it carries a digit, an inner ``_``, ``.`` or ``@``, a capital inside, or the sign of
    ``C++``, ``C#``, ``.NET``. Counts (``3``, ``2nd``, ``7pm``, ``30-year``), initials (``U.S``) and
    hyphenated words (``well-known``) do not; bare numbers do from four digits on.

    :return: In original spelling and order, without final punctuation or possessive, each once.
    """
    return _once(word for word in map(bare, _CHUNK.findall(text)) if _is_identifier(word))


def content_words(text: str) -> list[str]:
    """Return the plain words that are no function words, normalised, in order, repetitions kept.

    A hyphenated word gives its parts; identifiers and numbers give nothing; a run of a script without
    spaces is one word.
    """
    plain = (word for word in map(bare, _CHUNK.findall(_clean(text))) if not _is_identifier(word))
    words = (_fold(part) for word in plain for part in word.split("-"))
    return [word for word in words if not (_has_digit(word) or _is_function_word(word))]


def chunks(text: str) -> Iterator[re.Match[str]]:
    """Find what stands together: words, identifiers whole, and runs of a script without spaces.

    :return: Matches in the text as NFKC and without invisible characters, in original spelling.
    """
    return _CHUNK.finditer(_clean(text))


def clusters(chunk: str) -> list[str]:
    """Return the characters, each with its marks, of a run of a script without spaces; nothing for other chunks."""
    return _CLUSTER.findall(chunk) if _CLUSTER.match(chunk) else []


def opens_sentence(word: re.Match[str]) -> bool:
    """Whether a word that was found in a text comes first in a sentence or a line of it."""
    return bool(_SENTENCE_START.search(word.string, max(0, word.start() - 16), word.start()))


def bare(word: str) -> str:
    """Return a word without a final possessive or contraction: ``Kim's`` gives ``Kim``."""
    return _CONTRACTION.sub("", word)


def names(text: str) -> list[str]:
    """Return names: capitalised spans, and quoted or back-ticked terms of at most eight words.

    A name of several words is kept whole across initials, ``of``, ``the``, ``&`` and the like: ``Y. A.
    Tittle``, ``University of Texas``. A single capitalised word that opens a sentence is a name only if it
    has a capital or digit inside or recurs within a sentence; function words, ``I``, verbs that open a
    request, lone weekdays, months and points of the compass are none. Capitals say nothing in a text that
    is all capitals.

    :return: In original spelling and order, without final punctuation or possessive, each once.
    """
    terms = [found for found in _QUOTED.finditer(text) if _is_term(found)]
    found_at = {term.start(): _quoted_text(term).strip().rstrip(",.;:!?") for term in terms}
    if not text.isupper():
        found_at |= _capitalised(_masked(text, terms))
    return _once(found_at[start] for start in sorted(found_at))


# -- folding and tokens --------------------------------------------------------------------------------------


def _clean(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_TWINS)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text.casefold())


def _once(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


class _Stemmers(threading.local):
    """One stemmer per thread: PyStemmer objects must not be shared (chroma-core/chroma#5993)."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english")


_STEMMERS = _Stemmers()


def _stem(word: str) -> str:
    return _STEMMERS.english.stemWord(word) if word.isalpha() else word


@lru_cache(maxsize=1 << 16)
def _tokens_of(chunk: str) -> tuple[str, ...]:
    if run := clusters(_fold(chunk)):
        return _bigrams(run)
    word = bare(chunk)
    whole = _fold(word)
    parts = list(_parts(word))
    if parts == [word] or whole.endswith("n't"):
        return (_stem(whole),)
    # The stem too: "YouTube" has to be found by "youtube", which is a plain word.
    return tuple(_once([whole, _stem(whole), *_respelled(whole), *(_stem(_fold(part)) for part in parts)]))


def _parts(word: str) -> Iterator[str]:
    for piece in filter(None, _JOINT.split(word)):
        # One letter left over, as of "iPhone", is no word.
        yield from (part for part in _HUMP.split(piece) if len(part) > 1 or part == piece or part.isdecimal())


def _bigrams(run: list[str]) -> tuple[str, ...]:
    if len(run) == 1:
        return (run[0],)
    return tuple(first + second for first, second in pairwise(run))


def _respelled(whole: str) -> Iterator[str]:
    if _VERSION.fullmatch(whole):
        yield whole[1:]
    if _INITIALS.fullmatch(whole):
        yield whole.replace(".", "")


# -- identifiers and names -----------------------------------------------------------------------------------

_COUNT = re.compile(r"\d{1,3}(?i:st|nd|rd|th|s|am|pm)?(?:-[a-z]+)*")
_CAPITAL_INSIDE = re.compile(r"(?!(?<=\bM)c)[a-z][A-Z]")  # but "McDonald" is a plain name
_QUOTED = re.compile(
    r"""(?<!\w)"([^"\n]+)"(?!\w)|“([^“”\n]+)”|«([^«»\n]+)»|(?<!`)`([^`\n]+)`(?!`)"""
    r"""|「([^「」\n]+)」|『([^『』\n]+)』|《([^《》\n]+)》|(?<!\w)['‘]([^'‘’\n]+)['’](?!\w)"""
)
_LINK = re.compile(r"[ \t]+(?:(?:of|the|de|del|della|di|da|la|le|du|van|von|der|den|al|&)[ \t]+){0,2}")
_INITIAL = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]|Mr|Mrs|Ms|Dr|Prof|St|Mt|Ft")
_SENTENCE_START = re.compile(r"(?:\A|\n|(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[.!?…][\"'”’)\]]*\s)\W*\Z")


def _has_digit(word: str) -> bool:
    return any(map(str.isdecimal, word))


def _is_identifier(word: str) -> bool:
    if _has_digit(word):
        return not _COUNT.fullmatch(word)
    if "_" in word or "@" in word or word[0] == "." or word[-1] in "+#":
        return True
    if "." in word:
        # "Thanks.What" is two sentences without a space between them.
        glued = any(part.istitle() and _is_function_word(part) for part in word.split("."))
        return not (glued or _INITIALS.fullmatch(word))
    return bool(_CAPITAL_INSIDE.search(word))


def _is_function_word(word: str) -> bool:
    folded = bare(word).casefold().replace("’", "'")
    return folded in FUNCTION_WORDS or folded.endswith("n't")


def _quoted_text(quoted: re.Match[str]) -> str:
    return quoted[quoted.lastindex or 0]


def _is_term(quoted: re.Match[str]) -> bool:
    term = _quoted_text(quoted)
    return len(term.split()) <= 8 and bool(content_words(term) or identifiers(term))


def _masked(text: str, terms: Iterable[re.Match[str]]) -> str:
    """Hide quoted terms at equal length: positions stay, and no name runs into a quotation."""
    pieces, end = list[str](), 0
    for term in terms:
        pieces += (text[end : term.start()], "x" * len(term[0]))
        end = term.end()
    return "".join((*pieces, text[end:]))


def _capitalised(text: str) -> dict[int, str]:
    """Return the names written in capitals by where they start; an unsure one only if a sure one confirms it."""
    candidates = [found for span in _spans(text) if (found := _candidate(span, text))]
    sure = {name for _, name, is_sure in candidates if is_sure}
    return {start: name for start, name, _ in candidates if name in sure}


def _spans(text: str) -> Iterator[list[re.Match[str]]]:
    """Yield runs of capitalised words that nothing but a link stands between."""
    span: list[re.Match[str]] = []
    for word in _CHUNK.finditer(text):
        if not word[0][0].isupper():
            continue
        if span and not _are_linked(text, span[-1], word):
            yield span
            span = []
        span.append(word)
    if span:
        yield span


def _are_linked(text: str, left: re.Match[str], right: re.Match[str]) -> bool:
    gap = text[left.end() : right.start()]
    if gap.startswith("."):
        is_new_sentence = gap[1:].strip(" ") or (len(right[0]) > 1 and _is_function_word(right[0]))
        return not is_new_sentence and bool(_INITIAL.fullmatch(left[0]))
    return bool(_LINK.fullmatch(gap)) and not _CONTRACTION.search(left[0])


def _candidate(span: list[re.Match[str]], text: str) -> tuple[int, str, bool] | None:
    """Return start, name and whether it surely is one; ``None`` for a span without a name."""
    first = span[0]
    opens = opens_sentence(first)
    words = list(dropwhile(lambda word: _is_no_part(word, opens), span))
    while words and _is_no_part(words[-1], opens=False):
        words.pop()
    if not words:
        return None
    name = bare(text[words[0].start() : words[-1].end()])
    if name.casefold() in _NO_NAME_ALONE:
        return None
    is_mere_opening = opens and words[0] is first and name.isalpha() and name[1:].islower()
    return words[0].start(), name, not is_mere_opening


def _is_no_part(word: re.Match[str], opens: bool) -> bool:
    is_initial = len(word[0]) == 1 and word.string.startswith(".", word.end())
    if is_initial or word[0] in _ALSO_ACRONYMS:
        return False
    return _is_function_word(word[0]) or (opens and word[0].casefold() in _OPENERS)
