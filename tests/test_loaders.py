import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pss_integrations.errors import InvalidInput
from pss_integrations.loaders import load_fields, load_messages, load_passages, load_targets
from pss_integrations.types import ROLES, ClueTarget, Message, Passage, SessionFields

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
SESSION = [
    Message("system", "You help with harbour planning."),
    Message("user", "Berth 7 is for the Alma now."),
    Message("assistant", "Noted.\nBerth 7: Alma."),
    Message("tool", "berths updated"),
]


@pytest.fixture
def save(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Write a file and return its path."""

    def write(content: str | bytes) -> Path:
        path = tmp_path / "input.json"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


Save = Callable[[str | bytes], Path]


def lines(rows: Sequence[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


# --- messages


def test_our_own_form_with_id_and_time(save: Save) -> None:
    row = {"role": "user", "text": "Use berth 7.", "id": "m1", "created_at": "2026-03-01T08:00:00Z"}
    assert load_messages(save(json.dumps(row))) == [
        Message("user", "Use berth 7.", "m1", datetime(2026, 3, 1, 8, tzinfo=UTC))
    ]


@pytest.mark.parametrize("dump", [lines, json.dumps, lambda rows: json.dumps(rows, indent=2)])
def test_json_lines_and_json_arrays_are_the_same(save: Save, dump: Callable[[Sequence[object]], str]) -> None:
    path = save(dump([{"role": message.role, "text": message.text} for message in SESSION]))
    assert load_messages(path) == SESSION
    assert load_messages(str(path)) == SESSION


@given(st.lists(st.builds(Message, st.sampled_from(ROLES), TEXTS, st.none() | TEXTS), min_size=1), st.booleans())
def test_any_text_comes_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, session: list[Message], ascii_only: bool
) -> None:
    rows = [{"role": message.role, "text": message.text, "id": message.id} for message in session]
    path = tmp_path_factory.mktemp("session") / "messages.jsonl"
    path.write_bytes("\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows).encode())
    assert load_messages(path) == session


def test_one_message_over_several_lines(save: Save) -> None:
    assert load_messages(save(json.dumps({"role": "user", "text": "a"}, indent=1))) == [Message("user", "a")]


def test_byte_order_mark_windows_line_ends_and_blank_lines(save: Save) -> None:
    text = '\r\n{"role": "user", "text": "a"}\r\n\r\n{"role": "assistant", "text": "b"}\r\n'
    assert load_messages(save(b"\xef\xbb\xbf" + text.encode())) == [Message("user", "a"), Message("assistant", "b")]


def test_a_very_long_line(save: Save) -> None:
    text = "berth " * 200_000
    assert load_messages(save(lines([{"role": "user", "text": text}]))) == [Message("user", text)]


@pytest.mark.parametrize(
    ("said", "role"),
    [
        ("human", "user"),
        ("ai", "assistant"),
        ("model", "assistant"),
        ("chatbot", "assistant"),
        ("developer", "system"),
        ("function", "tool"),
        ("User", "user"),
    ],
)
def test_roles_of_other_systems(save: Save, said: str, role: str) -> None:
    (message,) = load_messages(save(lines([{"role": said, "content": "x"}])))
    assert message.role == role


def test_openai_messages_keep_text_and_lose_pure_tool_calls(save: Save) -> None:
    rows = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {}}, "Well?"],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "A pier."}]},
        {"role": "assistant", "content": " "},
    ]
    assert load_messages(save(json.dumps(rows))) == [Message("user", "Look:\nWell?"), Message("assistant", "A pier.")]


def test_langchain_dumps(save: Save) -> None:
    messages = pytest.importorskip("langchain_core.messages")
    load = pytest.importorskip("langchain_core.load")
    history = [
        messages.SystemMessage("Plan the harbour."),
        messages.HumanMessage("Berth 7?", id="h1"),
        messages.AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}]),
        messages.ToolMessage("free", tool_call_id="c"),
        messages.AIMessage([{"type": "text", "text": "It is"}, {"type": "image", "url": "u"}, "free."]),
        messages.AIMessageChunk("Anything else?"),
        messages.ChatMessage(role="developer", content="Be brief."),
        messages.FunctionMessage(name="f", content="done"),
    ]
    expected = [
        Message("system", "Plan the harbour."),
        Message("user", "Berth 7?", "h1"),
        Message("tool", "free"),
        Message("assistant", "It is\nfree."),
        Message("assistant", "Anything else?"),
        Message("system", "Be brief."),
        Message("tool", "done"),
    ]
    assert load_messages(save(json.dumps(messages.messages_to_dict(history)))) == expected
    assert load_messages(save(load.dumps(history, pretty=True))) == expected
    assert load_messages(save(lines([load.dumpd(message) for message in history]))) == expected
    assert load_messages(save(lines([message.model_dump() for message in history]))) == expected


def test_llama_index_messages(save: Save) -> None:
    llms = pytest.importorskip("llama_index.core.llms")
    history = [
        llms.ChatMessage("Berth 7?"),
        llms.ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": []}),
        llms.ChatMessage(role="tool", content="free", additional_kwargs={"tool_call_id": "c"}),
        llms.ChatMessage(
            role="chatbot",
            blocks=[
                llms.TextBlock(text="It is"),
                llms.ImageBlock(url="http://localhost/u"),
                llms.TextBlock(text="free."),
            ],
        ),
    ]
    expected = [Message("user", "Berth 7?"), Message("tool", "free"), Message("assistant", "It is\nfree.")]
    assert load_messages(save("\n".join(message.model_dump_json() for message in history))) == expected
    assert load_messages(save(json.dumps([message.model_dump(mode="json") for message in history]))) == expected


def test_llama_index_chat_store(save: Save) -> None:
    llms = pytest.importorskip("llama_index.core.llms")
    chat_store = pytest.importorskip("llama_index.core.storage.chat_store")
    rows = {name: [{"role": "user", "blocks": [{"block_type": "text", "text": name}]}] for name in ("ada", "bob")}
    for sessions in (rows, {"ada": rows["ada"]}):
        dump = {"store": sessions, "class_name": "SimpleChatStore"}
        # Read by the framework itself, since its own dump fails with some releases of pydantic.
        assert chat_store.SimpleChatStore.model_validate(dump).get_messages("ada") == [llms.ChatMessage("ada")]
        assert load_messages(save(json.dumps(dump, indent=2)), store_key="ada") == [Message("user", "ada")]
    assert load_messages(save(json.dumps(dump))) == [Message("user", "ada")]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (None, r"several sessions: give store_key, one of 'ada', 'bob'$"),
        ("eve", r"no key 'eve': give store_key, one of 'ada', 'bob'$"),
    ],
)
def test_a_chat_store_of_several_sessions_needs_a_key(save: Save, key: str | None, text: str) -> None:
    path = save(json.dumps({"store": {"bob": [], "ada": []}}))
    with pytest.raises(InvalidInput, match=text):
        load_messages(path, store_key=key)


def test_a_store_key_for_another_file_is_refused(save: Save) -> None:
    with pytest.raises(InvalidInput, match="no chat store"):
        load_messages(save(lines([{"role": "user", "text": "a"}])), store_key="ada")


GOOD = '{"role": "user", "text": "a"}\n'


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", r"input\.json is empty"),
        (" \n\n", r"input\.json is empty"),
        ("[]", "no message has any text"),
        ('{"store": {}}', "holds no session"),
        (GOOD + "\n" + '{"role": "user", "text": ', r"input\.json, line 3: no valid JSON at column"),
        ('{"role": "user", \n' + GOOD, r"line 1: no valid JSON"),
        ('[\n{"role": "user"\n]', r"input\.json: no valid JSON at line 3, column 1"),
        (GOOD + "[1]", "line 2: expected a JSON object, got list"),
        ('"hello"', "line 1: expected a JSON object, got str"),
        ('[{"role": "user", "text": "a"}, 5]', "item 2: expected a JSON object, got int"),
        (GOOD + '{"role": "narrator", "text": "a"}', "line 2: unknown role 'narrator': use user, assistant"),
        ('{"text": "a"}', "line 1: a message needs a role"),
        ('{"role": 5, "text": "a"}', "line 1: a message needs a role"),
        ('{"role": "user"}', "line 1: a message needs one of text, content, blocks"),
        ('{"role": "user", "text": 5}', "line 1: text must be a string, got int"),
        ('{"role": "user", "content": [7]}', "line 1: expected a JSON object, got int"),
        ('{"role": "user", "content": [{"type": "text"}]}', "line 1: text is missing"),
        ('{"role": "user", "text": "a", "id": 7}', "line 1: id must be a string, got int"),
        ('{"role": "user", "text": "a", "created_at": "noon"}', "line 1: created_at 'noon' is no ISO 8601"),
        ('{"role": "user", "text": "\\ud83d"}', "line 1: text holds half of a surrogate pair"),
        ('{"lc": 1, "id": "AIMessage", "kwargs": {}}', "line 1: id must be a list, got str"),
        ('{"lc": 1, "type": "not_implemented", "id": ["x"]}', "line 1: expected a JSON object, got NoneType"),
        (GOOD + "[" * 100_000, "line 2: no usable JSON"),
        (GOOD.encode() + '{"role": "user", "text": "café"}'.encode("latin-1"), "line 2: this is no UTF-8"),
        (GOOD.encode("utf-16"), "line 1: this is no UTF-8"),
    ],
)
def test_unusable_messages_are_named_with_their_place(save: Save, content: str | bytes, text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        load_messages(save(content))


@pytest.mark.parametrize("load", [load_messages, load_passages, load_targets, load_fields])
def test_a_file_that_is_not_there_is_named_once(tmp_path: Path, load: Callable[[Path], object]) -> None:
    path = tmp_path / "absent.jsonl"
    with pytest.raises(InvalidInput) as caught:
        load(path)
    assert str(caught.value) == f"{path} cannot be read: No such file or directory"


# --- passages


def test_passages_keep_the_rest_as_metadata(save: Save) -> None:
    rows = [
        {"doc_id": "p1", "title": "Berths", "text": "Berth 7 is 40 m long.", "year": 2025, "tags": ["quay"]},
        {"doc_id": "p2", "title": None, "text": "Cranes."},
    ]
    assert load_passages(save(lines(rows))) == [
        Passage("p1", "Berth 7 is 40 m long.", "Berths", {"year": 2025, "tags": ["quay"]}),
        Passage("p2", "Cranes."),
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('{"doc_id": "a", "text": "x"}\n{"doc_id": "a", "text": "y"}', r"line 2: doc_id 'a' .* before, at .*, line 1$"),
        ('{"text": "x"}', "line 1: doc_id is missing"),
        ('{"doc_id": "", "text": "x"}', "line 1: doc_id is empty"),
        ('{"doc_id": 7, "text": "x"}', "line 1: doc_id must be a string, got int"),
        ('{"doc_id": "a"}', "line 1: text is missing"),
        ('{"doc_id": "a", "text": "x", "title": 1}', "line 1: title must be a string, got int"),
        ('[{"doc_id": "a", "text": "x"}]', "line 1: expected a JSON object, got list"),
        ('{"doc_id": "a", "text": "x"}\n{"doc_id"', "line 2: no valid JSON"),
        ("\n", "is empty"),
    ],
)
def test_unusable_passages_are_named_with_their_line(save: Save, content: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        load_passages(save(content))


# --- targets and fields


def test_targets(save: Save) -> None:
    rows = [
        {"request": "use that berth", "clue": "harbour berth 7", "conflicts": ["harbour berth 3"]},
        {"request": "who runs it", "clue": "harbour master Ines"},
    ]
    assert load_targets(save(lines(rows))) == [
        ClueTarget("use that berth", "harbour berth 7", ("harbour berth 3",)),
        ClueTarget("who runs it", "harbour master Ines"),
    ]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"clue": "c"}, "request is missing"),
        ({"request": " ", "clue": "c"}, "needs a request that is not blank"),
        ({"request": "r", "clue": "c", "conflict": ["d"]}, "unknown field 'conflict': use request, clue, conflicts"),
        ({"request": "r", "clue": "c", "conflicts": "d"}, "conflicts must be a list, got str"),
        ({"request": "r", "clue": "c", "conflicts": [1]}, "a conflict must be a string, got int"),
        ({"request": "r", "clue": "c", "conflicts": ["c"]}, "among its own conflicts"),
    ],
)
def test_unusable_targets_are_named_with_their_line(save: Save, row: object, text: str) -> None:
    with pytest.raises(InvalidInput, match=rf"input\.json, line 2: .*{text}"):
        load_targets(save(lines([{"request": "r", "clue": "c"}, row])))


def test_fields(save: Save) -> None:
    path = save(
        json.dumps(
            {
                "project": "harbour",
                "active": {"berth": "7"},
                "archived": {"berth": "3"},
                "component": None,
                "other": {"master": "Ines"},
            },
            indent=2,
        )
    )
    assert load_fields(path) == SessionFields("harbour", {"berth": "7"}, {"berth": "3"}, None, {"master": "Ines"})


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("[]", "expected a JSON object, got list"),
        ('{"active": {"berth": "7"}}', "project is missing"),
        ('{"project": "p", "active": {"berth": 7}}', r"active\.berth must be a string, got int"),
        ('{"project": "p", "active": []}', "expected a JSON object, got list"),
        ('{"project": "p", "activ": {}}', "unknown field 'activ': use project, active"),
        ('{"project": "p"}', "at least one name/value pair"),
        ('{\n"project": \n}', "no valid JSON at line 3, column 1"),
    ],
)
def test_unusable_fields_are_named_with_their_file(save: Save, content: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=rf"input\.json: .*{text}"):
        load_fields(save(content))
