"""The memory between sessions: recall before a turn, observation after it, in the background or not."""

import asyncio
import logging
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from belief_making import ADA, BOB, live, new

from pss_integrations.beliefs import BeliefStore, Principal
from pss_integrations.beliefs.extraction import Observation
from pss_integrations.beliefs.injection import BLOCK_START
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.errors import AccessDenied, InvalidInput
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
