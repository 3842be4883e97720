"""What of a message is asked in words: without code, stack traces, paths, URLs, markup and hashes.

Everything here takes time in proportion to the text, whatever it holds: quantifiers are bounded, or what they run over
is consumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_FENCE = re.compile(r"\s{0,3}(?P<fence>`{3,}|~{3,})[^`]*")
_EMPHASIS = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")
_MARKERS = re.compile(r"`|\*\*")

_TRACEBACK = "Traceback (most recent call last)"
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?::.*)?\s*")
_THROWN = re.compile(r".{0,100}?(?:Error|Exception|Throwable)\b")
_PYTHON_FRAME = re.compile(r'\s*File "[^"]*", line \d')
_AT = re.compile(r"\s*at |[^\s@]*@\S*\s*\Z")
_POSITION = re.compile(
    r"""
    \( (?: Native\ Method | Unknown\ Source | native | <anonymous> | index\ \d{1,9} ) \) \s*\Z
    | [A-Za-z_>]:\d{1,9} (?: \) | :\d{1,9}\)? ) \s*\Z
    """,
    re.VERBOSE,
)
_CAUSE = re.compile(r"\s*(?:Caused by: |\.\.\. \d+ (?:more|common frames omitted))")

_NOISE = re.compile(
    r"""
    (?<![a-z]) [a-z][a-z0-9+.-]{0,20}:// [!-~]*                                        # URL
    | (?<!\w) www\. [!-~]+
    | (?:(?<!\w)< | (?-i:<(?![A-Z]))) (?:/?[a-z] | [!?]) [^<>]{0,400} >                # tag, but not Result<T>
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
_FOLDERS = frozenset({"src", "lib", "bin", "usr", "var", "tmp", "dist", "node_modules", "site-packages"})
# ".js", ".io" and ".net" end names of products, too: "Express/Node.js".
_FILE = re.compile(r"[\w@.$*+-]*\.(?!(?:js|io|net|ai)\Z)[a-z]\w{0,7}")
_HOST = re.compile(r"[\w.-]+\.(?:com|org|edu|gov|dev)")


def clean_query(text: str) -> str:
    """Take out what is not asked in words, so that no name is found in it.

    Fenced code blocks, stack traces of Python, Java and JavaScript, file paths, URLs, HTML and XML tags, UUIDs and
    long hexadecimal numbers go. What stands in back-ticks within a line or in ``**bold**`` stays, as plain words;
    so do ``try/catch``, ``CI/CD``, dates, versions and identifiers.

    :return: One line; white space runs are one space.
    """
    prose = "\n".join(_without_traces(_without_fences(text.splitlines())))
    return " ".join(_MARKERS.sub(" ", "".join(_cleaned(prose))).split())


def _without_fences(lines: Iterable[str]) -> Iterator[str]:
    """Drop fenced blocks; one that is not closed runs to the end, as in CommonMark."""
    fence = ""
    for line in lines:
        if fence:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif opening := _FENCE.fullmatch(line):
            fence = opening["fence"]
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
        elif in_python and (line[:1].isspace() or not line):
            continue
        elif _is_frame(line):
            held = "" if _THROWN.match(held) else held
        elif in_python and _RAISED.fullmatch(line):
            in_python = False
        else:
            in_python = False
            yield held
            held = line
    yield held


def _is_frame(line: str) -> bool:
    if _PYTHON_FRAME.match(line) or _CAUSE.match(line) or line.startswith(_CHAINED):
        return True
    return bool(_AT.match(line) and _POSITION.search(line))


def _cleaned(prose: str) -> Iterator[str]:
    at = 0
    for emphasised in _EMPHASIS.finditer(prose):
        yield _without_noise(prose[at : emphasised.start()])
        yield emphasised[emphasised.lastindex or 0]
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
    if _ROOTED.match(path) or not _FOLDERS.isdisjoint(segments):
        return True
    return bool(len(segments) > 1 and (_FILE.fullmatch(segments[-1]) or _HOST.fullmatch(segments[0])))
