"""The manager on the tiny backbone: isolation, durability, bad input, sync and async."""

import asyncio
import json
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import peft
import pytest
import torch
from tiny import MESSAGES, TARGETS, tiny_backbone, tiny_model

from pss_integrations.errors import (
    CompileInProgress,
    HistoryDiverged,
    InvalidInput,
    ManagerClosed,
    MissingIdentity,
    PSSError,
    StateCorrupt,
    StateMismatch,
    StateNotFound,
    StorageError,
    UnsupportedBackbone,
    WeightsNotFetched,
)
from pss_integrations.protocols import ClueReader
from pss_integrations.states import CompileConfig, StateConfig, StateManager
from pss_integrations.types import ClueTarget, Message, SessionKey

ADA = SessionKey(user_id="ada", session_id="s1")
MakeManager = Callable[..., StateManager]
QUICK = CompileConfig(lr_a=5e-3, lr_b=2e-2, max_epochs=60)
IDS = torch.arange(12).reshape(1, 12)


def targets_for(name: str) -> list[ClueTarget]:
    return [ClueTarget("now?", f"{name} kit-9", (f"{name} kit-7",)), ClueTarget("before?", f"{name} kit-7")]


def state_file(manager: StateManager, name: str = "adapter_model.safetensors") -> Path:
    info = manager.info(ADA)
    return manager._store.home(ADA) / info.state_id / name


def assert_untouched(manager: StateManager, base: torch.Tensor) -> None:
    engine = manager._worker.loaded
    assert engine is not None
    assert not any(engine.bank.bound)
    assert not any(engine.bank.vector(lane).any() for lane in range(len(engine.bank.bound)))
    with torch.no_grad():
        assert torch.equal(engine.backbone.model(IDS).logits, base)


@pytest.fixture
def base() -> torch.Tensor:
    with torch.no_grad():
        return tiny_backbone().model(IDS).logits


def test_compile_then_read(manager: StateManager, base: torch.Tensor) -> None:
    info = manager.compile(ADA, MESSAGES, targets=TARGETS)
    assert (info.messages, info.targets.count, info.targets.builder) == (3, 2, "explicit")
    assert info.write.confirmed
    clue = manager.read(ADA, "now?")
    assert (clue.text, clue.finished, clue.state_id) == ("Heron kit-9", True, info.state_id)
    assert clue.generated_tokens == len("Heron kit-9") + 2  # one byte a token, a leading space and the end
    assert clue.mean_logprob < 0
    assert isinstance(manager, ClueReader)
    assert_untouched(manager, base)


async def test_async_twins_give_the_same(manager: StateManager, tmp_path: Path) -> None:
    info = await manager.acompile(ADA, MESSAGES, targets=TARGETS)
    assert (await manager.ainfo(ADA)) == info
    assert await manager.aread(ADA, "now?") == manager.read(ADA, "now?")
    both = [(ADA, "now?"), (ADA, "before?")]
    assert await manager.aread_batch(both) == manager.read_batch(both)
    assert await manager.alist() == manager.list() == [info]
    assert (await manager.aexport(ADA, tmp_path / "out")).is_dir()
    more = [*MESSAGES, Message("user", "and kit-11 is next")]
    again = await manager.arecompile(ADA, more, targets=[ClueTarget("next?", "Heron kit-11")])
    assert again.parent == info.state_id
    assert await manager.adelete(ADA)
    assert not manager.has_state(ADA)


def test_a_batch_over_sessions_gives_what_single_reads_give(make_manager: MakeManager) -> None:
    manager = make_manager(read_lanes=2)
    keys = [SessionKey(None, f"s{i}") for i in range(5)]
    for i, key in enumerate(keys):
        manager.compile(key, MESSAGES, targets=targets_for(f"Heron{i}"))
    requests = [(key, query) for query in ("now?", "before?") for key in keys]
    assert [clue.text for clue in manager.read_batch(requests)] == [manager.read(*one).text for one in requests]
    assert manager.read(keys[3], "now?").text == "Heron3 kit-9"
    assert manager.read_batch([]) == []


