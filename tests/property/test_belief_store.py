"""The belief store against a plain model: any sequence of changes, by two users, in two projects."""

from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import pytest
from belief_making import ADA, ATLAS, BOB, BOREAL, Clock, chain, found, live, new
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pss_integrations.beliefs import Belief, BeliefStore, Change, Correction, Principal, PutResult
from pss_integrations.errors import BeliefConflict

NAMES = ["redis", "mysql", "kafka", "envoy"]
WORDS = ["north", "south", "east", "west", "up", "down"]

users = st.sampled_from([ADA, BOB])
scopes = st.sampled_from([ATLAS, BOREAL])
types = st.sampled_from(["decision", "decision", "open_question"])
sources = st.sampled_from(["user", "user", "tool"])
names = st.sampled_from(NAMES)
contents = st.sampled_from([f"It goes {word}." for word in WORDS])
aliases = st.lists(names, max_size=1).map(tuple)
picks = st.integers(0, 99)


@dataclass
class Known:
    """What the model knows of a belief."""

    user: Principal
    scope: str
    type: str
    name: str
    aliases: set[str]
    content: str
    confirmed: bool
    version: int = 1
    count: int = 1
    pinned: bool = False

    @property
    def names(self) -> set[str]:
        return {self.name, *self.aliases}

    @property
    def place(self) -> tuple[Principal, str, str]:
        """Within it a name is taken once."""
        return self.user, self.scope, self.type

    def learn(self, names: set[str]) -> None:
        self.aliases |= names - {self.name}


@dataclass
class Model:
    """Current beliefs and those that wait beside them, by id."""

    current: dict[str, Known] = field(default_factory=dict)
    waiting: dict[str, Known] = field(default_factory=dict)

    def called(self, place: tuple[Principal, str, str], name: str) -> list[str]:
        return [each for each, known in self.current.items() if known.place == place and known.name == name]

    def about(self, new: Known) -> list[str]:
        """What a new belief is about: the one of its name, else those that have it as an alias."""
        here = [each for each, known in self.current.items() if known.place == new.place and new.name in known.names]
        return self.called(new.place, new.name) or here


