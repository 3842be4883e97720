import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from tiny_words import words_backbone

from pss_integrations.evaluation import bench_loop
from pss_integrations.retrieval import BM25Index
from pss_integrations.states import StateManager
from pss_integrations.types import Message, SessionKey


def test_stalls_are_told_over_all_ticks_and_by_repeat() -> None:
    found = bench_loop.Stalls((tuple([0.5] * 99), (1.0, 20.0, 2.0))).to_dict()
    assert found == {
        "worst_ms": 20.0,
        "p99_ms": 2.0,
        "worst_of_a_repeat_ms": {"median": 10.25, "min": 0.5, "max": 20.0},
        "ticks": 102,
    }


async def test_what_stalls_the_loop_at_the_very_end_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [0.0]
    monkeypatch.setattr(bench_loop.time, "perf_counter", lambda: seconds[0])

    async def stall() -> None:
        await asyncio.sleep(0)
        seconds[0] += 5

    late = await bench_loop._late(stall)
    assert [milliseconds for milliseconds in late if milliseconds > 0] == [pytest.approx(4990)]


async def test_what_fails_is_raised() -> None:
    async def fail() -> None:
        raise RuntimeError("no such state")

    with pytest.raises(RuntimeError, match="no such state"):
        await bench_loop._late(fail)


def test_each_part_is_watched_and_each_face_is_asked() -> None:
    asked, told = list[str](), list[str]()

    def face(
        index: BM25Index, manager: StateManager, key: SessionKey, messages: Sequence[Message]
    ) -> Callable[[str], Awaitable[Any]]:
        async def ask(query: str) -> None:
            assert (len(index), manager.messages_behind(key, messages)) == (10_000, 0)
            asked.append(query)

        return ask

    found = bench_loop.bench_loop(words_backbone, {"ours": face}, quick=True, tell=told.append)
    parts = ["nothing", "python_thread", "compile", "read", "recall", "observe", "ours"]
    assert [*found][3:] == parts
    assert (found["tick_ms"], found["repeats"], found["passages"]) == (10, 2, 10_000)
    for part in parts:
        assert found[part]["worst_ms"] >= found[part]["p99_ms"] >= 0
        assert found[part]["worst_of_a_repeat_ms"]["max"] == found[part]["worst_ms"]
        assert found[part]["ticks"] >= found["repeats"]
    assert len(asked) == len(set(asked)) == 2 * 10
    assert told[-1] == "the loop during: ours"
