from typing import Any

import pytest
from generating import Repeating, every_tool, words
from oracle import Oracle

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.arms import ARMS, missing_tool
from pss_integrations.evaluation.controls import Cast, Made
from pss_integrations.evaluation.pss320 import Probe
from pss_integrations.evaluation.rewriting import FIXED_QUERY
from pss_integrations.evaluation.runner import Runner
from pss_integrations.evaluation.subjects import Asked, Subject
from pss_integrations.evaluation.texts import TEXTS
from pss_integrations.evaluation.tools import Tools
from pss_integrations.retrieval import BM25Index
from pss_integrations.states.history_targets import HistoryTargets
from pss_integrations.types import ClueTarget, Message, Passage

MESSAGES = (
    Message("user", "Heron runs on kit-7."),
    Message("assistant", "Noted, Heron."),
    Message("user", "Then Crane came, on kit-9."),
)
LIVE = (Message("user", "Bittern now, kit-12."),)
TARGETS = (
    ClueTarget("what is in use now?", "Crane kit-9"),
    ClueTarget("at present?", "Crane kit-9"),
    ClueTarget("what is this about?", "Heron"),
)
REWRITERS = ("rewrite_history", "rewrite_base", "rewrite_bank", "rewrite_readout")


class Counting(Oracle):
    """Notes what was read."""

    def __init__(self) -> None:
        self.queries: list[str] = []

    def read(self, requests: Any) -> Any:
        self.queries += [query for _, queries in requests for query in queries]
        return super().read(requests)


def cast(
    tools: Tools | None = None, *, source: Oracle | None = None, targets: tuple[ClueTarget, ...] = TARGETS
) -> Cast:
    asked = tuple(Asked(Probe(query, (), "", "x"), MESSAGES + LIVE) for query in ("and  now?", "before?"))
    return Cast([Subject("s", "g", MESSAGES, targets, asked, 0)], source or Oracle(), HistoryTargets(), tools)


def rewritten(name: str, generator: Repeating, **given: Any) -> Made:
    return TEXTS[name].make(cast(Tools(generator), **given), 0)


@pytest.mark.parametrize("name", REWRITERS)
def test_every_question_is_rewritten_by_the_same_instruction(name: str) -> None:
    generator = Repeating()
    assert rewritten(name, generator).texts == ("Question: and now?", "Question: before?")
    assert len({chat[0] for chat in generator.chats}) == 1
    assert generator.chats[0][0].role == "system"


def test_the_whole_history_is_read_with_what_was_said_since_the_compile() -> None:
    rewritten("rewrite_history", generator := Repeating())
    (_, asked), _ = generator.chats
    said = "user: Heron runs on kit-7.\nassistant: Noted, Heron.\nuser: Then Crane came, on kit-9.\n"
    assert asked.text == f"Conversation:\n{said}user: Bittern now, kit-12.\n\nQuestion: and now?"


def test_the_base_model_sees_nothing_but_the_question() -> None:
    rewritten("rewrite_base", generator := Repeating())
    assert [chat[1:] for chat in generator.chats] == [
        (Message("user", "Question: and now?"),),
        (Message("user", "Question: before?"),),
    ]


def test_each_record_of_the_bank_is_an_example_before_the_question() -> None:
    rewritten("rewrite_bank", generator := Repeating())
    assert [(one.role, one.text) for one in generator.chats[0][1:]] == [
        ("user", "Question: what is in use now?"),
        ("assistant", "Crane kit-9"),
        ("user", "Question: what is this about?"),
        ("assistant", "Heron"),
        ("user", "Question: and now?"),
    ]


def test_the_fixed_readout_is_read_once_and_is_the_same_for_every_question() -> None:
    source = Counting()
    assert TEXTS["fixed_readout"].make(cast(source=source), 0).texts == ("Heron", "Heron")
    assert source.queries == [FIXED_QUERY]


def test_the_readout_serves_as_the_only_record() -> None:
    rewritten("rewrite_readout", generator := Repeating())
    assert [one.text for one in generator.chats[0][1:3]] == [f"Question: {FIXED_QUERY}", "Heron"]


def test_a_session_without_a_state_has_no_readout() -> None:
    assert TEXTS["fixed_readout"].make(cast(targets=()), 0).texts == ("", "")
    rewritten("rewrite_readout", generator := Repeating(), targets=())
    assert len(generator.chats[0]) == 2


@pytest.mark.parametrize("name", ["rewrite_history", "rewrite_bank"])
def test_what_does_not_fit_is_left_out_from_the_front_and_no_more_than_must_be(name: str) -> None:
    rewritten(name, whole := Repeating())
    everything = max(map(words, whole.chats))
    made = rewritten(name, generator := Repeating(everything - 1))
    assert made.record["left_out"] == 1
    first, last = ("Heron runs", "Bittern") if name == "rewrite_history" else ("Crane kit-9", "Heron")
    left = "".join(message.text for message in generator.chats[0])
    assert first not in left
    assert last in left


def test_a_rewriting_says_what_it_cost() -> None:
    made = rewritten("rewrite_history", generator := Repeating())
    assert made.record == {
        "left_out": 0,
        "prompt_tokens": sum(map(words, generator.chats)),
        "generated_tokens": 2 * len(generator.chats),
    }


def test_an_external_rewriter_gets_the_messages_and_the_question() -> None:
    tools = Tools(external=lambda messages, query: f"{len(messages)} {query}")
    assert TEXTS["external"].make(cast(tools), 0).texts == ("4 and  now?", "4 before?")


def test_an_external_rewriter_must_return_a_string() -> None:
    tools = Tools(external=lambda messages, query: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(InvalidInput, match="must return a string, got NoneType"):
        TEXTS["external"].make(cast(tools), 0)


def runner(tools: Tools | None, *arms: str) -> Runner:
    return Runner(cast(tools), [ARMS[name] for name in arms], {"bm25": BM25Index([Passage("d", "kit-9")])}, len)


def quiet(what: str, done: int, total: int) -> None:
    pass


def test_the_record_holds_every_text_and_what_it_cost() -> None:
    (session,) = runner(every_tool(), "raw", "rewrite_base/append", "external/replace").run(quiet)
    assert session.probes[1].clues == {
        "rewrite_base": "Question: before?",
        "external": "Bittern now, kit-12. before?",
    }
    assert session.states.keys() == {"rewrite_base"}


def test_an_arm_that_is_not_run_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for make in ("generate", "fits"):
        monkeypatch.delattr(Repeating, make)
    monkeypatch.delattr(Oracle, "compile")
    (session,) = runner(every_tool(), "raw", "select_bm25/replace").run(quiet)
    assert session.probes[0].clues == {"select_bm25": "Crane kit-9"}


@pytest.mark.parametrize(
    ("name", "tool"),
    [("rewrite_bank/append", "generator"), ("select_dense/replace", "embedder"), ("external/rrf", "external")],
)
def test_an_arm_without_its_tool_is_refused_before_any_work(
    name: str, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Oracle, "compile")
    with pytest.raises(InvalidInput, match=rf"the arm {name} needs Tools\({tool}=\.\.\.\)"):
        runner(None, "correct/append", name).run(quiet)


def test_every_tool_serves_an_arm_and_every_arm_can_be_run_with_all_tools() -> None:
    needed = {missing_tool(arm, Tools()) for arm in ARMS.values()}
    assert needed == {None, *Tools.__dataclass_fields__}
    assert all(missing_tool(arm, every_tool()) is None for arm in ARMS.values())
