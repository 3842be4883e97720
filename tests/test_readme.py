"""The README's examples run as they stand, on real weights, one after the other."""

import gc
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import pytest
from belief_chats import ScriptedChatModel
from belief_llms import ScriptedLLM
from typer.testing import CliRunner

from pss_integrations import cli
from pss_integrations.loaders import load_fields

README = Path(__file__).parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_session_fields_are_as_shown(tmp_path: Path) -> None:
    (tmp_path / "fields.json").write_text(blocks("json")[0], encoding="utf-8")
    fields = load_fields(tmp_path / "fields.json")
    assert (fields.project, fields.archived["version"], fields.other["owner"]) == ("Heron", "v1.9.0", "Mira Okafor")


def test_set_up_is_two_lines() -> None:
    lines = [line for block in blocks("bash") for line in block.splitlines() if line.startswith("python3 -m venv")]
    assert [line.rpartition("/")[2] for line in lines] == ["pssi demo", "pytest"]


@pytest.mark.weights
def test_python_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from llama_index.core.base.base_retriever import BaseRetriever as NodeRetriever
    from llama_index.core.llms import MockLLM
    from llama_index.core.schema import NodeWithScore, TextNode
    from llama_index.core.settings import Settings

    searched: list[str] = []

    class Documents(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            searched.append(query)
            return [Document(page_content="slate-finch", id="archived")]

    class Nodes(NodeRetriever):
        def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
            searched.append(query_bundle.query_str)
            return [NodeWithScore(node=TextNode(text="slate-finch", id_="archived"), score=1.0)]

    monkeypatch.setenv("PSS_HOME", str(tmp_path))
    monkeypatch.setattr(Settings, "_llm", MockLLM())
    compile_it, langchain, llama_index = blocks("python")[:3]
    scope: dict[str, Any] = {}
    exec(compile_it, scope)
    assert "ckpt-1177" in capsys.readouterr().out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(langchain, scope | {"your_retriever": Documents()})
        exec(llama_index, scope | {"your_retriever": Nodes()})
    scope["manager"].close()
    # By each face with the query, then with what its state adds.
    assert ["v1.9.0" in query for query in searched] == [False, True] * 2


# LlamaIndex's own memory leaves its database in memory open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_belief_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fresh session knows what another one settled, in both frameworks."""
    agent, engine = blocks("python")[3:]
    monkeypatch.chdir(tmp_path)
    model, llm = ScriptedChatModel(answers=["Noted.", "In invoices."]), ScriptedLLM(answers=["Noted.", "1 GB."])
    with_agent: dict[str, Any] = {"your_model": model}
    with_engine: dict[str, Any] = {"your_llm": llm}
    exec(agent, with_agent)
    exec(engine, with_engine)
    assert "Postgres" in model.system
    assert any("<pss-beliefs>" in text and "Valkey" in text for _, text in llm.seen)
    for memory in (with_agent["memory"], with_engine["beliefs"]):
        memory.close()
        memory.store.close()
    with_engine.clear()
    gc.collect()


def test_belief_commands_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = blocks("console")
    monkeypatch.setenv("PSS_HOME", str(tmp_path))
    monkeypatch.setenv("PSS_PRINCIPAL", "user:ada")
    monkeypatch.setenv("COLUMNS", "200")
    printed = [
        CliRunner().invoke(cli.app, shlex.split(line)[2:]).stdout
        for line in shown.splitlines()
        if line.startswith("$ pssi")
    ]
    said = "\n".join(line for line in shown.splitlines() if not line.startswith("$"))
    ids = re.compile(r"\b[0-9a-f]{8}\b")
    assert [line.rstrip() for line in ids.sub("ID", "".join(printed)).splitlines()] == ids.sub("ID", said).splitlines()
