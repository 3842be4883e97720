"""What becomes of beliefs: merged, reinforced, superseded, contradicted, corrected, answered, taken back.

Each step works on the rows of one principal within one transaction (Tenure, sections 3 and 5). A user's own word
supersedes; what was only inferred never does: it waits beside what it contradicts until somebody resolves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from pss_integrations.beliefs.changelog import text_key
from pss_integrations.beliefs.names import name_key
from pss_integrations.beliefs.schema import (
    Belief,
    Correction,
    NewBelief,
    PutResult,
)
from pss_integrations.beliefs.steps import Steps, check_confidence, merged_names
from pss_integrations.errors import BeliefConflict, InvalidInput
from pss_integrations.text import normalise

PROMOTE_AFTER = 5
PROMOTE_AGE = timedelta(hours=48)


class Lifecycle(Steps):
    """What can be done to the beliefs of one principal."""

    def put(self, new: NewBelief) -> PutResult:
        """Add what is new, reinforce what is known, and see to what contradicts.

        :raises InvalidInput: If what nobody said is too unsure to be kept.
        :raises BeliefConflict: If the scopes hold different beliefs of its name.
        """
        check_confidence(new)
        known, given_up = self._same_subject(new), self._given_up_for(new)
        if known is None and given_up:
            known, *given_up = given_up
        result = self._create(new) if known is None else self._meet(known, new)
        for one in given_up:
            if self.records.get(one.id).live:
                self.retract(one)
        alike = self.records.alike(new.content)
        similar = (one.id for one in alike if one.type == new.type and one.id != result.belief.id)
        return result.model_copy(update={"similar": tuple(similar)})

    def _create(self, new: NewBelief) -> PutResult:
        return PutResult(outcome="created", belief=self.save(self.made_of(new), "put"))

    def _meet(self, known: Belief, new: NewBelief) -> PutResult:
        """See to a new belief about something that is known."""
        if self._says_the_same(known, new):
            return PutResult(outcome="reinforced", belief=self._heard_again(known, new))
        for challenger in self.records.challengers(known.id):
            if self._says_the_same(challenger, new):
                if new.explicit:
                    return PutResult(outcome="superseded", belief=self._decide(challenger, accept=True))
                return PutResult(outcome="contradicted", belief=self.counted(challenger, new.aliases))
        if new.explicit:
            return PutResult(outcome="superseded", belief=self.supersede(known, new))
        return PutResult(outcome="contradicted", belief=self._contradict(known, new))

    def reinforce(self, belief: Belief, aliases: Sequence[str] = (), *, confirmed: bool = True) -> Belief:
        """Count that it was heard again, and learn other names of it.

        What a user confirms becomes active; what was inferred does after five times and two days; what was
        exploratory is inferred from the second time on, but for questions, which stay open until they are answered.

        :param confirmed: Whether a user stands for it now.
        :raises BeliefConflict: If it is not current.
        """
        self.must_be_live(belief)
        confirmed = confirmed or belief.confirmed
        status = belief.epistemic_status
        if belief.type != "open_question":
            if status == "exploratory":
                status = "inferred"
            often = belief.reinforcement_count + 1 >= PROMOTE_AFTER
            if confirmed or (often and self.at - belief.created_at >= PROMOTE_AGE):
                status = "active"
        return self.counted(
            belief.revised(confirmed=confirmed, tentative=belief.tentative and not confirmed, epistemic_status=status),
            aliases,
        )

    def supersede(self, old: Belief, new: NewBelief) -> Belief:
        """Put a belief in the place of another one, whose names lead to it from then on.

        Type, scopes, pin and names go over; ``why_it_matters`` does not, for it may not hold any more.

        :raises BeliefConflict: If the old one is not current, or the new name is that of a third one.
        """
        self.must_be_live(old)
        if new.type != old.type:
            raise InvalidInput(f"a {old.type} cannot be superseded by a {new.type}")
        check_confidence(new)
        return self.succeed(old, self.made_of(new), "put")

    def correct(self, belief: Belief, correction: Correction) -> Belief:
        """Change a belief by hand; a former name stays as an alias, and the user stands for the result.

        :raises BeliefConflict: If it is not current, or the new name is that of another one.
        """
        self.must_be_live(belief)
        changes = {key: value for key, value in correction if value is not None}
        if not changes:
            raise InvalidInput("a correction needs something to change")
        if not belief.confirmed:  # a user stands for what he says, and for no more
            changes.setdefault("why_it_matters", None)
        name = correction.canonical_name or belief.canonical_name
        former = () if name_key(name) == name_key(belief.canonical_name) else (belief.canonical_name,)
        kept = belief.aliases if correction.aliases is None else correction.aliases
        changes["aliases"] = merged_names(name, (*former, *kept))
        corrected = belief.revised(
            **changes,
            version=belief.version + 1,
            user_edited=True,
            confirmed=True,
            epistemic_status=belief.epistemic_status if belief.type == "open_question" else "active",
            updated_at=self.at,
        )
        self.name_must_be_free(corrected, but=belief)
        return self.save(corrected, "correct")

    def pin(self, belief: Belief, pinned: bool) -> Belief:
        """Pin a belief, so that it is always recalled, or unpin it."""
        self.must_be_live(belief)
        return self.save(belief.revised(pinned=pinned, updated_at=self.at), "pin")

    def resolve(self, belief: Belief, *, accept: bool, answer: NewBelief | None) -> Belief:
        """Answer an open question, or decide about what contradicts another belief.

        :param accept: Of a contradiction: whether it takes the other one's place, or is dropped.
        :param answer: Of a question: what was decided; it is put.
        :returns: The question, or what holds now.
        """
        if belief.contradicts is not None:
            if answer is not None:
                raise InvalidInput("an answer belongs to a question: accept or reject a contradiction, then put it")
            return self._decide(belief, accept)
        if belief.type != "open_question":
            raise InvalidInput(f"{belief.id!r} is neither an open question nor does it contradict anything")
        self.must_be_live(belief)
        if answer is not None and answer.type == "open_question":
            raise InvalidInput("a question is no answer: put it, and leave this one open")
        if answer is not None:
            self.put(answer)
        resolved = self.save(belief.revised(resolved_at=self.at, updated_at=self.at), "resolve")
        self.free(belief.id)
        return resolved

    def retract(self, belief: Belief) -> Belief:
        """Take a belief back; it stays in the log. What contradicted it is contested no longer."""
        if belief.retracted_at is not None:
            return belief
        taken_back = belief.revised(retracted_at=self.at, waiting=False, updated_at=self.at)
        retracted = self.save(taken_back, "retract")
        self.free(belief.id)
        return retracted

    def erase(self, belief_id: str) -> int:
        """Delete a belief with its versions, what contradicted them, and what says the same; returns how many.

        What others said once goes from their log too, if it is what this belief says.
        """
        said = self.records.get(belief_id)
        chain = self.records.chain(belief_id)
        texts = self.records.log.texts([one.id for one in chain])
        others = (self.records.find(one) for one in sorted(self.records.log.said_by(texts)))
        gone = {one.id: one for one in chain}
        for one in filter(None, others):
            if not one.live or normalise(one.content) == normalise(said.content):
                gone[one.id] = one
        self._erase([*gone.values()])
        self.records.log.delete_text(text_key(said.content))
        return len(gone)

    def erase_all(self) -> int:
        """Delete all beliefs, and the log; returns how many."""
        gone = [*self.records.page(live=None, scopes=None, after=None, limit=None)]
        self._erase(gone)
        return len(gone)

    def _erase(self, gone: Sequence[Belief]) -> None:
        ids = [one.id for one in gone]
        linked = self.records.linked_to(gone)
        self.records.erase(ids, actor=self.actor, at=self.at)
        for held in sorted({one.contradicts or "" for one in linked if one.waiting}.intersection(ids)):
            self.free(held)
        for one in linked:
            links = {key: getattr(one, key) for key in ("supersedes", "superseded_by", "contradicts")}
            ended = {key: None for key, link in links.items() if link in ids}
            self.save(self.records.get(one.id).revised(**ended), "link")

    # --- parts of the above

    def _same_subject(self, new: NewBelief) -> Belief | None:
        """The live belief of the same type that the new one's name names, in one of its scopes.

        That it merely shares an alias makes it no other statement about the same thing: a cache and a session store
        may both be called Redis.
        """
        for canonical in (True, False):
            found = self.records.named(new.canonical_name, new.scopes, new.type, canonical=canonical)
            if len(found) == 1:
                return found[0]
            if canonical and found:
                ids = ", ".join(one.id for one in found)
                raise BeliefConflict(f"the scopes hold different beliefs named {new.canonical_name!r} ({ids}): put one")
        return None

    def _given_up_for(self, new: NewBelief) -> list[Belief]:
        """Live beliefs of the same type that have the name of something that a user gave up for the new one."""
        if not new.explicit:
            return []
        named = (self.records.named(name, new.scopes, new.type, canonical=True) for name in new.replaces)
        own = name_key(new.canonical_name)
        found = {one.id: one for some in named for one in some if name_key(one.canonical_name) != own}
        return [*found.values()]

    def _says_the_same(self, known: Belief, new: NewBelief) -> bool:
        same_text = normalise(known.content) == normalise(new.content)
        relates = (known.relation_type, known.participants) == (new.relation_type, new.participants)
        said_when = new.valid_from or new.valid_to
        when = (known.valid_from, known.valid_to) == (new.valid_from, new.valid_to)
        return same_text and relates and (when if said_when else known.valid_at(self.at))

    def _heard_again(self, known: Belief, new: NewBelief) -> Belief:
        if new.explicit:
            wider = dict.fromkeys((*known.scopes, *new.scopes))
            why = new.why_it_matters or (known.why_it_matters if known.confirmed else None)
            aliases = merged_names(known.canonical_name, (*new.replaces, *known.aliases))
            known = known.revised(
                scopes=tuple(wider), why_it_matters=why, aliases=aliases, pinned=known.pinned or new.pinned
            )
            self.name_must_be_free(known, but=known)
        return self.reinforce(known, new.aliases, confirmed=new.explicit)

    def _contradict(self, held: Belief, new: NewBelief) -> Belief:
        """Let it wait where it contradicts something; elsewhere nothing speaks against it."""
        elsewhere = tuple(scope for scope in new.scopes if scope not in held.scopes)
        if elsewhere:
            self.save(self.made_of(new).revised(scopes=elsewhere), "put")
        shared = tuple(scope for scope in new.scopes if scope in held.scopes)
        waiting = self.made_of(new).revised(scopes=shared, contradicts=held.id, waiting=True)
        return self.save(waiting, "contradict")

    def _decide(self, challenger: Belief, accept: bool) -> Belief:
        self._must_wait(challenger)
        held = self.records.get(challenger.contradicts or "")
        if not accept:
            self.save(challenger.revised(retracted_at=self.at, waiting=False, updated_at=self.at), "resolve")
            return held
        agreed = challenger.revised(contradicts=None, waiting=False, confirmed=True, epistemic_status="active")
        return self.succeed(held, agreed, "resolve")

    def _must_wait(self, challenger: Belief) -> None:
        if not challenger.waiting:
            raise BeliefConflict(f"{challenger.id!r} was decided about before: it does not wait any more")