def test_threads_and_tasks_read_their_own_session(manager: StateManager, base: torch.Tensor) -> None:
    """peft issues 804 and 973."""
    keys = [SessionKey("ada", f"s{i}") for i in range(8)]
    for i, key in enumerate(keys):
        manager.compile(key, MESSAGES, targets=targets_for(f"Crane{i}"))
    with ThreadPoolExecutor(8) as pool:
        clues = list(pool.map(lambda key: manager.read(key, "now?").text, keys * 3))
    assert clues == [f"Crane{i} kit-9" for i in range(8)] * 3

    async def all_at_once() -> list[str]:
        return [clue.text for clue in await asyncio.gather(*(manager.aread(key, "now?") for key in keys))]

    assert asyncio.run(all_at_once()) == asyncio.run(all_at_once()) == clues[:8]
    assert_untouched(manager, base)


def test_the_same_session_id_of_two_users_is_two_sessions(manager: StateManager) -> None:
    """langflow issue 13059."""
    keys = [SessionKey("ada", "s1"), SessionKey("bob", "s1"), SessionKey(None, "s1"), SessionKey("None", "s1")]
    for i, key in enumerate(keys):
        manager.compile(key, MESSAGES, targets=targets_for(f"Owl{i}"))
    assert [manager.read(key, "now?").text for key in keys] == [f"Owl{i} kit-9" for i in range(4)]
    assert [info.session_id for info in manager.list(user_id="bob")] == ["s1"]
    assert [info.user_id for info in manager.list(user_id=None)] == [None]
    assert len(manager.list()) == 4


@pytest.mark.parametrize("session_id", ["../../x", "a/b", ".", "CON", "名前", "x" * 2000, "a%b*"])
def test_ids_are_data_and_never_paths(manager: StateManager, session_id: str) -> None:
    key = SessionKey("ada", session_id)
    manager.compile(key, MESSAGES, targets=TARGETS)
    assert manager.info(key).session_id == session_id
    assert {path.name for path in manager.path.iterdir()} == {"states", "locks"}
    assert len(list((manager.path / "states").iterdir())) == 1


