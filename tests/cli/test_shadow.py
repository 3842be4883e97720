import hashlib
import json
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from pss_integrations.retrieval import BM25Index
from pss_integrations.types import Passage

Run = Callable[..., Result]
PASSAGES = [
    Passage("a", "Heron kit-9 needs two bolts", "Kits"),
    Passage("b", "Heron kit-7 is retired"),
    Passage("c", "what runs now is said elsewhere"),
]
CHAT = [
    {"role": "user", "text": "Heron runs on kit-7 since Monday."},
    {"role": "assistant", "text": "Noted."},
    {"role": "user", "text": "what runs now?"},
]
HOSTILE = "<script>alert(1)</script>\" onload='x' what about <b>it</b> &amp; \x1b[31mthat?"


@pytest.fixture
def passages(tmp_path: Path) -> Path:
    return write(
        tmp_path / "passages.jsonl", [{"doc_id": p.doc_id, "text": p.text, "title": p.title} for p in PASSAGES]
    )


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    return write(tmp_path / "chats.jsonl", [{"session_id": "s", "user_id": None, "messages": CHAT}])


def write(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def told(run: Result) -> dict[str, Any]:
    assert run.exit_code == 0, run.output
    return json.loads(run.stdout)


def test_table(pssi: Run, chats: Path, passages: Path) -> None:
    run = pssi("shadow", chats, "--passages", passages)
    assert run.exit_code == 0
    assert "route card                  1 (100 %)" in run.stdout
    assert "raw / card  1" in run.stdout
    assert "session 's', message 3: what runs now?" in run.stdout
    assert "card, used" in run.stdout
    assert run.stderr == ""


def test_json(pssi: Run, chats: Path, passages: Path) -> None:
    report = told(pssi("shadow", chats, "--passages", passages, "-k", 2, "--json"))
    assert (report["sessions"], report["queries"], report["underspecified"], report["k"]) == (1, 1, 1, 2)
    assert report["routes"] == {"raw": 0, "card": 1, "pss": 0}
    assert set(report["added_latency_ms"]) == {"median", "p95"}
    (query,) = report["replayed"]
    assert (query["user_id"], query["session_id"], query["position"]) == (None, "s", 2)
    assert query["found"]["raw"] == ["c"]
    assert report["examples"][0]["query"] == "what runs now?"


def test_states_are_read_where_there_are_any(compile_tiny: Run, pssi: Run, chats: Path, passages: Path) -> None:
    assert compile_tiny("--session-id", "s", "--no-user").exit_code == 0
    run = pssi("shadow", chats, "--passages", passages, "--json")
    report = told(run)
    assert "1 of 1 sessions have a state: loading" in run.stderr
    assert (report["sessions_with_state"], report["generations_per_query"]) == (1, 1)
    assert set(report["replayed"][0]["found"]) == {"raw", "card", "pss"}
    report = told(pssi("shadow", chats, "--passages", passages, "--route", "card", "--json"))
    assert (report["sessions_with_state"], report["generations_per_query"]) == (0, 0)
    report = told(pssi("shadow", chats, "--passages", passages, "--route", "pss", "--json"))
    assert set(report["replayed"][0]["found"]) == {"raw", "pss"}


def test_states_of_others_only_are_no_reason_for_silence(
    compile_tiny: Run, pssi: Run, chats: Path, passages: Path
) -> None:
    assert compile_tiny("--session-id", "s", "--user-id", "ada").exit_code == 0
    run = pssi("shadow", chats, "--passages", passages, "--json")
    assert told(run)["sessions_with_state"] == 0
    assert "none is of these sessions" in run.stderr


def test_nothing_is_written(compile_tiny: Run, pssi: Run, chats: Path, passages: Path, tmp_path: Path) -> None:
    compile_tiny("--session-id", "s", "--no-user")
    BM25Index(PASSAGES).save(tmp_path / "index")
    before = digest(tmp_path)
    told(pssi("shadow", chats, "--index", tmp_path / "index", "--json"))
    assert digest(tmp_path) == before


def digest(directory: Path) -> str:
    files = sorted(file for file in directory.rglob("*") if file.is_file())
    return hashlib.sha256(repr([(file, file.read_bytes()) for file in files]).encode()).hexdigest()


def test_an_index_finds_what_its_passages_find(pssi: Run, chats: Path, passages: Path, tmp_path: Path) -> None:
    BM25Index(PASSAGES).save(tmp_path / "index")
    by_index = told(pssi("shadow", chats, "--index", tmp_path / "index", "--json"))
    by_passages = told(pssi("shadow", chats, "--passages", passages, "--json"))
    assert by_index["examples"] == by_passages["examples"]


def test_no_examples_leaves_texts_out_everywhere(pssi: Run, chats: Path, passages: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    common = ("shadow", chats, "--passages", passages, "--no-examples", "--html", page)
    said = pssi(*common, "--json").stdout + pssi(*common).stdout + page.read_text(encoding="utf-8")
    assert not any(text in said for text in ("runs now", "kit-", "Kits", "bolts", "Monday"))
    assert '"replayed"' in said


class Page(HTMLParser):
    """Notes every tag and attribute, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.text = set[str](), set[str](), ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_hostile_text_injects_nothing(pssi: Run, tmp_path: Path) -> None:
    rows = [{"doc_id": "a", "title": HOSTILE, "text": "x"}, {"doc_id": HOSTILE, "text": "Heron kit-7 is retired"}]
    passages = write(tmp_path / "passages.jsonl", rows)
    messages = [{"role": "user", "text": "Heron runs on kit-7 now"}, {"role": "user", "text": HOSTILE}]
    chats = write(tmp_path / "chats.jsonl", [{"session_id": HOSTILE, "user_id": HOSTILE, "messages": messages}])
    path = tmp_path / "report.html"
    run = pssi("shadow", chats, "--passages", passages, "--html", path)
    assert run.exit_code == 0
    assert "\x1b" not in run.stdout
    page = Page(path.read_text(encoding="utf-8"))
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert not {"onload", "src", "href"} & page.attributes
    assert page.text.count(HOSTILE) >= 3  # query, title and id
    assert {"svg", "table"} <= page.tags


def test_the_page_says_what_the_table_says(pssi: Run, chats: Path, passages: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    pssi("shadow", chats, "--passages", passages, "--html", path)
    page = Page(path.read_text(encoding="utf-8"))
    assert "what runs now?" in page.text
    assert "1, 0 with a state" in page.text
    assert "default-src 'none'" in path.read_text(encoding="utf-8")


STORE = {"store": {"s": CHAT, "t": CHAT[:2]}, "class_name": "SimpleChatStore"}


@pytest.mark.parametrize(
    ("content", "sessions"),
    [
        (json.dumps(STORE), ["s", "t"]),
        (json.dumps([{"session_id": "s", "turns": CHAT, "meta": 1}, {"session_id": "t", "messages": []}]), ["s", "t"]),
        (json.dumps({"session_id": "s", "messages": CHAT}), ["s"]),
        (json.dumps({"session_id": "s", "messages": CHAT}, indent=1), ["s"]),
        ("".join(json.dumps(one) + "\n" for one in CHAT), [None]),
        (json.dumps([{"type": "human", "data": {"content": one["text"]}} for one in CHAT]), [None]),
    ],
)
def test_every_form_of_a_chat(
    pssi: Run, passages: Path, tmp_path: Path, content: str, sessions: list[str | None]
) -> None:
    path = tmp_path / "chats"
    path.write_text(content, encoding="utf-8")
    report = told(pssi("shadow", path, "--passages", passages, "--no-user", "--json"))
    assert (report["sessions"], report["queries"]) == (len(sessions), 1 if "type" not in content else 2)
    assert report["replayed"][0]["session_id"] == sessions[0]


def test_who_it_is_can_be_said_outside(compile_tiny: Run, pssi: Run, passages: Path, tmp_path: Path) -> None:
    compile_tiny("--session-id", "s", "--user-id", "ada")
    one = write(tmp_path / "one.jsonl", CHAT)
    many = write(tmp_path / "many.jsonl", [{"session_id": "s", "messages": CHAT}])
    common = ("--passages", passages, "--json")
    for arguments, with_state in (
        ((one, "--session-id", "s", "--user-id", "ada"), 1),
        ((one, "--session-id", "s", "--user-id", "bob"), 0),
        ((one, "--session-id", "s"), 0),
        ((many, "--user-id", "ada"), 1),
        ((many, "--no-user"), 0),
        ((many,), 0),
        ((one, many, "--user-id", "ada"), 1),
    ):
        assert told(pssi("shadow", *arguments, *common))["sessions_with_state"] == with_state


def test_one_session_id_names_one_chat(pssi: Run, passages: Path, tmp_path: Path) -> None:
    common = ("--session-id", "s", "--no-user", "--passages", passages, "--json")
    one = write(tmp_path / "one.jsonl", CHAT)
    unsaid = write(tmp_path / "unsaid.jsonl", [{"messages": CHAT}, {"session_id": None, "messages": CHAT[:2]}])
    own = write(tmp_path / "own.jsonl", [{"session_id": "s", "messages": CHAT}])
    for files in ((unsaid,), (one, one)):
        run = pssi("shadow", *files, *common)
        assert run.exit_code == 1
        assert "cannot name 2 chats" in json.loads(run.stdout)["error"]["message"]
    assert told(pssi("shadow", one, own, *common))["sessions"] == 2


@pytest.mark.parametrize(
    ("rows", "options", "code", "said"),
    [
        ([], (), 1, "is empty"),
        ([{"session_id": "s", "messages": CHAT}, {"session_id": "t"}], (), 1, "line 2: expected a session"),
        ([{"session_id": "s", "messages": CHAT}, 3], (), 1, "line 2: expected a session"),
        ([{"session_id": "s", "messages": ["hello"]}], (), 1, "chats.jsonl: a message must be a JSON object"),
        ([{"session_id": "s", "messages": [{"role": "x", "text": ""}]}], (), 1, "chats.jsonl: unknown role 'x'"),
        ([{"session_id": 3, "messages": CHAT}], ("--no-user",), 1, "session_id must be a string"),
        ([{"session_id": "s", "user_id": "ada", "messages": CHAT}], ("--user-id", "bob"), 1, "different user_ids"),
        ([{"role": "user"}], (), 1, "line 1: a message needs one of text"),
        (CHAT, ("--user-id", "ada", "--no-user"), 2, "--no-user"),
        (CHAT, ("--route", "all"), 2, "unknown 'all'"),
        (CHAT, ("-k", 0), 2, "-k"),
        (CHAT, ("--index", "nowhere"), 2, "give one of them"),
        (CHAT, ("--html", "nowhere/report.html"), 1, "is no directory"),
    ],
)
def test_bad_input(
    pssi: Run, passages: Path, tmp_path: Path, rows: list[Any], options: tuple[Any, ...], code: int, said: str
) -> None:
    run = pssi("shadow", write(tmp_path / "chats.jsonl", rows), "--passages", passages, *options, "--json")
    assert run.exit_code == code
    assert said in json.loads(run.stdout)["error"]["message"]


def test_what_is_no_index_is_refused(pssi: Run, chats: Path, tmp_path: Path) -> None:
    for options, said in ((("--index", tmp_path), "holds no BM25 index"), ((), "give one of them")):
        error = json.loads(pssi("shadow", chats, *options, "--json").stdout)["error"]
        assert said in error["message"]


def test_chats_without_a_query(pssi: Run, passages: Path, tmp_path: Path) -> None:
    chats = write(tmp_path / "chats.jsonl", [{"session_id": "s", "messages": []}, {"messages": CHAT[1:2]}])
    run = pssi("shadow", chats, "--passages", passages, "--html", tmp_path / "report.html")
    assert run.exit_code == 0
    assert "2, 0 with a state" in run.stdout
