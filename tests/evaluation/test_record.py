import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.analysis import (
    activation,
    categories,
    family_result,
    retained_recall,
    scores,
    summary,
)
from pss_integrations.evaluation.record import Family, ProbeRecord, RunRecord, SessionRecord
from pss_integrations.evaluation.report import markdown, write_report

ARMS = ["raw", "correct/append", "guarded/append"]


def probe(category: str, raw: list[int | None], clue: list[int | None], *, left_alone: bool = False) -> ProbeRecord:
    return ProbeRecord(
        query=f"a {category} question | with a bar",
        category=category,
        groups=len(raw),
        clues={"correct": "a clue"},
        left_alone=["raw", "guarded/append"] if left_alone else ["raw"],
        ranks={"bm25": {"raw": raw, "correct/append": clue, "guarded/append": clue}} if raw else {},
    )


def record(sessions: int = 6) -> RunRecord:
    return RunRecord(
        kind="pss320",
        created_at=datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
        config={"seed": 0},
        metric="All-Recall",
        k=4,
        depth=100,
        arms=ARMS,
        searchers=["bm25"],
        families=[Family(question="Does it help?", treatment="correct/append", controls=["raw"], joint=True)],
        sessions=[
            SessionRecord(
                session_id=f"s{number}",
                group=f"g{number}",
                states={"correct": {"seconds": 1.5, "steps": 10, "targets": 4, "confirmed": True}},
                probes=[
                    probe("exact_fact", [None], [1]),
                    probe("multi_hop", [2, None], [4, 5 if number % 2 else 3]),
                    probe("null", [], [], left_alone=number == 0),
                ],
            )
            for number in range(sessions)
        ],
    )


def test_a_session_scores_the_mean_over_its_probes_with_evidence() -> None:
    assert scores(record(), "bm25", "raw").values == (0,) * 6
    assert scores(record(), "bm25", "correct/append").values == (1, 0.5) * 3
    assert scores(record(), "bm25", "correct/append", k=5).values == (1,) * 6
    assert scores(record(), "bm25", "raw", metric="Recall", category="multi_hop").values == (0.5,) * 6
    assert scores(record(), "bm25", "raw", metric="Hit").values == (0.5,) * 6


def test_rank_metrics_come_from_the_ranks() -> None:
    assert scores(record(), "bm25", "correct/append", metric="MRR").mean == pytest.approx((1 + (1 / 4 + 1 / 3) / 2) / 2)
    assert scores(record(), "bm25", "raw", metric="nDCG", k=10, category="exact_fact").mean == 0
    assert scores(record(), "bm25", "correct/append", metric="nDCG", k=10, category="exact_fact").mean == 1


@pytest.mark.parametrize("wrong", [{"searcher": "x"}, {"arm": "x"}, {"metric": "x"}, {"category": "x"}])
def test_what_is_not_in_a_record_is_said(wrong: dict[str, str]) -> None:
    asked = {"searcher": "bm25", "arm": "raw"} | wrong
    with pytest.raises(InvalidInput, match="'x'"):
        scores(record(), **asked)


def test_a_family_is_compared_on_the_primary_metric() -> None:
    found = family_result(record(), "bm25", record().families[0])
    assert found is not None
    assert found.comparisons["raw"].difference.value == 0.75
    assert found.comparisons["raw"].p_value == pytest.approx(2 / 2**6)
    assert found.passed


def test_categories_are_those_with_evidence() -> None:
    assert categories(record()) == ["exact_fact", "multi_hop"]


def test_activation_and_retained_recall() -> None:
    assert activation(record(), "guarded/append", answerable=False) == pytest.approx(5 / 6)
    assert activation(record(), "guarded/append", answerable=True) == 1
    assert activation(record(), "guarded/append", answerable=True, category="null") is None
    assert activation(record(), "raw", answerable=True) == 0
    assert retained_recall(0.2, 0.8, 0.5) == pytest.approx(0.5)
    assert retained_recall(0.5, 0.5, 0.5) is None


