"""The memory between sessions: recall before a turn, observation after it, in the background or not."""

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from belief_making import ADA, BOB, live, new

from pss_integrations.beliefs import BeliefStore, Principal
from pss_integrations.beliefs.extraction import Observation, RuleExtractor
from pss_integrations.beliefs.injection import BLOCK_START
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.errors import AccessDenied, BeliefConflict, InvalidInput
from pss_integrations.types import Message

WHERE = {"project": "atlas"}
SAID = [Message("user", "We decided to use Valkey for the cache.")]


class Broken:
    """Fails as often as it is asked."""

    def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
        raise RuntimeError("no model")


@pytest.fixture
def kept(path: Path):
    with BeliefStore(path) as store:
        yield store


def memory_of(store: BeliefStore, **options) -> BeliefMemory:
    return BeliefMemory(store, scopes=["project:{project}"], **options)


def test_what_was_observed_is_recalled_in_its_scope_and_for_its_user_only(kept: BeliefStore) -> None:
    memory = memory_of(kept)
    memory.observe(ADA, SAID, WHERE)
    memory.flush()
    assert "Valkey" in memory.recall(ADA, "How large may the Valkey cache grow?", WHERE).text
    assert memory.recall(ADA, "How large may the Valkey cache grow?", {"project": "boreal"}).text == ""
    assert memory.recall(BOB, "How large may the Valkey cache grow?", WHERE).text == ""
    memory.close()


def test_without_background_it_is_kept_at_once(kept: BeliefStore) -> None:
    memory_of(kept, background=False).observe(ADA, SAID, WHERE)
    assert len(live(kept)) == 1


@pytest.mark.parametrize("scopes", [[], "project:x", ["project"], ["team:{x}"]])
def test_scopes_have_to_be_said(kept: BeliefStore, scopes) -> None:
    with pytest.raises(InvalidInput):
        BeliefMemory(kept, scopes=scopes)


@pytest.mark.parametrize("context", [{}, {"project": " "}, {"project": None}])
def test_a_scope_that_cannot_be_filled_is_refused_before_anything_is_done(kept: BeliefStore, context) -> None:
    memory = memory_of(kept)
    with pytest.raises(InvalidInput, match="project"):
        memory.observe(ADA, SAID, context)
    with pytest.raises(InvalidInput, match="project"):
        memory.recall(ADA, "Valkey", context)
    assert live(kept) == []


def test_a_failure_in_the_background_is_logged_and_raised_by_the_next_flush(
    kept: BeliefStore, caplog: pytest.LogCaptureFixture
) -> None:
    memory = memory_of(kept, extractor=Broken())
    with caplog.at_level(logging.ERROR):
        memory.observe(ADA, SAID, WHERE)
        with pytest.raises(RuntimeError, match="no model"):
            memory.flush()
    assert "could not be kept" in caplog.text
    memory.flush()
    memory.close()


def test_rights_to_a_team_s_beliefs_hold_here_too(kept: BeliefStore) -> None:
    core = Principal.team("core")
    kept.grant(core, ADA, "admin", actor=ADA)
    memory = memory_of(kept, background=False)
    memory.observe(core, SAID, WHERE, actor=ADA)
    assert "Valkey" in memory.recall(core, "Valkey?", WHERE, actor=ADA).text
    for call in (
        lambda: memory.recall(core, "Valkey?", WHERE, actor=BOB),
        lambda: memory.recall(core, "Valkey?", WHERE),
        lambda: memory.observe(core, SAID, WHERE, actor=BOB),
    ):
        with pytest.raises(AccessDenied):
            call()


def test_the_own_block_fed_back_ten_times_teaches_nothing(kept: BeliefStore) -> None:
    memory = memory_of(kept, background=False)
    memory.observe(ADA, SAID, WHERE)
    before = live(kept)
    for _ in range(10):
        block = memory.recall(ADA, "the Valkey cache", WHERE).text
        assert BLOCK_START in block
        memory.observe(ADA, [Message("user", block), Message("assistant", f"You told me:\n{block}")], WHERE)
    assert live(kept) == before


