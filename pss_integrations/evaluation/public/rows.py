"""Reads LongBench, InfiniteBench and UltraDomain as they are published: JSON Lines, one question with its text a line.

=============  ======================================================  ==============================================
set            fields that are used                                    task
=============  ======================================================  ==============================================
longbench      ``input``, ``context``, ``answers``, ``dataset``        ``dataset``, with or without the ``_e`` of
                                                                       LongBench-E
infinitebench  ``input``, ``context``, ``answer``; ``options`` is      the file's name, the only place where it is
               looked for, and never used                              said
ultradomain    ``input``, ``context``, ``answers``; ``context_id`` is  ``label``, the domain; without one, the file's
               looked for; ``meta.title`` if there is one              name
=============  ======================================================  ==============================================

Used are the tasks that ask a question of one text or of several: not summaries, code, numbers and keys, nor DuReader,
whose answers are in nobody's words, nor TriviaQA, whose questions come with solved ones. ``context_id``, ``label`` and
``meta`` were not seen documented by their publisher, so nothing but telling the set apart depends on them.

Other published fields (``length``, ``language``, ``all_classes``, ``_id``, ``id``) are not used: contexts are told
apart by their text.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from pss_integrations.errors import InvalidInput

Kind = Literal["longbench", "infinitebench", "ultradomain"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
NOT_QA: Final = "of a task that is not used"

_LONGBENCH_TASKS: Final = frozenset(
    {"narrativeqa", "qasper", "multifieldqa_en", "multifieldqa_zh", "hotpotqa", "2wikimqa", "musique"}
)
_INFINITEBENCH_TASKS: Final = {
    "longbook_qa_eng": "En.QA",
    "longbook_choice_eng": "En.MC",
    "longbook_qa_chn": "Zh.QA",
}
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Row:
    """One question.

    :param task: Which of the set's tasks, or its domain.
    :param answers: Accepted answers; may be empty or blank.
    :param context: What it is asked of.
    :param title: The context's title, blank if none is published.
    """

    task: str
    question: str
    answers: tuple[str, ...]
    context: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """What was read: the rows of the tasks that are used, and how many others there were."""

    kind: Kind
    rows: tuple[Row, ...]
    left_out: int


class _Form(BaseModel, ABC):
    """A published record; rows of one context share one string."""

    input: str
    context: str

    @abstractmethod
    def task(self, stem: str) -> str | None:
        """The task, for the file's name without suffix; ``None`` if it is not used."""

    @property
    @abstractmethod
    def accepted(self) -> tuple[str, ...]:
        """The answers."""

    @property
    def title(self) -> str:
        """The context's title."""
        return ""


class _LongBench(_Form):
    answers: list[str]
    dataset: str

    def task(self, stem: str) -> str | None:
        name = self.dataset.removesuffix("_e")
        return name if name in _LONGBENCH_TASKS else None

    @property
    def accepted(self) -> tuple[str, ...]:
        return tuple(self.answers)


class _InfiniteBench(_Form):
    answer: list[str] | str = Field(validation_alias=AliasChoices("answer", "answers"))

    def task(self, stem: str) -> str | None:
        return _INFINITEBENCH_TASKS.get(stem)

    @property
    def accepted(self) -> tuple[str, ...]:
        return (self.answer,) if isinstance(self.answer, str) else tuple(self.answer)


class _UltraDomain(_Form):
    answers: list[str]
    label: Any = None
    meta: Any = None

    def task(self, stem: str) -> str | None:
        return self.label if isinstance(self.label, str) and self.label.strip() else stem

    @property
    def accepted(self) -> tuple[str, ...]:
        return tuple(self.answers)

    @property
    def title(self) -> str:
        title = cast(Mapping[str, Any], self.meta).get("title") if isinstance(self.meta, Mapping) else None
        return title if isinstance(title, str) else ""


_FORMS: Final[Mapping[Kind, type[_Form]]] = {
    "longbench": _LongBench,
    "infinitebench": _InfiniteBench,
    "ultradomain": _UltraDomain,
}
_MARKS: Final[Mapping[str, Kind]] = {
    "context_id": "ultradomain",
    "dataset": "longbench",
    "options": "infinitebench",
}
"""Fields that only one of the sets has, beside those looked for before it."""


def read_rows(path: Path, kind: Kind | None = None) -> Published:
    """Read a file, or every ``*.jsonl`` of a folder in the order of their names.

    :param kind: Which set; by default told by the fields of the first record.
    :raises InvalidInput: If there is no file or record, a line is no record of that set, or a question or the text
        that it is asked of is blank. The text says where.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise InvalidInput(f"{path} holds no .jsonl file: give a published file, or a folder of them")
    if kind is not None and kind not in _FORMS:
        raise InvalidInput(f"unknown kind {kind!r}: use one of {', '.join(KINDS)}")
    kind = kind or _detect(files[0])
    contexts, counts, rows = dict[str, str](), Counter[bool](), list[Row]()
    for where, stem, form in _records(files, _FORMS[kind]):
        task = form.task(stem)
        counts[task is None] += 1
        if task is not None:
            _check_said(where, form)
            # A book comes again with each of its questions, and is kept once.
            context = contexts.setdefault(form.context, form.context)
            rows.append(Row(task, form.input.strip(), form.accepted, context, form.title.strip()))
    if not counts:
        raise InvalidInput(f"{path} holds no record: one JSON object per line is needed")
    return Published(kind, tuple(rows), counts[True])


def _records(files: list[Path], form: type[_Form]) -> Iterator[tuple[str, str, _Form]]:
    """Each record with its place and its file's name without suffix."""
    for file in files:
        for number, line in _lines(file):
            where = f"{file}, line {number}"
            try:
                yield where, file.stem, form.model_validate_json(line)
            except ValidationError as error:
                first = error.errors(include_input=False, include_url=False)[0]
                place = ".".join(map(str, first["loc"])) or "record"
                raise InvalidInput(f"{where}: {place}: {first['msg']}") from error


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, one in memory at a time; only a line feed ends one."""
    try:
        with file.open("rb") as opened:
            for number, line in enumerate(opened, start=1):
                if text := line.removeprefix(_BYTE_ORDER_MARK).strip():
                    yield number, text
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror or error}") from error


def _detect(file: Path) -> Kind:
    for number, line in _lines(file):
        try:
            record: Any = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{file}, line {number}: no JSON: {error}") from error
        fields = set(cast(Mapping[str, Any], record)) if isinstance(record, Mapping) else set[str]()
        for mark, kind in _MARKS.items():
            if mark in fields:
                return kind
        raise InvalidInput(
            f"{file}, line {number}: has the fields {sorted(fields)}, and none of {', '.join(_MARKS)}: it is no record "
            f"of {', '.join(KINDS)}, or say of which"
        )
    raise InvalidInput(f"{file} holds no record: one JSON object per line is needed")


def _check_said(where: str, form: _Form) -> None:
    for name, text in (("input", form.input), ("context", form.context)):
        if not text.strip():
            raise InvalidInput(f"{where}: {name} is blank: a question and the text it is asked of are needed")
