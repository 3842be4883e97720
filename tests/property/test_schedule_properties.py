from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.states.config import CompileConfig
from pss_integrations.states.schedule import Schedule

REPLAYS = st.sampled_from([0.0, 0.25, 1.0, 2.0, 1e6])
LEADS = st.floats(-5, 5, width=32)


@given(st.data(), st.integers(1, 60), st.integers(1, 9), REPLAYS)
def test_a_pass_visits_what_is_due_once_and_a_bounded_share_of_the_rest(
    data: st.DataObject, rows: int, batch: int, replay: float
) -> None:
    config = CompileConfig(batch_size=batch, replay=replay)
    known = data.draw(st.integers(0, rows))
    schedule = Schedule(rows, config, known=known)
    leads = schedule._leads.tolist()
    for _ in range(4):
        batches = [one.tolist() for one in schedule.batches()]
        visited = list(chain.from_iterable(batches))
        due = {row for row, lead in enumerate(leads) if lead < config.margin or row < rows - known}
        assert len(set(visited)) == len(visited)
        assert due <= set(visited)
        again = len(visited) - len(due)
        assert again <= max(replay * len(due) + 1, batch)
        assert again >= min(rows - len(due), batch, max(1, replay * len(due)))
        assert all(len(one) <= batch for one in batches)
        for one in batches:
            found = data.draw(st.lists(LEADS, min_size=len(one), max_size=len(one)))
            schedule.note(one, found)
            for row, lead in zip(one, found, strict=True):
                leads[row] = lead
        assert schedule.reproduced == sum(lead >= config.margin for lead in leads)


@given(st.integers(1, 40), st.integers(1, 9), REPLAYS)
def test_no_row_is_left_out_for_long(rows: int, batch: int, replay: float) -> None:
    """With one row that never comes, all others come round in turn."""
    schedule = Schedule(rows, CompileConfig(batch_size=batch, replay=replay), known=rows)
    seen = list[int]()
    passes = 0
    while len(set(seen)) < rows or passes < 2:
        for one in schedule.batches():
            seen += one.tolist()
            schedule.note(one.tolist(), [9.0 if row else -9.0 for row in one.tolist()])
        passes += 1
        assert passes <= 2 + rows / batch


@given(st.integers(0, 300), st.integers(1, 8))
def test_a_pass_after_new_messages_costs_in_proportion_to_what_is_new(known: int, new: int) -> None:
    config = CompileConfig(batch_size=8)
    visited = sum(len(one) for one in Schedule(known + new, config, known=known).batches())
    assert new <= visited <= 2 * max(new, 8)


def test_the_same_seed_gives_the_same_order() -> None:
    def order(seed: int) -> list[list[int]]:
        return [one.tolist() for one in Schedule(20, CompileConfig(seed=seed)).batches()]

    assert order(1) == order(1) != order(2)
