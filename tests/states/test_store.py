"""Where states lie, lists of them page by page, and files that were changed after they had been checked."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from weakref import ref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import MESSAGES, TARGETS

from pss_integrations.errors import InvalidInput, StateCorrupt, StateNotFound
from pss_integrations.states import CompileConfig, StateConfig, StateManager
from pss_integrations.states.manifest import BackboneInfo, Cursor, StateInfo, TargetInfo, WriteInfo
from pss_integrations.states.store import ADAPTER, CURRENT, MANIFEST, StateStore
from pss_integrations.states.targets import ExplicitTargets
from pss_integrations.types import SessionKey

ADA, BOB = SessionKey("ada", "s"), SessionKey("bob", "s")
ADAPTER_BYTES = b"a state, for all that the store knows"
HOSTILE = ["a/b", "..", ".", "a", "b", "ab", "None", "null", '"null"', "名前", "x" * 3000, "current", "%00", "[]"]


def saved(store: StateStore, key: SessionKey, adapter: bytes = ADAPTER_BYTES) -> StateInfo:
    info = StateInfo(
        user_id=key.user_id,
        session_id=key.session_id,
        backbone=BackboneInfo(name="none", fingerprint="0"),
        state=StateConfig().to_dict(),
        compile=CompileConfig().to_dict(),
        cursor=Cursor.after(MESSAGES),
        targets=TargetInfo.of(ExplicitTargets(TARGETS), TARGETS, "targets"),
        write=WriteInfo(
            history_tokens=9,
            windows=1,
            window_tokens=9,
            history_losses=(1.0,),
            target_losses=(2.0, 0.5),
            reproduced=2,
            confirmed=True,
            steps=3,
            seconds=0.5,
            versions={},
        ),
        adapter_sha256=sha256(adapter).hexdigest(),
        adapter_bytes=len(adapter),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return store.save(info, adapter, {"peft_type": "LORA"})


def aged(path: Path) -> None:
    """Make files look as if they had been written long ago: what was just written is read again each time."""
    for file in path.rglob("*"):
        os.utime(file, (1e9, 1e9))


@pytest.fixture(scope="module", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture
def store(tmp_path: Path) -> StateStore:
    return StateStore(tmp_path)


ids = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
keys = st.builds(SessionKey, st.none() | ids, ids)


class TestLayout:
    def test_the_drawing_is_true(self, store: StateStore) -> None:
        info = saved(store, ADA)
        found = {path.relative_to(store.home(ADA)).as_posix() for path in store.home(ADA).rglob("*")}
        state = {f"{info.state_id}/{name}" for name in (ADAPTER, "adapter_config.json", MANIFEST)}
        assert found == {CURRENT, info.state_id, *state}
        assert (store.home(ADA) / CURRENT).read_text() == info.state_id
        states, user, session = store.home(ADA).relative_to(store.root).parts
        assert (states, len(user), session) == ("states", 40, ADA.digest)

    @given(keys, keys)
    def test_no_two_sessions_share_a_directory_and_a_user_has_one(self, one: SessionKey, other: SessionKey) -> None:
        store = StateStore(Path("home"))
        here, there = store.home(one), store.home(other)
        assert (here == there) == (one == other)
        assert (here.parent == there.parent) == (one.user_id == other.user_id)
        assert [len(name) for name in here.relative_to("home/states").parts] == [40, 64]

    def test_no_directory_of_a_user_stays_empty(self, store: StateStore) -> None:
        saved(store, ADA)
        other = saved(store, SessionKey("ada", "t"))
        saved(store, BOB)
        for key in (ADA, BOB):
            assert store.delete(key)
        assert list((store.root / "states").iterdir()) == [store.home(ADA).parent]
        assert [info.session_id for info in store.all(user_id="ada")] == ["t"]
        store.remove(other)
        assert list((store.root / "states").iterdir()) == []

    def test_what_was_moved_to_another_user_or_session_is_not_shown(self, store: StateStore) -> None:
        saved(store, ADA)
        for key in (BOB, SessionKey("ada", "t")):
            shutil.copytree(store.home(ADA), store.home(key))
            with pytest.raises(StateCorrupt, match="altered or moved"):
                store.info(key)
        assert [info.key for info in store.all()] == [ADA]
        assert list(store.all(user_id="bob")) == store.versions(BOB) == []
        assert store.sessions() == [ADA]

    def test_another_layout_is_neither_read_nor_touched(self, store: StateStore) -> None:
        saved(store, ADA)
        flat = store.root / "states" / ADA.digest
        store.home(ADA).rename(flat)
        assert list(store.all()) == store.sessions() == store.versions(ADA) == []
        with pytest.raises(StateNotFound):
            store.info(ADA)
        assert not store.delete(ADA)
        assert (flat / CURRENT).exists()

    @pytest.mark.parametrize("name", ["", "../elsewhere", "/", "f" * 40, "ü", "\n"])
    def test_what_names_no_state_is_damage(self, store: StateStore, name: str) -> None:
        saved(store, ADA)
        saved(store, BOB)
        (store.home(ADA) / CURRENT).write_text(name, encoding="utf-8")
        with pytest.raises(StateCorrupt):
            store.info(ADA)
        assert [info.key for info in store.all()] == [BOB]

    def test_no_session_is_pointed_to_another_ones_state(self, store: StateStore) -> None:
        saved(store, ADA)
        saved(store, BOB)
        (store.home(ADA) / CURRENT).write_text(os.path.relpath(store.directory(BOB), store.home(ADA)))
        with pytest.raises(StateCorrupt, match="no name of a state"):
            store.directory(ADA)


def pages(manager: StateManager, limit: int, **options: str | None) -> Iterator[list[StateInfo]]:
    after = None
    while page := manager.list(limit=limit, after=after, **options):
        assert len(page) <= limit
        assert after not in [info.key for info in page]
        yield page
        after = page[-1].key


def keys_of(found: Iterable[Iterable[StateInfo]]) -> list[SessionKey]:
    return [info.key for page in found for info in page]


class TestPages:
    @settings(max_examples=40)
    @given(st.sets(keys, max_size=9), st.integers(1, 10))
    def test_pages_hold_each_session_once_and_each_user_only_their_own(
        self, tmp_path_factory: pytest.TempPathFactory, sessions: set[SessionKey], limit: int
    ) -> None:
        with StateManager(tmp_path_factory.mktemp("states")) as manager:
            for key in sessions:
                saved(manager._store, key)
            found = keys_of(pages(manager, limit))
            assert found == keys_of([manager.list()])
            assert sorted(found, key=repr) == sorted(sessions, key=repr)
            for user in [None, "None", *(key.user_id for key in sessions)]:
                mine = keys_of(pages(manager, limit, user_id=user))
                assert mine == [key for key in found if key.user_id == user and type(key.user_id) is type(user)]

    @settings(max_examples=40)
    @given(st.sets(keys, min_size=1, max_size=6), st.sets(keys, max_size=6), st.integers(1, 3))
    def test_states_that_come_and_go_move_no_other_to_another_page(
        self, tmp_path_factory: pytest.TempPathFactory, sessions: set[SessionKey], later: set[SessionKey], limit: int
    ) -> None:
        with StateManager(tmp_path_factory.mktemp("states")) as manager:
            for key in sessions:
                saved(manager._store, key)
            walk = pages(manager, limit)
            found = keys_of([next(walk)])
            for key in later - sessions:
                saved(manager._store, key)
            manager._store.delete(found[-1])  # the page that comes next begins after it all the same
            found += keys_of(walk)
            assert sessions <= set(found) <= sessions | later
            assert len(found) == len(set(found))

    def test_a_page_reads_its_own_manifests_and_no_others(self, store: StateStore) -> None:
        for user in range(5):
            for session in range(4):
                saved(store, SessionKey(f"user-{user}", f"session-{session}"))
        with StateManager(store.root) as manager:
            manifests = manager._store.manifests
            first = manager.list(limit=7)
            assert manifests.reads == 7
            assert len(manager.list(limit=7, after=first[-1].key)) == 7
            assert manifests.reads == 14
        with StateManager(store.root) as manager:
            assert {info.user_id for info in manager.list(user_id="user-2")} == {"user-2"}
            assert manager._store.manifests.reads == 4

    async def test_the_async_twin_does_the_same(self, tmp_path: Path) -> None:
        with StateManager(tmp_path) as manager:
            for key in (ADA, BOB):
                saved(manager._store, key)
            first, second = manager.list()
            assert await manager.alist(limit=1) == [first]
            assert await manager.alist(limit=2, after=first.key) == [second]
            assert await manager.alist(user_id="bob") == manager.list(user_id="bob")

    def test_pages_that_cannot_be_are_refused(self, tmp_path: Path) -> None:
        with StateManager(tmp_path) as manager:
            for limit in (0, -1):
                with pytest.raises(InvalidInput, match="at least 1"):
                    manager.list(limit=limit)
            with pytest.raises(InvalidInput, match="a session of user 'bob', the list is of user 'ada'"):
                manager.list(user_id="ada", after=BOB)
            with pytest.raises(InvalidInput, match="user 'None', the list is of user None"):
                manager.list(user_id=None, after=SessionKey("None", "s"))


class TestChecked:
    def test_what_was_checked_is_not_read_again(self, store: StateStore) -> None:
        for key in (ADA, BOB):
            saved(store, key)
        aged(store.root)
        once = list(store.all())
        reads = store.manifests.reads
        assert list(store.all()) == once
        assert [store.info(info.key) for info in once] == once
        assert store.manifests.reads == reads

    def test_a_manifest_that_is_altered_after_it_was_checked_is_refused(self, store: StateStore) -> None:
        info = saved(store, ADA)
        saved(store, BOB)
        aged(store.root)
        list(store.all())
        path = store.home(ADA) / info.state_id / MANIFEST
        path.write_text(path.read_text().replace("kit-9", "kit-6"))
        with pytest.raises(StateCorrupt, match="altered"):
            store.info(ADA)
        assert [info.key for info in store.all()] == [BOB]

    def test_an_adapter_is_hashed_once(self, store: StateStore) -> None:
        info = saved(store, ADA)
        aged(store.root)
        assert {store.adapter(info).read_bytes() for _ in range(3)} == {ADAPTER_BYTES}
        assert store.digests.reads == 1

    @pytest.mark.parametrize("long_ago", [True, False])
    @pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data[:-1] + b"!", lambda data: b""])
    def test_an_adapter_that_is_altered_after_it_was_checked_is_refused(
        self, store: StateStore, change: Callable[[bytes], bytes], long_ago: bool
    ) -> None:
        info = saved(store, ADA)
        if long_ago:
            aged(store.root)
        path = store.adapter(info)
        path.write_bytes(change(ADAPTER_BYTES))
        with pytest.raises(StateCorrupt, match="not what was written"):
            store.adapter(info)
        path.write_bytes(ADAPTER_BYTES)
        assert store.adapter(info) == path
        path.unlink()
        with pytest.raises(StateCorrupt, match="cannot be read"):
            store.adapter(info)

    def test_an_export_of_an_altered_state_is_refused(self, store: StateStore, tmp_path: Path) -> None:
        store.adapter(saved(store, ADA)).write_bytes(b"other")
        with pytest.raises(StateCorrupt):
            store.export(ADA, tmp_path / "out")
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("whole", [True, False])
    def test_what_is_removed_is_forgotten(self, store: StateStore, whole: bool) -> None:
        for key in (ADA, BOB):
            saved(store, key)
        aged(store.root)
        for key in (ADA, BOB):
            store.adapter(store.info(key))
        if whole:
            store.delete(ADA)
        else:
            store.remove(store.info(ADA))
        assert (len(store.manifests), len(store.digests)) == (1, 1)
        with pytest.raises(StateNotFound):
            store.info(ADA)
        reads = store.manifests.reads
        assert store.info(BOB).key == BOB
        assert store.manifests.reads == reads

    def test_a_rollback_elsewhere_is_seen_at_once(self, store: StateStore) -> None:
        first, second = (saved(store, ADA, adapter) for adapter in (b"one", b"two"))
        aged(store.root)
        assert store.info(ADA) == second
        StateStore(store.root).use(first)
        assert store.info(ADA) == first
        assert list(store.all()) == [first]


class TestMemory:
    """What is in memory does not hang on the files, and is no more than asked for."""

    def test_a_state_is_read_on_when_its_file_is_cut_or_gone(self, make_manager: Callable[..., StateManager]) -> None:
        make_manager().compile(ADA, MESSAGES, targets=TARGETS)
        manager = make_manager()
        assert manager.read(ADA, "now?").text == "Heron kit-9"
        path = manager._store.adapter(manager.info(ADA))
        os.truncate(path, 0)
        assert manager.read(ADA, "before?").text == "Heron kit-7"
        path.unlink()
        assert manager.read(ADA, "and before?").state_id == manager.info(ADA).state_id

    def test_an_altered_state_is_not_loaded_again(self, make_manager: Callable[..., StateManager]) -> None:
        make_manager().compile(ADA, MESSAGES, targets=TARGETS)
        manager = make_manager()
        manager.read(ADA, "now?")
        path = manager._store.adapter(manager.info(ADA))
        path.write_bytes(path.read_bytes()[:-1] + b"!")
        engine = manager._worker.loaded
        assert engine is not None
        engine.forget(ADA)
        with pytest.raises(StateCorrupt):
            manager.read(ADA, "now?")

    def test_no_more_states_stay_than_fit(self, make_manager: Callable[..., StateManager]) -> None:
        sessions = [SessionKey("ada", str(at)) for at in range(4)]
        for key in sessions:
            make_manager().compile(key, MESSAGES, targets=TARGETS)
        engine = make_manager()._worker.engine()
        limit = 5 * engine.bank.layout.numel * engine.backbone.dtype.itemsize // 2
        manager = make_manager(resident_bytes=limit)
        engine, store = manager._worker.engine(), manager._store
        loaded = [ref(engine.vector(store.info(key), store)) for key in sessions]
        held = [vector.untyped_storage().nbytes() for one in loaded if (vector := one()) is not None]
        assert len(held) == 2
        assert sum(held) <= limit


# --- another process is faster


class Overtaken(StateStore):
    """Another process does something right after the first look at which state is in use."""

    def __init__(self, root: Path, act: Callable[[], object]) -> None:
        super().__init__(root)
        self.acts = [act]

    def directory(self, key: SessionKey) -> Path:
        found = super().directory(key)
        while self.acts:
            self.acts.pop()()
        return found


def test_a_state_that_is_deleted_while_it_is_looked_up_is_not_there(store: StateStore) -> None:
    saved(store, ADA)
    with pytest.raises(StateNotFound):
        Overtaken(store.root, lambda: store.delete(ADA)).info(ADA)


def test_where_a_state_is_pruned_while_it_is_looked_up_its_successor_is_found(store: StateStore) -> None:
    old = saved(store, ADA)

    def replace_it() -> None:
        saved(store, ADA, b"a newer state")
        store.remove(old)

    info = Overtaken(store.root, replace_it).info(ADA)
    assert (info, info.state_id != old.state_id) == (store.info(ADA), True)
