"""PrecisionMemBench as published: beliefs, questions about them, and sessions that change them (Tenure, section 6).

Three JSON files: ``beliefs.json``, ``cases.json`` and ``session.json``. What a turn of a session creates or teaches is
learned *from* that turn, so it is there from the next one on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from pss_integrations.beliefs import Belief, Principal, Provenance
from pss_integrations.errors import InvalidInput

USER: Final = Principal.user("test-user")
"""Whose memory the published questions ask; beliefs of others lie beside it."""
SESSION: Final = "Session"
"""Category of the turns of sessions."""

_RENAMED: Final = {"_id": "id", "scope": "scopes"}
_FILES: Final = ("beliefs.json", "cases.json", "session.json")
_ModelT = TypeVar("_ModelT", bound=BaseModel)


def read_belief(published: Mapping[str, Any]) -> tuple[Principal, Belief]:
    """Read a belief, and whose it is. What this package has no field for is left out.

    :raises InvalidInput: If it is none, or nobody's.
    """
    fields = {_RENAMED.get(name, name): value for name, value in published.items() if value is not None}
    known = {name: value for name, value in fields.items() if name in Belief.model_fields}
    said = fields.get("provenance", {})
    known["provenance"] = {name: said[name] for name in Provenance.model_fields if said.get(name)}
    known["provenance"]["source"] = "import"
    if known.get("reinforcement_count") == 0:  # there counting begins at 0, or at 1
        known["reinforcement_count"] = 1
    belief = _validated(Belief, known)
    if not fields.get("user_id"):
        raise InvalidInput(f"{belief.id}: user_id is missing")
    return Principal.user(fields["user_id"]), belief


def _validated(model: type[_ModelT], record: Mapping[str, Any]) -> _ModelT:
    try:
        return model.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        name = record.get("caseId") or record.get("id") or "a record without a name"
        raise InvalidInput(f"{name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


_Owned = Annotated[tuple[Principal, Belief], BeforeValidator(read_belief)]


class _Published(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel)


class _Expected(_Published):
    model_config = ConfigDict(extra="forbid")


class Tier(_Expected):
    """Ids that a tier must hold.

    :param should_only_include: These and no others.
    """

    should_only_include: frozenset[str] | None = None
    must_include: frozenset[str] = frozenset()
    must_exclude: frozenset[str] = frozenset()


class RelevantTier(Tier):
    """What the query finds beside what is pinned.

    :param pinned_facts: A published turn has its pinned facts in here.
    """

    pinned_facts: Tier = Tier()


class Persona(_Expected):
    """What the persona's text must hold, whatever the case of letters."""

    non_empty: bool | None = None
    contains: tuple[str, ...] = ()
    must_not_contain: tuple[str, ...] = ()


class Noise(_Expected):
    """What an earlier topic must not drag in."""

    must_not_surface: frozenset[str]


class Expectation(_Expected):
    """All that is expected of one recall; a key that is not known here is an error, or it would pass unchecked.

    :param topic_retrieval: About finding turns again, not beliefs; not run.
    """

    relevant_beliefs: RelevantTier = RelevantTier()
    pinned_facts: Tier = Tier()
    open_questions: Tier = Tier()
    persona_prelude: Persona = Persona()
    noise_check: Noise | None = None
    topic_retrieval: Mapping[str, Any] | None = None


class Budget(_Published):
    """Limits of a recall; what else is limited is kept to be listed as not run."""

    model_config = ConfigDict(extra="allow")

    max_beliefs: int | None = None


class Case(_Published):
    """A question to the beliefs as they are at first."""

    name: Annotated[str, Field(alias="caseId")]
    category: str
    scopes: Annotated[tuple[str, ...], Field(alias="scope")]
    query: str
    budget: Budget = Budget()
    expect: Expectation


class AliasUpdate(_Published):
    """Words for a belief that were confirmed in a turn."""

    model_config = ConfigDict(extra="allow")

    belief_id: str
    add_aliases: tuple[str, ...] = ()


class Turn(_Published):
    """A question of a session, and what is learned from it."""

    index: Annotated[int, Field(alias="turnIndex")]
    scopes: Annotated[tuple[str, ...], Field(alias="scope")]
    query: Annotated[str, Field(alias="userMessage")]
    expect: Expectation
    created: Annotated[_Owned | None, Field(alias="createBeliefAtTurn")] = None
    updated: Annotated[AliasUpdate | None, Field(alias="updateBeliefAtTurn")] = None

    def case(self, session: str) -> Case:
        """The question as a case of its own."""
        return Case.model_construct(
            name=f"{session}: turn {self.index}",
            category=SESSION,
            scopes=self.scopes,
            query=self.query,
            budget=Budget(),
            expect=self.expect,
        )


class Session(_Published):
    """Turns in their order."""

    name: Annotated[str, Field(alias="caseId")]
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """All three files.

    :param beliefs: Whose they are, and the beliefs as published, past ones too.
    :param digest: SHA-256 of the files.
    """

    beliefs: Sequence[tuple[Principal, Belief]]
    cases: Sequence[Case]
    sessions: Sequence[Session]
    digest: str

    def not_run(self) -> list[str]:
        """What is published and not run, by name."""
        return [*self._not_run()]

    def _not_run(self) -> Iterator[str]:
        turns = [(turn, turn.case(session.name)) for session in self.sessions for turn in session.turns]
        for case in (*self.cases, *(case for _, case in turns)):
            if case.expect.topic_retrieval is not None:
                yield f"{case.name}: topicRetrieval"
            yield from (f"{case.name}: budget.{name}" for name in case.budget.model_extra or ())
        for turn, case in turns:
            if turn.updated:
                yield from (f"{case.name}: updateBeliefAtTurn.{name}" for name in turn.updated.model_extra or ())


def load_benchmark(directory: Path) -> Benchmark:
    """Read the files as they are published.

    :raises InvalidInput: If one is missing or holds something else, or something unknown is expected.
    """
    contents = {name: _read(directory / name) for name in _FILES}
    beliefs, cases, sessions = (_records(directory / name, text) for name, text in contents.items())
    return Benchmark(
        beliefs=[read_belief(one) for one in beliefs],
        cases=[_validated(Case, one) for one in cases],
        sessions=[_validated(Session, one) for one in sessions],
        digest=sha256("\0".join(contents.values()).encode()).hexdigest(),
    )


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read as UTF-8 text: {error}") from error


def _records(file: Path, text: str) -> list[Mapping[str, Any]]:
    try:
        records = json.loads(text, object_hook=_without_notes)
    except ValueError as error:
        raise InvalidInput(f"{file} is no JSON: {error}") from error
    if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
        raise InvalidInput(f"{file} must hold a list of objects")
    return records


def _without_notes(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "_note"}
