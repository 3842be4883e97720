import json
from pathlib import Path
from typing import Any

import pytest
from public_files import infinitebench, longbench, ultradomain, write

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.public.rows import Kind, Row, read_rows

PLAIN = longbench("Who?", ["Ada"], "Ada did.")
BOOK = infinitebench(3, "Who?", "Ada", "Ada did.", ["Ada", "Bo"])
DOMAIN = ultradomain("Who?", "Ada", "Ada did.", "Deeds")


@pytest.mark.parametrize(
    ("name", "record", "kind", "row"),
    [
        ("x", PLAIN, "longbench", Row("narrativeqa", "Who?", ("Ada",), "Ada did.")),
        ("x", {**PLAIN, "dataset": "hotpotqa_e"}, "longbench", Row("hotpotqa", "Who?", ("Ada",), "Ada did.")),
        ("longbook_qa_eng", BOOK, "infinitebench", Row("En.QA", "Who?", ("Ada",), "Ada did.")),
        ("longbook_choice_eng", {**BOOK, "answer": "Ada"}, "infinitebench", Row("En.MC", "Who?", ("Ada",), "Ada did.")),
        ("x", DOMAIN, "ultradomain", Row("fin", "Who?", ("Ada",), "Ada did.", "Deeds")),
        ("legal", {**DOMAIN, "label": None, "meta": None}, "ultradomain", Row("legal", "Who?", ("Ada",), "Ada did.")),
    ],
)
def test_each_set_is_told_by_its_fields_and_read(
    tmp_path: Path, name: str, record: dict[str, Any], kind: Kind, row: Row
) -> None:
    found = read_rows(write(tmp_path / f"{name}.jsonl", [record]))
    assert (found.kind, found.rows, found.left_out) == (kind, (row,), 0)


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("x", {**PLAIN, "dataset": "gov_report", "input": ""}),
        ("longbook_sum_eng", {**BOOK, "input": ""}),
        ("passkey", {**BOOK, "context": ""}),
    ],
)
def test_rows_that_ask_nothing_of_a_text_are_counted_whatever_is_blank(
    tmp_path: Path, name: str, record: dict[str, Any]
) -> None:
    found = read_rows(write(tmp_path / f"{name}.jsonl", [record, record]))
    assert (found.rows, found.left_out) == ((), 2)


def test_the_files_of_a_folder_are_read_in_order_and_share_their_contexts(tmp_path: Path) -> None:
    write(tmp_path / "b.jsonl", [{**PLAIN, "input": "Second?"}])
    write(tmp_path / "a.jsonl", [{**PLAIN, "input": "First?"}])
    (tmp_path / "notes.txt").write_text("no data")
    rows = read_rows(tmp_path).rows
    assert [row.question for row in rows] == ["First?", "Second?"]
    assert rows[0].context is rows[1].context


def test_blank_lines_a_byte_order_mark_and_separators_inside_texts_are_no_records(tmp_path: Path) -> None:
    text = json.dumps({**PLAIN, "context": "a\u2028b\x85c 灯台"}, ensure_ascii=False)
    (tmp_path / "x.jsonl").write_text(f"\ufeff\n{text}\r\n\n", encoding="utf-8")
    (row,) = read_rows(tmp_path / "x.jsonl").rows
    assert row.context == "a\u2028b\x85c 灯台"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "holds no record"),
        (b"\n \n", "holds no record"),
        (b"{", "line 1: no JSON"),
        (b"3", "line 1: has the fields"),
        (b'{"input": "a", "context": "b"}', r"none of context_id, dataset, options"),
        (json.dumps(PLAIN).encode() + b'\n{"input": ', "line 2: record: Invalid JSON"),
        (json.dumps(PLAIN).encode() + b'\n{"input": "a", "dataset": "x"}', "line 2: context: Field required"),
        (json.dumps({**PLAIN, "answers": "Ada"}).encode(), "line 1: answers: Input should be a valid array"),
        (json.dumps({**PLAIN, "context": " \n"}).encode(), "line 1: context is blank"),
        (json.dumps({**PLAIN, "input": ""}).encode(), "line 1: input is blank"),
        (json.dumps({**PLAIN, "context": "\ud800"}).encode(), "line 1: record: Invalid JSON"),
        (json.dumps(PLAIN).encode() + b'\n{"input": "\xff"}', "line 2: record: Invalid JSON"),
        (b'{"dataset": "\xff"}', "line 1: no JSON"),
    ],
)
def test_bad_files_are_refused_with_the_place(tmp_path: Path, content: bytes, what: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=what):
        read_rows(file)


def test_a_file_of_another_set_than_was_said_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "longbook_qa_eng.jsonl", [BOOK])
    with pytest.raises(InvalidInput, match=r"line 1: answers: Field required"):
        read_rows(file, "ultradomain")
    with pytest.raises(InvalidInput, match="use one of longbench"):
        read_rows(file, "squad")  # pyright: ignore[reportArgumentType]


def test_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"holds no \.jsonl file"):
        read_rows(tmp_path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_rows(tmp_path / "nothing.jsonl")
