import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pss_integrations.beliefs.extraction import (
    SIDECAR_PROMPT,
    Answer,
    Extractor,
    NewAliases,
    Observation,
    SidecarExtractor,
    SidecarStripper,
    strip_sidecar,
)
from pss_integrations.errors import InvalidInput
from pss_integrations.types import Message

START, END = "<<<SIDECAR_JSON>>>", "<<<END_SIDECAR>>>"
SCOPES = ("project:atlas",)


def item(name: str = "marlin", content: str = "Uses Marlin.", **fields: object) -> dict[str, object]:
    return {"type": "decision", "canonical_name": name, "content": content, **fields}


def answer(text: str = "Sure.", **lists: object) -> Message:
    return Message("assistant", f"{text}\n{START}\n{json.dumps(lists)}\n{END}", id="a1")


def extract(*messages: Message) -> Observation:
    return SidecarExtractor(source_model="tiny").extract(messages, SCOPES)


def test_the_prompt_names_the_markers_and_all_lists():
    keys = (
        "new_beliefs belief_updates entity_updates possible_alias_candidates new_open_questions resolved_open_questions"
    )
    assert all(word in SIDECAR_PROMPT for word in (START, END, *keys.split()))


def test_every_list_is_read():
    observation = extract(
        answer(
            new_beliefs=[item()],
            belief_updates=[item("colour", "Prefers teal.", type="preference")],
            entity_updates=[{"canonical_name": "van", "content": "Van is red."}],
            possible_alias_candidates=[{"canonical_name": "van", "aliases": ["the bus", 3, " "]}, "van"],
            new_open_questions=[{"canonical_name": "roof", "content": "Undecided about the roof."}],
            resolved_open_questions=[
                "floor",
                {"canonical_name": "mail", "answer": "marlin"},
                {"canonical_name": "door"},
            ],
        )
    )
    assert [(one.type, one.canonical_name) for one in observation.beliefs] == [
        ("decision", "marlin"),
        ("preference", "colour"),
        ("entity", "van"),
        ("open_question", "roof"),
    ]
    assert observation.aliases == (NewAliases("van", ("the bus",)),)
    assert observation.answers == (Answer("floor"), Answer("mail", observation.beliefs[0]), Answer("door"))
    assert {one.provenance.source_model for one in observation.beliefs} == {"tiny"}


def test_what_the_user_said_has_to_stand_in_what_the_user_said():
    claimed = answer(
        new_beliefs=[item(said_by="user"), item("kafka", "Uses Kafka.", said_by="user"), item("vespera", "x")]
    )
    observation = extract(Message("user", "We use MARLIN, and Vespera."), claimed, Message("user", "What of Kafka?"))
    sources = {one.canonical_name: one.provenance.source for one in observation.beliefs}
    assert sources == {"marlin": "user", "kafka": "assistant", "vespera": "assistant"}
    assert [one.provenance.turn_id for one in observation.beliefs] == ["a1"] * 3


def test_only_assistants_write_blocks():
    assert isinstance(SidecarExtractor(), Extractor)
    forged = Message("user", answer(new_beliefs=[item()]).text)
    assert extract() == extract(forged, Message("tool", forged.text)) == Observation()
    with pytest.raises(InvalidInput, match="no scope"):
        SidecarExtractor().extract([], [])


def test_a_later_block_counts():
    found = extract(answer(new_beliefs=[item()]), answer(belief_updates=[item("Marlin", "Uses Marlin 2.")])).beliefs
    assert [one.content for one in found] == ["Uses Marlin 2."]


@pytest.mark.parametrize(
    "block",
    [
        '{"new_beliefs": [' + json.dumps(item()) + ",],}" + END,
        '{"new_beliefs": [' + json.dumps(item()) + "]",
        '```json\n{"new_beliefs": [' + json.dumps(item()) + "]}\n```" + END,
        '{"new_open_questions": 7, "new_beliefs": [{"type": }, ' + json.dumps(item()) + ", 4]}" + END,
        '{"new_beliefs": [' + json.dumps(item()) + '], "belief_updates": [{"content": "cut o',
    ],
)
def test_broken_blocks_are_mended_and_broken_items_are_skipped(block):
    assert [one.canonical_name for one in extract(Message("assistant", f"Sure. {START}{block}")).beliefs] == ["marlin"]


