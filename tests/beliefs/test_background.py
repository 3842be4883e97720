"""Work in a few threads: in order for each key, and none waits for another's."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pss_integrations.beliefs.background import Background


@pytest.fixture
def background():
    made = Background()
    yield made
    made.close()


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 9), max_size=60))
def test_the_work_of_each_key_is_done_in_order(keys: list[int]) -> None:
    background, done = Background(), list[tuple[int, int]]()
    for number, key in enumerate(keys):
        background.submit(key, lambda key=key, number=number: done.append((key, number)))
    assert background.wait(None, 30)
    for key in set(keys):
        assert [at for one, at in done if one == key] == [at for at, one in enumerate(keys) if one == key]
    background.close()


def test_what_is_slow_for_one_key_makes_no_other_wait(background: Background) -> None:
    go_on, done = threading.Event(), list[str]()
    for _ in range(100):
        background.submit("ada", lambda: go_on.wait(30) and done.append("ada"))
    background.submit("bob", lambda: done.append("bob"))
    assert background.wait("bob", 30)
    assert done == ["bob"]
    assert not background.wait("ada", 0)
    go_on.set()
    assert background.wait("ada", 30)
    assert len(done) == 101


def test_a_long_queue_takes_turns_with_the_others(background: Background) -> None:
    """Of five keys at four threads, the one that comes last waits for one piece of another's work, not for all."""
    begin, go_on, done = threading.Semaphore(0), threading.Event(), list[str]()

    def first() -> None:
        begin.release()
        go_on.wait(30)

    for key in "abcd":
        background.submit(key, first)
        for _ in range(50):
            background.submit(key, lambda key=key: done.append(key))
    for _ in range(4):
        assert begin.acquire(timeout=30)
    background.submit("last", lambda: done.append("last"))
    go_on.set()
    assert background.wait(None, 30)
    assert done.index("last") < 100


def test_it_takes_few_threads(background: Background) -> None:
    names = set[str]()
    for key in range(200):
        background.submit(key, lambda: names.add(threading.current_thread().name))
    assert background.wait(None, 30)
    assert len(names) <= 4


def test_what_was_submitted_is_done_when_it_is_closed_and_it_begins_again() -> None:
    background, done = Background(), list[int]()
    for number in range(50):
        background.submit(number % 3, lambda number=number: done.append(number))
    background.close()
    assert len(done) == 50
    background.submit("again", lambda: done.append(50))
    background.close()
    assert len(done) == 51


def test_many_may_submit_at_once(background: Background) -> None:
    done = list[int]()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: background.submit(number % 5, lambda: done.append(number)), range(400)))
    assert background.wait(None, 30)
    assert sorted(done) == list(range(400))
