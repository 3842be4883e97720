import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import MESSAGES
from typer.testing import Result

from pss_integrations.types import Message

Run = Callable[..., Result]
ANN = ("--session-id", "s", "--user-id", "ann")


def add_message(path: Path, message: Message) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"role": message.role, "text": message.text}) + "\n")


def test_compile_then_read(compile_tiny: Run, pssi: Run) -> None:
    compiled = compile_tiny(*ANN, "--json")
    assert compiled.exit_code == 0, compiled.output
    told = json.loads(compiled.stdout)
    assert (told["user_id"], told["session_id"], told["messages"]) == ("ann", "s", len(MESSAGES))
    assert told["reproduced"] == told["targets"] == 2
    assert told["builder"] == "explicit"

    assert pssi("read", "now?", *ANN).stdout == "Heron kit-9\n"
    read = json.loads(pssi("read", "before?", *ANN, "--json").stdout)
    assert read["clue"] == "Heron kit-7"
    assert read["state_id"] == told["state_id"]
    assert read["finished"]
    assert read["mean_logprob"] == pytest.approx(sum(read["logprobs"]) / len(read["logprobs"]))


def test_compile_tells_people_the_same(compile_tiny: Run) -> None:
    lines = compile_tiny(*ANN).stdout.splitlines()
    values = dict(line.split(maxsplit=1) for line in lines)
    assert values["session"] == "'s' of user 'ann'"
    assert values["reproduced"] == "2, confirmed by decoding"


def test_sessions_of_two_users_are_two(compile_tiny: Run, pssi: Run) -> None:
    compile_tiny(*ANN)
    for other in (("--user-id", "bob"), ("--no-user",)):
        run = pssi("read", "now?", "--session-id", "s", *other)
        assert run.exit_code == 1
        assert "no state was compiled for session 's'" in run.stderr


def test_warm_compile_goes_on_from_the_state(
    compile_tiny: Run, pssi: Run, session_file: Path, backbone_path: Path
) -> None:
    first = json.loads(compile_tiny(*ANN, "--json").stdout)
    add_message(session_file, Message("user", "Heron stays there."))
    # rank and layers are those of the state
    options = ("--backbone", backbone_path, "--trust", "tool", "--max-epochs", 1)
    second = pssi("compile", session_file, "--warm", *options, *ANN, "--json")
    assert second.exit_code == 0, second.output
    told = json.loads(second.stdout)
    assert told["parent"] == first["state_id"]
    assert told["messages"] == len(MESSAGES) + 1
    assert told["trusted_roles"] == ["system", "tool", "user"]


def test_warm_compile_needs_a_state(pssi: Run, session_file: Path) -> None:
    run = pssi("compile", session_file, "--warm", *ANN)
    assert run.exit_code == 1
    assert run.stderr.startswith("Error: no state was compiled for session 's' of user 'ann' in ")


def test_targets_from_fields(pssi: Run, session_file: Path, backbone_path: Path, tmp_path: Path) -> None:
    fields = tmp_path / "fields.json"
    fields.write_text('{"project": "Heron", "active": {"kit": "kit-9"}}', encoding="utf-8")
    shape = ("--backbone", backbone_path, "--rank", 2, "--layers", 1, "--max-epochs", 1, "--history-steps", 0)
    run = pssi("compile", session_file, "--fields", fields, *shape, *ANN, "--json")
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["builder"] == "fields"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--session-id", "s"), "--user-id"),
        (("--session-id", "s"), "--no-user"),
        (("--session-id", "s", "--user-id", "ann", "--no-user"), "give one of them"),
        (("--user-id", "ann"), "--session-id"),
        ((*ANN, "--rank", "many"), "--rank"),
        ((*ANN, "--fields", "f.json", "--trust", "tool"), "give only one of them"),
    ],
)
def test_usage_errors_name_the_option(pssi: Run, session_file: Path, options: tuple[str, ...], said: str) -> None:
    run = pssi("compile", session_file, *options, "--json")
    assert run.exit_code == 2
    error = json.loads(run.stdout)["error"]
    assert error["type"] == "UsageError"
    assert said in error["message"]
    assert said in run.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "nowhere.jsonl cannot be read"),
        ("", "is empty"),
        ('{"role": "user", "text": "a"}\n{"role": "user"\n', "line 2: no valid JSON"),
        ('{"role": "pilot", "text": "a"}\n', "unknown role 'pilot'"),
    ],
)
def test_session_files_that_cannot_be_used(pssi: Run, tmp_path: Path, content: str | None, said: str) -> None:
    path = tmp_path / "nowhere.jsonl"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    run = pssi("compile", path, *ANN, "--json")
    assert run.exit_code == 1
    assert json.loads(run.stdout)["error"]["type"] == "InvalidInput"
    assert said in json.loads(run.stdout)["error"]["message"]
    assert run.stderr.count("\n") == 1
    assert said in run.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--session-id", ""), "session_id is missing"),
        (("--targets", "nowhere.jsonl"), "nowhere.jsonl cannot be read"),
        (("--fields", "nowhere.json"), "nowhere.json cannot be read"),
        (("--trust", "pilot"), "unknown trusted roles ['pilot']"),
        (("--rank", "0"), "rank must be positive"),
        (("--max-epochs", "0"), "max_epochs must be at least 1"),
        (("--warm", "--rank", "8"), "no state was compiled"),
        (("--backbone", "no/such-model"), "no/such-model cannot be loaded"),
        ((), "pssi models fetch smollm2-135m-instruct"),
    ],
)
def test_what_is_wrong_with_a_compile_is_one_line(
    pssi: Run, session_file: Path, options: tuple[str, ...], said: str
) -> None:
    run = pssi("compile", session_file, *ANN, *options)
    assert run.exit_code == 1
    assert run.stdout == ""
    assert run.stderr.startswith("Error: ")
    assert run.stderr.count("\n") == 1
    assert said in run.stderr


def test_read_by_another_backbone_is_refused(compile_tiny: Run, pssi: Run, tmp_path: Path) -> None:
    from tiny import tiny_model, tiny_tokenizer

    compile_tiny(*ANN)
    tiny_model(seed=1).save_pretrained(tmp_path / "other")
    tiny_tokenizer().save_pretrained(tmp_path / "other")
    run = pssi("read", "now?", *ANN, "--backbone", tmp_path / "other", "--json")
    assert run.exit_code == 1
    assert json.loads(run.stdout)["error"]["type"] == "StateMismatch"


@pytest.mark.skipif(os.name != "posix", reason="needs a named pipe")
def test_interrupt_ends_quietly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "pss_integrations", "compile", str(pipe), *ANN, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process, pipe.open("wb"):  # opens once the command reads it
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout, stderr) == (130, "", "")
