import json
from pathlib import Path
from typing import Any

import pytest

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.datasets import RecordedProbe, dstc11_entity, load_sessions
from pss_integrations.types import Message, Passage

CORPUS = [{"doc_id": "d1", "title": "Ferns", "text": "Ferns like shade.", "url": ""}, {"doc_id": "d2", "text": "Moss."}]
PROBE = {
    "query": "And moss?",
    "gold_rewrite": "Does moss like shade?",
    "gold_doc_ids": ["d2"],
    "category": "answerable",
    "turn_index": 2,
    "needs_history": True,
    "turn": 2,
}
SESSION = {
    "session_id": "s1",
    "turns": [{"role": "user", "text": "Do ferns like shade?"}, {"role": "assistant", "text": "Yes."}],
    "probes": [PROBE],
    "meta": {"cut": 1, "group": "g1", "source": "test"},
}


def write(folder: Path, sessions: list[Any] | str, corpus: list[Any] | str = "") -> Path:
    for name, records in (("sessions", sessions), ("corpus", corpus or CORPUS)):
        text = records if isinstance(records, str) else "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def changed(**changes: Any) -> list[Any]:
    return [{**SESSION, **changes}]


def changed_probe(**changes: Any) -> list[Any]:
    return changed(probes=[{**PROBE, **changes}])


def test_sessions_probes_and_passages_are_loaded(tmp_path: Path) -> None:
    data = load_sessions(write(tmp_path, [SESSION]))
    assert data.name == tmp_path.name
    assert data.passages == (Passage("d1", "Ferns like shade.", "Ferns"), Passage("d2", "Moss."))
    (session,) = data.sessions
    assert (session.session_id, session.cut, session.group) == ("s1", 1, "g1")
    assert session.messages == (Message("user", "Do ferns like shade?"), Message("assistant", "Yes."))
    expected = RecordedProbe("And moss?", "Does moss like shade?", frozenset({"d2"}), "answerable", 2, True)
    assert session.probes == (expected,)


def test_the_cut_divides_compiled_messages_from_live_ones(tmp_path: Path) -> None:
    early = {**PROBE, "turn_index": 0}
    (session,) = load_sessions(write(tmp_path, changed(probes=[early, PROBE]))).sessions
    assert session.compiled == session.messages[:1]
    assert session.probes_with_state == session.probes[1:]
    assert session.live(session.probes[1]) == session.messages[1:2]
    assert session.live(session.probes[0]) == ()


@pytest.mark.parametrize("cut", [None, 0])
def test_without_a_cut_no_probe_has_a_state(tmp_path: Path, cut: int | None) -> None:
    (session,) = load_sessions(write(tmp_path, changed(meta={"cut": cut, "group": "g1"}))).sessions
    assert session.compiled == ()
    assert session.probes_with_state == ()
    assert session.live(session.probes[0]) == session.messages


def test_rewrite_and_need_of_history_may_be_unknown(tmp_path: Path) -> None:
    (session,) = load_sessions(
        write(tmp_path, changed_probe(gold_rewrite=None, needs_history=None, gold_doc_ids=[]))
    ).sessions
    assert session.probes[0].gold_rewrite is None
    assert session.probes[0].needs_history is None
    assert session.probes[0].gold_doc_ids == frozenset()


def test_blank_lines_and_line_separators_inside_texts_are_no_records(tmp_path: Path) -> None:
    text = json.dumps({"doc_id": "d2", "text": "a\u2028b\x85c"}, ensure_ascii=False)
    data = load_sessions(write(tmp_path, [SESSION], f"\n{text}\n\n"))
    assert [passage.text for passage in data.passages] == ["a\u2028b\x85c"]


@pytest.mark.parametrize(
    ("sessions", "what"),
    [
        ("", "holds no record"),
        ("{", "line 1: no JSON"),
        ("3", "line 1: record: "),
        ([SESSION, {"session_id": "s2"}], "line 2: turns: Field required"),
        ([SESSION, SESSION], "occurs more than once"),
        (changed(meta={"group": "g"}), r"line 1: meta\.cut"),
        (changed(meta={"cut": -1, "group": "g"}), r"line 1: meta\.cut: .* greater than or equal to 0"),
        (changed(meta={"cut": 3, "group": "g"}), "s1: cut 3 lies beyond its 2 messages"),
        (changed(turns=[{"role": "robot", "text": "x"}]), r"turns\.0\.role"),
        (changed_probe(turn_index=3), "turn_index 3 lies beyond 2 messages"),
        (changed_probe(turn_index=-1), r"probes\.0\.turn_index"),
        (changed_probe(query=None), r"probes\.0\.query"),
        (changed_probe(gold_doc_ids=["d9"]), r"\['d9'\] are not in the corpus"),
    ],
)
def test_bad_sessions_are_refused_with_the_place(tmp_path: Path, sessions: list[Any] | str, what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        load_sessions(write(tmp_path, sessions))


def test_bad_corpora_are_refused_with_the_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"corpus\.jsonl: 1 passages repeat a doc_id"):
        load_sessions(write(tmp_path, [SESSION], [*CORPUS, CORPUS[0]]))
    with pytest.raises(InvalidInput, match=r"corpus\.jsonl, line 1: text: Field required"):
        load_sessions(write(tmp_path, [SESSION], [{"doc_id": "d1"}]))


def test_missing_and_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"corpus\.jsonl cannot be read"):
        load_sessions(tmp_path)
    write(tmp_path, [SESSION])
    (tmp_path / "sessions.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match=r"sessions\.jsonl cannot be read as UTF-8"):
        load_sessions(tmp_path)


def test_a_dstc11_document_belongs_to_an_entity() -> None:
    assert dstc11_entity("hotel:7:review:0") == dstc11_entity("hotel:7:faq:3") == "hotel:7"


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sessions", "probes", "with_state", "without_gold"),
    [("canard", 102, 511, 275, 84), ("mtrag", 21, 147, 64, 0), ("dstc11", 482, 482, 470, 66)],
)
def test_recorded_data_have_the_documented_sizes(
    recorded: Path, name: str, sessions: int, probes: int, with_state: int, without_gold: int
) -> None:
    data = load_sessions(recorded / name)
    asked = [probe for session in data.sessions for probe in session.probes]
    assert len(data.sessions) == sessions
    assert len(asked) == probes
    assert sum(len(session.probes_with_state) for session in data.sessions) == with_state
    assert sum(not probe.gold_doc_ids for probe in asked) == without_gold
