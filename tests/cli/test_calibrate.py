import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cohort import PASSAGES, chats
from typer.testing import Result

from pss_integrations.retrieval import BM25Index
from pss_integrations.routing import Certificate

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / "bm25"
    BM25Index(PASSAGES).save(path)
    return path


@pytest.fixture
def chat_file(tmp_path: Path) -> Callable[[int], Path]:
    def write(count: int) -> Path:
        path = tmp_path / "chats.jsonl"
        rows = (
            {
                "session_id": key.session_id,
                "user_id": key.user_id,
                "messages": [{"role": one.role, "text": one.text} for one in messages],
            }
            for key, messages in chats(count)
        )
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


def test_writes_a_bound_certificate_and_draws(pssi: Run, index: Path, chat_file: Callable, tmp_path: Path) -> None:
    out, plot = tmp_path / "c.json", tmp_path / "c.svg"
    run = pssi("calibrate", chat_file(70), "--index", index, "--out", out, "--plot", plot, "--json")
    assert run.exit_code == 0, run.output
    told = json.loads(run.stdout)
    certificate = Certificate.load(out)
    assert certificate.binding is not None
    assert certificate.binding.index_id == BM25Index.load(index).index_id
    assert told["calibrated"]
    assert told["certificate"]["threshold"] == certificate.threshold
    assert told["missing"] == {}
    assert 0.5 < told["retained"] <= 1
    assert plot.read_text(encoding="utf-8").lstrip().startswith("<?xml")


def test_tells_people_the_promise(pssi: Run, index: Path, chat_file: Callable, tmp_path: Path) -> None:
    run = pssi("calibrate", chat_file(70), "--index", index, "--out", tmp_path / "c.json", "--max-activation", "0.1")
    assert run.exit_code == 0, run.output
    assert "at most 10 % of each kind activate, at 95 % confidence" in run.stdout
    assert "off_topic" in run.stdout


def test_too_few_chats_write_nothing(pssi: Run, index: Path, chat_file: Callable, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    run = pssi("calibrate", chat_file(40), "--index", index, "--out", out)
    assert run.exit_code == 1
    assert "Not calibrated, and nothing written" in run.stdout
    assert "19 for off_topic" in run.stdout
    told = json.loads(pssi("calibrate", chat_file(40), "--index", index, "--out", out, "--json").stdout)
    assert (told["calibrated"], told["missing"]["chatter"], told["file"]) == (False, 19, None)
    assert not out.exists()


def test_too_few_texts_for_a_promise_are_told_apart_from_too_few_chats(
    pssi: Run, index: Path, chat_file: Callable, tmp_path: Path
) -> None:
    common = ("--index", index, "--out", tmp_path / "c.json", "--max-activation", "0.01")
    run = pssi("calibrate", chat_file(3), *common)
    assert run.exit_code == 1
    assert "more sessions are needed" in run.stdout
    assert "too few texts for this promise" in run.stdout
    told = json.loads(pssi("calibrate", chat_file(3), *common, "--json").stdout)
    assert 0 < told["missing_texts"]["off_topic"] < told["missing"]["off_topic"]
    assert "texts" not in pssi("calibrate", chat_file(3), *common[:-2]).stdout


def test_passages_serve_as_an_index(pssi: Run, index: Path, chat_file: Callable, tmp_path: Path) -> None:
    passages = tmp_path / "passages.jsonl"
    lines = [{"doc_id": one.doc_id, "text": one.text, "title": one.title} for one in PASSAGES]
    passages.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run = pssi("calibrate", chat_file(60), "--passages", passages, "--out", tmp_path / "c.json", "--json")
    binding = json.loads(run.stdout)["certificate"]["binding"]
    assert (binding["index_id"], binding["engine"]) == (BM25Index.load(index).index_id, None)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 2, "give one of them"),
        (("--index", "nowhere"), 1, "nowhere holds no BM25 index"),
        (("--max-activation", "0"), 1, "max_activation must be a number between 0 and 1"),
        (("--confidence", "1.5"), 1, "confidence must be a number between 0 and 1"),
        (("--out", "nowhere/c.json"), 1, "give a file in a directory that exists"),
        (("--plot", "c.txt"), 1, "the name must end in"),
        (("--route", "magic"), 2, "unknown 'magic'"),
        (("--trust", "chef"), 1, "unknown trusted roles"),
        (("-k", "0"), 2, "-k"),
    ],
)
def test_bad_input(pssi: Run, chat_file: Callable, index: Path, options: tuple[str, ...], code: int, said: str) -> None:
    searched = () if not options or "--index" in options else ("--index", index)
    run = pssi("calibrate", chat_file(2), *searched, *options, "--json")
    assert run.exit_code == code
    assert said in json.loads(run.stdout)["error"]["message"]


def test_a_route_that_no_chat_has_a_state_for(pssi: Run, chat_file: Callable, index: Path) -> None:
    run = pssi("calibrate", chat_file(2), "--index", index, "--route", "pss")
    assert run.exit_code == 1
    assert "none of these chats has a state" in run.stderr
