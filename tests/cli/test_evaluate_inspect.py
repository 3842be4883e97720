import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from inspected import ARM, probe, record
from tiny import tiny_model, tiny_tokenizer
from typer.testing import CliRunner, Result

from pss_integrations.cli.evaluate_inspect import inspect_run, screen
from pss_integrations.cli.output import Commands
from pss_integrations.evaluation import pss320
from pss_integrations.evaluation.inspection import variants
from pss_integrations.states.config import CompileConfig

Run = Callable[..., Result]
app = typer.Typer(cls=Commands)
app.command("inspect")(inspect_run)
app.command("screen")(screen)


@pytest.fixture
def evaluate() -> Run:
    return lambda *args: CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def deep_backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As deep as the default shape of states asks for."""
    path = tmp_path_factory.mktemp("backbone")
    tiny_model(num_hidden_layers=9).save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


@pytest.fixture
def quick_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same shapes, written in no time."""
    quick = {
        name: replace(variants.VARIANTS[name], compile=CompileConfig(max_epochs=1, max_clue_tokens=8))
        for name in ("baseline", "last 4")
    }
    monkeypatch.setattr(variants, "VARIANTS", quick)
    monkeypatch.setattr(variants, "BASELINE", quick["baseline"])


@pytest.mark.usefixtures("quick_variants")
def test_a_screening_leaves_a_record_and_a_picture(evaluate: Run, deep_backbone: Path, tmp_path: Path) -> None:
    places = ("--backbone", deep_backbone, "--out", tmp_path / "runs", "--cache", tmp_path / "states")
    run = evaluate("screen", "--variant", "last 4", "--sessions", 2, "--confirm", 5, *places, "--json")
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert [one["name"] for one in found["variants"]] == ["baseline", "last 4"]
    assert found["screening"]["winner"] == "baseline"
    assert found["confirmation"] is None
    folder = Path(found.pop("folder"))
    assert json.loads((folder / "run.json").read_text()) == found
    assert "<svg" in (folder / "screening.svg").read_text()
    assert len(list((tmp_path / "states").rglob("*.safetensors"))) == 4


def test_a_run_is_inspected_beside_its_record(evaluate: Run, tmp_path: Path) -> None:
    sessions = {
        session.key.session_id: [
            probe(one.query, one.gold_rewrite, [1] + [None] * (len(one.evidence) - 1), category=one.category)
            for one in session.probes
            if one.evidence
        ]
        for session in pss320.generate(2, seed=0).sessions
    }
    path = record(sessions, kind="pss320").save(tmp_path)
    run = evaluate("inspect", path.parent, "--json")
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    several = sum(one.groups > 1 for probes in sessions.values() for one in probes)
    assert (found["errors"]["arm"], found["errors"]["missed"]) == (ARM, several)
    assert found["errors"]["classes"]["partly_found"]["count"] == several > 0
    assert "alignment" not in found
    assert "pssi models fetch all-minilm-l6-v2" in run.stderr
    assert {file.name for file in path.parent.iterdir()} == {"run.json", "inspection.json", "inspection-errors.svg"}
    assert f"{several} of 10 missed by {ARM}" in evaluate("inspect", path).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("inspect", "nowhere"), 1, "no record of a run"),
        (("inspect", "RUN", "--arm", "raw"), 1, "use one of bm25"),
        (("screen", "--variant", "rank 5"), 2, "rank 64"),
    ],
)
def test_what_cannot_be_done_is_said_before_any_work(
    evaluate: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    path = record({"pss320-0-0000": []}, kind="pss320").save(tmp_path)
    run = evaluate(*(path if one == "RUN" else one for one in arguments), "--json")
    assert run.exit_code == code
    assert message in json.loads(run.stdout)["error"]["message"]
