import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from belief_llms import FailsOnce, Gate, KeepsLines, assistant, texts, user
from belief_making import ADA, BOB, Clock, live, new
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory, StaticMemoryBlock
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from pss_integrations.beliefs import BeliefStore
from pss_integrations.beliefs.extraction import SidecarExtractor
from pss_integrations.beliefs.injection import BLOCK_END, BLOCK_START
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.errors import InvalidInput, MissingIdentity
from pss_integrations.identity import pss_session
from pss_integrations.llama_index import BeliefMemoryBlock

ASK = "Which redis_cache?"
REDIS = "Use Redis for the cache."


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BeliefStore]:
    with BeliefStore(tmp_path / "beliefs.db", clock=Clock()) as opened:
        yield opened


@pytest.fixture
def beliefs(store: BeliefStore) -> BeliefMemory:
    return BeliefMemory(store, scopes=["project:{project}"], extractor=KeepsLines(), background=False)


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'chat.db'}", poolclass=NullPool)
    yield engine
    await engine.dispose()


Make = Callable[..., BeliefMemoryBlock]


@pytest.fixture
def make(beliefs: BeliefMemory) -> Make:
    def make(**fields: Any) -> BeliefMemoryBlock:
        return BeliefMemoryBlock(**{"memory": beliefs, "user_id": "ada", "context": {"project": "atlas"}, **fields})

    return make


def beliefs_of(text: str | None) -> list[str]:
    """Names of the beliefs in a block."""
    return [line.split()[2] for line in (text or "").splitlines() if line.startswith("- ")]


async def test_it_gives_what_the_last_words_of_the_user_name(make: Make, store: BeliefStore) -> None:
    store.put(ADA, new())
    store.put(ADA, new("queue", "Use NATS for the queue."))
    block = make()
    assert beliefs_of(await block.aget([user("Which queue?"), user(ASK), assistant("queue")])) == ["redis_cache"]
    assert await block.aget([assistant(ASK)]) == await block.aget() == ""


async def test_in_a_memory(make: Make, store: BeliefStore, engine: AsyncEngine) -> None:
    store.put(ADA, new("cache", "Use {{ x }} {name} for the cache."))
    memory = Memory.from_defaults(memory_blocks=[make()], async_engine=engine)
    await memory.aput(user("Which cache?"))
    (_, told), asked = texts(await memory.aget())
    assert "Use ⦃⦃ x ⦄⦄ ⦃name⦄ for the cache." in told
    assert asked == ("user", "Which cache?")
    assert texts(await memory.aget("Which other thing?")) == [asked]


async def test_it_keeps_what_the_queue_has_no_room_for(make: Make, store: BeliefStore, engine: AsyncEngine) -> None:
    memory = Memory.from_defaults(
        memory_blocks=[make()], async_engine=engine, token_limit=40, token_flush_size=10, chat_history_token_ratio=0.5
    )
    await memory.aput(user("database: Use Postgres."))
    assert live(store) == []
    for _ in range(3):
        await memory.aput_messages([assistant("All right, and what else is there?"), user("Let me think about that.")])
    assert [one.content for one in live(store)] == ["Use Postgres."]


async def test_one_block_in_two_sessions(make: Make, store: BeliefStore, engine: AsyncEngine) -> None:  # 22701
    block = make(user_id=None)
    fields = block.model_dump()
    told: dict[str, str] = {}
    for name, cache in (("ada", "Redis"), ("bob", "Memcached")):
        memory = Memory.from_defaults(session_id=f"of {name}", memory_blocks=[block], async_engine=engine)
        with pss_session(user_id=name, session_id="s"):
            await block.aput([user(f"cache: Use {cache}.")], session_id=memory.session_id)
            told[name] = texts(await memory.aget("Which cache?"))[0][1]
    assert ("Redis" in told["ada"], "Memcached" in told["ada"]) == (True, False)
    assert ("Redis" in told["bob"], "Memcached" in told["bob"]) == (False, True)
    assert [len(live(store, one)) for one in (ADA, BOB)] == [1, 1]
    assert block.model_dump() == fields


async def test_without_a_user_it_raises(make: Make) -> None:
    block = make(user_id=None)
    with pytest.raises(MissingIdentity):
        await block.aget([user(ASK)], session_id="s")
    with pytest.raises(MissingIdentity):
        await block.aput([user("database: Use Postgres.")], session_id="s")


