import pytest
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from pss_integrations.errors import InvalidInput
from pss_integrations.langchain.convert import annotated, document_key, split_input, to_document, to_messages
from pss_integrations.types import Hit, Message, Passage


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (HumanMessage("x", id="m1"), "user"),
        (AIMessage("x", id="m1"), "assistant"),
        (AIMessageChunk("x", id="m1"), "assistant"),
        (SystemMessage("x", id="m1"), "system"),
        (ToolMessage("x", tool_call_id="t", id="m1"), "tool"),
        (FunctionMessage("x", name="f", id="m1"), "tool"),
        (ChatMessage("x", role="assistant", id="m1"), "assistant"),
    ],
)
def test_each_kind_of_message_has_its_role(message: object, role: str) -> None:
    assert to_messages([message]) == [Message(role, "x", "m1")]


def test_every_form_of_a_history_is_taken() -> None:
    history = [("human", "one"), {"role": "assistant", "content": "two"}, HumanMessage("three")]
    assert [(m.role, m.text) for m in to_messages(history)] == [
        ("user", "one"),
        ("assistant", "two"),
        ("user", "three"),
    ]


def test_of_a_message_in_blocks_the_text_counts() -> None:
    blocks = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    (message,) = to_messages([HumanMessage(blocks)])
    assert message.text == "look"
    assert type(message.text) is str


@pytest.mark.parametrize("history", ["hello", [RemoveMessage(id="1")], [ChatMessage("x", role="pirate")]])
def test_what_is_no_history_is_refused(history: object) -> None:
    with pytest.raises(InvalidInput):
        to_messages(history)


def test_a_query_passes_with_or_without_its_history() -> None:
    assert split_input(" a ") == (" a ", [])
    assert split_input({"input": " a "}) == (" a ", [])
    assert split_input({"input": " a ", "chat_history": [("human", "b")]}) == (" a ", [Message("user", "b")])


@pytest.mark.parametrize("value", [None, 3, {}, {"query": "a"}, {"input": 3}, ["a"]])
def test_another_shape_of_input_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="chat_history"):
        split_input(value)


def test_a_document_is_named_by_id_then_id_key_then_text() -> None:
    metadata = {"pk": 7}
    assert document_key(Document("t", id="d1", metadata=metadata), "pk") == "d1"
    assert document_key(Document("t", metadata=metadata), "pk") == "7"
    assert document_key(Document("t", metadata=metadata)) == document_key(Document("t"), "pk")
    assert document_key(Document("t")) != document_key(Document("u"))
    assert document_key(Document("\ud800"))  # a lone surrogate is still a text


def test_annotating_copies() -> None:
    document = Document("t", id="d1", metadata={"a": 1})
    copied = annotated(document, {"route": "pss", "clue": None})
    assert (copied.id, copied.metadata) == ("d1", {"a": 1, "pss_route": "pss"})
    assert document.metadata == {"a": 1}


def test_a_title_is_written_only_where_there_is_one() -> None:
    metadata = {"title": "the caller's"}
    assert to_document(Hit(Passage("a", "t", "", metadata), 0.5)).metadata == {**metadata, "pss_score": 0.5}
    assert to_document(Hit(Passage("a", "t", "ours", metadata), 0.5)).metadata == {"title": "ours", "pss_score": 0.5}
    assert to_document(Hit(Passage("a", "t"), 0.5)).metadata == {"pss_score": 0.5}
