"""Bringing a session's state up to date."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import MESSAGES, TARGETS, tiny_backbone

from pss_integrations.errors import HistoryDiverged, InvalidInput, StateCorrupt
from pss_integrations.states import CallableTargets, CompileConfig, StateConfig, StateManager
from pss_integrations.states.manifest import Cursor
from pss_integrations.states.update import Request
from pss_integrations.types import ClueTarget, Message, SessionKey

ADA = SessionKey("ada", "s")
MORE = Message("user", "The cooler of Heron is fan-3.")
SUMMARY = Message("user", "Here is a summary of the conversation so far: Heron has a kit.")
NEXT = [ClueTarget("cooler?", "Heron fan-3")]
NOTHING = CallableTargets(lambda messages: [], "nothing")
MakeManager = Callable[..., StateManager]
BRIEF = CompileConfig(history_steps=1, max_epochs=1, keep_text="history")


@pytest.fixture
def quick(make_manager: MakeManager) -> StateManager:
    """Writes states that reproduce nothing, since that is not what is looked at here."""
    return make_manager(config=BRIEF)


def long_session(count: int) -> list[Message]:
    return [Message("user", f"The kit of crane {number} is kit-{number}.") for number in range(count)]


def never_loads() -> Any:
    raise AssertionError("the model was loaded")


def test_a_session_is_compiled_then_recompiled_then_left_alone(manager: StateManager) -> None:
    first = manager.update(ADA, MESSAGES, targets=TARGETS)
    assert (first.key, first.outcome, first.behind) == (ADA, "compiled", 3)
    assert first.info == manager.info(ADA)
    second = manager.update(ADA, [*MESSAGES, MORE], targets=NEXT)
    assert (second.outcome, second.behind) == ("recompiled", 1)
    assert second.info is not None
    assert first.info is not None
    assert second.info.parent == first.info.state_id
    assert [manager.read(ADA, query).text for query in ("cooler?", "now?")] == ["Heron fan-3", "Heron kit-9"]
    assert (manager.update(ADA, [*MESSAGES, MORE]).outcome, manager.info(ADA)) == ("current", second.info)


async def test_the_async_twin_gives_the_same(quick: StateManager) -> None:
    assert (await quick.aupdate(ADA, MESSAGES, targets=TARGETS)).outcome == "compiled"
    update = await quick.aupdate(ADA, [*MESSAGES, MORE], targets=NEXT)
    assert (update.outcome, update.info) == ("recompiled", quick.info(ADA))
    assert await quick.aupdate(ADA, [*MESSAGES, MORE]) == quick.update(ADA, [*MESSAGES, MORE])


def test_what_is_current_or_gives_nothing_loads_no_model(quick: StateManager, make_manager: MakeManager) -> None:
    info = quick.update(ADA, MESSAGES, targets=TARGETS).info
    other = make_manager()
    other._worker._load = never_loads
    assert other.update(ADA, MESSAGES).outcome == "current"
    assert other.update(ADA, [Message("tool", ""), *MESSAGES]).outcome == "current"  # it has no text
    update = other.update(ADA, [*MESSAGES, MORE], targets=NOTHING)
    assert (update.outcome, update.behind, update.info) == ("no_targets", 1, info)
    assert "'nothing' found nothing" in update.reason
    for empty in ([], [Message("user", "  ")]):
        update = other.update(SessionKey(None, "new"), empty)
        assert (update.outcome, update.behind, update.info) == ("no_targets", 0, None)


@pytest.mark.parametrize(
    "changed",
    [
        [replace(MESSAGES[0], text="Heron runs on kit-8."), *MESSAGES[1:], MORE],  # edited
        [MESSAGES[0], Message("assistant", "I see."), MORE],  # forked
        [MESSAGES[0], MESSAGES[2]],  # one is gone, but not from the beginning
        MESSAGES[:2],  # gone back
        [MESSAGES[1], MESSAGES[0], MESSAGES[2]],
        [MORE],  # another session
    ],
)
def test_a_session_that_diverged_is_compiled_afresh_or_its_state_kept(
    quick: StateManager, changed: Sequence[Message]
) -> None:
    info = quick.update(ADA, MESSAGES, targets=TARGETS).info
    kept = quick.update(ADA, changed, targets=TARGETS, on_diverged="keep")
    assert (kept.outcome, kept.info, quick.info(ADA)) == ("diverged", info, info)
    assert kept.reason == "messages that were compiled have changed; the state was kept"
    fresh = quick.update(ADA, changed, targets=TARGETS)
    assert (fresh.outcome, fresh.reason) == ("compiled", "messages that were compiled have changed")
    assert fresh.info is not None
    assert (fresh.info.parent, fresh.info.cursor) == (None, Cursor.after(changed))


@pytest.mark.parametrize("before", [[], [SUMMARY], [Message("system", "Be brief."), SUMMARY]])
def test_a_state_keeps_what_it_knows_of_a_session_that_was_shortened(
    manager: StateManager, before: list[Message]
) -> None:
    system, seen = Message("system", "Be brief."), list[Sequence[Message]]()
    whole = [system, *long_session(4), *MESSAGES]
    first = manager.update(ADA, whole, targets=TARGETS).info
    assert first is not None

    def build(messages: Sequence[Message]) -> list[ClueTarget]:
        seen.append(messages)
        return NEXT

    short = [*before, *MESSAGES[1:], MORE]
    update = manager.update(ADA, short, targets=CallableTargets(build, "mine", frozenset({"user", "assistant"})))
    assert (update.outcome, update.behind) == ("recompiled", 1)
    assert update.info is not None
    assert (update.info.parent, update.info.cursor) == (first.state_id, Cursor.after([*whole, MORE]))
    assert [manager.read(ADA, query).text for query in ("cooler?", "now?")] == ["Heron fan-3", "Heron kit-9"]
    assert seen == [(*MESSAGES[1:], MORE)]  # a summary teaches nothing
    assert manager.update(ADA, short).outcome == "current"
    assert manager.update(ADA, [*whole, MORE]).outcome == "current"
    assert manager.messages_behind(ADA, [*short, MESSAGES[1], MORE, MORE]) == 3


def test_a_shortened_session_keeps_the_text_that_was_kept(quick: StateManager) -> None:
    whole = [*long_session(3), *MESSAGES]
    quick.update(ADA, whole, targets=TARGETS)
    info = quick.update(ADA, [SUMMARY, *MESSAGES[1:], MORE], targets=NEXT).info
    assert info is not None
    assert info.history == tuple((message.role, message.text) for message in [*whole, MORE])


def test_a_text_that_was_not_kept_before_is_not_half_kept(make_manager: MakeManager) -> None:
    first = make_manager(config=replace(BRIEF, keep_text="targets"))
    first.update(ADA, MESSAGES, targets=TARGETS)
    first.close()
    info = make_manager(config=BRIEF).update(ADA, [MESSAGES[2], MORE], targets=NEXT).info
    assert info is not None
    assert (info.messages, info.history) == (4, ())


def test_a_state_that_cannot_be_gone_on_from_is_written_afresh(quick: StateManager, make_manager: MakeManager) -> None:
    info = quick.update(ADA, MESSAGES, targets=TARGETS).info
    quick.close()
    other = make_manager(config=BRIEF, state=StateConfig(rank=2, alpha=4, layers=1))
    kept = other.update(ADA, [MESSAGES[2], MORE], targets=NEXT, on_diverged="keep")
    assert (kept.outcome, kept.info) == ("diverged", info)
    update = other.update(ADA, [*MESSAGES, MORE], targets=NEXT, on_diverged="keep")
    assert (update.outcome, update.reason) == ("compiled", "the state before was of another backbone or shape")
    assert update.info is not None
    assert update.info.messages == 4


def test_a_session_that_is_being_compiled_is_busy(quick: StateManager, make_manager: MakeManager) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        reached.set()
        assert go_on.wait(60)

    thread = threading.Thread(target=quick.compile, args=(ADA, MESSAGES), kwargs={"targets": TARGETS, "progress": hold})
    thread.start()
    assert reached.wait(60)
    elsewhere = make_manager(config=BRIEF, backbone=tiny_backbone()).update(ADA, MESSAGES, targets=TARGETS)
    assert (elsewhere.outcome, elsewhere.behind, elsewhere.info) == ("busy", 3, None)
    assert quick.update(ADA, MESSAGES, targets=TARGETS).outcome == "busy"
    go_on.set()
    thread.join()
    assert quick.update(ADA, MESSAGES).outcome == "current"


def test_what_was_compiled_while_an_update_waited_is_not_compiled_again(quick: StateManager) -> None:
    request = Request(ADA, MESSAGES, targets=TARGETS)
    prepared = quick._updates.prepare(request)
    quick.compile(ADA, MESSAGES, targets=TARGETS)
    assert quick._updates.begin(request, prepared).result(60).outcome == "current"


async def test_a_cancelled_update_leaves_the_old_state(quick: StateManager) -> None:
    info = (await quick.aupdate(ADA, MESSAGES, targets=TARGETS)).info
    reached, go_on = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        reached.set()
        assert go_on.wait(60)

    task = asyncio.create_task(quick.aupdate(ADA, [*MESSAGES, MORE], targets=NEXT, progress=hold))
    await asyncio.to_thread(reached.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    assert quick.update(ADA, [*MESSAGES, MORE], targets=NEXT).outcome == "recompiled"
    assert [one.state_id for one in quick.versions(ADA)][-1:] == [info.state_id if info else None]


def test_redacted_text_is_not_missed(make_manager: MakeManager) -> None:
    manager = make_manager(config=BRIEF, redact=lambda text: text.replace("Heron", "X"))
    manager.update(ADA, MESSAGES, targets=TARGETS)
    update = manager.update(ADA, [*MESSAGES[1:], MORE], targets=NEXT)
    assert update.outcome == "recompiled"
    assert update.info is not None
    assert "Heron" not in update.info.model_dump_json()


def test_a_damaged_state_is_not_passed_over(quick: StateManager) -> None:
    quick.update(ADA, MESSAGES, targets=TARGETS)
    (quick._store.directory(ADA) / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StateCorrupt):
        quick.update(ADA, [*MESSAGES, MORE], targets=NEXT)


def test_bad_input_is_refused_before_any_work(manager: StateManager, tmp_path: Path) -> None:
    anything: Any = manager
    for key, messages, options, what in [
        ("ada", MESSAGES, {}, "SessionKey"),
        (ADA, ["hello"], {}, "Message values"),
        (ADA, MESSAGES, {"on_diverged": "drop"}, "'compile' or 'keep'"),
        (ADA, MESSAGES, {"targets": ["now?"]}, "ClueTarget"),
    ]:
        with pytest.raises(InvalidInput, match=what):
            anything.update(key, messages, **options)
    assert list(tmp_path.iterdir()) == []


WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=6)


def said(words: Sequence[str]) -> list[Message]:
    return [Message("user", word) for word in words]


@given(WORDS, WORDS)
def test_a_session_that_begins_with_what_was_compiled_has_grown(old: list[str], new: list[str]) -> None:
    cursor, now = Cursor.after(said(old)), said([*old, *new])
    continued = cursor.continued(now)
    assert (continued.kind, continued.behind, continued.messages) == ("grown", len(new), tuple(now))
    assert cursor.behind(now) == cursor.count_after(now) == len(new)
    assert cursor.extended(said(new)) == Cursor.after(now)


@given(st.integers(2, 8), st.integers(1, 7), st.booleans(), st.integers(0, 3))
def test_a_session_that_lost_its_beginning_was_shortened(count: int, lost: int, summarised: bool, new: int) -> None:
    old, more = said([f"m{number}" for number in range(count)]), said([f"n{number}" for number in range(new)])
    left = old[min(lost + summarised, count - 1) :]
    now = [*([SUMMARY] if summarised else []), *left, *more]
    continued = Cursor.after(old).continued(now)
    if summarised and len(left) == count - 1:  # as many as there were: it was edited
        assert continued.kind == "diverged"
    else:
        assert continued == ("shortened", (*left, *more), new)


@given(WORDS, WORDS)
def test_whatever_a_session_is_now_its_last_messages_came_since(old: list[str], now: list[str]) -> None:
    cursor = Cursor.after(said(old))
    continued = cursor.continued(said(now))
    assert 0 <= continued.behind == cursor.count_after(said(now)) <= len(now)
    if continued.kind == "grown":
        assert cursor.behind(said(now)) == continued.behind
    else:
        with pytest.raises(HistoryDiverged):
            cursor.behind(said(now))
