import threading
from collections.abc import Sequence

import pytest

from pss_integrations.errors import StateCorrupt
from pss_integrations.states.reads import Question, Reads
from pss_integrations.states.scheduler import Scheduler, Work
from pss_integrations.states.steps import finish
from pss_integrations.types import Clue, SessionKey


class Model:
    """Answers with the query; can be held at its first pass, and fails for the query ``"bad"``."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.reached, self.opened = threading.Event(), threading.Event()

    def check(self, questions: Sequence[Question]) -> None:
        if any(query == "unknown" for _, query in questions):
            raise KeyError("unknown session")

    def read(self, questions: Sequence[Question]) -> Work[list[Clue]]:
        self.batches.append([query for _, query in questions])
        self.reached.set()
        assert self.opened.wait(10)
        yield
        if "bad" in self.batches[-1]:
            raise RuntimeError("bad state")
        return [Clue(query, (0.0,), prompt_tokens=1, state_id="x", finished=True) for _, query in questions]


def asked(*queries: str) -> list[Question]:
    return [(SessionKey("ada", "s"), query) for query in queries]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def busy(model: Model):
    """A scheduler that is in the middle of a first read, and the reads of the model."""
    scheduler, reads = Scheduler(), Reads(model.read, model.check)
    first = scheduler.submit(reads.ask(asked("first")), urgent=True)
    assert model.reached.wait(10)
    yield scheduler, reads
    assert scheduler.wait(first)[0].text == "first"
    scheduler.close()


def test_what_waits_is_read_together_and_everybody_gets_his_own(busy: tuple[Scheduler, Reads], model: Model) -> None:
    scheduler, reads = busy
    futures = [scheduler.submit(reads.ask(asked(*queries)), urgent=True) for queries in ("a", "bc", "d")]
    model.opened.set()
    texts = [[clue.text for clue in scheduler.wait(future)] for future in futures]
    assert texts == [["a"], ["b", "c"], ["d"]]
    assert model.batches == [["first"], ["a", "b", "c", "d"]]


def test_a_cancelled_question_is_not_read(busy: tuple[Scheduler, Reads], model: Model) -> None:
    scheduler, reads = busy
    gone, stays = [scheduler.submit(reads.ask(asked(query)), urgent=True) for query in ("gone", "stays")]
    gone.cancel()
    model.opened.set()
    assert scheduler.wait(stays)[0].text == "stays"
    assert model.batches == [["first"], ["stays"]]


def test_an_error_belongs_to_the_one_who_asked(busy: tuple[Scheduler, Reads], model: Model) -> None:
    scheduler, reads = busy
    good, bad, fine = [scheduler.submit(reads.ask(asked(query)), urgent=True) for query in ("good", "bad", "fine")]
    model.opened.set()
    with pytest.raises(RuntimeError, match="bad state"):
        scheduler.wait(bad)
    assert [scheduler.wait(future)[0].text for future in (good, fine)] == ["good", "fine"]


def test_what_cannot_be_read_spoils_no_batch(busy: tuple[Scheduler, Reads], model: Model) -> None:
    scheduler, reads = busy
    futures = [scheduler.submit(reads.ask(asked(query)), urgent=True) for query in ("a", "unknown", "b")]
    model.opened.set()
    with pytest.raises(KeyError, match="unknown session"):
        scheduler.wait(futures[1])
    assert [scheduler.wait(futures[at])[0].text for at in (0, 2)] == ["a", "b"]
    assert model.batches == [["first"], ["a", "b"]]


def test_when_the_first_in_line_is_cancelled_the_others_stay_together(model: Model) -> None:
    reads = Reads(model.read, model.check)
    works = [reads.ask(asked(query)) for query in "abc"]
    model.opened.set()
    next(works[0])
    works[0].close()
    assert [[clue.text for clue in finish(work)] for work in works[1:]] == [["b"], ["c"]]
    assert model.batches == [["a", "b", "c"], ["b", "c"]]


def test_a_batch_is_no_larger_than_it_may_be(busy: tuple[Scheduler, Reads], model: Model) -> None:
    scheduler, reads = busy
    futures = [scheduler.submit(reads.ask(asked(*["q"] * size)), urgent=True) for size in (20, 10, 10, 40, 1)]
    model.opened.set()
    assert [len(scheduler.wait(future)) for future in futures] == [20, 10, 10, 40, 1]
    assert [len(batch) for batch in model.batches] == [1, 30, 10, 40, 1]


def test_what_failed_or_was_cancelled_is_in_line_no_more(model: Model) -> None:
    scheduler, reads = Scheduler(), Reads(model.read, model.check)
    model.opened.set()
    for _ in range(20):
        with pytest.raises(KeyError):
            scheduler.wait(scheduler.submit(reads.ask(asked("unknown")), urgent=True))
        with pytest.raises(RuntimeError):
            scheduler.wait(scheduler.submit(reads.ask(asked("bad")), urgent=True))
        scheduler.submit(reads.ask(asked("gone")), urgent=True).cancel()
    scheduler.close()
    assert not reads._line


def test_a_damaged_state_is_looked_up_once_more(model: Model) -> None:
    """It may have been deleted, or replaced, by another process since it was looked up."""
    failures = [StateCorrupt("pruned"), StateCorrupt("pruned again")]

    def read(questions: Sequence[Question]) -> Work[list[Clue]]:
        if failures:
            raise failures.pop(0)
        return (yield from model.read(questions))

    model.opened.set()
    reads = Reads(read, model.check)
    with pytest.raises(StateCorrupt, match="pruned again"):
        finish(reads.ask(asked("a")))
    failures.append(StateCorrupt("pruned"))
    assert [clue.text for clue in finish(reads.ask(asked("a")))] == ["a"]