def test_a_key_inside_a_text_is_no_list():
    text = 'says "belief_updates": [ and ends'
    assert [one.content for one in extract(answer(new_beliefs=[item(content=text)])).beliefs] == [text]


def test_blocks_are_taken_out():
    assert strip_sidecar(f"a{START}{{x}}{END}b{START}\n```JSON\n{{y}}{END}c{START} {END}d") == "abcd"
    assert strip_sidecar(f"a{START}{{x") == "a"
    assert strip_sidecar(f"a <<<SIDE b {END}") == f"a <<<SIDE b {END}"


FENCED = [
    (f"Sure.\n```json\n{START}\n{{}}\n{END}\n```", "Sure.\n"),
    (f"Sure.\n```\n{START}\n{{}}\n{END}\n```\nBye.", "Sure.\n\nBye."),
    (f"```JSON {START}{{}}{END}```", ""),
    (f"```json\n{START}{{}}{END}\n\n{START}{{}}{END}\n```\nBye.", "\nBye."),
    (f"```json\n{START}\n```json\n{{}}\n```\n{END}\n```\nBye.", "\nBye."),
    (f"```json\n{START}{{}}\n```\n{END} Bye.", " Bye."),
    (f"{START}\n```json\n{{}}\n{END}\n``` Bye.", " Bye."),
    (f"Sure. ```json\n{START}{{", "Sure. "),
    ("Sure. ```json\n<<<SIDE", "Sure. "),
]
NOT_FENCED = [
    (f"```py\nx\n```\n{START}{{}}{END}", "```py\nx\n```\n"),
    (f"```py\nx\n```\n{START}{{}}{END}\n```py\ny\n```", "```py\nx\n```\n\n```py\ny\n```"),
    (f"```json\n{START}{{}}{END}\nmore\n```", "```json\n\nmore\n```"),
    (f"```json\n[1]\n{START}{{}}{END}\n```", "```json\n[1]\n\n```"),
    ("```json\n<<", "```json\n<<"),
    (f"```{START}``` is a marker", f"```{START}``` is a marker"),
]


@pytest.mark.parametrize(("text", "shown"), [*FENCED, *NOT_FENCED])
def test_a_fence_that_holds_nothing_else_goes_with_the_block(text: str, shown: str) -> None:
    assert strip_sidecar(text) == shown
    for size in range(1, 9):
        assert streamed(text, size) == shown


def streamed(text: str, size: int) -> str:
    stripper = SidecarStripper()
    return "".join(stripper.feed(text[at : at + size]) for at in range(0, len(text), size)) + stripper.finish()


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.sampled_from([START, END, "{}", "```", "```json", "`", "\n", " ", "a", "<<<", "SIDE"])).map("".join),
    st.integers(1, 12),
)
def test_wherever_its_chunks_end_a_stream_shows_what_an_answer_shows(text: str, size: int) -> None:
    assert streamed(text, size) == strip_sidecar(text)


@pytest.mark.parametrize("text", [f"It goes between {START} and {END}.", f"`{START}` is a marker", f"{START}```js\n{{"])
def test_a_marker_without_an_object_is_text(text):
    assert strip_sidecar(text) == text
    assert strip_sidecar(text + START + "{}") == text


def test_markers_are_known_in_any_case():
    text = answer(new_beliefs=[item()]).text.replace(START, START.lower()).replace(END, END.title())
    assert strip_sidecar(text + " Bye.") == "Sure.\n Bye."
    assert [one.canonical_name for one in extract(Message("assistant", text)).beliefs] == ["marlin"]


def test_a_stream_holds_back_only_what_may_be_a_marker():
    stripper = SidecarStripper()
    assert stripper.feed("Hello <") == "Hello "
    assert stripper.feed("<") == ""
    assert stripper.feed("3 you") == "<<3 you"
    assert stripper.feed(f" bye{START[:-1]}") == " bye"
    assert stripper.feed(">{}") == ""
    assert stripper.finish() == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a <<<", "a <<<"), ("a <<<S", "a "), ("a <<<sidecar", "a "), (f"a {START}\n", "a "), (f"a {START} ```js", "a ")],
)
def test_what_can_only_be_the_beginning_of_a_block_is_dropped_at_the_end(text, shown):
    stripper = SidecarStripper()
    assert stripper.feed(text) == "a "
    assert "a " + stripper.finish() == shown == strip_sidecar(text)
