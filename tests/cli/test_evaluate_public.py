import json
from pathlib import Path

import pytest
import typer
from public_files import books, write
from tiny import tiny_model, tiny_tokenizer
from typer.testing import CliRunner, Result

from pss_integrations.cli.evaluate_public import run_public
from pss_integrations.cli.output import Commands

app = typer.Typer(cls=Commands)
app.command("public")(run_public)
app.callback()(lambda: None)


def public(*args: object) -> Result:
    return CliRunner().invoke(app, ["public", *map(str, args), "--json"])


@pytest.fixture(scope="module")
def deep_backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("backbone")
    tiny_model(num_hidden_layers=9).save_pretrained(path)
    tiny_tokenizer().save_pretrained(path)
    return path


def test_a_run_leaves_a_record_and_a_report(deep_backbone: Path, tmp_path: Path) -> None:
    write(tmp_path / "narrativeqa.jsonl", books(6))
    places = ("--backbone", deep_backbone, "--out", tmp_path / "runs", "--cache", tmp_path / "states")
    options = ("--sessions", 2, "--searcher", "bm25", "--evidence", "document", "--kind", "longbench")
    run = public("--data", tmp_path, *options, *places)
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert (found["kind"], found["metric"], found["sessions"]) == ("longbench", "All-Recall@3", 2)
    assert found["arms"]["bm25"]["gold"]["mean"] == 1
    assert {"run.json", "report.md", "report.html"} <= {file.name for file in Path(found["folder"]).iterdir()}
    assert len(list((tmp_path / "states").rglob("*.safetensors"))) == 2


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("nowhere", (), "cannot be read"),
        ("x.jsonl", ("--kind", "ultradomain"), "line 1: answers: Input should be a valid array"),
        ("x.jsonl", (), "none of context_id, dataset, options"),
    ],
)
def test_what_cannot_be_run_is_said_before_a_backbone_is_asked_for(
    tmp_path: Path, data: str, options: tuple[str, ...], message: str
) -> None:
    (tmp_path / "x.jsonl").write_text('{"input": "a", "context": "b", "answers": "c"}')
    run = public("--data", tmp_path / data, *options, "--backbone", tmp_path / "no backbone", "--out", tmp_path / "o")
    assert run.exit_code == 1
    assert message in json.loads(run.stdout)["error"]["message"]
    assert not (tmp_path / "o").exists()
