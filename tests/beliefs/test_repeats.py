"""What is observed again, because a call is tried again, counts once."""

import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from belief_making import ADA, BOB, live, new

from pss_integrations.beliefs import BeliefMemory, BeliefStore, Principal
from pss_integrations.beliefs.extraction import NewAliases, Observation, RuleExtractor
from pss_integrations.errors import BeliefConflict
from pss_integrations.types import Message

SAID = [Message("user", "We decided to use Valkey for the cache.")]
WHERE = {"project": "atlas"}


@pytest.fixture
def kept(path: Path):
    with BeliefStore(path) as store:
        yield store


@pytest.fixture
def memory(kept: BeliefStore) -> BeliefMemory:
    return BeliefMemory(kept, scopes=["project:{project}"], background=False)


def counts(store: BeliefStore, principal: Principal = ADA) -> list[int]:
    return sorted(one.reinforcement_count for one in live(store, principal))


def test_messages_without_ids_are_known_by_their_place(memory: BeliefMemory, kept: BeliefStore) -> None:
    for _ in range(3):
        memory.observe(ADA, SAID, WHERE, session_id="s", before=4)
    assert counts(kept) == [1]
    memory.observe(ADA, SAID, WHERE, session_id="s", before=6)
    memory.observe(ADA, SAID, WHERE, session_id="other", before=4)
    assert counts(kept) == [3]


def test_a_longer_retry_counts_what_is_new_in_it(memory: BeliefMemory, kept: BeliefStore) -> None:
    memory.observe(ADA, SAID, WHERE)
    memory.observe(ADA, [*SAID, Message("user", "We decided to use Kafka for events.")], WHERE)
    assert counts(kept) == [1, 1]


