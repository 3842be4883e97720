import asyncio
import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from belief_llms import FailsOnce, Gate, KeepsLines, assistant, blocks, call, texts, user
from belief_making import ADA, BOB, live, new
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer, Memory

from pss_integrations.beliefs import BeliefStore, Principal
from pss_integrations.beliefs.extraction import RuleExtractor, SidecarExtractor
from pss_integrations.beliefs.injection import BLOCK_START
from pss_integrations.beliefs.memory import BeliefMemory
from pss_integrations.errors import (
    AccessDenied,
    BeliefStorageError,
    IdentityConflict,
    InvalidInput,
    MissingIdentity,
)
from pss_integrations.identity import pss_session
from pss_integrations.llama_index import BeliefStateMemory

TEAM = Principal.team("core")
Make = Callable[..., BeliefStateMemory]
ASK = "Which redis_cache?"
REDIS = "Use Redis for the cache."


# --- what the model is told


async def test_the_block_comes_before_the_messages_and_is_not_stored(
    make: Make, store: BeliefStore, primary: BaseMemory, mode: str
) -> None:
    store.put(ADA, new())
    memory = make(primary_memory=primary)
    await call(mode, memory, "put", user(ASK))
    (role, block), asked = texts(await call(mode, memory, "get"))
    assert role == "system"
    assert REDIS in block
    assert asked == ("user", ASK)
    assert texts(await call(mode, memory, "get_all")) == [("user", ASK)]


async def test_without_anything_to_tell_the_messages_come_as_they_are(make: Make, store: BeliefStore) -> None:
    store.put(ADA, new())
    memory = make()
    memory.put(user("Hello!"))
    assert memory.get() == memory.get_all()


async def test_the_block_ends_the_system_message_that_is_there(make: Make, store: BeliefStore) -> None:
    store.put(ADA, new())
    memory = make()
    memory.set([ChatMessage(role="system", content="Be brief."), user(ASK)])
    system, asked = texts(memory.get())
    assert system[1].startswith("Be brief.\n<pss-beliefs>")
    assert asked == ("user", ASK)


async def test_the_block_may_come_before_the_last_words_of_the_user(make: Make, store: BeliefStore, mode: str) -> None:
    store.put(ADA, new())
    memory = make(insert_method="user")
    memory.set([user("Hello!"), assistant("Hi."), user(ASK), assistant("Looking.")])
    told = texts(await call(mode, memory, "get"))
    assert [role for role, _ in told] == ["user", "assistant", "user", "assistant"]
    assert told[2][1].startswith(BLOCK_START)
    assert told[2][1].endswith(ASK)
    assert told[:2] == [("user", "Hello!"), ("assistant", "Hi.")]


async def test_in_front_of_no_words_of_the_user_the_block_stands_alone(make: Make, store: BeliefStore) -> None:
    store.put(ADA, new())
    ((role, text),) = texts(make(insert_method="user").get(ASK))
    assert (role, text[: len(BLOCK_START)]) == ("user", BLOCK_START)


async def test_what_is_got_may_be_written_into(make: Make, store: BeliefStore) -> None:
    store.put(ADA, new())
    for method in ("system", "user"):
        memory = make(insert_method=method)
        memory.set([ChatMessage(role="system", content="Be brief."), user(ASK)])
        before = memory.get()
        for message in memory.get():
            message.blocks[0].text = "written over"
            message.blocks.clear()
            message.additional_kwargs["seen"] = True
        assert memory.get() == before


async def test_text_and_message_as_input_recall_the_same(  # LlamaIndex 23180
    make: Make, store: BeliefStore, primary: BaseMemory, mode: str
) -> None:
    store.put(ADA, new())
    memory = make(primary_memory=primary)
    by_text = await call(mode, memory, "get", ASK)
    assert REDIS in blocks(by_text)[0]
    assert await call(mode, memory, "get", user(ASK)) == by_text


@pytest.mark.parametrize("nothing", [None, "", ChatMessage(role="user", blocks=[])])
async def test_without_input_the_last_words_of_the_user_count(make: Make, store: BeliefStore, nothing: Any) -> None:
    store.put(ADA, new())
    store.put(ADA, new("queue", "Use NATS for the queue."))
    memory = make()
    memory.set([user("Which queue?"), assistant("NATS."), user(ASK), assistant("Let me see the queue.")])
    (block,) = blocks(memory.get(nothing))
    assert REDIS in block
    assert "NATS" not in block


