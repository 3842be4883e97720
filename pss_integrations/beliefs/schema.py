"""What a belief is: typed, scoped, versioned, with an epistemic status (Tenure, sections 3 and 4)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from pss_integrations.beliefs.scopes import Scope
from pss_integrations.text import is_unicode, normalise

BeliefType = Literal["preference", "decision", "entity", "relation", "open_question"]
Subtype = Literal["expertise", "style"]
Depth = Literal["basic", "working", "deep"]
EpistemicStatus = Literal["active", "inferred", "exploratory", "superseded"]
Source = Literal["user", "assistant", "tool", "import"]

BELIEF_TYPES: tuple[str, ...] = get_args(BeliefType)
MAX_ALIASES = 25
MAX_NAME = 200
MIN_CONFIDENCE = 0.35
"""What no user said is not kept if it is less sure (Tenure, section 4)."""


def _text(text: str) -> str:
    stripped = text.strip()
    if "\0" in stripped:
        raise ValueError("must not hold a NUL character")
    if not is_unicode(stripped):
        raise ValueError("must not hold half a character (a lone surrogate)")
    if not normalise(stripped):
        raise ValueError("must not be blank")
    return stripped


def _name(text: str) -> str:
    line = " ".join(_text(text).split())
    if len(line) > MAX_NAME:
        raise ValueError(f"must have at most {MAX_NAME} characters, has {len(line)}")
    return line


def _utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is beyond the first or last year") from error


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


Text = Annotated[str, AfterValidator(_text)]
"""Text that is not blank."""
Name = Annotated[str, AfterValidator(_name)]
"""Text on one line of at most 200 characters: white space runs are one space."""
Instant = Annotated[AwareDatetime, AfterValidator(_utc)]
"""A moment, in UTC; a time without a zone is an error."""
Names = Annotated[tuple[Name, ...], AfterValidator(_distinct)]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Provenance(_Value):
    """Where a belief comes from.

    :param source: Who said it. Only what a user says is taken as settled; the rest is at most inferred.
    :param extracted_at: When it was taken from the conversation.
    :param source_model: The model that extracted it, if one did.
    """

    source: Source = "user"
    session_id: str | None = None
    turn_id: str | None = None
    extracted_at: Instant | None = None
    source_model: str | None = None


class NewBelief(_Value):
    """A belief as it is put into a store.

    :param canonical_name: What it is about, in a word or a few: ``redis_cache``; ``_`` and a space are the same.
    :param content: What holds.
    :param scopes: Where it holds: ``user:universal``, ``domain:x[/y]``, ``project:x``; at least one.
    :param aliases: Other names, by which it is found as well; at most 25.
    :param replaces: Names of what was given up for it; they become aliases, so that they lead here.
    :param why_it_matters: What a model should do because of it, in the imperative.
    :param participants: Of a relation: ids or canonical names of the beliefs that it relates, at least two.
    :param relation_type: Of a relation: how they are related, e.g. ``depends_on``.
    :param expertise_domain: Of an expertise: its field, e.g. ``javascript/react``.
    :param tentative: It is being considered, not settled; until somebody confirms it.
    :param valid_from: It holds from then on; always, if it is not given.
    :param valid_to: It no longer holds from then on.
    :raises ValidationError: Where a field is unknown, blank or does not belong to the type.
    """

    type: BeliefType
    canonical_name: Name
    content: Text
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1), AfterValidator(_distinct)]
    subtype: Subtype | None = None
    aliases: Annotated[Names, Field(max_length=MAX_ALIASES)] = ()
    replaces: Names = ()
    why_it_matters: Text | None = None
    participants: Names = ()
    relation_type: Name | None = None
    expertise_domain: Name | None = None
    expertise_depth: Depth | None = None
    expertise_evidence_count: Annotated[int, Field(ge=0)] = 0
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    pinned: bool = False
    tentative: bool = False
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    provenance: Provenance = Provenance()

    @model_validator(mode="after")
    def _fits_its_type(self) -> Self:
        if self.type == "relation":
            if self.relation_type is None or len(self.participants) < 2:
                raise ValueError("a relation needs a relation_type and at least two participants")
        elif self.relation_type is not None or self.participants:
            raise ValueError("relation_type and participants belong to beliefs of type 'relation'")
        if self.subtype is not None and self.type != "preference":
            raise ValueError("only a preference has a subtype")
        if self.subtype != "expertise" and (self.expertise_domain or self.expertise_depth):
            raise ValueError("expertise_domain and expertise_depth belong to subtype 'expertise'")
        if self.valid_from and self.valid_to and self.valid_to <= self.valid_from:
            raise ValueError("valid_to must be later than valid_from")
        return self

    @property
    def explicit(self) -> bool:
        """Whether a user said so, as something settled."""
        return self.provenance.source == "user" and not self.tentative


class Belief(NewBelief):
    """A version of a belief, as stored.

    :param id: Names this version within its principal.
    :param version: 1 for the first of a chain of supersessions, then one more for each, and for each correction.
    :param epistemic_status: ``active`` is settled, ``inferred`` and ``exploratory`` are not, ``superseded`` is past.
    :param confirmed: A user said it or agreed to it.
    :param user_edited: A user corrected it by hand.
    :param supersedes: Id of the version before it.
    :param superseded_by: Id of the version after it.
    :param contradicts: Id of the belief that it contradicts, or contradicted.
    :param waiting: Whether somebody has yet to decide between the two.
    :param resolved_at: When a question was answered.
    :param retracted_at: When it was taken back.
    """

    id: str
    version: Annotated[int, Field(ge=1)] = 1
    epistemic_status: EpistemicStatus = "active"
    reinforcement_count: Annotated[int, Field(ge=1)] = 1
    last_reinforced_at: Instant
    confirmed: bool = False
    user_edited: bool = False
    supersedes: str | None = None
    superseded_by: str | None = None
    contradicts: str | None = None
    waiting: bool = False
    resolved_at: Instant | None = None
    retracted_at: Instant | None = None
    created_at: Instant
    updated_at: Instant

    @property
    def live(self) -> bool:
        """Whether it is current: not superseded, answered, taken back, nor waiting for a decision."""
        past = self.epistemic_status == "superseded" or self.resolved_at or self.retracted_at
        return not (past or self.waiting)

    def valid_at(self, time: datetime) -> bool:
        """Whether it is said to hold at a time."""
        begun = self.valid_from is None or self.valid_from <= time
        return begun and (self.valid_to is None or time < self.valid_to)

    @property
    def names(self) -> tuple[str, ...]:
        """Canonical name and aliases."""
        return self.canonical_name, *self.aliases

    def revised(self, **changes: Any) -> Self:
        """Return a copy with changes, checked like a new value."""
        return type(self).model_validate({**self.model_dump(), **changes})


Verb = Literal["put", "reinforce", "supersede", "contradict", "correct", "pin", "resolve", "retract", "link"]


class Change(_Value):
    """An entry of the append-only log.

    :param at: When it was made (transaction time).
    :param verb: What was done; ``link`` is what followed for another belief.
    :param actor: Who did it.
    :param belief: The belief after it.
    """

    at: Instant
    verb: Verb
    actor: str
    belief: Belief


class PutResult(_Value):
    """What became of a belief that was put.

    :param outcome: ``created``, ``reinforced`` (it was known), ``superseded`` (it took the place of another one), or
        ``contradicted`` (it waits beside the one it contradicts until somebody resolves it).
    :param belief: The belief as it is stored now.
    :param similar: Ids of beliefs of other names that say the same in other order or spelling; none was changed.
    """

    outcome: Literal["created", "reinforced", "superseded", "contradicted"]
    belief: Belief
    similar: tuple[str, ...] = ()

    @property
    def asks_why(self) -> bool:
        """Whether ``why_it_matters`` should be asked for: it was not said, and the earlier one may not hold."""
        return self.outcome == "superseded" and self.belief.why_it_matters is None


class Correction(_Value):
    """What a user changes in a belief by hand; what is not given stays.

    :raises ValidationError: Where a field is unknown or blank.
    """

    canonical_name: Name | None = None
    content: Text | None = None
    aliases: Annotated[Names, Field(max_length=MAX_ALIASES)] | None = None
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1), AfterValidator(_distinct)] | None = None
    why_it_matters: Text | None = None
    valid_from: Instant | None = None
    valid_to: Instant | None = None
