"""Earlier states, limits, another backbone, and text that is taken out before anything is made of it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import MESSAGES, TARGETS, tiny_backbone

from pss_integrations.errors import InvalidInput, StateMismatch, StateNotFound
from pss_integrations.states import CompileConfig, StateConfig, StateManager
from pss_integrations.states.manifest import StateInfo
from pss_integrations.states.redaction import redacted, redacted_targets
from pss_integrations.states.upkeep import to_prune
from pss_integrations.types import ClueTarget, Message, SessionKey

MakeManager = Callable[..., StateManager]
ADA, BOB = SessionKey("ada", "s"), SessionKey("bob", "s")
NEXT = ClueTarget("next?", "Heron kit-11")
MORE = (*MESSAGES, Message("user", "and kit-11 is next"))


def files_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file())


class TestRollback:
    def test_it_goes_back_to_what_the_current_state_went_on_from(self, manager: StateManager) -> None:
        first = manager.compile(ADA, MESSAGES, targets=TARGETS)
        second = manager.recompile(ADA, MORE, targets=[NEXT])
        assert [info.state_id for info in manager.versions(ADA)] == [second.state_id, first.state_id]
        assert manager.rollback(ADA) == first == manager.info(ADA)
        assert manager.read(ADA, "now?").state_id == first.state_id
        assert manager.rollback(ADA, second.state_id) == second == manager.info(ADA)

    def test_without_a_parent_it_goes_to_the_newest_older_one(self, manager: StateManager) -> None:
        states = [manager.compile(ADA, MESSAGES[: at + 1], targets=TARGETS) for at in range(3)]
        assert manager.rollback(ADA) == states[1]
        assert manager.rollback(ADA) == states[0]
        with pytest.raises(StateNotFound, match="no earlier state"):
            manager.rollback(ADA)

    def test_the_same_content_compiled_again_counts_as_the_newest(self, manager: StateManager) -> None:
        first = manager.compile(ADA, MESSAGES, targets=TARGETS)
        second = manager.compile(ADA, MESSAGES[:2], targets=TARGETS)
        assert manager.compile(ADA, MESSAGES, targets=TARGETS).state_id == first.state_id
        assert manager.rollback(ADA).state_id == second.state_id

    def test_a_state_that_is_not_there_is_said(self, manager: StateManager) -> None:
        manager.compile(ADA, MESSAGES, targets=TARGETS)
        with pytest.raises(StateNotFound, match="no state deadbeef"):
            manager.rollback(ADA, "deadbeef")
        with pytest.raises(StateNotFound, match="no state was compiled"):
            manager.rollback(BOB)
        assert manager.versions(BOB) == []

    async def test_the_async_twin_does_the_same(self, manager: StateManager) -> None:
        first = manager.compile(ADA, MESSAGES, targets=TARGETS)
        manager.recompile(ADA, MORE, targets=[NEXT])
        assert await manager.arollback(ADA) == first


class TestPrune:
    def test_superseded_states_go_before_current_ones(self, manager: StateManager) -> None:
        first = manager.compile(ADA, MESSAGES, targets=TARGETS)
        second = manager.recompile(ADA, MORE, targets=[NEXT])
        third = manager.compile(BOB, MESSAGES, targets=TARGETS)
        size = first.adapter_bytes
        assert manager.prune(max_bytes=3 * size) == []
        assert manager.prune(max_bytes=2 * size) == [first]
        assert manager.prune(max_bytes=size) == [second]
        assert not manager.has_state(ADA)
        assert manager.list() == [third]
        assert manager.read(BOB, "now?").text == "Heron kit-9"

    def test_what_was_pruned_is_in_no_file_and_not_read_from_memory(self, manager: StateManager) -> None:
        info = manager.compile(ADA, MESSAGES, targets=TARGETS)
        manager.read(ADA, "now?")
        assert manager.prune(max_age=timedelta()) == [info]
        with pytest.raises(StateNotFound):
            manager.read(ADA, "now?")
        assert b"Heron" not in files_of(manager.path)

    def test_a_session_that_is_being_compiled_is_left_alone(self, manager: StateManager) -> None:
        manager.compile(ADA, MESSAGES, targets=TARGETS)
        with manager._store.lock(ADA):
            assert manager.prune(max_bytes=0) == []
        assert manager.has_state(ADA)

    async def test_the_async_twin_does_the_same(self, manager: StateManager) -> None:
        info = manager.compile(ADA, MESSAGES, targets=TARGETS)
        assert await manager.aprune(max_bytes=0) == [info]

    @pytest.mark.parametrize(
        "limits",
        [{}, {"max_bytes": -1}, {"max_age": timedelta(seconds=-1)}, {"max_bytes": 1, "max_age": -timedelta(1)}],
    )
    def test_limits_that_say_nothing_are_refused(self, manager: StateManager, limits: dict[str, object]) -> None:
        with pytest.raises(InvalidInput, match=r"prune|negative"):
            manager.prune(**limits)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> StateInfo:
    shape, quick = StateConfig(rank=4, alpha=8, layers=2), CompileConfig(max_epochs=1)
    with StateManager(tmp_path_factory.mktemp("s"), backbone=tiny_backbone(), state=shape, config=quick) as manager:
        return manager.compile(ADA, MESSAGES, targets=TARGETS)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5), st.booleans()), max_size=12),
    st.integers(0, 30) | st.none(),
    st.integers(0, 10) | st.none(),
)
def test_pruning_meets_the_limits_and_takes_no_more_than_needed(
    manifest: StateInfo, states: list[tuple[int, int, bool]], most: int | None, days: int | None
) -> None:
    now = datetime(2026, 1, 10, tzinfo=UTC)
    known = [
        (
            manifest.model_copy(
                update={"created_at": now - timedelta(days=age), "adapter_bytes": size, "state_id": f"{at:03}"}
            ),
            current,
        )
        for at, (age, size, current) in enumerate(states)
    ]
    if most is None and days is None:
        return
    limit = None if days is None else timedelta(days=days)
    gone = to_prune(known, max_bytes=most, max_age=limit, now=now)
    left = [(info, current) for info, current in known if info not in gone]
    assert most is None or sum(info.adapter_bytes for info, _ in left) <= most or not left
    assert days is None or all((now - info.created_at).days <= days for info, _ in left)
    for info in gone:
        is_old = days is not None and (now - info.created_at).days > days
        rest = sum(one.adapter_bytes for one, _ in left) + info.adapter_bytes
        assert is_old or (most is not None and rest > most) or gone[-1] != info


class TestMigrate:
    def test_states_of_another_backbone_are_written_again_from_their_text(self, make_manager: MakeManager) -> None:
        keeping = CompileConfig(lr_a=5e-3, lr_b=2e-2, max_epochs=60, keep_text="history")
        old = make_manager(config=keeping).compile(ADA, MESSAGES, targets=TARGETS)
        kept_less = make_manager().compile(BOB, MESSAGES, targets=TARGETS)
        new = make_manager(backbone=tiny_backbone(seed=9), config=keeping)
        with pytest.raises(StateMismatch):
            new.read(ADA, "now?")
        found = new.migrate()
        assert [info.key for info in found.migrated] == [ADA]
        assert [(info, "keep_text" in why) for info, why in found.impossible] == [(kept_less, True)]
        assert new.info(ADA).cursor == old.cursor
        assert new.read(ADA, "now?").text == "Heron kit-9"

    async def test_states_of_this_backbone_are_left_alone(self, manager: StateManager) -> None:
        info = manager.compile(ADA, MESSAGES, targets=TARGETS)
        found = await manager.amigrate()
        assert (found.migrated, found.impossible) == ((), ())
        assert manager.info(ADA) == info


class TestRedaction:
    @staticmethod
    def redact(text: str) -> str:
        return text.replace("kit-7", "***")

    @pytest.mark.parametrize("keep", ["targets", "history"])
    def test_what_is_taken_out_is_neither_compiled_nor_kept(self, make_manager: MakeManager, keep: str) -> None:
        config = CompileConfig(lr_a=5e-3, lr_b=2e-2, max_epochs=60, keep_text=keep)  # type: ignore[arg-type]
        manager = make_manager(redact=self.redact, config=config)
        info = manager.compile(ADA, MESSAGES, targets=TARGETS)
        assert info.targets.kept == (
            ("now?", "Heron kit-9", ("Heron ***",)),
            ("before?", "Heron ***", ("Heron kit-9",)),
        )
        assert manager.read(ADA, "before?").text == "Heron ***"
        assert b"kit-7" not in files_of(manager.path)

    def test_what_is_live_is_still_counted_by_its_own_text(self, make_manager: MakeManager) -> None:
        manager = make_manager(redact=self.redact)
        manager.compile(ADA, MESSAGES, targets=TARGETS)
        assert manager.messages_behind(ADA, MORE) == 1
        assert manager.recompile(ADA, MORE, targets=[NEXT]).messages == 4

    def test_the_same_text_without_it_gives_another_state(self, make_manager: MakeManager, tmp_path: Path) -> None:
        plain = make_manager(tmp_path / "plain").compile(ADA, MESSAGES, targets=TARGETS)
        hidden = make_manager(tmp_path / "hidden", redact=self.redact).compile(ADA, MESSAGES, targets=TARGETS)
        assert plain.adapter_sha256 != hidden.adapter_sha256

    def test_targets_of_which_nothing_is_left_are_dropped(self) -> None:
        gone = redacted_targets(TARGETS, lambda text: "" if "kit-7" in text else text)
        assert gone == [ClueTarget("now?", "Heron kit-9")]

    def test_a_function_that_returns_no_text_is_refused_before_any_work(self, make_manager: MakeManager) -> None:
        with pytest.raises(InvalidInput, match="NoneType"):
            make_manager(redact=lambda text: None).compile(ADA, MESSAGES, targets=TARGETS)

    def test_inputs_are_not_changed(self) -> None:
        message = Message("user", "kit-7", id="m1")
        assert redacted(message, self.redact) == Message("user", "***", id="m1")
        assert message.text == "kit-7"