def test_a_record_is_read_back_as_it_was(tmp_path: Path) -> None:
    path = record().save(tmp_path)
    assert path.parent.name == "pss320-20260301T120000Z"
    assert RunRecord.load(path) == RunRecord.load(path.parent) == record()


def test_a_record_is_never_overwritten(tmp_path: Path) -> None:
    path = record().save(tmp_path)
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="never overwritten"):
        record(sessions=2).save(tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["", "[]", '{"format": "pss-evaluation-0"}'])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "run.json"
    file.write_text(content)
    with pytest.raises(InvalidInput, match=r"run\.json is no record of a run"):
        RunRecord.load(file)
    with pytest.raises(InvalidInput, match="no record"):
        RunRecord.load(tmp_path / "nowhere.json")


def test_a_summary_is_plain_data() -> None:
    found = json.loads(json.dumps(summary(record())))
    assert found["arms"]["bm25"]["correct/append"]["mean"] == 0.75
    assert found["families"][0]["passed"] is True
    assert found["categories"]["bm25"]["exact_fact"]["raw"] == 0


def test_a_report_shows_arms_comparisons_guard_and_paper(tmp_path: Path) -> None:
    text = markdown(record())
    assert "| correct/append | 0.750 [" in text
    assert "| bm25 | raw | +0.750 [" in text
    assert "Joint rule: bm25: better than every one." in text
    assert "| null | 6 | 0.833 | 0.991 |" in text
    assert "| the same appended to the query (here BM25) | V.1 | 0.501 | 0.750 |" in text
    assert "(6 sessions, 12 probes)" in text
    assert "| correct | 6 | 4 | 10 | 1.5 | 6 |" in text


def test_a_report_that_cannot_claim_success_says_so() -> None:
    swapped = [Family(question="Does it help?", treatment="raw", controls=["correct/append"], joint=True)]
    text = markdown(record().model_copy(update={"families": swapped}))
    assert "Joint rule: bm25: NOT better than every one." in text
    assert "Joint rule: bm25: undecided, 5 units are too few" in markdown(record(sessions=5))


def test_one_source_group_gives_means_and_no_inference(tmp_path: Path) -> None:
    one = record()
    sessions = [session.model_copy(update={"group": "g"}) for session in one.sessions]
    alone = one.model_copy(update={"sessions": sessions})
    assert family_result(alone, "bm25", alone.families[0]) is None
    assert "undecided, there is but one source group" in markdown(alone)
    assert summary(alone)["arms"]["bm25"]["correct/append"] == {"mean": 0.75, "sessions": 6, "probes": 12}
    write_report(alone, tmp_path)


def test_the_tables_are_about_the_category_in_focus() -> None:
    focused = record().model_copy(update={"focus": "exact_fact"})
    assert "| correct/append | 1.000 [" in markdown(focused)
    assert "(exact_fact: 6 sessions, 6 probes)" in markdown(focused)
    assert summary(focused)["arms"]["bm25"]["correct/append"]["mean"] == 1


def test_controls_that_were_declared_and_not_run_are_named() -> None:
    cut = [Family(question="Does it help?", treatment="correct/append", controls=["raw"], left_out=["card/append"])]
    assert "Declared and not run: card/append." in markdown(record().model_copy(update={"families": cut}))


def test_the_html_holds_its_plots_and_the_same_record_gives_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    made = write_report(record(), tmp_path)
    again = write_report(record(), tmp_path / "again")
    page = made[1].read_text()
    assert page.count("<svg") == 2
    assert "<img" not in page
    assert "<table>" in page
    assert [file.read_bytes() for file in made] == [file.read_bytes() for file in again]


def test_a_curve_over_the_number_of_records_is_drawn(tmp_path: Path) -> None:
    one = record()
    sessions = [
        session.model_copy(
            update={
                "probes": [probe(f"K = {2**number}", [None], [1])],
                "session_id": f"k{number}",
            }
        )
        for number, session in enumerate(one.sessions)
    ]
    write_report(one.model_copy(update={"kind": "krecords", "sessions": sessions}), tmp_path)
    assert "records in one state" in (tmp_path / "curve-bm25.svg").read_text()