def test_an_error_in_a_read_leaves_nothing_bound(manager: StateManager, base: torch.Tensor) -> None:
    manager.compile(ADA, MESSAGES, targets=TARGETS)
    engine = manager._worker.loaded
    assert engine is not None

    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    handle = engine.backbone.model.model.layers[3].register_forward_pre_hook(fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        manager.read(ADA, "now?")
    handle.remove()
    assert_untouched(manager, base)
    assert manager.read(ADA, "now?").text == "Heron kit-9"


async def test_a_cancelled_compile_keeps_the_old_state(manager: StateManager, base: torch.Tensor) -> None:
    old = manager.compile(ADA, MESSAGES, targets=TARGETS)
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def tell(_: object) -> None:
        loop.call_soon_threadsafe(begun.set)

    task = asyncio.create_task(manager.acompile(ADA, MESSAGES, targets=targets_for("Ibis"), progress=tell))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert manager.read(ADA, "now?").text == "Heron kit-9"
    assert manager.info(ADA) == old
    assert_untouched(manager, base)
    manager.compile(ADA, MESSAGES, targets=targets_for("Ibis"))  # the lock is free again
    assert manager.read(ADA, "now?").text == "Ibis kit-9"


async def test_the_loop_ticks_on_during_compile_and_read(manager: StateManager) -> None:
    """LlamaIndex issue 21159: a coroutine that shares the loop gets its turns."""
    ticks = 0

    async def ticker() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(ticker())
    await manager.acompile(ADA, MESSAGES, targets=TARGETS)
    after_compile = ticks
    await manager.aread(ADA, "now?")
    ticking.cancel()
    assert after_compile > 10
    assert ticks > after_compile


def test_a_read_is_served_while_a_compile_runs(manager: StateManager) -> None:
    manager.compile(ADA, MESSAGES, targets=TARGETS)
    texts: list[str] = []
    stages: list[str] = []
    reading = threading.Event()

    def tell(event: object) -> None:
        if not stages:
            reader.start()
            assert reading.wait(10)
        stages.append("pass")

    def read() -> None:
        reading.set()
        texts.append(manager.read(ADA, "now?").text)
        stages.append("read")

    reader = threading.Thread(target=read)
    manager.compile(SessionKey("ada", "s2"), MESSAGES, targets=targets_for("Wren"), progress=tell)
    reader.join()
    assert texts == ["Heron kit-9"]
    assert stages.index("read") < len(stages) - 1


def test_recompile_goes_on_and_replays(manager: StateManager) -> None:
    first = manager.compile(ADA, MESSAGES, targets=TARGETS)
    more = [*MESSAGES, Message("user", "kit-9 failed, Heron runs on kit-11")]
    assert manager.messages_behind(ADA, more) == manager.messages_behind(ADA, more[2:]) == 1
    second = manager.recompile(ADA, more, targets=[ClueTarget("Now?", "Heron kit-11", ("Heron kit-9",))])
    assert (second.parent, second.messages, second.targets.count) == (first.state_id, 4, 2)
    assert second.write.history_tokens < first.write.history_tokens
    assert [manager.read(ADA, q).text for q in ("Now?", "before?")] == ["Heron kit-11", "Heron kit-7"]


def test_a_recompile_costs_in_proportion_to_what_is_new(make_manager: MakeManager) -> None:
    known = [ClueTarget(f"{word}?", f"{word} kit-{i}") for i, word in enumerate("owl ibis wren kite rook teal".split())]
    manager = make_manager(config=replace(QUICK, history_steps=0, batch_size=2))
    first = manager.compile(ADA, MESSAGES, targets=known)
    more = [*MESSAGES, Message("user", "the gull has kit-11")]
    second = manager.recompile(ADA, more, targets=[*known, ClueTarget("gull?", "gull kit-11")])
    assert (first.write.confirmed, second.write.confirmed, second.targets.count) == (True, True, 7)
    passes = len(second.write.target_losses)
    assert second.write.steps <= 3 * passes  # all seven targets would take four batches of two
    assert [manager.read(ADA, t.request).text for t in known] == [t.clue for t in known]


def test_a_recompile_without_new_targets_keeps_the_old_ones(manager: StateManager) -> None:
    manager.compile(ADA, MESSAGES, targets=TARGETS)
    info = manager.recompile(ADA, [*MESSAGES, Message("user", "thanks")], targets=[])
    assert (info.write.confirmed, info.targets.count) == (True, 2)
    assert manager.read(ADA, "now?").text == "Heron kit-9"


def test_a_recompile_behind_a_rollback_does_not_go_on_from_another_history(manager: StateManager) -> None:
    manager.compile(ADA, [Message("user", "Crane is on deck 4."), Message("user", "And idle.")], targets=TARGETS)
    manager.compile(ADA, MESSAGES, targets=TARGETS)
    more = [*MESSAGES, Message("user", "thanks")]
    held, opened = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        held.set()
        assert opened.wait(10)

    with ThreadPoolExecutor(2) as pool:
        busy = pool.submit(manager.compile, SessionKey("ada", "busy"), MESSAGES, targets=TARGETS, progress=hold)
        assert held.wait(10)
        queued = manager._submit_write(ADA, manager._prepare(ADA, more, TARGETS, True, None))
        rolled = pool.submit(manager.rollback, ADA)
        opened.set()
        rolled.result(10)
        with pytest.raises(HistoryDiverged):
            queued.result(10)
        busy.result(10)


def test_recompile_notices_an_edited_or_forked_history(manager: StateManager) -> None:
    manager.compile(ADA, MESSAGES, targets=TARGETS)
    for changed in (MESSAGES[:2], MESSAGES[::-1], [replace(MESSAGES[0], text="edited"), *MESSAGES[1:]]):
        with pytest.raises(HistoryDiverged, match="compile the session afresh"):
            manager.recompile(ADA, changed, targets=TARGETS)
    with pytest.raises(StateNotFound):
        manager.recompile(SessionKey("ada", "new"), MESSAGES, targets=TARGETS)


@pytest.mark.parametrize("keep", ["none", "targets", "history"])
def test_only_the_text_that_was_asked_for_is_kept(make_manager: MakeManager, keep: str) -> None:
    manager = make_manager(config=replace(QUICK, keep_text=keep))
    manager.compile(ADA, MESSAGES, targets=TARGETS)
    stored = b"".join(path.read_bytes() for path in manager.path.rglob("*") if path.is_file())
    assert (b"kit-9" in stored) == (keep != "none")
    assert (b"kit is retired" in stored) == (keep == "history")


def test_delete_leaves_no_byte_of_the_session(make_manager: MakeManager) -> None:
    manager = make_manager(config=replace(QUICK, keep_text="history"))
    manager.compile(ADA, MESSAGES, targets=TARGETS)
    manager.read(ADA, "now?")
    assert manager.delete(ADA)
    assert not manager.delete(ADA)
    with pytest.raises(StateNotFound, match="'s1' of user 'ada'"):
        manager.read(ADA, "now?")
    assert list((manager.path / "states").iterdir()) == []
    assert manager.list() == []


def test_states_survive_the_manager_and_the_process(make_manager: MakeManager, tmp_path: Path) -> None:
    written = make_manager()
    info = written.compile(ADA, MESSAGES, targets=TARGETS)
    written.close()
    read = make_manager()
    assert read.info(ADA) == info
    assert read.read(ADA, "now?").text == "Heron kit-9"


def test_an_export_is_a_peft_adapter(manager: StateManager, tmp_path: Path) -> None:
    manager.compile(ADA, MESSAGES, targets=TARGETS)
    out = manager.export(ADA, tmp_path / "out")
    assert sorted(path.name for path in out.iterdir()) == ["adapter_config.json", "adapter_model.safetensors"]
    config = json.loads((out / "adapter_config.json").read_text())
    assert (config["r"], config["bias"], config["modules_to_save"]) == (4, "none", None)
    model = peft.PeftModel.from_pretrained(tiny_model().eval(), out)
    assert len([name for name, _ in model.named_parameters() if "lora_" in name]) == 2 * 7 * 2
    with pytest.raises(InvalidInput, match="not an empty directory"):
        manager.export(ADA, out)


# --- bad input: a clear error of our own, before any work, and nothing half-written


def no_files(manager: StateManager) -> bool:
    return not any(path.is_file() for path in (manager.path / "states").rglob("*"))


@pytest.mark.parametrize(
    ("messages", "targets", "match"),
    [
        ([], TARGETS, "no messages"),
        ([Message("user", " \n")], TARGETS, "blank"),
        (MESSAGES, [ClueTarget("now?", "x" * 80)], "at most 63"),
        (MESSAGES, [ClueTarget("now?", "a"), ClueTarget("now?", "b")], "two clues"),
        (MESSAGES, ["no target"], "ClueTarget"),
        ([{"role": "user", "content": "hi"}], TARGETS, r"Message\(role, text\)"),
        ([Message("user", "hello there"), Message("assistant", "hi")], None, "nothing that a follow-up could refer to"),
    ],
)
def test_bad_sessions_are_refused(
    manager: StateManager, messages: list[Message], targets: list[ClueTarget], match: str
) -> None:
    with pytest.raises(InvalidInput, match=match):
        manager.compile(ADA, messages, targets=targets)
    assert no_files(manager)
    manager.compile(ADA, MESSAGES, targets=TARGETS)  # and the session is not blocked


def test_nothing_to_compile_is_refused(make_manager: MakeManager) -> None:
    with pytest.raises(InvalidInput, match="nothing to compile"):
        make_manager(config=replace(QUICK, history_steps=0)).compile(ADA, MESSAGES, targets=[])


@pytest.mark.parametrize("session_id", ["", None])
def test_a_missing_session_id_is_refused(session_id: str | None) -> None:
    with pytest.raises(MissingIdentity):
        SessionKey(user_id="ada", session_id=session_id)


@pytest.mark.parametrize("bad", ["a\0b", "\ud800", 7])
def test_ids_that_cannot_be_stored_are_refused(bad: object) -> None:
    with pytest.raises(InvalidInput):
        SessionKey(user_id="ada", session_id=bad)


def test_an_unknown_role_is_refused() -> None:
    with pytest.raises(InvalidInput, match="use one of user, assistant, system, tool"):
        Message("robot", "hi")


def test_an_unknown_session_is_named(manager: StateManager) -> None:
    for call in (manager.info, lambda key: manager.read(key, "now?"), lambda key: manager.export(key, "x")):
        with pytest.raises(StateNotFound, match="no state was compiled for session 's1'"):
            call(ADA)


def test_an_endless_query_is_refused(manager: StateManager) -> None:
    manager.compile(ADA, MESSAGES, targets=TARGETS)
    with pytest.raises(InvalidInput, match="the query has 2020 tokens"):
        manager.read(ADA, "x" * 1998)
    with pytest.raises(InvalidInput, match="must be a string"):
        manager.read(ADA, None)
    with pytest.raises(InvalidInput, match=r"SessionKey\(user_id"):
        manager.read("s1", "now?")


def test_states_of_another_backbone_or_shape_are_refused(make_manager: MakeManager) -> None:
    make_manager().compile(ADA, MESSAGES, targets=TARGETS)
    with pytest.raises(StateMismatch, match="was compiled for backbone tiny-llama"):
        make_manager(backbone=tiny_backbone(seed=1)).read(ADA, "now?")
    with pytest.raises(StateMismatch, match="configuration"):
        make_manager(state=StateConfig(rank=2, layers=2)).read(ADA, "now?")


@pytest.mark.parametrize("damage", ["truncate", "flip", "remove", "manifest", "current", "swap"])
def test_damaged_files_are_noticed(make_manager: MakeManager, damage: str) -> None:
    manager = make_manager()
    manager.compile(ADA, MESSAGES, targets=TARGETS)
    adapter, manifest = state_file(manager), state_file(manager, "manifest.json")
    data = adapter.read_bytes()
    if damage == "truncate":
        adapter.write_bytes(data[:-10])
    elif damage == "flip":
        adapter.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    elif damage == "remove":
        adapter.unlink()
    elif damage == "manifest":
        manifest.write_text(manifest.read_text().replace("kit-9", "kit-6"))
    elif damage == "current":
        (adapter.parents[1] / "current").write_text("../elsewhere")
    else:  # another user's state, moved under this session's name
        other = SessionKey("bob", "s1")
        manager.compile(other, MESSAGES, targets=targets_for("Secret"))
        home = manager.path / "states"
        os.rename(manager._store.home(ADA), home / "gone")
        os.rename(manager._store.home(other), manager._store.home(ADA))
    manager.close()
    with pytest.raises(StateCorrupt):
        make_manager().read(ADA, "now?")


def test_two_compiles_of_one_session_in_one_process(manager: StateManager) -> None:
    refused: list[PSSError] = []

    def again(_: object) -> None:
        try:
            manager._submit_write(ADA, manager._prepare(ADA, MESSAGES, TARGETS, False, None))
        except CompileInProgress as error:
            refused.append(error)

    manager.compile(ADA, MESSAGES, targets=TARGETS, progress=again)
    assert "is being compiled already" in str(refused[0])


def hold_lock(path: str, held: "multiprocessing.synchronize.Event", done: "multiprocessing.synchronize.Event") -> None:
    from pss_integrations.states.store import StateStore

    with StateStore(Path(path)).lock(ADA):
        held.set()
        done.wait(30)


def test_two_compiles_of_one_session_in_two_processes(manager: StateManager) -> None:
    context = multiprocessing.get_context("spawn")
    held, done = context.Event(), context.Event()
    other = context.Process(target=hold_lock, args=(str(manager.path), held, done))
    other.start()
    assert held.wait(60)
    with pytest.raises(CompileInProgress, match="elsewhere"):
        manager.compile(ADA, MESSAGES, targets=TARGETS)
    done.set()
    other.join()
    manager.compile(ADA, MESSAGES, targets=TARGETS)


def test_a_directory_that_cannot_be_written_is_noticed_before_work(make_manager: MakeManager, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    manager = make_manager(tmp_path / "file")
    with pytest.raises(StorageError, match="cannot be written"):
        manager.compile(ADA, MESSAGES, targets=TARGETS)
    assert manager._worker.loaded is None


def test_a_full_disk_leaves_the_old_state_and_nothing_half_written(
    manager: StateManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = manager.compile(ADA, MESSAGES, targets=TARGETS)
    real = os.fsync

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        manager.compile(ADA, MESSAGES, targets=targets_for("Ibis"))
    monkeypatch.setattr(os, "fsync", real)
    assert manager.info(ADA) == old
    assert len(list(manager._store.home(ADA).iterdir())) == 2


def test_what_is_no_model_is_said(make_manager: MakeManager, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for backbone in (tmp_path / "empty", tmp_path / "absent", "no-such/model"):
        with pytest.raises(UnsupportedBackbone, match="cannot be loaded as a causal LM"):
            make_manager(backbone=backbone).compile(ADA, MESSAGES, targets=TARGETS)


def test_weights_that_were_not_fetched_are_named(
    make_manager: MakeManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSS_CACHE", str(tmp_path / "cache"))
    with pytest.raises(WeightsNotFetched, match="pssi models fetch"):
        make_manager(backbone=None).compile(ADA, MESSAGES, targets=TARGETS)


def test_a_closed_manager_says_so(manager: StateManager) -> None:
    with manager:
        manager.compile(ADA, MESSAGES, targets=TARGETS)
    with pytest.raises(ManagerClosed):
        manager.read(ADA, "now?")
