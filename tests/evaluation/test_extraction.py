import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pss_integrations.beliefs.extraction import Observation
from pss_integrations.beliefs.schema import NewBelief
from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.extraction import Gold, evaluate_extraction, load_dialogues
from pss_integrations.types import Message


class Canned:
    """Takes from a conversation whatever was written down for its first message."""

    def __init__(self, **found: list[NewBelief]) -> None:
        self.found = found

    def extract(self, messages: Sequence[Message], scopes: Sequence[str]) -> Observation:
        return Observation(tuple(self.found.get(messages[0].text, ())))


def belief(content: str, name: str = "marlin", type: str = "decision", aliases: Sequence[str] = ()) -> NewBelief:
    return NewBelief.model_validate(
        {
            "type": type,
            "canonical_name": name,
            "content": content,
            "aliases": tuple(aliases),
            "scopes": ("project:atlas",),
        }
    )


def gold(**fields: Any) -> dict[str, Any]:
    return {"types": ["decision"], "names": ["marlin"], "content": ["marlin"], **fields}


def dialogue(text: str, *expected: dict[str, Any], kind: str = "uses") -> dict[str, Any]:
    return {"id": text, "kind": kind, "messages": [{"role": "user", "text": text}], "gold": expected}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dialogues.jsonl"


def write(path: Path, *dialogues: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in dialogues), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "found", "matches"),
    [
        ({}, belief("Uses Marlin."), True),
        ({}, belief("Uses MARLIN.", "mail", aliases=["Marlin 2"]), True),
        ({}, belief("Uses Marlin.", "mail"), False),
        ({}, belief("Uses a fish."), False),
        ({}, belief("Uses Marlin.", type="entity"), False),
        ({"names": ["mail_queue"]}, belief("Uses Marlin.", "Mail Queue"), True),
        ({"content": ["marlin", "mail"]}, belief("Uses Marlin."), False),
        ({"not_content": ["kafka"]}, belief("Uses Marlin, not Kafka."), False),
        ({"negative": True}, belief("Uses Marlin."), False),
        ({"negative": True}, belief("Doesn't use Marlin."), True),
        ({"negative": True}, belief("No longer uses Marlin."), True),
        ({"negative": True}, belief("Noted: uses Marlin."), False),
        ({"open": True}, belief("Marlin?"), False),
        ({"open": True}, belief("Marlin?", type="open_question"), True),
    ],
)
def test_a_belief_matches_gold_by_type_name_and_content(changes, found, matches):
    fields = {key: frozenset(value) if key == "types" else value for key, value in gold(**changes).items()}
    assert Gold(**fields).matches(found) is matches


def test_precision_and_recall_are_counted_over_all_and_by_kind(path):
    write(path, dialogue("a", gold(), gold(content=["tea"])), dialogue("b", kind="trap"), dialogue("c", kind="quiet"))
    result = evaluate_extraction(path, Canned(a=[belief("Uses Marlin.")], b=[belief("Uses Marlin.")]))
    assert (result["precision"], result["recall"]) == (0.5, 0.5)
    assert (result["dialogues"], result["beliefs"]) == (3, 2)
    assert result["kinds"]["uses"] == {
        "precision": 1.0, "recall": 0.5, "dialogues": 1, "beliefs": 2, "extracted": 1, "matched": 1,
    }  # fmt: skip
    assert result["kinds"]["trap"]["precision"] == 0
    assert (result["kinds"]["quiet"]["precision"], result["kinds"]["quiet"]["recall"]) == (None, None)
    assert [next(key for key in ("missing", "extra") if key in one) for one in result["misses"]] == ["missing", "extra"]


def test_each_belief_matches_once_and_as_many_as_can_be(path):
    write(path, dialogue("a", gold(content=["uses"]), gold(content=["uses", "mail"])))
    plain, exact = belief("Uses Marlin."), belief("Uses Marlin for mail.")
    assert evaluate_extraction(path, Canned(a=[exact, plain]))["matched"] == 2
    assert evaluate_extraction(path, Canned(a=[exact]))["matched"] == 1
    assert evaluate_extraction(path, Canned(a=[exact, exact, plain]))["precision"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "text", ["", "\n", "{}\n", "no json\n", '{"id": "a", "kind": "b", "messages": [], "gold": [{}]}\n']
)
def test_a_file_that_holds_no_dialogues_is_an_error(path, text):
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match="dialogue"):
        load_dialogues(path)


def test_a_missing_file_is_an_error(path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        evaluate_extraction(path, Canned())
