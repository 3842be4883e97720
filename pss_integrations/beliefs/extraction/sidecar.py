"""The block of JSON in which an answering model says what it learned, and its removal from what users see."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pss_integrations.beliefs.extraction.items import answers_of, belief_of, distinct, is_said, read_lists
from pss_integrations.beliefs.extraction.observation import NewAliases, Observation
from pss_integrations.beliefs.schema import BeliefType, NewBelief, Provenance
from pss_integrations.beliefs.scopes import check_scopes
from pss_integrations.types import Message

SIDECAR_START = "<<<SIDECAR_JSON>>>"
SIDECAR_END = "<<<END_SIDECAR>>>"

SIDECAR_PROMPT = f"""\
After your answer, append one block that no user will see: a line {SIDECAR_START}, one JSON object, a line \
{SIDECAR_END}. Record in it what this exchange settled that will still matter in later conversations, and nothing \
else; if there is nothing, leave the block out. The keys of the object, each a list that may be missing:
- "new_beliefs": objects {{"type": "preference" | "decision" | "entity", "canonical_name": "snake_case_subject", \
"content": "One short sentence in the third person, negation kept.", "aliases": ["other words for it"], \
"replaces": ["names of what was given up for it"], "why_it_matters": "only if the user said why", \
"said_by": "user" | "assistant", "confidence": 0.0 to 1.0}}
- "belief_updates": the same objects, for something on record that changed; keep its type and canonical_name.
- "entity_updates": the same objects, for what became of an entity on record.
- "possible_alias_candidates": objects {{"canonical_name": "of something on record", "aliases": ["what it was called"]}}
- "new_open_questions": objects {{"canonical_name": "...", "content": "What is undecided."}}
- "resolved_open_questions": objects {{"canonical_name": "of the question", "answer": "canonical_name of the belief"}}
Leave out guesses, hypotheticals, what others do or like, what was said for this turn only, and your own suggestions \
unless the user took them up. What you conclude yourself is said by the assistant."""
"""Instruction for the answering model, to be added to its system prompt."""

_FLAGS = re.DOTALL | re.IGNORECASE | re.ASCII
_START, _END = re.compile(SIDECAR_START, _FLAGS), re.compile(SIDECAR_END, _FLAGS)
_LEAD = re.compile(r"\s*(```(?:json)?\s*)?", _FLAGS)
_OPENINGS = ("{", SIDECAR_END.lower())  # a model may write an empty block where it should write none
_UNFINISHED = ("```json", "json", SIDECAR_END.lower())
_BLOCK = re.compile(rf"{SIDECAR_START}(?=\s*(?:```(?:json)?\s*)?(?:{{|{SIDECAR_END}))(.*?)(?:{SIDECAR_END}|\Z)", _FLAGS)
_SURE = 4
"""So many characters of a marker at the end of an answer are no text: "<<<" may be."""

# A code fence that a model put around a block: what may open one, what is left of one, what closes one.
_FENCE = re.compile(r"`{3,}[a-z0-9]{0,10}\s*\Z", _FLAGS)
_FENCE_BEGUN = re.compile(r"(?:`{3,}[a-z0-9]{0,10}\s*|`{1,2})\Z", _FLAGS)
_CLOSING = re.compile(r"\s*`{3,}(?!`)", _FLAGS)
_CLOSING_BEGUN = re.compile(r"\s*`*\Z", _FLAGS)
_FENCE_LINE = re.compile(r"^[ \t>]*`{3,}", re.MULTILINE)
_BELIEFS: dict[str, BeliefType] = {
    "new_beliefs": "decision",
    "belief_updates": "decision",
    "entity_updates": "entity",
    "new_open_questions": "open_question",
}
_KEYS = (*_BELIEFS, "possible_alias_candidates", "resolved_open_questions")


def strip_sidecar(text: str) -> str:
    """Return a whole answer without its blocks; one that is not ended goes to the end of the text.

    A block begins with its marker, in any case, and ``{``, of which blanks or a code fence may stand in front; a marker
    that something else follows is text, as in an answer about markers. A code fence that holds nothing but blocks goes
    with them.
    """
    stripper = SidecarStripper()
    return stripper.feed(text) + stripper.finish()


def sidecar_blocks(text: str) -> list[str]:
    """What stands between the markers of each block of an answer."""
    return _BLOCK.findall(text)


def ended_blocks(text: str) -> str:
    """Return an answer that broke off up to the end of the last block that came whole; ``""`` if none did."""
    ends = [marker.end() for marker in _END.finditer(text)]
    return text[: ends[-1]] if ends else ""


class SidecarStripper:
    """Takes the block out of an answer while it is streamed, wherever its chunks begin and end.

    What might be the beginning of a marker, or of a code fence around one, is held back until it is known. All that
    :meth:`feed` and :meth:`finish` return is together what :func:`strip_sidecar` makes of the whole text.
    """

    def __init__(self) -> None:
        self._held = ""
        self._shown = ""
        self._block: str | None = None  # what came of the block that we are in
        self._fence = ""  # that was opened in front of it
        self._is_open = False  # whether a fence around the block that has ended is still to be closed

    def feed(self, chunk: str) -> str:
        """Return what may be shown now."""
        self._held += chunk
        before = len(self._shown)
        while self._step():
            pass
        return self._shown[before:]

    def finish(self) -> str:
        """Return the rest at the end of the stream; the beginning of a block that was cut off there is no text."""
        before = len(self._shown)
        if self._is_open and _CLOSING_BEGUN.match(self._held):
            self._held = ""
        elif self._is_open:
            self._reopen()
        if self._block is None:
            self._show(len(self._held) - self._cut_off())
        self._held = ""
        return self._shown[before:]

    def _step(self) -> bool:
        """Go on as far as is known; ``False`` if more must come first."""
        if self._is_open:
            return self._close_fence()
        return self._find_block() if self._block is None else self._leave_block()

    def _find_block(self) -> bool:
        """Show what stands before the next block and a marker that begins none."""
        found = _START.search(self._held)
        if found is None:
            self._show(_known(self._held))
            return False
        opens = _opens(self._held, found.end())
        if opens is False:
            self._show(found.end())
            return True
        fence = self._fence_before(found.start())
        self._show(found.start() - len(fence))
        if opens:
            self._fence, self._block = fence, ""
            self._held = self._held[len(fence) + len(SIDECAR_START) :]
        return opens is True

    def _leave_block(self) -> bool:
        """Drop what belongs to a block."""
        found = _END.search(self._held)
        size = found.start() if found else len(self._held) - _partial(self._held, SIDECAR_END)
        self._block = (self._block or "") + self._held[:size]
        self._held = self._held[found.end() if found else size :]
        if found is not None:
            self._is_open = bool(self._fence) + _opened_in(self._block) > self._block.rstrip().endswith("```")
            self._block = None
        return found is not None

    def _close_fence(self) -> bool:
        """Drop the end of a fence with its beginning; if more than the block stands in it, it stays."""
        closing = _CLOSING.match(self._held)
        if _CLOSING_BEGUN.match(self._held):
            return False
        if closing:
            self._held, self._is_open, self._fence = self._held[closing.end() :], False, ""
        else:
            self._reopen()
        return True

    def _reopen(self) -> None:
        self._held, self._is_open, self._fence = self._fence + self._held, False, ""

    def _fence_before(self, end: int) -> str:
        """What opens a code fence just before a marker; what closes one is text."""
        fence = _FENCE.search(self._held[:end])
        if fence is None:
            return ""
        lines = _FENCE_LINE.findall(self._shown + self._held[: fence.start()])
        return "" if len(lines) % 2 else fence[0]

    def _cut_off(self) -> int:
        """How much at the end is the beginning of a block, with its fence."""
        marker = _START.search(self._held)
        size = len(self._held) - marker.start() if marker else _partial(self._held, SIDECAR_START)
        if size < _SURE:
            return 0
        return size + len(self._fence_before(len(self._held) - size))

    def _show(self, size: int) -> None:
        self._shown += self._held[:size]
        self._held = self._held[size:]


def _known(text: str) -> int:
    """How many characters, in a text without a whole marker, belong to no marker and to no fence around one."""
    size = len(text) - _partial(text, SIDECAR_START)
    fence = _FENCE_BEGUN.search(text[:size])
    return fence.start() if fence else size


def _opens(text: str, end: int) -> bool | None:
    """Whether a marker that ends there begins a block; ``None`` if the text is too short to say."""
    lead = _LEAD.match(text, end)
    at = lead.end() if lead else end
    follows = text[at : at + len(SIDECAR_END)].lower()
    if follows.startswith(_OPENINGS):
        return True
    return None if any(opening.startswith(follows) for opening in _UNFINISHED) else False


def _opened_in(block: str) -> bool:
    lead = _LEAD.match(block)
    return bool(lead and lead[1])


def _partial(text: str, marker: str) -> int:
    """How many characters at the end of a text may begin a marker."""
    sizes = range(len(marker) - 1, 0, -1)
    return next((size for size in sizes if text[-size:].lower() == marker[:size].lower()), 0)


class SidecarExtractor:
    """Takes beliefs from the blocks in assistant messages; needs no further call of a model.

    An item counts as said by the user if the model says so and one of its names stands in what the user said before;
    else it was inferred by the assistant.

    :param source_model: The model that answers, for the provenance.
    """

    def __init__(self, *, source_model: str | None = None) -> None:
        self._source_model = source_model

    def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
        """Return what the blocks hold; see :class:`Extractor`. Broken items are skipped, and the reason is logged."""
        scopes = check_scopes(scopes)
        blocks = [*_blocks(messages)]
        beliefs = distinct(
            self._belief(block, item, kind, scopes) for block in blocks for kind, item in block.beliefs()
        )
        return Observation(
            beliefs,
            answers=tuple(
                answer for block in blocks for answer in answers_of(block.get("resolved_open_questions"), beliefs)
            ),
            aliases=tuple(known for block in blocks for known in _aliases(block.get("possible_alias_candidates"))),
        )

    def _belief(self, block: _Block, item: Any, kind: BeliefType, scopes: Sequence[str]) -> NewBelief | None:
        claims_user = isinstance(item, Mapping) and cast("Mapping[str, Any]", item).get("said_by") == "user"
        source = "user" if claims_user and is_said(item, block.said) else "assistant"
        provenance = Provenance(source=source, turn_id=block.message.id, source_model=self._source_model)
        return belief_of(item, scopes, provenance, type=kind)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block: the message that holds it, what the user said before, and its lists by key."""

    message: Message
    said: tuple[str, ...]
    lists: dict[str, list[Any]]

    def get(self, key: str) -> list[Any]:
        return self.lists.get(key, [])

    def beliefs(self) -> Iterator[tuple[BeliefType, Any]]:
        """Items with the type that they have if they give none."""
        for key, kind in _BELIEFS.items():
            for item in self.get(key):
                yield kind, item


def _blocks(messages: Sequence[Message]) -> Iterator[_Block]:
    for number, message in enumerate(messages):
        if message.role == "assistant":
            said = tuple(one.text for one in messages[:number] if one.role == "user")
            for text in sidecar_blocks(message.text):
                yield _Block(message, said, read_lists(text, _KEYS))


def _aliases(items: Sequence[Any]) -> Iterator[NewAliases]:
    for item in items:
        match item:
            case {"canonical_name": str(name), "aliases": [*aliases]} if name.strip():
                yield NewAliases(name, tuple(alias for alias in aliases if isinstance(alias, str) and alias.strip()))
            case _:
                pass
