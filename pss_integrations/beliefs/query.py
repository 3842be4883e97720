"""What of a message is asked in words: without code, stack traces, paths, URLs, markup and hashes.

Everything here takes time in proportion to the text, whatever it holds: quantifiers are bounded, or what they run over
is consumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# In a list a fence is indented, or stands behind the mark; in a quotation behind ">".
_FENCE = re.compile(r"(?P<before>(?:[\s>]|[-*+]\s|\d{1,9}[.)]\s)*+)(?P<fence>`{3,}|~{3,})[^`]*")
_CODE = re.compile(r"```(?=[^`\n]*[ \t])[^`\n]*+```")
_EMPHASIS = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")
_MARKERS = re.compile(r"`|\*\*")

_TRACEBACK = "Traceback (most recent call last)"
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?::.*)?\s*")
_THROWN = re.compile(r".{0,100}?(?:Error|Exception|Throwable)\b|(?:panic|fatal error): ")
_PYTHON_FRAME = re.compile(r'\s*File "[^"]*", line \d')
_AT = re.compile(r"\s*at |[^\s@]*@\S*\s*\Z")
_POSITION = re.compile(
    r"""
    \( (?: Native\ Method | Unknown\ Source | native | <anonymous> | index\ \d{1,9} ) \) \s*\Z
    | [A-Za-z_>]:\d{1,9} (?: \) | :\d{1,9}\)? ) \s*\Z
    """,
    re.VERBOSE,
)
_GO_FRAME = re.compile(r"goroutine \d{1,9} \[|\[signal |\s++\S+\.go:\d{1,9}(?: \+0x[0-9a-f]+)?\s*\Z")
_GO_CALL = re.compile(r"created by |[^\s(]++\(")  # the line before that of the position
_CAUSE = re.compile(r"\s*(?:Caused by: |\.\.\. \d+ (?:more|common frames omitted))")

_NOISE = re.compile(
    r"""
    (?<![a-z]) [a-z][a-z0-9+.-]{0,20}:// [!-~]*                                        # URL
    | (?<!\w) www\. [!-~]+
    | < (?: [/!?] [^<>]{0,400}                                                         # tag
      | [a-z][\w:.-]{0,40}+ \s [^<>=/]{0,400}+ [=/] [^<>]{0,400}
      | (?:(?<!\w.) [a-z][\w:.-]{0,40}+ | br|hr|b|i|em|strong|p) \s?/? ) >             # but not Map<string, T>
    | & (?: \#\w{1,8} | [a-z]{2,8} ) ;
    | \b [0-9a-f]{8} (?:-[0-9a-f]{4}){3} - [0-9a-f]{12} \b                             # UUID
    | \b 0x[0-9a-f]{4,}+ \b
    | \b (?=\d{0,64}[a-f]) (?: (?=[a-f]{0,64}\d) [0-9a-f]{10,}+ | [0-9a-f]{16,}+ ) \b  # hash
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SOLID = re.compile(r"[!-~]+")
_AROUND = "\"'()[]{}<>,;:!?*|"
_LINE_NUMBER = re.compile(r"(?::\d{1,9}){1,2}\Z")
_ROOTED = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\]+[\w.~$@*-]")
_FOLDERS = frozenset({"src", "lib", "bin", "usr", "var", "tmp", "dist"})
_PACKAGES = frozenset({"node_modules", "site-packages"})
# ".js", ".io" and ".net" end names of products, too: "Express/Node.js".
_FILE = re.compile(
    r"""
    [\w@.$*+-]*\. (?: py[iw]? | ipynb | tsx? | jsx | [cm]js | vue | svelte | html? | s?css | java | kts? | go | rs | rb
    | php | cs | cc? | cpp | hh? | hpp | swift | scala | sql | sh | bash | zsh | ps1 | jsonl? | ya?ml | toml | ini | cfg
    | conf | env | lock | xml | proto | tf | md | rst | txt | log | [ct]sv | pdf | docx? | xlsx? | png | jpe?g | svg
    | zip | gz | tar | so | dll | exe | jar | whl )
    """,
    re.VERBOSE,
)
_HOST = re.compile(r"[\w.-]+\.(?:com|org|edu|gov|dev)")


