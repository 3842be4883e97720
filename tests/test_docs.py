"""The documentation holds: its examples run, its commands and links exist, its API pages name what can be imported."""

import gc
import json
import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import yaml
from belief_chats import ScriptedChatModel
from belief_llms import ScriptedLLM
from framework_retrievers import langchain_search, llama_index_search
from pages import (
    DOCS,
    PAGES,
    README,
    ROOT,
    anchors,
    blocks,
    check_session,
    find_command,
    links,
    mentioned,
    name_of,
    options_of,
    run_examples,
    typed,
)

from pss_integrations import Passage, SessionKey
from pss_integrations.evaluation.datasets import load_sessions
from pss_integrations.loaders import load_fields

PASSAGES = [
    Passage("archived", "slate-finch ran v1.9.0 with ckpt-1177", title="Heron"),
    Passage("other", "before we ate"),
]
Read = Callable[[], str]
each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)
each_docs_page = pytest.mark.parametrize("page", PAGES[1:], ids=name_of)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to run in, which is the home of states and beliefs too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PSS_HOME", str(tmp_path))
    monkeypatch.setenv("PSS_PRINCIPAL", "user:ada")
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Read:
    return lambda: capsys.readouterr().out


@pytest.fixture
def reader(make_reader: Callable[..., Any]) -> Any:
    """Stands for the manager that has compiled the session of the examples."""
    return make_reader({SessionKey("ada", "tuning"): "Heron slate-finch v1.9.0 ckpt-1177"})


# --- Python


@pytest.mark.parametrize("name", ["beliefs", "routing"])
def test_examples_run(name: str, workplace: Path, printed: Read) -> None:
    run_examples(DOCS / f"{name}.md", {}, printed)


@pytest.mark.weights
def test_examples_of_states_run(workplace: Path, printed: Read) -> None:
    run_examples(DOCS / "states.md", {}, printed)


def test_examples_of_langchain_run(workplace: Path, printed: Read, reader: Any) -> None:
    model = ScriptedChatModel(answers=["Noted.", "In invoices."])
    retriever = langchain_search(PASSAGES, "with scores")
    scope = {"manager": reader, "your_retriever": retriever, "your_model": model}
    run_examples(DOCS / "langchain.md", scope, printed)
    assert any("<pss-beliefs>" in str(message.text) for asked in model.asked for message in asked)
    close(scope["memory"])


# LlamaIndex's own memory leaves its database in memory open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_examples_of_llama_index_run(workplace: Path, printed: Read, reader: Any) -> None:
    llm = ScriptedLLM(answers=["Noted.", "Noted.", "1 GB."])
    retriever = llama_index_search(PASSAGES, "with scores")
    scope = {"manager": reader, "your_retriever": retriever, "your_llm": llm}
    run_examples(DOCS / "llama_index.md", scope, printed)
    assert any("<pss-beliefs>" in text and "Valkey" in text for _, text in llm.seen)
    close(scope["beliefs"])
    scope.clear()
    gc.collect()


def close(memory: Any) -> None:
    memory.close()
    memory.store.close()


def test_no_page_has_python_that_does_not_run() -> None:
    run = {README, *(DOCS / f"{name}.md" for name in ("beliefs", "routing", "states", "langchain", "llama_index"))}
    assert {page for page in PAGES if blocks(page, "python")} == run


# --- files


def test_session_fields_are_as_shown(tmp_path: Path) -> None:
    (tmp_path / "fields.json").write_text(blocks(DOCS / "states.md", "json")[0], encoding="utf-8")
    fields = load_fields(tmp_path / "fields.json")
    assert (fields.project, fields.archived["version"], fields.other["owner"]) == ("Heron", "v1.9.0", "Mira Okafor")


def test_session_data_is_as_shown(tmp_path: Path) -> None:
    shown = json.loads(blocks(DOCS / "evaluation.md", "json")[0])
    (tmp_path / "sessions.jsonl").write_text(json.dumps(shown), encoding="utf-8")
    (tmp_path / "corpus.jsonl").write_text('{"doc_id": "heron/card", "text": "ckpt-1177"}', encoding="utf-8")
    (session,) = load_sessions(tmp_path).sessions
    assert (len(session.compiled), session.group, session.probes_with_state) == (2, "heron", session.probes)


# --- commands


@each_page
def test_commands_can_be_typed(page: Path, workplace: Path) -> None:
    for line in typed(page):
        command, words = find_command(line)
        if hasattr(command, "commands"):
            assert set(words) <= {"--help"}, f"{line!r} says no command"
        else:
            command.make_context(command.name, words)  # raises where an option or a value is none


@each_page
def test_commands_in_the_text_exist(page: Path) -> None:
    for line in mentioned(page):
        command, words = find_command(line)
        assert {word for word in words if word.startswith("-")} <= options_of(command), f"{line!r}"


@each_docs_page
def test_sessions_print_what_is_shown(page: Path, workplace: Path) -> None:
    for shown in blocks(page, "console"):
        check_session(shown)


# --- links, and the pages themselves


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), f"{name_of(page)} links to {link}"
        assert not anchor or anchor in anchors(target), f"{name_of(page)} links to {link}: {sorted(anchors(target))}"


@each_page
def test_files_of_the_repository_exist(page: Path) -> None:
    named = re.findall(r"`((?:cookbooks|docs|tests|pss_integrations)/[\w./-]+)`", page.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert sorted(paths_in(navigation)) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES[1:])


def paths_in(navigation: Any) -> list[str]:
    if isinstance(navigation, str):
        return [navigation]
    children = navigation.values() if isinstance(navigation, dict) else navigation
    return [path for child in children for path in paths_in(child)]


def test_docstrings_for_sphinx_are_shown_as_markdown() -> None:
    spec = spec_from_file_location("roles", DOCS / "extensions" / "roles.py")
    assert spec is not None
    assert spec.loader is not None
    roles = module_from_spec(spec)
    spec.loader.exec_module(roles)
    text = "See :meth:`~a.B.run` or :class:`a.B`::\n\n    a = B()\n\nThen:\n\n>>> a\n1\n"
    shown = "See `run` or `a.B`:\n\n```text\na = B()\n```\n\nThen:\n\n```pycon\n>>> a\n1\n```"
    assert roles.as_markdown(text) == shown


@pytest.mark.parametrize("page", sorted((DOCS / "api").glob("*.md")), ids=name_of)
def test_api_pages_name_modules_that_import(page: Path) -> None:
    modules = re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert modules[0] == f"pss_integrations.{page.stem}" or page.stem == "evaluation"
    for module in modules:
        import_module(module)