@pytest.mark.parametrize(
    "other",
    [
        {"role": "user", "text": SAID[0].text, "created_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"role": "user", "text": SAID[0].text, "id": "m1"},
    ],
)
def test_another_time_or_id_is_another_message(memory: BeliefMemory, kept: BeliefStore, other) -> None:
    memory.observe(ADA, SAID, WHERE)
    memory.observe(ADA, [Message(**other)], WHERE)
    assert counts(kept) == [2]


def test_what_others_say_or_what_holds_elsewhere_is_no_retry(memory: BeliefMemory, kept: BeliefStore) -> None:
    memory.observe(ADA, SAID, WHERE)
    memory.observe(ADA, SAID, {"project": "boreal"})
    memory.observe(BOB, SAID, WHERE)
    assert (counts(kept), counts(kept, BOB)) == ([1, 1], [1])
    core = Principal.team("core")
    kept.grant(core, ADA, "admin", actor=ADA)
    kept.grant(core, BOB, "write", actor=ADA)
    for actor in (ADA, BOB, ADA):
        memory.observe(core, SAID, WHERE, actor=actor)
    assert [one.reinforcement_count for one in kept.list(core, actor=ADA)] == [2]


def test_a_retry_is_not_even_read(kept: BeliefStore) -> None:
    class Counting(RuleExtractor):
        calls = 0

        def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
            self.calls += 1
            return super().extract(messages, scopes)

    extractor = Counting()
    memory = BeliefMemory(kept, scopes=["project:atlas"], extractor=extractor, background=False)
    for _ in range(2):
        memory.observe(ADA, SAID, {})
        memory.observe(ADA, [], {})
    assert extractor.calls == 1


def test_after_an_error_a_retry_is_read(kept: BeliefStore) -> None:
    class FailsOnce(RuleExtractor):
        has_failed = False

        def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
            if not self.has_failed:
                self.has_failed = True
                raise RuntimeError("no model")
            return super().extract(messages, scopes)

    memory = BeliefMemory(kept, scopes=["project:atlas"], extractor=FailsOnce(), background=False)
    with pytest.raises(RuntimeError):
        memory.observe(ADA, SAID, {})
    for _ in range(2):
        memory.observe(ADA, SAID, {})
    assert counts(kept) == [1]


def test_what_cannot_be_put_lets_nothing_else_count_twice(kept: BeliefStore) -> None:
    class Two:
        def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
            return Observation((new("cache", "C.", scopes=scopes), new("db", "D.", scopes=scopes)))

    for project in ("p", "q"):
        kept.put(ADA, new("cache", f"{project}.", scopes=(f"project:{project}",)))
    memory = BeliefMemory(kept, scopes=["project:p", "project:q"], extractor=Two(), background=False)
    with pytest.raises(BeliefConflict):
        memory.observe(ADA, SAID, {})
    memory.observe(ADA, SAID, {})
    assert [one.reinforcement_count for one in live(kept) if one.canonical_name == "db"] == [1]


class Aliases:
    """Gives a name to what is known, whatever is said."""

    def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
        return Observation(aliases=(NewAliases("redis_cache", ("the cache",)),))


def test_the_same_in_one_turn_counts_once(kept: BeliefStore) -> None:
    kept.put(ADA, new())
    memory = BeliefMemory(kept, scopes=["project:atlas"], extractor=Aliases(), background=False)
    for answer in ("Let me see.", "It is Redis."):
        memory.observe(ADA, [Message("user", "Which cache?"), Message("assistant", answer)], {})
    assert counts(kept) == [2]
    memory.observe(ADA, [Message("user", "Which one?"), Message("assistant", "Redis.")], {})
    assert counts(kept) == [3]


def test_texts_are_not_held_to_know_them_again(memory: BeliefMemory) -> None:
    memory.observe(ADA, SAID, WHERE)
    assert "Valkey" not in str(vars(memory._repeats))


def test_a_message_without_an_id_has_one_in_its_provenance(memory: BeliefMemory, kept: BeliefStore) -> None:
    memory.observe(ADA, SAID, WHERE)
    (belief,) = live(kept)
    assert belief.provenance.turn_id
    assert "Valkey" not in belief.provenance.turn_id


# --- many users


class Waits(RuleExtractor):
    """Reads Ada's messages only when it may, and fails at what is broken."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.seen: list[str | None] = []

    def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
        self.seen += [one.id for one in messages]
        if "Ada" in messages[0].text:
            self.go_on.wait(30)
        if "broken" in messages[0].text:
            raise RuntimeError(messages[0].text)
        return super().extract(messages, scopes)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def shared(kept: BeliefStore, waits: Waits):
    memory = BeliefMemory(kept, scopes=["project:atlas"], extractor=waits)
    yield memory
    waits.go_on.set()
    memory.close()


def test_a_slow_extraction_of_one_user_makes_no_other_wait(shared: BeliefMemory, waits: Waits, kept) -> None:
    for number in range(20):
        shared.observe(ADA, [Message("user", f"Ada: we decided to use Tool{number} for job {number}.")], {})
    shared.observe(BOB, SAID, {})
    shared.flush(30, principal=BOB)
    assert (counts(kept), counts(kept, BOB)) == ([], [1])
    with pytest.raises(TimeoutError):
        shared.flush(0, principal=ADA)
    with pytest.raises(TimeoutError):
        shared.flush(0)
    waits.go_on.set()
    shared.flush(30)


def test_what_one_user_says_is_read_in_order(shared: BeliefMemory, waits: Waits) -> None:
    for number in range(30):
        shared.observe(ADA, [Message("user", "Hello.", str(number))], {})
    shared.flush(30)
    assert waits.seen == [*map(str, range(30))]


def test_the_error_of_one_user_is_raised_to_nobody_else(shared: BeliefMemory, kept: BeliefStore) -> None:
    shared.observe(BOB, [Message("user", "Bob's are broken.")], {})
    shared.observe(ADA, SAID, {})
    shared.flush(30, principal=ADA)
    with pytest.raises(RuntimeError, match="Bob's"):
        shared.flush(30, principal=BOB)
    shared.flush(30, principal=BOB)
    assert counts(kept) == [1]


def test_a_user_who_is_said_to_act_is_the_same_user(shared: BeliefMemory) -> None:
    shared.observe(BOB, [Message("user", "Bob's are broken.")], {}, actor=BOB)
    with pytest.raises(RuntimeError, match="Bob's"):
        shared.flush(30, principal=BOB)


def test_in_a_team_each_member_has_errors_of_his_own(shared: BeliefMemory) -> None:
    core = Principal.team("core")
    shared.observe(core, [Message("user", "Bob's are broken.")], {}, actor=BOB)
    shared.flush(30, principal=core, actor=ADA)
    with pytest.raises(RuntimeError, match="Bob's"):
        shared.flush(30, principal=core, actor=BOB)


async def test_whoever_runs_the_memory_is_told_the_errors_of_all(shared: BeliefMemory) -> None:
    shared.observe(BOB, [Message("user", "Bob's are broken.")], {})
    with pytest.raises(RuntimeError, match="Bob's"):
        await shared.aflush()
    await shared.aflush(principal=BOB)
