from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.evaluation import krecords, pss320
from pss_integrations.evaluation.datasets import RecordedProbe, RecordedSession, SessionData, load_sessions
from pss_integrations.evaluation.subjects import development_subset, from_krecords, from_pss320, from_recorded
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.types import Message, Passage


def session(name: str, length: int, *, cut: int | None, turns: tuple[int, ...] = (4,)) -> RecordedSession:
    messages = tuple(Message("user", f"Heron {name} {number}") for number in range(length))
    probes = tuple(
        RecordedProbe(f"and {turn}?", None if turn == 2 else f"Heron {turn}?", frozenset({"b", "a"}), "x", turn, True)
        for turn in turns
    )
    return RecordedSession(name, messages, probes, cut, f"group of {name}")


def data(*sessions: RecordedSession) -> SessionData:
    return SessionData("data", sessions, (Passage("a", "a"), Passage("b", "b")))


def test_generated_sessions_keep_everything_and_take_the_next_one_as_partner() -> None:
    sessions = pss320.generate(3, seed=0).sessions
    subjects = from_pss320(sessions)
    assert [one.partner for one in subjects] == [1, 2, 0]
    for one, subject in zip(sessions, subjects, strict=True):
        assert (subject.messages, subject.group) == (one.messages, one.source_group)
        assert tuple(asked.probe for asked in subject.asked) == one.probes
        assert len(set(subject.records)) == len(subject.records) < len(subject.targets)


def test_groups_of_records_are_groups_of_their_own() -> None:
    subjects = from_krecords(krecords.generate(4, groups=3, seed=0))
    assert len({one.group for one in subjects}) == 3
    assert all(len(one.records) == 4 for one in subjects)


def test_a_recorded_probe_comes_with_the_messages_before_it() -> None:
    (one, _) = from_recorded(data(session("s", 8, cut=2, turns=(2, 6)), session("t", 8, cut=4)), HistoryTargets())
    assert len(one.messages) == 2
    assert [len(asked.history) for asked in one.asked] == [2, 6]
    assert one.asked[0].probe.evidence == (frozenset({"a"}), frozenset({"b"}))
    assert one.asked[0].probe.gold_rewrite == one.asked[0].probe.query
    assert one.asked[1].probe.category == "needs history"


def test_probes_before_the_cut_have_no_state_and_are_asked_only_on_request() -> None:
    sessions = data(session("s", 8, cut=4, turns=(2, 6)), session("t", 8, cut=None))
    (only,) = from_recorded(sessions, HistoryTargets())
    assert [asked.probe.query for asked in only.asked] == ["and 6?"]
    both = from_recorded(sessions, HistoryTargets(), all_probes=True)
    assert [[len(asked.history) for asked in one.asked] for one in both] == [[2, 6], [4]]


def test_the_partner_of_a_recorded_session_is_the_nearest_in_length() -> None:
    lengths = [8, 30, 10, 28]
    subjects = from_recorded(data(*(session(f"s{n}", n, cut=n - 2, turns=(n,)) for n in lengths)), HistoryTargets())
    assert [one.partner for one in subjects] == [2, 3, 0, 1]


@given(st.lists(st.integers(2, 30), min_size=2, max_size=12))
def test_no_session_is_its_own_partner_and_none_is_nearer(lengths: list[int]) -> None:
    sessions = (session(f"s{at}", n + 1, cut=n, turns=(n,)) for at, n in enumerate(lengths))
    for at, one in enumerate(from_recorded(data(*sessions), HistoryTargets())):
        assert one.partner != at
        nearest = min(abs(lengths[at] - n) for other, n in enumerate(lengths) if other != at)
        assert abs(lengths[at] - lengths[one.partner]) == nearest


def test_a_partner_of_the_same_group_is_taken_only_where_there_is_no_other() -> None:
    near, far = (replace(session(name, n, cut=n, turns=(n,)), group="g") for name, n in (("near", 8), ("far", 9)))
    other = session("other", 30, cut=30, turns=(30,))
    assert [one.partner for one in from_recorded(data(near, far, other), HistoryTargets())] == [2, 2, 1]
    assert [one.partner for one in from_recorded(data(near, far), HistoryTargets())] == [1, 0]


@given(st.permutations(range(20)), st.integers(1, 30))
def test_the_development_subset_does_not_depend_on_order_and_grows_at_its_end(order: list[int], count: int) -> None:
    sessions = [session(f"s{number}", 4, cut=2) for number in range(20)]
    chosen = development_subset([sessions[number] for number in order], count)
    assert chosen == development_subset(sessions, 20)[:count]


@pytest.mark.data
def test_the_development_subset_of_dstc11_has_60_sessions(recorded: Path) -> None:
    chosen = development_subset(load_sessions(recorded / "dstc11").sessions, 60)
    assert len(chosen) == 60
