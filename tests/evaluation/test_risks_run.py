"""All measurements together on a tiny backbone: plain data, the same for the same input."""

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_words import words_backbone

from pss_integrations.errors import InvalidInput
from pss_integrations.evaluation.plain_record import plain_record, save_plain
from pss_integrations.evaluation.risks.run import FULL, QUICK, run_risks
from pss_integrations.evaluation.source import CachedStates
from pss_integrations.states.config import CompileConfig

FEW = CompileConfig(history_steps=1, max_epochs=1, max_clue_tokens=48)
NAMES = ["membership", "deletion"]


def ignore(what: str, done: int, total: int) -> None:
    """Progress is for people."""


def run(path: Path, *names: str, **options: Any) -> dict[str, Any]:
    source = CachedStates(words_backbone(), FEW, path / "cache")
    return run_risks(source, path / "home", sizes=dict.fromkeys(names, 2), tell=ignore, **options)


def test_the_same_input_gives_the_same_result_which_json_can_hold(tmp_path: Path) -> None:
    first, again = run(tmp_path / "first", *NAMES), run(tmp_path / "again", *NAMES)
    assert [*first] == ["config", *NAMES]
    assert json.loads(json.dumps(first)) == first == again
    assert first["config"]["sessions"] == dict.fromkeys(NAMES, 2)
    assert first["deletion"]["after"]["text_in_files"] == 0


def test_growth_lies_in_a_directory_of_its_own(tmp_path: Path) -> None:
    found = run(tmp_path, "growth")["growth"]
    assert found["rollback"]["same"] == found["rollback"]["states"] == 4
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["growth"]


def test_untrusted_roles_make_no_target_on_the_real_path(tmp_path: Path) -> None:
    found = run(tmp_path, "poisoning", split="test")["poisoning"]
    for name, one in found.items():
        assert (one["targets"]["mean"] > 0) == name.endswith("/user"), name


def test_a_quick_run_measures_all_of_it_on_fewer_sessions() -> None:
    assert [*QUICK] == [*FULL]
    assert all(2 <= QUICK[name] < FULL[name] for name in FULL)


def test_what_cannot_be_measured_is_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(CachedStates, "compile")
    with pytest.raises(InvalidInput, match="no measurement theft: use some of membership"):
        run(tmp_path, "membership", "theft")
    source = CachedStates(words_backbone(), FEW, tmp_path)
    with pytest.raises(InvalidInput, match="there are 64 sessions"):
        run_risks(source, tmp_path / "home", sizes={"membership": 2, "growth": 65}, tell=ignore)
    assert not (tmp_path / "home").exists()


def test_a_record_says_what_it_depends_on_and_is_never_overwritten(tmp_path: Path) -> None:
    record = plain_record("risks", {"config": {"seed": 0}})
    folder = save_plain(record, tmp_path)
    assert folder.name.startswith("risks-2")
    assert json.loads((folder / "run.json").read_text()) == record
    assert record["format"] == "pss-risks-1"
    assert {"python", "torch"} <= {*record["versions"]}
    with pytest.raises(InvalidInput, match="never overwritten"):
        save_plain(record, tmp_path)