class Beliefs(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.directory = TemporaryDirectory()
        self.clock = Clock()
        self.store = BeliefStore(Path(self.directory.name, "beliefs.db"), clock=self.clock)
        self.model = Model()
        self.actor = ADA
        self.exports: dict[Principal, list[str]] = {}
        self.histories: dict[tuple[Principal, str], list[Change]] = {}
        self.shown: list[tuple[datetime, Principal, list[Belief]]] = []

    def pick(self, pick: int, among: dict[str, Known] | None = None) -> tuple[str, Known]:
        among = self.model.current if among is None else among
        belief_id = sorted(among, key=lambda each: self.store.get(among[each].user, each).created_at)[pick % len(among)]
        self.actor = among[belief_id].user
        return belief_id, among[belief_id]

    @rule(user=users, scope=scopes, type=types, name=names, content=contents, aliases=aliases, source=sources)
    def put(self, user, scope, type, name, content, aliases, source) -> None:
        self.actor = user
        new_belief = new(name, content, scopes=(scope,), type=type, aliases=aliases, source=source)
        known = Known(user, scope, type, name, set(aliases) - {name}, content, confirmed=source == "user")
        about = self.model.about(known)
        if len(about) > 1:  # several have it as an alias: which one is meant is not said
            return
        if not about:
            self.created(known, self.store.put(user, new_belief))
        elif (old := self.model.current[about[0]]).content == content:
            result = self.store.put(user, new_belief)
            assert (result.outcome, result.belief.id) == ("reinforced", about[0])
            self.reinforced(old, {name, *aliases}, confirmed=known.confirmed)
        elif known.confirmed:
            self.superseded(about[0], known, self.store.put(user, new_belief))
        else:
            result = self.store.put(user, new_belief)
            if result.belief.id in self.model.waiting:  # it was said before
                assert result.belief.content == content
            else:
                assert (result.outcome, result.belief.contradicts) == ("contradicted", about[0])
                self.model.waiting[result.belief.id] = known

    def created(self, known: Known, result: PutResult) -> None:
        assert result.outcome == "created"
        self.model.current[result.belief.id] = known

    def reinforced(self, known: Known, names: set[str], *, confirmed: bool) -> None:
        known.learn(names)
        known.count += 1
        known.confirmed |= confirmed

    def superseded(self, old_id: str, known: Known, result: PutResult) -> None:
        assert (result.outcome, result.belief.supersedes) == ("superseded", old_id)
        old = self.model.current.pop(old_id)
        known.version, known.pinned, known.count = old.version + 1, old.pinned, result.belief.reinforcement_count
        known.learn(old.names)
        if self.model.waiting.pop(result.belief.id, None):  # what waited was said by the user himself
            known.learn(set(result.belief.names))
        self.model.current[result.belief.id] = known

    @precondition(lambda self: self.model.current)
    @rule(pick=picks, aliases=aliases, source=sources)
    def reinforce(self, pick, aliases, source) -> None:
        belief_id, known = self.pick(pick)
        self.store.reinforce(known.user, belief_id, aliases=aliases, source=source)
        self.reinforced(known, set(aliases), confirmed=source == "user")

    @precondition(lambda self: self.model.current)
    @rule(pick=picks, name=names, content=contents)
    def supersede(self, pick, name, content) -> None:
        old_id, old = self.pick(pick)
        new_belief = new(name, content, scopes=(old.scope,), type=old.type)
        if self.model.called(old.place, name) not in ([], [old_id]):
            with pytest.raises(BeliefConflict):
                self.store.supersede(old.user, old_id, new_belief)
            return
        known = Known(old.user, old.scope, old.type, name, set(), content, confirmed=True)
        self.superseded(old_id, known, self.store.supersede(old.user, old_id, new_belief, version=old.version))

    @precondition(lambda self: self.model.current)
    @rule(pick=picks, name=names, content=contents)
    def correct(self, pick, name, content) -> None:
        belief_id, known = self.pick(pick)
        correction = Correction(canonical_name=name, content=content)
        if self.model.called(known.place, name) not in ([], [belief_id]):
            with pytest.raises(BeliefConflict):
                self.store.correct(known.user, belief_id, correction)
            return
        fixed = self.store.correct(known.user, belief_id, correction, version=known.version)
        assert set(fixed.aliases) <= known.names
        del self.model.current[belief_id]
        known.name, known.content, known.aliases = name, content, set(fixed.aliases)
        known.version += 1
        known.confirmed = True
        self.model.current[fixed.id] = known

    @precondition(lambda self: self.model.current)
    @rule(pick=picks, pinned=st.booleans())
    def pin(self, pick, pinned) -> None:
        belief_id, known = self.pick(pick)
        self.store.pin(known.user, belief_id, pinned=pinned)
        known.pinned = pinned

    @precondition(lambda self: self.model.current)
    @rule(pick=picks)
    def retract(self, pick) -> None:
        belief_id, known = self.pick(pick)
        gone = self.store.retract(known.user, belief_id)
        assert self.store.retract(known.user, belief_id) == gone
        self.past(belief_id)

    @precondition(lambda self: any(known.type == "open_question" for known in self.model.current.values()))
    @rule(pick=picks)
    def answer(self, pick) -> None:
        questions = {each: known for each, known in self.model.current.items() if known.type == "open_question"}
        belief_id, known = self.pick(pick, questions)
        assert self.store.resolve(known.user, belief_id).resolved_at == self.clock.now
        self.past(belief_id)

    @precondition(lambda self: self.model.waiting)
    @rule(pick=picks, accept=st.booleans())
    def decide(self, pick, accept) -> None:
        belief_id, known = self.pick(pick, self.model.waiting)
        old_id = self.store.get(known.user, belief_id).contradicts
        holds = self.store.resolve(known.user, belief_id, accept=accept)
        if accept:
            known.confirmed = True
            known.learn(set(holds.names))
            self.model.waiting[holds.id] = self.model.waiting.pop(belief_id)
            assert old_id is not None
            self.superseded(old_id, known, PutResult(outcome="superseded", belief=holds))
        else:
            assert holds.id == old_id
            del self.model.waiting[belief_id]

    @precondition(lambda self: self.model.current)
    @rule(pick=picks)
    def erase(self, pick) -> None:
        belief_id, known = self.pick(pick)
        gone = {change.belief.id for change in self.store.history(known.user, belief_id)}
        said = {change.belief.content for change in self.store.history(known.user, belief_id)}
        assert self.store.erase(known.user, belief_id).status == "complete"
        left = {belief.id for belief in self.store.list(known.user, live=None, limit=None)}
        assert belief_id not in left
        for each, other in list(self.model.current.items()):
            if other.user == known.user and each not in left:
                assert each in gone or said & self.contents(known.user, each)
                del self.model.current[each]
        self.forget(known.user, left)

    def contents(self, user: Principal, belief_id: str) -> set[str]:
        return {change.belief.content for change in self.histories[user, belief_id]}

    def forget(self, user: Principal, left: set[str]) -> None:
        """What others said once may have gone from their log; and what waited for what is gone may hold now."""
        for each, known in list(self.model.waiting.items()):
            if known.user == user and each not in left:
                del self.model.waiting[each]
            elif known.user == user and self.store.get(user, each).live:
                self.model.current[each] = self.model.waiting.pop(each)
        self.histories = {key: log for key, log in self.histories.items() if key[0] != user}
        self.shown = [(time, who, beliefs) for time, who, beliefs in self.shown if who != user]

    def past(self, belief_id: str) -> None:
        """What contradicted a belief that is past waits for another one, or is current itself."""
        user = self.model.current.pop(belief_id).user
        for each, known in list(self.model.waiting.items()):
            if known.user == user and self.store.get(user, each).live:
                self.model.current[each] = self.model.waiting.pop(each)

    @invariant()
    def what_is_current_is_what_the_model_says(self) -> None:
        for user in (ADA, BOB):
            mine = {each: known for each, known in self.model.current.items() if known.user == user}
            assert {
                belief.id: (*belief.names[:1], set(belief.aliases), belief.content, belief.version, belief.pinned)
                for belief in live(self.store, user)
            } == {each: (k.name, k.aliases, k.content, k.version, k.pinned) for each, k in mine.items()}
            for belief in live(self.store, user):
                assert (belief.confirmed, belief.reinforcement_count) == (
                    mine[belief.id].confirmed,
                    mine[belief.id].count,
                )

    @invariant()
    def a_name_finds_exactly_what_has_it(self) -> None:
        for user, scope, name in product((ADA, BOB), (ATLAS, BOREAL), NAMES):
            here = [each for each, known in self.model.current.items() if (known.user, known.scope) == (user, scope)]
            expected = [each for each in here if name in self.model.current[each].names]
            assert sorted(found(self.store, f"the {name}", user, [scope])) == sorted(expected)

    @invariant()
    def each_chain_is_a_line(self) -> None:
        for belief_id, known in self.model.current.items():
            versions = chain(self.store, known.user, self.store.get(known.user, belief_id))
            assert [belief.superseded_by for belief in versions] == [None, *(belief.id for belief in versions[:-1])]
            numbers = [belief.version for belief in versions]
            assert numbers == sorted(set(numbers), reverse=True)

    @invariant()
    def what_waits_contradicts_something_current(self) -> None:
        for belief_id, known in self.model.waiting.items():
            assert self.store.get(known.user, belief_id).contradicts in self.model.current

    @invariant()
    def the_log_only_grows(self) -> None:
        for belief in self.store.list(self.actor, live=None, limit=None):
            log = self.store.history(self.actor, belief.id)
            assert all(change in log for change in self.histories.get((self.actor, belief.id), []))
            self.histories[self.actor, belief.id] = log

    @invariant()
    def nobody_else_is_touched(self) -> None:
        exports = {user: self.store.export(user) for user in (ADA, BOB)}
        for user, before in self.exports.items():
            assert user == self.actor or exports[user] == before
        self.exports = exports

    @invariant()
    def earlier_times_show_what_was_current(self) -> None:
        for time, user, beliefs in self.shown[-8:]:
            assert self.store.as_of(user, time) == beliefs
        between = self.clock.step()
        self.shown += [(between, user, live(self.store, user)) for user in (ADA, BOB)]

    def teardown(self) -> None:
        self.store.close()
        self.directory.cleanup()


Beliefs.TestCase.settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestBeliefs = Beliefs.TestCase
