from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from public_files import PLACES, book, books, infinitebench, longbench, passages, questions, ultradomain, write

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.public import requests
from pss_integrations.evaluation.public.activity import FOLLOW_UPS
from pss_integrations.evaluation.public.audit import audit
from pss_integrations.evaluation.public.documents import Document
from pss_integrations.evaluation.public.requests import Request
from pss_integrations.evaluation.public.rows import NOT_QA
from pss_integrations.evaluation.public.sessions import (
    ALONE,
    MOST_REQUESTS,
    PROBES,
    PublicData,
    load_public,
    sessions_of,
    subjects_of,
)
from pss_integrations.types import ClueTarget, Passage


@pytest.fixture
def data(tmp_path: Path) -> PublicData:
    return load_public(write(tmp_path / "narrativeqa.jsonl", books()))


def request(number: int, *texts: int, task: str = "narrativeqa") -> Request:
    documents = tuple(Document(f"d{text}", (Passage(f"d{text}:0", "text"),)) for text in texts)
    return Request(task, f"question {number}", (), documents, documents[0].doc_ids)


def test_the_rows_of_one_text_are_the_requests_of_one_session(data: PublicData) -> None:
    assert len(data.sessions) == len(PLACES)
    assert {len(session.requests) for session in data.sessions} == {3}
    assert all(len({*(one.documents for one in session.requests)}) == 1 for session in data.sessions)
    assert (data.kind, data.rows, data.left_out) == ("longbench", 30, {})


def test_all_sessions_search_one_pool_with_ids_made_of_content(data: PublicData, tmp_path: Path) -> None:
    assert {passage.doc_id for passage in data.passages} >= {
        doc_id for session in data.sessions for doc_id in session.request.evidence
    }
    again = load_public(write(tmp_path / "other.jsonl", books()[::-1]))
    assert {*again.passages} == {*data.passages}


def test_the_same_files_give_the_same_sessions(data: PublicData, tmp_path: Path) -> None:
    assert load_public(tmp_path) == data


@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=3), max_size=40))
def test_no_document_is_in_two_groups_and_every_session_has_two_to_six_requests(asked: list[list[int]]) -> None:
    made = [request(number, *texts) for number, texts in enumerate(asked)]
    sessions = sessions_of(made)
    groups, splits = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for session in sessions:
        for document in (document for one in session.requests for document in one.documents):
            groups[document.document_id].add(session.group)
            splits[document.document_id].add(session.split)
    assert {len(found) for found in (*groups.values(), *splits.values())} <= {1}
    assert all(2 <= len(session.requests) <= MOST_REQUESTS for session in sessions)
    used = [one.question for session in sessions for one in session.requests]
    assert len({*used}) == len(used)
    assert len(made) - len(used) <= 1  # all have one task, so at most one has nobody to be with


def test_texts_with_one_question_share_a_session_with_others_of_their_task() -> None:
    made = [*(request(number, number) for number in range(7)), request(7, 7, task="qasper")]
    sessions = sessions_of(made)
    assert [[one.question for one in session.requests] for session in sessions] == [
        ["question 0", "question 1", "question 2"],
        ["question 3", "question 4", "question 5", "question 6"],
    ]
    assert len({session.group for session in sessions}) == 2


def test_questions_that_share_a_document_through_others_are_of_one_group() -> None:
    first, *others = sessions_of([request(number, number, number + 1) for number in range(13)])
    assert len(others) == 2
    assert {session.group for session in others} == {first.group}


