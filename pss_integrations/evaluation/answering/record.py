"""The record of a run of answers: the run's own record of what was found, and beside it what was answered from it.

::

    <kind>-<time>/run.json      what was found, see :class:`~pss_integrations.evaluation.record.RunRecord`
                  answers.json  what was answered
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.answering.scores import References, score
from pss_integrations.evaluation.record import Family, RunRecord

_FILE: Final = "answers.json"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Answered(_Model):
    """One answer and how right it is."""

    text: str
    f1: float
    exact: bool
    right: bool

    @classmethod
    def scored(cls, text: str, references: References) -> Answered:
        """Score an answer."""
        found = score(text, references)
        return cls(text=text, f1=round(found.f1, 6), exact=found.exact, right=found.right)


class ArmAnswers(_Model):
    """What was answered from the passages that one arm found.

    :param doc_ids: The passages, best first.
    :param own_question: What the arm searched for.
    :param fixed: The answer to the gold rewrite, the same question for every arm.
    :param own: The answer to what the arm searched for.
    """

    doc_ids: list[str]
    own_question: str
    fixed: Answered
    own: Answered


class ProbeAnswers(_Model):
    """The answers to one probe.

    :param references: What is right: references, each a list of parts that are all needed.
    :param rewrite: The gold rewrite, the fixed question.
    :param ceiling: The answer to it from the gold passages.
    :param arms: Searcher name to arm name to its answers.
    :param states: State name, ``"unloaded"`` among them, to the answer to the user's own words from the gold passages.
    """

    references: list[list[str]]
    rewrite: str
    ceiling: Answered
    arms: Mapping[str, Mapping[str, ArmAnswers]]
    states: Mapping[str, Answered]


class SessionAnswers(_Model):
    """One session: an entry for each of its probes, ``None`` for one that nothing answers."""

    session_id: str
    probes: list[ProbeAnswers | None]


class AnswerRecord(_Model):
    """One run.

    :param retrieval: What was found, and the configuration of the run.
    :param reader: What the answers depend on besides question and passages.
    :param right_f1: An answer with at least this F1 counts as right.
    :param base_logits: Hashes of what the base model made of a fixed text before the first answer and after the last
        one; empty if the reader has no state that could be loaded.
    :param ablation: The comparison of states over the same question and passages; ``None`` if it was not run.
    """

    format: Literal["pss-answers-1"] = "pss-answers-1"
    retrieval: RunRecord
    reader: Mapping[str, Any]
    right_f1: float
    base_logits: list[str]
    ablation: Family | None
    sessions: list[SessionAnswers]

    @model_validator(mode="after")
    def _check_same_probes(self) -> Self:
        answered = [(one.session_id, len(one.probes)) for one in self.sessions]
        if answered != [(one.session_id, len(one.probes)) for one in self.retrieval.sessions]:
            raise ValueError("answers and what was found must be of the same sessions and probes")
        return self

    @property
    def isolated(self) -> bool | None:
        """Whether the base model was bitwise the same before the first answer and after the last one."""
        return len(set(self.base_logits)) == 1 if self.base_logits else None

    def save(self, directory: Path) -> Path:
        """Write both files into a folder of their own and return it.

        :raises InvalidInput: If that run is already there: a record is never overwritten.
        """
        folder = self.retrieval.save(directory).parent
        (folder / _FILE).write_text(self.model_dump_json(exclude={"retrieval"}) + "\n", encoding="utf-8")
        return folder

    @classmethod
    def load(cls, folder: Path) -> AnswerRecord:
        """Read a record from its folder.

        :raises InvalidInput: If there is none, or of another format.
        """
        retrieval = RunRecord.load(folder)
        try:
            return cls.model_validate({**json.loads((folder / _FILE).read_bytes()), "retrieval": retrieval})
        except (OSError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise InvalidInput(f"{folder / _FILE} is no record of answers: {first}") from error