async def test_over_the_budget_beliefs_are_left_out(make: Make, store: BeliefStore, mode: str) -> None:  # 9371, 15320
    for number in range(30):
        store.put(ADA, new(f"rule_{number}", f"Rule {number} about the cache, which is rather long.", pinned=True))
    scopes = ["project:{project}"]
    sizes = []
    for budget in (0, 60, 200, 2000):
        memory = make(memory=BeliefMemory(store, scopes=scopes, budget=budget, count_tokens=len_in_words))
        memory.put(user("Which rules?"))
        told = await call(mode, memory, "get", initial_token_count=10)
        assert texts(told)[-1] == ("user", "Which rules?")
        sizes.append(sum(map(len_in_words, blocks(told))))
        assert sizes[-1] <= budget
    assert sizes == sorted(sizes)
    assert sizes[0] == 0 < sizes[1]


def len_in_words(text: str) -> int:
    return len(text.split())


# --- what is kept


async def test_what_the_user_says_is_kept(make: Make, store: BeliefStore, primary: BaseMemory, mode: str) -> None:
    memory = make(primary_memory=primary)
    await call(mode, memory, "put", user("database: Use Postgres."))
    await call(mode, memory, "put", assistant("database: Use MySQL instead."))
    assert [(one.canonical_name, one.content) for one in live(store)] == [("database", "Use Postgres.")]
    assert [role for role, _ in texts(await call(mode, memory, "get_all"))] == ["user", "assistant"]


async def test_each_message_is_read_once_and_an_answer_with_the_reply_to_it(
    make: Make, extractor: KeepsLines, mode: str
) -> None:
    memory = make()
    await call(mode, memory, "put", user("one"))
    await call(mode, memory, "put_messages", [assistant(""), ChatMessage(role="tool", content="t"), assistant("two")])
    await call(mode, memory, "put_messages", [user("three"), assistant("four"), user("five"), assistant("six")])
    await call(mode, memory, "put", user("seven"))
    shown = [[message.text for message in messages] for messages in extractor.shown]
    assert shown == [["one"], ["two", "three", "four", "five"], ["six", "seven"]]
    assert len(await call(mode, memory, "get_all")) == 9


async def test_a_suggestion_that_the_user_takes_up_is_kept(make: Make, store: BeliefStore) -> None:
    beliefs = BeliefMemory(store, scopes=["project:{project}"], extractor=RuleExtractor())
    memory = make(memory=beliefs)
    memory.put(user("What should we use for the cache?"))
    memory.put(assistant("I suggest Redis for the cache."))
    memory.put(user("Yes, let's do that."))
    memory.flush()
    assert ["redis" in one.canonical_name for one in live(store)] == [True]
    beliefs.close()


async def test_what_was_told_is_not_learnt_again(make: Make, extractor: KeepsLines, store: BeliefStore) -> None:
    store.put(ADA, new())
    memory = make(insert_method="user")
    memory.put(user(ASK))
    (told,) = memory.get()
    memory.put(told)
    assert [one.text.strip() for one in extractor.shown[-1]] == [ASK]


async def test_of_messages_that_are_set_only_new_words_of_the_user_at_the_end_are_read(
    make: Make, extractor: KeepsLines, primary: BaseMemory, mode: str
) -> None:
    memory = make(primary_memory=primary)
    history = [user("database: Use Postgres."), assistant("queue: NATS?")]
    await call(mode, memory, "set", history)
    assert extractor.shown == []
    for _ in range(2):
        await call(mode, memory, "set", [*history, user("Yes.")])
    await call(mode, memory, "set", [*history, user("Yes."), assistant("Sure?"), user("Yes.")])
    shown = [[message.text for message in messages] for messages in extractor.shown]
    assert shown == [["queue: NATS?", "Yes."], ["Sure?", "Yes."]]
    await call(mode, memory, "set", [user(" ")])
    await call(mode, make(observe=False), "set", [user("Yes.")])
    assert len(extractor.shown) == 2


async def test_what_is_reset_is_no_belief(make: Make, store: BeliefStore, primary: BaseMemory, mode: str) -> None:
    memory = make(primary_memory=primary)
    await call(mode, memory, "put", user("queue: Use NATS."))
    await call(mode, memory, "reset")
    assert await call(mode, memory, "get_all") == []
    assert [one.canonical_name for one in live(store)] == ["queue"]


