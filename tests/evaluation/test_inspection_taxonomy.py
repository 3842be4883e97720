import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspected import ARM, Ranks, probe, record

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation import krecords, pss320
from pss_integrations.evaluation.datasets import load_sessions
from pss_integrations.evaluation.inspection.knowledge import Knowledge, Known, holds, knowledge_of
from pss_integrations.evaluation.inspection.taxonomy import CLASSES, taxonomy

KNOWN = Known(
    rewrite="What is the limit of Heron kit-9 v2.1?",
    own=frozenset({"Heron", "kit-9", "v2.1", "kit-7", "v1.8", "Ada Moreno"}),
    wanted=frozenset({"Heron", "kit-9", "v2.1"}),
    rivals=frozenset({"kit-7", "v1.8"}),
)
NAMES = KNOWN.own | {"Crane", "kit-3", "v2.1"}
QUERY = "what is the limit now?"
RIGHT = "Heron kit-9 v2.1"


def knowledge(*sessions: str) -> Knowledge:
    return Knowledge({(session, QUERY): KNOWN for session in sessions}, NAMES)


@pytest.mark.parametrize(
    ("clue", "ranks", "error"),
    [
        ("  ", [None], "no_clue"),
        ("what is the limit", [None], "says_nothing"),
        ("kit-9 kit-9 kit-9 kit-9", [None], "says_nothing"),
        ("Crane kit-3", [None], "other_session"),
        (f"{RIGHT} kit-3", [9], "other_session"),
        ("Heron kit-9 v9.9", [None], "invented"),
        ("Heron kit-7 v1.8", [None], "wrong_version"),
        ("Heron kit-9 v1.8", [7], "wrong_version"),
        ("Heron Ada Moreno", [None], "incomplete"),
        (f"{RIGHT} kit-7", [None], "ambiguous"),
        (RIGHT, [2, None], "partly_found"),
        (RIGHT, [5, 2], "partly_found"),
        (RIGHT, [5, 80], "low_rank"),
        (RIGHT.lower(), [5], "low_rank"),
        (RIGHT, [None, 6], "not_found"),
    ],
)
def test_a_miss_goes_to_the_class_of_what_is_observed(clue: str, ranks: Ranks, error: str) -> None:
    found = taxonomy(record({"a": [probe(QUERY, clue, ranks)]}), "bm25", ARM, knowledge("a"))
    assert [name for name, count in found.counts().items() if count] == [error]


def test_a_clue_that_the_router_did_not_use_is_its_own_class() -> None:
    asked = [probe(QUERY, RIGHT, left_alone=["raw", ARM])]
    assert taxonomy(record({"a": asked}), "bm25", ARM, knowledge("a")).counts()["left_alone"] == 1


def test_what_was_found_as_far_as_there_is_room_is_no_miss() -> None:
    asked = [probe(QUERY, RIGHT, [1, 2, 3, 4, None, 6]), probe(QUERY, RIGHT, [4])]
    found = taxonomy(record({"a": asked}), "bm25", ARM, knowledge("a"))
    assert sum(found.counts().values()) == 0
    assert found.probes == {"exact_fact": 2}
    assert found.to_dict()["classes"]["not_found"]["share"] is None


def test_probes_without_evidence_cannot_be_missed() -> None:
    asked = [probe(QUERY, "", []), probe(QUERY, "", [9])]
    assert taxonomy(record({"a": asked}), "bm25", ARM).probes == {"exact_fact": 1}
    with pytest.raises(InvalidInput, match="none can be missed"):
        taxonomy(record({"a": asked[:1]}), "bm25", ARM)


RANKS = st.lists(st.one_of(st.none(), st.integers(1, 100)), min_size=1, max_size=6)
CLUES = st.lists(st.sampled_from([*sorted(NAMES), "", "v9.9", "limit", "#"]), max_size=6).map(" ".join)


@settings(deadline=None)
@given(st.lists(st.tuples(CLUES, RANKS, st.booleans(), st.sampled_from(["x", "y"])), min_size=1, max_size=8))
def test_every_miss_is_counted_once_and_no_hit_is(asked: list[tuple[str, Ranks, bool, str]]) -> None:
    sessions = {
        f"{number}": [probe(QUERY, clue, ranks, category=category, left_alone=["raw", ARM] if alone else ["raw"])]
        for number, (clue, ranks, alone, category) in enumerate(asked)
    }
    missed = sum(sum(1 for r in ranks if r and r <= 4) < min(4, len(ranks)) for _, ranks, _, _ in asked)
    for known in (knowledge(*sessions), None):
        found = taxonomy(record(sessions), "bm25", ARM, known)
        told = found.to_dict()
        assert sum(found.counts().values()) == told["missed"] == missed
        assert sum(one["missed"] for one in told["categories"].values()) == missed
        assert {*told["classes"]} == {one.name for one in CLASSES}
        assert json.loads(json.dumps(told)) == told


