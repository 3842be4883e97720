import json
from pathlib import Path

import pytest

from pss_integrations.demo import scenario
from pss_integrations.errors import InvalidInput


def write_data(folder: Path, *, sessions: int, messages: int = 8, probes: int = 3, cut: int | None = 4) -> Path:
    folder.mkdir()
    probe = {"query": "and then?", "gold_rewrite": "And after Mira?", "category": "c", "needs_history": True}
    late = [{**probe, "gold_doc_ids": ["d"], "turn_index": 6} for _ in range(probes)]
    early = [{**probe, "gold_doc_ids": ["d"], "turn_index": 2}, {**probe, "gold_doc_ids": [], "turn_index": 6}]
    turns = [{"role": "user", "text": f"We met Mira Toll in Orsk, part {n}."} for n in range(messages)]
    lines = [
        {"session_id": f"s{n}", "turns": turns, "probes": early + late, "meta": {"cut": cut, "group": f"g{n}"}}
        for n in range(sessions)
    ]
    (folder / "sessions.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (folder / "corpus.jsonl").write_text(
        json.dumps({"doc_id": "d", "text": "Mira Toll", "title": ""}), encoding="utf-8"
    )
    return folder


def test_other_session_of_the_handwritten_one_is_in_the_pool() -> None:
    made = scenario.handwritten()
    own, other = made.sessions
    pool = {passage.doc_id for passage in made.passages}
    assert own.questions
    assert all(pool >= set(group) for question in own.questions for group in question.evidence)
    assert not other.questions
    for kind in ("runbook", "record"):
        assert any(doc_id.endswith(f"/{other.key.session_id}/{kind}") for doc_id in pool)


def test_recorded_sessions_are_compiled_up_to_the_cut(tmp_path: Path) -> None:
    made = scenario.recorded(write_data(tmp_path / "talk", sessions=3), 2)
    assert [session.key.session_id for session in made.sessions] == ["s0", "s1"]
    for session in made.sessions:
        assert session.key.user_id is None
        assert len(session.messages) == 4
        assert [question.evidence for question in session.questions] == [(frozenset({"d"}),)] * 3
    assert made.name == "2 sessions of talk"


@pytest.mark.parametrize("change", [{"messages": 7}, {"probes": 2}, {"cut": None}, {"sessions": 1}])
def test_too_few_sessions_will_do(tmp_path: Path, change: dict[str, int]) -> None:
    folder = write_data(tmp_path / "talk", **{"sessions": 3, **change})
    with pytest.raises(InvalidInput, match="at least 2 are needed"):
        scenario.recorded(folder, 2)