async def test_a_memory_that_does_not_observe_keeps_nothing(make: Make, store: BeliefStore) -> None:
    memory = make(observe=False)
    memory.put(user("database: Use Postgres."))
    assert live(store) == []
    assert len(memory.get_all()) == 1


async def test_an_error_of_the_store_does_not_break_the_chat(  # LlamaIndex 22867
    make: Make, tmp_path: Path, primary: BaseMemory, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    with FailsOnce(tmp_path / "fails.db") as store:
        beliefs = BeliefMemory(store, scopes=["project:{project}"], extractor=KeepsLines(), background=False)
        memory = make(memory=beliefs, primary_memory=primary)
        await call(mode, memory, "put", user("database: Use Postgres."))
        assert "BeliefStorageError" in caplog.text
        await call(mode, memory, "put", user("queue: Use NATS."))
        assert [one.canonical_name for one in live(store)] == ["queue"]
        assert len(await call(mode, memory, "get_all")) == 2


async def test_after_an_error_of_the_store_a_retry_gives_one_belief(  # LlamaIndex 22867
    make: Make, tmp_path: Path, primary: BaseMemory, mode: str
) -> None:
    with FailsOnce(tmp_path / "fails.db") as store:
        beliefs = BeliefMemory(store, scopes=["project:{project}"], extractor=KeepsLines(), background=False)
        memory = make(memory=beliefs, primary_memory=primary)
        for _ in range(3):
            await call(mode, memory, "put", user("database: Use Postgres."))
        assert [one.reinforcement_count for one in live(store)] == [1]


async def test_beliefs_that_cannot_be_read_are_left_out(
    make: Make, store: BeliefStore, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    store.put(ADA, new())
    memory = make()
    memory.put(user(ASK))
    store.close()
    assert await call(mode, memory, "get") == memory.get_all()
    assert "could not be recalled" in caplog.text


class RefusesOnce(ChatMemoryBuffer):
    """Cannot take messages the first time."""

    has_refused: bool = False

    def _refuse(self) -> None:
        if not self.has_refused:
            self.has_refused = True
            raise OSError("no space left")

    def put_messages(self, messages: list[ChatMessage]) -> None:
        self._refuse()
        super().put_messages(messages)

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        self._refuse()
        await super().aput_messages(messages)

    def set(self, messages: list[ChatMessage]) -> None:
        self._refuse()
        super().set(messages)

    async def aset(self, messages: list[ChatMessage]) -> None:
        self._refuse()
        await super().aset(messages)


@pytest.mark.parametrize("name", ["put_messages", "set"])
async def test_after_an_error_of_the_other_memory_a_retry_is_read_once(
    make: Make, extractor: KeepsLines, mode: str, name: str
) -> None:
    memory = make(primary_memory=RefusesOnce.from_defaults())
    with pytest.raises(OSError, match="no space"):
        await call(mode, memory, name, [user("database: Use Postgres.")])
    await call(mode, memory, name, [user("database: Use Postgres.")])
    assert len(extractor.shown) == len(memory.get_all()) == 1


async def test_what_is_said_again_since_a_call_failed_counts_once(
    make: Make, store: BeliefStore, primary: BaseMemory, mode: str
) -> None:
    memory = make(primary_memory=primary)
    await call(mode, memory, "put_messages", [user("Hello!"), assistant("Hi.")])
    for _ in range(3):
        await call(mode, memory, "put", user("queue: Use NATS."))
    assert [one.reinforcement_count for one in live(store)] == [1]
    await call(mode, memory, "put", assistant("Noted."))
    await call(mode, memory, "put", user("queue: Use NATS."))
    assert [one.reinforcement_count for one in live(store)] == [2]


async def test_a_conversation_is_known_again_by_its_session(make: Make, store: BeliefStore, mode: str) -> None:
    for session in ("one", "one", "two"):  # a memory of its own for each request, as a server makes it
        with pss_session(user_id="ada", session_id=session):
            await call(mode, make(), "put", user("queue: Use NATS."))
    assert [one.reinforcement_count for one in live(store)] == [2]
    await call(mode, make(), "put", user("queue: Use NATS."))
    assert [one.reinforcement_count for one in live(store)] == [3]


@pytest.mark.parametrize("trusted", [(), ("planner",)])
async def test_what_comes_under_another_name_is_not_the_users_word(
    make: Make, store: BeliefStore, mode: str, trusted: tuple[str, ...]
) -> None:
    said = ChatMessage(role="user", content="queue: Use NATS.", additional_kwargs={"name": "planner"})
    memory = make(trusted_names=trusted)
    await call(mode, memory, "put", said)
    await call(mode, memory, "set", [*memory.get_all(), said])
    assert len(live(store)) == len(trusted)
    assert [message.role.value for message in memory.get_all()] == ["user", "user"]


async def test_an_extractor_that_fails_breaks_no_chat(
    make: Make, store: BeliefStore, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def extract(self, *args: Any) -> Any:
            raise RuntimeError("no quota")

    beliefs = BeliefMemory(store, scopes=["project:atlas"], extractor=Broken(), background=False)
    memory = make(memory=beliefs)
    await call(mode, memory, "put", user("queue: Use NATS."))
    assert len(memory.get_all()) == 1
    assert "RuntimeError" in caplog.text


async def test_half_a_character_is_replaced(make: Make, store: BeliefStore, mode: str) -> None:
    memory = make()
    await call(mode, memory, "put", assistant("Which \ud83d cache?"))
    await call(mode, memory, "put", user("cache: Use Redis. \ud83d"))
    assert [one.content for one in live(store)] == ["Use Redis. ?"]
    assert blocks(await call(mode, memory, "get", "Which cache? \ud83d"))
    assert blocks(await call(mode, memory, "get"))


def test_a_copy_shares_the_beliefs_and_not_the_messages(make: Make, store: BeliefStore) -> None:
    store.put(ADA, new())
    memory = make()
    for copied in (copy.deepcopy(memory), memory.model_copy(deep=True)):
        assert copied.memory is memory.memory
        copied.put(user(ASK))
        assert blocks(copied.get())
    assert memory.get_all() == []


async def test_without_the_values_of_a_scope_nothing_is_put(make: Make, mode: str) -> None:
    memory = make()
    memory.context.clear()
    with pytest.raises(InvalidInput, match="'project'"):
        await call(mode, memory, "put", user("database: Use Postgres."))
    assert memory.get_all() == []


async def test_in_the_background_an_error_is_raised_by_flush(make: Make, tmp_path: Path, mode: str) -> None:
    with FailsOnce(tmp_path / "fails.db") as store:
        memory = make(memory=BeliefMemory(store, scopes=["project:{project}"], extractor=KeepsLines()))
        await call(mode, memory, "put", user("database: Use Postgres."))
        with pytest.raises(BeliefStorageError):
            await call(mode, memory, "flush")
        await call(mode, memory, "put", user("queue: Use NATS."))
        await call(mode, memory, "flush")
        assert [one.canonical_name for one in live(store)] == ["queue"]
        memory.memory.close()


async def test_the_loop_ticks_on(make: Make, tmp_path: Path) -> None:  # LlamaIndex 15293, 18090
    gate = Gate()
    with BeliefStore(tmp_path / "slow.db", clock=gate) as store:
        beliefs = BeliefMemory(store, scopes=["project:{project}"], extractor=KeepsLines(), background=False)
        memory = make(memory=beliefs)
        await gate.passed_by(memory.aput(user("database: Use Postgres.")))
        assert "Postgres" in blocks(await gate.passed_by(memory.aget("Which database?")))[0]


# --- whose they are


async def test_one_memory_in_two_sessions_tells_each_user_his_own(make: Make, store: BeliefStore, mode: str) -> None:
    memory = make(user_id=None)
    fields = memory.model_dump(exclude={"primary_memory"})
    told: dict[str, str] = {}
    for name, cache in (("ada", "Redis"), ("bob", "Memcached")):
        with pss_session(user_id=name, session_id="s"):
            await call(mode, memory, "put", user(f"cache: Use {cache}."))
            (told[name],) = blocks(await call(mode, memory, "get", "Which cache?"))
    assert ("Redis" in told["ada"], "Memcached" in told["ada"]) == (True, False)
    assert ("Redis" in told["bob"], "Memcached" in told["bob"]) == (False, True)
    assert [len(live(store, one)) for one in (ADA, BOB)] == [1, 1]
    assert memory.model_dump(exclude={"primary_memory"}) == fields


async def test_the_session_is_seen_from_threads_tasks_and_the_loop(make: Make, store: BeliefStore) -> None:  # 21555
    store.put(ADA, new())
    memory = make(user_id=None)
    with pss_session(user_id="ada", session_id="s"), ThreadPoolExecutor(1) as pool:
        context = copy_context()
        told = [
            memory.get(ASK),
            await memory.aget(ASK),
            await asyncio.to_thread(memory.get, ASK),
            await asyncio.create_task(memory.aget(ASK)),
            pool.submit(context.run, memory.get, ASK).result(),
        ]
    assert [REDIS in blocks(messages)[0] for messages in told] == [True] * 5


async def test_without_a_user_nothing_is_told_and_nothing_kept(make: Make, store: BeliefStore, mode: str) -> None:
    memory = make(user_id=None)
    for name, args in (("get", ()), ("put", (user("database: Use Postgres."),))):
        with pytest.raises(MissingIdentity, match="user_id"):
            await call(mode, memory, name, *args)
        with pytest.raises(MissingIdentity), pss_session(user_id=None, session_id="s"):
            await call(mode, memory, name, *args)
    assert memory.get_all() == []


async def test_sources_that_disagree_are_refused(make: Make) -> None:
    with pss_session(user_id="bob", session_id="s"):
        for fields in ({}, {"user_id": None, "principal": ADA}):
            with pytest.raises(IdentityConflict, match="different user_ids"):
                make(**fields).get(ASK)
    with pytest.raises(IdentityConflict, match="the principal and user_id"):
        make(principal=BOB).get(ASK)


async def test_sources_that_agree_are_one(make: Make, store: BeliefStore) -> None:
    store.put(ADA, new())
    with pss_session(user_id="ada", session_id="s"):
        assert blocks(make(principal=ADA).get(ASK))
    assert blocks(make(principal=ADA, user_id=None).get(ASK))


async def test_a_team_has_its_own_beliefs_and_asks_who_acts(make: Make, store: BeliefStore, mode: str) -> None:
    store.grant(TEAM, ADA, "admin", actor=ADA)
    store.put(ADA, new())
    team = make(principal=TEAM)
    await call(mode, team, "put", user("queue: Use NATS."))
    assert [one.canonical_name for one in store.list(TEAM, actor=ADA)] == ["queue"]
    (block,) = blocks(await call(mode, team, "get", "Which queue, which redis_cache?"))
    assert ("NATS" in block, REDIS in block) == (True, False)
    with pytest.raises(MissingIdentity):
        await call(mode, make(principal=TEAM, user_id=None), "get", ASK)
    with pytest.raises(AccessDenied):
        await call(mode, make(principal=TEAM, user_id="bob"), "get", ASK)


def test_there_is_no_default_scope(store: BeliefStore, beliefs: BeliefMemory) -> None:  # LlamaIndex 16059, 7542
    with pytest.raises(InvalidInput, match="scopes"):
        BeliefMemory(store, scopes=[])
    with pytest.raises(InvalidInput, match=r"memory=BeliefMemory\(store, scopes"):
        BeliefStateMemory.from_defaults()
    with pytest.raises(InvalidInput, match="'project'"):
        BeliefStateMemory(memory=beliefs, user_id="ada")


def test_what_cannot_be_used_is_refused_at_once(make: Make, store: BeliefStore) -> None:
    with pytest.raises(MissingIdentity):
        make(user_id="")
    with pytest.raises(InvalidInput, match="blanks"):
        make(user_id=" ada")
    with pytest.raises(ValueError, match="userid"):
        make(userid="ada")
    with pytest.raises(ValueError, match="insert_method"):
        make(insert_method="tool")
    sidecars = BeliefMemory(store, scopes=["project:atlas"], extractor=SidecarExtractor())
    with pytest.raises(InvalidInput, match="SidecarLLM"):
        make(memory=sidecars)
    assert not make(memory=sidecars, observe=False).observe


async def test_by_defaults_it_stands_over_a_new_memory(beliefs: BeliefMemory, store: BeliefStore) -> None:
    memory = BeliefStateMemory.from_defaults(
        memory=beliefs, token_limit=700, user_id="ada", context={"project": "atlas"}
    )
    assert isinstance(memory.primary_memory, Memory)
    assert memory.primary_memory.token_limit == 700


def test_dumped_it_holds_no_belief_and_made_again_it_needs_them(
    make: Make, beliefs: BeliefMemory, store: BeliefStore
) -> None:
    store.put(ADA, new())
    memory = make(principal=ADA)
    assert memory.class_name() == memory.to_dict()["class_name"] == "BeliefStateMemory"
    assert "Redis" not in memory.to_json()
    data = memory.model_dump(exclude={"primary_memory"})
    again = BeliefStateMemory.from_dict(data, memory=beliefs, primary_memory=memory.primary_memory)
    assert again.get(ASK) == memory.get(ASK)