async def test_an_error_of_the_store_does_not_break_the_memory(  # 22867
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with FailsOnce(tmp_path / "fails.db") as store:
        block = make(memory=BeliefMemory(store, scopes=["project:x"], extractor=KeepsLines(), background=False))
        flushed = [user("database: Use Postgres."), assistant("Noted.")]
        await block.aput(flushed)
        assert "BeliefStorageError" in caplog.text
        await block.aput(flushed)
        (belief,) = live(store)
        assert belief.reinforcement_count == 1


async def test_the_loop_ticks_on(make: Make, tmp_path: Path) -> None:  # 15293, 18090
    gate = Gate()
    with BeliefStore(tmp_path / "slow.db", clock=gate) as store:
        block = make(memory=BeliefMemory(store, scopes=["project:x"], extractor=KeepsLines(), background=False))
        await gate.passed_by(block.aput([user("database: Use Postgres.")]))
        assert beliefs_of(await gate.passed_by(block.aget([user("Which database?")]))) == ["database"]


# --- truncation


@pytest.fixture
async def content(make: Make, store: BeliefStore) -> str:
    """A block with two pinned beliefs, and three for the turn of which one is a question."""
    for name in ("pin_1", "pin_2"):
        store.put(ADA, new(name, f"Always hold to {name}.", pinned=True))
    for name in ("turn_1", "turn_2"):
        store.put(ADA, new(name, f"Use {name} for the moment."))
    store.put(ADA, new("question", "Is turn_1 still right?", type="open_question"))
    return await make().aget([user("What of turn_1, turn_2, and the question?")])


async def test_cut_it_loses_its_last_beliefs_first(make: Make, content: str) -> None:  # 23090
    block = make()
    size = len(block.tokenizer_fn(content))
    whole = beliefs_of(content)
    assert set(whole[:2]) == {"pin_1", "pin_2"}
    assert whole[-1] == "question"
    left = []
    for tokens in range(1, size + 1):
        cut = await block.atruncate(content, tokens)
        left.append(beliefs_of(cut))
        assert left[-1] == whole[: len(left[-1])]
        if cut is not None:
            assert len(block.tokenizer_fn(cut)) <= size - tokens
            assert [line for line in cut.splitlines() if line in (BLOCK_START, BLOCK_END)] == [
                BLOCK_START,
                BLOCK_END,
            ] * cut.count(BLOCK_START)
    assert [len(names) for names in left] == sorted((len(names) for names in left), reverse=True)
    assert {len(names) for names in left} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("nothing", ["", []])
async def test_where_nothing_was_nothing_is_cut(make: Make, nothing: Any) -> None:
    assert await make().atruncate(nothing, 10) is None


@pytest.mark.parametrize(("priority", "expected"), [(0, 5), (1, 2), (3, 4)])
async def test_a_memory_cuts_the_lowest_number_first_and_never_zero(
    make: Make, content: str, engine: AsyncEngine, priority: int, expected: int
) -> None:
    def memory(limit: int) -> Memory:
        block = make(priority=priority)
        other = StaticMemoryBlock(name="other", static_content="word " * 60, priority=2)
        return Memory.from_defaults(memory_blocks=[block, other], async_engine=engine, token_limit=limit)

    tokens = len(make().tokenizer_fn(content))
    limit = tokens + 60 - {0: 40, 1: 70, 3: 80}[priority]
    told = texts(await memory(limit).aget("What of turn_1, turn_2, and the question?"))
    assert len(beliefs_of(told[0][1])) == expected


async def test_over_any_limit_nothing_raises(make: Make, content: str, engine: AsyncEngine) -> None:  # 9371, 15320
    for limit in (1, 10, 100):
        memory = Memory.from_defaults(
            session_id=str(limit), memory_blocks=[make(priority=1)], async_engine=engine, token_limit=limit
        )
        await memory.aput(user("What of turn_1, turn_2, and the question?"))
        assert texts(await memory.aget())[-1][0] == "user"


def test_what_cannot_be_used_is_refused_at_once(make: Make, beliefs: BeliefMemory, store: BeliefStore) -> None:
    with pytest.raises(InvalidInput, match="'project'"):  # 16059, 7542: no default scope
        BeliefMemoryBlock(memory=beliefs, user_id="ada")
    with pytest.raises(ValueError, match="session"):
        make(session="s")
    sidecars = BeliefMemory(store, scopes=["project:atlas"], extractor=SidecarExtractor())
    with pytest.raises(InvalidInput, match="SidecarLLM"):
        make(memory=sidecars)
    assert not make(memory=sidecars, accept_short_term_memory=False).accept_short_term_memory


def test_a_message_that_is_put_stays_as_it_is(make: Make) -> None:
    message = ChatMessage(role="user", content="database: Use Postgres.")
    asyncio.run(make().aput([message]))
    assert message == ChatMessage(role="user", content="database: Use Postgres.")