def test_a_fifth_of_the_groups_is_for_calibration() -> None:
    sessions = sessions_of([request(number, number // 2) for number in range(2000)])
    calibration = sum(session.split == "calibration" for session in sessions)
    assert 150 < calibration < 250


def test_any_request_may_be_the_active_one() -> None:
    sessions = sessions_of([request(number, number // 3) for number in range(300)])
    assert {session.active for session in sessions} == {0, 1, 2}
    assert all(session.session_id.startswith("narrativeqa ") for session in sessions)


def test_a_choice_of_sessions_is_the_beginning_of_a_larger_one(data: PublicData) -> None:
    both = [*data.chosen("test"), *data.chosen("calibration")]
    assert {session.session_id for session in both} == {session.session_id for session in data.sessions}
    assert data.chosen("test", 3) == data.chosen("test", 4)[:3]


def test_subjects_ask_follow_ups_after_the_history_and_need_the_evidence_of_the_active_request(
    data: PublicData,
) -> None:
    for session, subject in zip(data.sessions, subjects_of(data.sessions), strict=True):
        assert subject.messages == session.messages
        assert len({asked.probe.query for asked in subject.asked}) == PROBES
        for asked in subject.asked:
            assert asked.history == session.messages
            assert asked.probe.query in FOLLOW_UPS
            assert asked.probe.evidence == (session.request.evidence,)
            assert (asked.probe.gold_rewrite, asked.probe.category) == (session.request.question, "narrativeqa")


def test_the_wrong_state_is_of_another_text_and_the_same_task(tmp_path: Path) -> None:
    records = [*books(5), *({**record, "dataset": "qasper"} for record in books()[15:])]
    sessions = load_public(write(tmp_path / "x.jsonl", records)).sessions
    for session, subject in zip(sessions, subjects_of(sessions), strict=True):
        partner = sessions[subject.partner]
        assert partner.group != session.group
        assert partner.request.task == session.request.task


def test_a_task_with_one_session_has_its_wrong_state_from_another_task(tmp_path: Path) -> None:
    records = [*books(1), *({**record, "dataset": "qasper"} for record in books(3)[3:])]
    sessions = load_public(write(tmp_path / "x.jsonl", records)).sessions
    assert subjects_of(sessions)[0].partner in (1, 2)
    assert [subject.partner for subject in subjects_of(sessions)[1:]] == [2, 1]


def test_infinitebench_and_ultradomain_give_sessions(tmp_path: Path) -> None:
    asked = [(number, *one) for number in range(4) for one in questions(number)]
    chosen = [infinitebench(n, question, answer, book(n), [answer, "Nobody"]) for n, question, answer in asked]
    data = load_public(write(tmp_path / "longbook_choice_eng.jsonl", chosen))
    assert (data.kind, {session.request.task for session in data.sessions}) == ("infinitebench", {"En.MC"})
    domains = [ultradomain(q, f"A long answer on {a} that stands nowhere.", book(n), f"Log {n}") for n, q, a in asked]
    data = load_public(write(tmp_path / "mix.jsonl", domains))
    assert (data.kind, {session.request.task for session in data.sessions}) == ("ultradomain", {"fin"})
    assert {passage.title for passage in data.passages} == {f"Log {number}" for number in range(4)}
    assert all(session.request.evidence == session.request.documents[0].doc_ids for session in data.sessions)


def test_multi_document_contexts_that_share_a_document_are_of_one_group(tmp_path: Path) -> None:
    contexts = [passages((PLACES[n], book(n)), (PLACES[n + 1], book(n + 1))) for n in (0, 1, 4, 5)]
    asked = [questions(number)[0] for number in (0, 2, 4, 6)]
    records = [longbench(q, [a], text, "hotpotqa") for (q, a), text in zip(asked, contexts, strict=True)]
    sessions = load_public(write(tmp_path / "x.jsonl", records)).sessions
    assert [len(session.requests) for session in sessions] == [2, 2]
    assert {
        passage.title
        for session in sessions
        for one in session.requests
        for document in one.documents
        for passage in document.passages
    } == {PLACES[n] for n in (0, 1, 2, 4, 5, 6)}


def test_what_is_left_out_is_counted_by_reason(tmp_path: Path) -> None:
    extra = [
        longbench("Summarise it.", ["x"], "A report.", "gov_report"),
        longbench("Who tended the light?", ["unanswerable"], book(0)),
        longbench("What is rare?", ["Nothing of the kind"], "A lonely text.", "qasper"),
        books()[0],
    ]
    data = load_public(write(tmp_path / "x.jsonl", [*books(), *extra]))
    assert data.left_out == {NOT_QA: 1, requests.NO_ANSWER: 1, requests.REPEATED: 1, ALONE: 1}
    assert data.rows == 34


def test_a_file_without_any_session_is_refused_with_the_reasons(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=f"2 records of .*: 1 {NOT_QA}, 1 {ALONE}"):
        load_public(write(tmp_path / "x.jsonl", [books()[0], longbench("Sum up.", [], "Text.", "gov_report")]))


def test_the_audit_finds_nothing_in_what_was_made(data: PublicData) -> None:
    assert audit(data, data.sessions, subjects_of(data.sessions)) == []


def test_the_audit_finds_targets_that_know_too_much(data: PublicData) -> None:
    (session,) = sessions = data.sessions[:1]
    (answer,), document = session.request.answers, session.request.documents[0]
    for target, what in (
        (ClueTarget("now?", f"the answer is {answer}"), "holds an answer"),
        (ClueTarget("now?", "a clue", (f"{document.document_id}:0",)), "holds the id of a document"),
        (ClueTarget(session.follow_ups[0], "a clue"), "is taught"),
    ):
        subjects = [replace(subject, targets=(target,)) for subject in subjects_of(sessions)]
        (problem,) = audit(data, sessions, subjects)
        assert what in problem
    (problem,) = audit(data, sessions, [replace(subject, targets=()) for subject in subjects_of(sessions)])
    assert "no clue target" in problem


def test_the_audit_finds_probes_that_say_what_is_asked_or_cannot_be_met(data: PublicData) -> None:
    sessions = data.sessions[:1]
    (subject,) = subjects_of(sessions)
    asked, place = subject.asked[0], next(place for place in PLACES if place in subject.asked[0].probe.gold_rewrite)
    for changed, what in (
        ({"query": f"Find what I asked of {place}."}, "of its request"),
        ({"evidence": (frozenset({"nowhere"}),)}, "not in the pool"),
        ({"evidence": ()}, "evidence is missing"),
    ):
        one = replace(subject, asked=(replace(asked, probe=replace(asked.probe, **changed)),))
        (problem,) = audit(data, sessions, [one])
        assert what in problem


def test_the_audit_finds_repetitions_and_documents_in_two_groups(data: PublicData) -> None:
    first, second, *_ = data.sessions
    twice = replace(data, sessions=(first, first), passages=(*data.passages, data.passages[0]))
    problems = audit(twice, [], [])
    assert [problem.split("'")[0].strip() for problem in problems] == ["session id", "passage id", *["question"] * 3]
    of_first = replace(first.requests[0], question="Who sold the boat?")
    moved = replace(data, sessions=(first, replace(second, requests=(*second.requests, of_first))))
    (problem,) = audit(moved, [], [])
    assert "is in the groups" in problem


def test_the_audit_finds_histories_that_do_not_tell_what_is_active(data: PublicData) -> None:
    session = data.sessions[0]
    silent = replace(session, requests=tuple(replace(one, question="") for one in session.requests))
    problems = audit(data, [silent], subjects_of([silent]))
    assert any("the history says that None is active" in problem for problem in problems)