def test_without_knowledge_names_are_not_looked_at() -> None:
    found = taxonomy(record({"a": [probe(QUERY, "Crane kit-3", [9])]}), "bm25", ARM)
    assert found.counts()["low_rank"] == 1
    assert not found.to_dict()["names_known"]


def test_examples_show_what_was_missing() -> None:
    asked = {f"{number}": [probe(QUERY, "Heron Ada Moreno", [9])] for number in range(5)}
    examples = taxonomy(record(asked), "bm25", ARM, knowledge(*asked)).to_dict()["classes"]["incomplete"]["examples"]
    assert len(examples) == 3
    assert examples[0] == {
        "session_id": "0",
        "category": "exact_fact",
        "query": QUERY,
        "clue": "Heron Ada Moreno",
        "rewrite": KNOWN.rewrite,
        "missing": ["kit-9", "v2.1"],
        "foreign": [],
        "ranks": [9],
    }


@pytest.mark.parametrize(("searcher", "arm"), [("dense", ARM), ("bm25", "raw"), ("bm25", "clue")])
def test_only_an_arm_of_the_record_that_reads_a_state_is_classed(searcher: str, arm: str) -> None:
    with pytest.raises(InvalidInput, match=f"use one of bm25 and of {ARM}"):
        taxonomy(record({"a": [probe(QUERY)]}), searcher, arm)


@pytest.mark.parametrize(
    ("text", "name", "held"),
    [
        ("use KIT-9, please", "kit-9", True),
        ("use kit-90", "kit-9", False),
        ("use kit-9-b", "kit-9", False),
        ("on v1.2.3.", "v1.2.3", True),
        ("on v1.2.3", "v1.2", False),
        ("on v11.2", "1.2", False),
        ("by Ada Moreno's team", "ada moreno", True),
        ("what (C++)?", "C++", True),
    ],
)
def test_a_name_is_held_whole(text: str, name: str, held: bool) -> None:
    assert holds(text, name) is held


def test_pss320_knows_the_archived_names_as_rivals_where_the_active_ones_are_asked_for() -> None:
    sessions = pss320.generate(8, seed=4).sessions
    known = knowledge_of(record({session.key.session_id: [] for session in sessions}))
    kinds = {"exact_fact": "active", "temporal_revision": "archived"}
    for session in sessions:
        for asked in session.probes:
            one = known.of(session.key.session_id, asked.query)
            assert one.rewrite == asked.gold_rewrite
            assert one.wanted <= one.own <= known.names
            assert one.rivals.isdisjoint(one.wanted)
            if asked.category in kinds:
                held = {*getattr(session.fields, kinds[asked.category]).values()}
                assert one.wanted & held
                assert one.rivals.isdisjoint(held)
                assert one.rivals
            if asked.category == "null":
                assert not one.wanted | one.rivals


def test_krecords_know_the_other_records_of_the_session_as_rivals() -> None:
    groups = {k: krecords.generate(k, groups=2, seed=0, of=4).groups for k in (1, 4)}
    ids = {f"{group.key.session_id} K = {k}": group for k, some in groups.items() for group in some}
    known = knowledge_of(record({one: [] for one in ids}, kind="krecords"))
    for one, group in ids.items():
        for asked in group.probes:
            found = known.of(one, asked.query)
            assert " ".join(sorted(found.wanted, key=asked.gold_rewrite.index)) == asked.gold_rewrite
            assert len(found.rivals) == 4 * (len(group.records) - 1)


def test_recorded_conversations_know_what_was_said_before_a_probe(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "text": "Does Heron run on kit-9?"},
        {"role": "assistant", "text": "Yes, since v2.1."},
        {"role": "user", "text": "And Crane runs on kit-3."},
    ]
    asked = {"gold_doc_ids": ["a"], "category": "x", "needs_history": True}
    probes = [
        {"query": "which one?", "gold_rewrite": "Does Heron run on v2.1?", "turn_index": 2, **asked},
        {"query": "why?", "gold_rewrite": None, "turn_index": 3, **asked},
    ]
    session = {"session_id": "s", "turns": turns, "probes": probes, "meta": {"cut": 2, "group": "g"}}
    (tmp_path / "sessions.jsonl").write_text(json.dumps(session))
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"doc_id": "a", "text": "Heron"}))
    run = record({"s": []})
    known = knowledge_of(run, load_sessions(tmp_path))
    assert known.of("s", "which one?").own == {"Heron", "kit-9", "v2.1"}
    assert known.of("s", "which one?").wanted == {"Heron", "v2.1"}
    assert known.of("s", "why?").rewrite == ""
    assert known.of("s", "why?").own >= {"Crane", "kit-3"}
    with pytest.raises(InvalidInput, match="give the data"):
        knowledge_of(run)


def test_knowledge_of_other_data_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is it the same data"):
        taxonomy(record({"b": [probe(QUERY)]}), "bm25", ARM, knowledge("a"))
