"""Lets the API pages show docstrings that are written for Sphinx: roles, literal blocks and doctests as Markdown."""

import re
from typing import Any

from griffe import Extension, Object

_ROLE = re.compile(r":(?:class|meth|func|mod|data|attr|exc):`(~?)([\w.]+)`")
_LITERAL = re.compile(r"::[ ]*\n\n((?:[ ]{4}.*\n?|\n)+)")
_DOCTEST = re.compile(r"^(>>> .*\n(?:.+\n?)*)", re.MULTILINE)


def as_markdown(text: str) -> str:
    """Return a docstring with roles as code, and what is to be shown as it stands in fences."""
    text = _ROLE.sub(lambda role: f"`{role[2].rpartition('.')[2] if role[1] else role[2]}`", text)
    text = _LITERAL.sub(lambda block: f":\n\n```text\n{_dedented(block[1])}\n```\n\n", f"{text}\n")
    text = _DOCTEST.sub(lambda block: f"```pycon\n{block[1].rstrip()}\n```\n", text)
    return re.sub(r"^:\n", "", text, flags=re.MULTILINE).strip()


def _dedented(block: str) -> str:
    return "\n".join(line[4:] for line in block.strip("\n").splitlines())


class Roles(Extension):
    """Rewrites every docstring once it was read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Griffe's hook for each object that was loaded."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
