"""Steps that change the beliefs of one principal, of which the lifecycle is made."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pss_integrations.beliefs.names import is_common, name_key
from pss_integrations.beliefs.records import Records
from pss_integrations.beliefs.schema import MAX_ALIASES, MIN_CONFIDENCE, Belief, EpistemicStatus, NewBelief, Verb
from pss_integrations.errors import BeliefConflict, InvalidInput


@dataclass(frozen=True, slots=True)
class Steps:
    """Changes to the beliefs of one principal, all made at one time by one actor."""

    records: Records
    actor: str
    at: datetime

    def save(self, belief: Belief, verb: Verb) -> Belief:
        """Write a belief and its entry in the log."""
        return self.records.save(belief, verb, actor=self.actor, at=self.at)

    def made_of(self, new: NewBelief) -> Belief:
        """A belief as it is first stored."""
        fields = _fields(new)
        fields |= {"aliases": merged_names(new.canonical_name, (*new.replaces, *new.aliases)), "replaces": ()}
        return Belief(
            **fields,
            id=uuid.uuid4().hex,
            epistemic_status=_first_status(new),
            confirmed=new.explicit,
            created_at=self.at,
            updated_at=self.at,
            last_reinforced_at=self.at,
        )

    def counted(self, belief: Belief, aliases: Sequence[str]) -> Belief:
        """Count that a belief was heard again, under further names."""
        heard = {"reinforcement_count": belief.reinforcement_count + 1, "last_reinforced_at": self.at}
        names = merged_names(belief.canonical_name, (*belief.aliases, *aliases))
        return self.save(belief.revised(aliases=names, updated_at=self.at, **heard), "reinforce")

    def succeed(self, old: Belief, new: Belief, verb: Verb) -> Belief:
        """Let a belief take another one's place in its own scopes; in others the old one goes on."""
        if new.valid_to is not None and new.valid_to <= self.at:
            raise InvalidInput(f"it ended at {new.valid_to}, so it cannot take the place of what holds: name it apart")
        elsewhere = tuple(scope for scope in old.scopes if scope not in new.scopes)
        names = merged_names(new.canonical_name, (old.canonical_name, *new.aliases, *old.aliases))
        heir = new.revised(aliases=names, pinned=old.pinned or new.pinned, updated_at=self.at)
        self.name_must_be_free(heir, but=old)
        if elsewhere:
            self.save(old.revised(scopes=elsewhere, updated_at=self.at), "link")
            return self.save(heir, verb)
        heir = heir.revised(version=old.version + 1, supersedes=old.id)
        past: dict[str, Any] = {"epistemic_status": "superseded", "superseded_by": new.id, "updated_at": self.at}
        self.save(old.revised(valid_to=_end(old, new.valid_from or self.at), **past), "supersede")
        self.save(heir, verb)
        for challenger in self.records.challengers(old.id):  # they wait for a decision about what holds now
            self.save(challenger.revised(contradicts=new.id, updated_at=self.at), "link")
        return heir

    def free(self, held_id: str) -> None:
        """What contradicted a belief that is gone is contested no longer; the oldest one holds from now on."""
        waiting = self.records.challengers(held_id)
        if not waiting:
            return
        first, *others = waiting
        named = self.records.named(first.canonical_name, first.scopes, first.type, canonical=True)
        if named:  # its name is another one's meanwhile: that is what it contradicts now
            holds, others = named[0], waiting
        else:
            holds = self.save(first.revised(waiting=False, updated_at=self.at), "link")
        for other in others:
            self.save(other.revised(contradicts=holds.id, updated_at=self.at), "link")

    def must_be_live(self, belief: Belief) -> None:
        """Refuse what is not current.

        :raises BeliefConflict: If it is not.
        """
        if belief.superseded_by is not None:
            raise BeliefConflict(f"{belief.id!r} was superseded by {belief.superseded_by!r}: name that one")
        if not belief.live:
            raise BeliefConflict(f"{belief.id!r} is not current: answered, taken back, or waiting for a decision")

    def name_must_be_free(self, new: NewBelief, *, but: Belief) -> None:
        """Refuse a name that another belief has, where both would hold.

        :raises BeliefConflict: If one has.
        """
        for other in self.records.named(new.canonical_name, new.scopes, new.type, canonical=True):
            if other.id != but.id:
                raise BeliefConflict(f"{new.canonical_name!r} is the name of {other.id!r}: supersede that one")


def check_confidence(new: NewBelief) -> None:
    """Refuse what nobody said and is too unsure.

    :raises InvalidInput: If it is.
    """
    if new.provenance.source != "user" and new.confidence < MIN_CONFIDENCE:
        raise InvalidInput(f"confidence {new.confidence} is below {MIN_CONFIDENCE}: too unsure to be kept")


def _fields(new: NewBelief) -> dict[str, Any]:
    return {name: getattr(new, name) for name in NewBelief.model_fields}


def _first_status(new: NewBelief) -> EpistemicStatus:
    if new.type == "open_question" or new.tentative or new.provenance.source == "import":
        return "exploratory"
    return "active" if new.provenance.source == "user" else "inferred"


def merged_names(canonical: str, aliases: Sequence[str]) -> tuple[str, ...]:
    """Aliases in order, each once however it is spelled, without the name itself; the first 25 of them.

    Names that are everyday words are told by their spelling, so of them each spelling counts.
    """
    kept = dict[str, str]()
    for alias in aliases:
        kept.setdefault(_sameness(alias), alias)
    kept.pop(_sameness(canonical), None)
    return tuple([*kept.values()][:MAX_ALIASES])


def _sameness(name: str) -> str:
    key = name_key(name)
    return name if is_common(key) else key


def _end(old: Belief, at: datetime) -> datetime | None:
    """When what is superseded ends to hold; unchanged if it had not begun, or had ended before."""
    begun = old.valid_from is None or old.valid_from < at
    return min(old.valid_to or at, at) if begun else old.valid_to
