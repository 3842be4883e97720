import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from pss_integrations.routing import Certificate

Run = Callable[..., Result]
WHO = ("--session-id", "s", "--no-user")
PASSAGES = (
    {"doc_id": "a", "text": "Heron kit-9 needs two bolts", "title": "Kits"},
    {"doc_id": "b", "text": "Heron kit-7 is retired"},
    {"doc_id": "c", "text": "what runs now is said elsewhere"},
)


@pytest.fixture
def passages(tmp_path: Path) -> Path:
    path = tmp_path / "passages.jsonl"
    path.write_text("".join(json.dumps(passage) + "\n" for passage in PASSAGES), encoding="utf-8")
    return path


def test_clue_finds_what_the_query_does_not_name(compile_tiny: Run, pssi: Run, passages: Path) -> None:
    assert compile_tiny(*WHO).exit_code == 0
    told = json.loads(pssi("search", "now?", "--passages", passages, *WHO, "-k", 2, "--json").stdout)
    assert (told["route"], told["reason"], told["composition"]) == ("pss", "clue", "append")
    assert [hit["doc_id"] for hit in told["hits"]] == ["a", "c"]
    assert told["hits"][0]["title"] == "Kits"
    assert told["confidence"] < 0


@pytest.mark.parametrize("composition", ["replace", "rrf"])
def test_compositions(compile_tiny: Run, pssi: Run, passages: Path, composition: str) -> None:
    compile_tiny(*WHO)
    run = pssi("search", "before?", "--passages", passages, *WHO, "--composition", composition, "--json")
    told = json.loads(run.stdout)
    assert told["composition"] == composition
    assert told["hits"][0]["doc_id"] == "b"


def test_texts_are_shown_only_on_request(compile_tiny: Run, pssi: Run, passages: Path) -> None:
    compile_tiny(*WHO)
    arguments = ("search", "now?", "--passages", passages, *WHO)
    assert not {"clue", "query"} & set(json.loads(pssi(*arguments, "--json").stdout))
    explained = json.loads(pssi(*arguments, "--json", "--explain").stdout)
    assert (explained["query"], explained["clue"]) == ("now?", "Heron kit-9")
    assert "clue  Heron kit-9" not in pssi(*arguments).stdout
    assert "clue  Heron kit-9" in pssi(*arguments, "--explain").stdout


def test_a_history_gives_a_card_before_anything_is_compiled(pssi: Run, passages: Path, tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    history.write_text('{"role": "user", "text": "How does kit-9 fit?"}\n', encoding="utf-8")
    arguments = ("search", "which one?", "--passages", passages, *WHO, "--history", history)
    told = json.loads(pssi(*arguments, "--json").stdout)
    assert (told["route"], told["reason"], told["calibrated"]) == ("card", "card", False)
    assert told["hits"][0]["doc_id"] == "a"
    assert "card" not in told
    assert "card  kit-9" in pssi(*arguments, "--explain").stdout


def test_routes_limit_what_is_tried(compile_tiny: Run, pssi: Run, passages: Path) -> None:
    compile_tiny(*WHO)
    arguments = ("search", "now?", "--passages", passages, *WHO, "--json")
    for routes, reason in (
        (("--route", "raw"), "nothing_to_add"),
        (("--route", "raw", "--route", "card"), "nothing_to_add"),
        (("--route", "pss"), "clue"),
    ):
        assert json.loads(pssi(*arguments, *routes).stdout)["reason"] == reason


def test_a_certificate_decides(compile_tiny: Run, pssi: Run, passages: Path, tmp_path: Path) -> None:
    compile_tiny(*WHO)
    Certificate(weights={}, threshold=None).save(tmp_path / "never.json")
    arguments = ("search", "now?", "--passages", passages, *WHO, "--json")
    told = json.loads(pssi(*arguments, "--certificate", tmp_path / "never.json").stdout)
    assert (told["route"], told["reason"]) == ("raw", "guarded")


@pytest.mark.parametrize(("query", "reason"), [("Heron kit-7?", "self_contained"), ("retired?", "no_state")])
def test_raw_route_needs_no_weights(pssi: Run, passages: Path, query: str, reason: str) -> None:
    run = pssi("search", query, "--passages", passages, *WHO)
    assert run.exit_code == 0
    assert f"route raw, reason {reason}" in run.stdout
    assert json.loads(pssi("search", query, "--passages", passages, *WHO, "--json").stdout)["hits"][0]["doc_id"] == "b"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--passages", "nowhere.jsonl"), 1, "nowhere.jsonl cannot be read"),
        (("-k", "0"), 2, "-k"),
        (("--composition", "sum"), 2, "--composition"),
        (("--route", "clue"), 2, "--route"),
        (("--history", "nowhere.jsonl"), 1, "nowhere.jsonl cannot be read"),
        (("--certificate", "nowhere.json"), 1, "nowhere.json holds no certificate"),
    ],
)
def test_bad_input(pssi: Run, passages: Path, options: tuple[str, ...], code: int, said: str) -> None:
    run = pssi("search", "now?", "--passages", passages, *WHO, *options, "--json")
    assert run.exit_code == code
    assert said in json.loads(run.stdout)["error"]["message"]


def test_two_passages_of_one_name(pssi: Run, passages: Path) -> None:
    passages.write_text('{"doc_id": "a", "text": "x"}\n' * 2, encoding="utf-8")
    run = pssi("search", "now?", "--passages", passages, *WHO)
    assert run.exit_code == 1
    assert "line 2: doc_id 'a' was used before" in run.stderr