async def test_the_event_loop_goes_on(kept: BeliefStore) -> None:
    """A ticker of 10 ms, while a store of 400 beliefs is read, searched and written to."""
    for number in range(400):
        kept.put(ADA, new(f"thing {number}", f"Thing {number}.", aliases=(f"alias {number}",)))
    memory = memory_of(kept)
    gaps: list[float] = []

    async def tick() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.01)
            gaps.append(time.perf_counter() - last)
            last = time.perf_counter()

    ticker = asyncio.create_task(tick())
    for number in range(20):
        await memory.arecall(ADA, f"what of thing {number}?", WHERE)
        await memory.aobserve(ADA, [Message("user", f"We decided to use Tool{number} for job {number}.")], WHERE)
    await memory.aflush()
    ticker.cancel()
    print(f"longest gap of the event loop: {1000 * max(gaps):.0f} ms")
    assert gaps
    assert max(gaps) < 1
    memory.close()


def test_a_message_that_is_observed_again_counts_once(kept: BeliefStore) -> None:
    memory = memory_of(kept, background=False)
    said = [Message("user", SAID[0].text, "m1")]
    for _ in range(3):
        memory.observe(ADA, said, WHERE)
    memory.observe(ADA, [*said, Message("user", "We decided to use Kafka for events.", "m2")], WHERE)
    assert {one.canonical_name: one.reinforcement_count for one in live(kept)}.keys() >= {"kafka_events"}
    assert {one.reinforcement_count for one in live(kept)} == {1}
    memory.observe(ADA, [Message("user", SAID[0].text, "m3")], WHERE)
    assert sorted(one.reinforcement_count for one in live(kept)) == [1, 2]


def test_a_flush_that_gave_up_forgets_nothing(kept: BeliefStore) -> None:
    go_on = threading.Event()

    class Slow:
        def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
            go_on.wait(30)
            return RuleExtractor().extract(messages, scopes)

    memory = memory_of(kept, extractor=Slow())
    memory.observe(ADA, SAID, WHERE)
    with pytest.raises(TimeoutError):
        memory.flush(0.01)
    go_on.set()
    memory.flush()
    assert len(live(kept)) == 1
    memory.close()
    memory.observe(ADA, [Message("user", "We decided to use Kafka.")], WHERE)  # it begins again
    memory.close()
    assert len(live(kept)) == 2


def test_one_belief_that_cannot_be_put_takes_no_other_with_it(kept: BeliefStore) -> None:
    for project in ("p", "q"):
        kept.put(ADA, new("cache", f"{project}.", scopes=(f"project:{project}",)))
    both = BeliefMemory(kept, scopes=["project:p", "project:q"], extractor=Two(), background=False)
    with pytest.raises(BeliefConflict):
        both.observe(ADA, SAID, {})
    assert "db" in {one.canonical_name for one in live(kept)}


class Two:
    def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
        return Observation((new("cache", "C.", scopes=scopes), new("db", "D.", scopes=scopes)))


def test_half_a_character_breaks_nothing(kept: BeliefStore) -> None:
    memory = memory_of(kept, background=False)
    memory.observe(ADA, [Message("assistant", "ok"), *SAID], WHERE)
    assert "Valkey" in memory.recall(ADA, "Valkey \ud83d", WHERE).text


def test_a_very_long_message_is_searched_at_both_ends(kept: BeliefStore) -> None:
    memory = memory_of(kept, background=False)
    memory.observe(ADA, SAID, WHERE)
    filler = "words and more words " * 50_000
    assert "Valkey" in memory.recall(ADA, f"Valkey? {filler}", WHERE).text
    assert "Valkey" in memory.recall(ADA, f"{filler} Valkey?", WHERE).text


def test_two_contexts_never_fill_two_places_to_one_scope(kept: BeliefStore) -> None:
    memory = BeliefMemory(kept, scopes=["project:{tenant}/{project}"])
    with pytest.raises(InvalidInput, match="tenant"):
        memory.scopes({"tenant": "acme/x", "project": "y"})


@pytest.mark.parametrize("mark", ["* ", "1. ", "`", "> - ", "• ", ""])
@pytest.mark.parametrize("end", ["", ".", " (yes)"])
def test_our_own_line_is_known_however_it_is_quoted(kept: BeliefStore, mark: str, end: str) -> None:
    line = "decision redis_cache — We decided to use Redis for the cache. | user said, 2026-01-01"
    memory_of(kept, background=False).observe(ADA, [Message("user", f"You said:\n{mark}{line}{end}")], WHERE)
    assert live(kept) == []