def clean_query(text: str) -> str:
    """Take out what is not asked in words, so that no name is found in it.

    Code blocks, stack traces of Python, Java, JavaScript and Go, file paths, URLs, HTML and XML tags, UUIDs and long
    hexadecimal numbers go. What stands in back-ticks within a line or in ``**bold**`` stays, as plain words, if it is
    no path; so do ``try/catch``, ``CI/CD``, dates, versions and identifiers.

    :return: Lines without blank ones; white space runs in a line are one space.
    """
    prose = "\n".join(_without_traces(_without_fences(text.splitlines())))
    cleaned = _MARKERS.sub(" ", "".join(_cleaned(_CODE.sub(" ", prose))))
    return "\n".join(filter(None, (" ".join(line.split()) for line in cleaned.splitlines())))


def _without_fences(lines: Iterable[str]) -> Iterator[str]:
    """Drop fenced blocks; one that is not closed runs to the end (of the quotation it is in), as in CommonMark."""
    fence, margin = "", " \t"
    for line in lines:
        if ">" in margin and not line.lstrip().startswith(">"):
            fence, margin = "", " \t"
        if fence:
            rest = line.strip(margin)
            if rest.startswith(fence) and not rest.strip(fence[0]):
                fence = ""
        elif opening := _FENCE.fullmatch(line):
            fence, margin = opening["fence"], " \t>" if ">" in opening["before"] else " \t"
        else:
            yield line


def _without_traces(lines: Iterable[str]) -> Iterator[str]:
    """Drop the frames of stack traces, and the line that says what was raised."""
    held = ""  # it may turn out to head a trace
    in_python = False
    for line in lines:
        if _TRACEBACK in line:
            yield held
            held, in_python = line[: line.index(_TRACEBACK)], True
        elif (in_python and line[:1].isspace()) or not line.strip():
            continue
        elif _is_frame(line):
            held = "" if _THROWN.match(held) or (_GO_FRAME.match(line) and _GO_CALL.match(held)) else held
        elif in_python and _RAISED.fullmatch(line):
            in_python = False
        else:
            in_python = False
            yield held
            held = line
    yield held


def _is_frame(line: str) -> bool:
    if _PYTHON_FRAME.match(line) or _GO_FRAME.match(line) or _CAUSE.match(line) or line.startswith(_CHAINED):
        return True
    return bool(_AT.match(line) and _POSITION.search(line))


def _cleaned(prose: str) -> Iterator[str]:
    at = 0
    for emphasised in _EMPHASIS.finditer(prose):
        yield _without_noise(prose[at : emphasised.start()])
        yield _SOLID.sub(_unless_path, emphasised[emphasised.lastindex or 0])
        at = emphasised.end()
    yield _without_noise(prose[at:])


def _without_noise(prose: str) -> str:
    return _SOLID.sub(_unless_path, _NOISE.sub(" ", prose))


def _unless_path(solid: re.Match[str]) -> str:
    # After a letter of another script a slash stands between words: "微服务/Redis".
    inside = solid.string[solid.start() - 1 : solid.start()].isalnum()
    return " " if _is_path(solid[0].lstrip("/") if inside else solid[0]) else solid[0]


def _is_path(solid: str) -> bool:
    if "/" not in solid and "\\" not in solid:
        return False
    path = _LINE_NUMBER.sub("", solid.strip(_AROUND).rstrip("."))
    segments = re.split(r"[/\\]+", path)
    if _ROOTED.match(path) or not _PACKAGES.isdisjoint(segments):
        return True
    if not _FOLDERS.isdisjoint(segments) and (len(segments) > 2 or "." in segments[-1]):  # not "src/Redis vs Kafka"
        return True
    return bool(len(segments) > 1 and (_FILE.fullmatch(segments[-1]) or _HOST.fullmatch(segments[0])))
